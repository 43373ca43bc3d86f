/* kinds.h: kinds of fields that Kubernetes objects have besides those of codec/record.h: quantities and times. */
#ifndef API_KINDS_H
#define API_KINDS_H

#include "api/types.h"
#include "codec/record.h"

RECORD_KIND(TIME, struct opt_time);       /* whole seconds in protobuf */
RECORD_KIND(MICRO_TIME, struct opt_time); /* with microseconds */
/* A time of RFC 3339. */
bool opt_time_parse(struct str text, struct opt_time *ret);

RECORD_KIND(AMOUNT, struct quantity);
RECORD_KIND(QUANTITY, struct quantity *); /* NULL when absent */
RECORD_KIND(QUANTITIES, struct quantity_list);
RECORD_KIND(RESOURCES, struct resource_list);

#endif
