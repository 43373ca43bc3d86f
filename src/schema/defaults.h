/* defaults.h: an object as the API server stores it, from what a client wrote.
 *
 * The API server decodes into Go structs and encodes again: unknown fields and nulls go, zero values of most fields go,
 * quantities and times get their canonical text, fields that are always written appear. Then defaults are set, those of
 * the data (`default=`) and those of defaults.def.
 *
 * src/api/defaults.c sets defaults as well, in C structs of the few fields that scheduling reads; here the object stays
 * JSON with all fields. The unit tests of both compare with a real API server. What registries and admission set in an
 * object (status of a new pod, cluster addresses, priorities) is not here. */
#ifndef SCHEMA_DEFAULTS_H
#define SCHEMA_DEFAULTS_H

#include <yyjson.h>

#include "schema/schema.h"

/* The object has passed schema_check(). Doing it twice changes nothing. */
void schema_set_defaults(const struct schema_type *type, yyjson_mut_doc *doc);

#endif
