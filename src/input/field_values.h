/* field_values.h: values of manifests that an API server would refuse, and that change decisions without a word. */
#ifndef INPUT_FIELD_VALUES_H
#define INPUT_FIELD_VALUES_H

#include <yyjson.h>

#include "base/str.h"
#include "schema/schema.h"

/* Of a field with a list of words, is this text another one? Then `out` gets what is wrong:
 * unsupported value "NoSchedul"; did you mean NoSchedule? */
bool field_word_refused(const struct schema_type *type, const struct schema_field *field, struct str text,
                        struct strbuf *out);
/* Of a field with amounts by resource, is there no such resource, or is the amount negative? */
bool field_amount_refused(const struct schema_type *type, const struct schema_field *field,
                          struct str resource, yyjson_val *amount, struct strbuf *out);

/* A requirement of a selector whose operator does not go with its values, which therefore nothing meets. */
bool field_values_refused(const struct schema_type *type, yyjson_val *requirement, struct strbuf *out);

#endif
