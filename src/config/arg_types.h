/* arg_types.h: API types that occur in the arguments of plugins. Not those of api/: the configuration is written in
 * the order of its own Go structs. */
#ifndef CONFIG_ARG_TYPES_H
#define CONFIG_ARG_TYPES_H

#include "api/types.h"
#include "codec/record.h"

RECORD_TYPE(requirement, struct selector_requirement);
RECORD_TYPE(label_selector, struct label_selector);
RECORD_TYPE(node_affinity, struct node_affinity);
RECORD_TYPE(spread_constraint, struct spread_constraint);

#endif
