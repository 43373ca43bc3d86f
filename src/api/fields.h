/* fields.h: the tables of Kubernetes objects, by kind; see codec/record.h for what can be done with them. */
#ifndef API_FIELDS_H
#define API_FIELDS_H

#include "api/kinds.h"

struct kind_info {
    struct str kind, api_version;
    bool namespaced;
    const struct record_type *type; /* its struct begins with a struct meta */
};

/* Indexed by enum api_kind; KIND_UNKNOWN is empty, and so are the names of an extra kind until it is there. */
extern const struct kind_info *const api_kinds;
/* For extra_kinds.c: the names of an extra kind, before any other thread may know of it. */
void fields_name_kind(enum api_kind kind, struct str api_version, struct str name);
extern const struct record_type *const api_status_type; /* of struct api_status */
/* Parts of objects that are read, copied, compared or written on their own. */
extern const struct record_type *const api_allocation_type;        /* of struct allocation_result */
extern const struct record_type *const api_derived_attribute_type; /* of struct derived_attribute */
extern const struct record_type *const api_claim_status_type;      /* of struct claim_status */
extern const struct record_type *const api_claim_mapping_type;     /* of struct claim_mapping */
extern const struct record_type *const api_claim_overhead_type;    /* of struct claim_overhead */
/* Parts of objects that arguments of plugins, or scheduling policies, have as well. */
RECORD_TYPE(label_selector, struct label_selector);
RECORD_TYPE(toleration, struct toleration);
RECORD_TYPE(node_affinity, struct node_affinity);
RECORD_TYPE(spread_constraint, struct spread_constraint);
RECORD_TYPE(node_claim, struct node_claim);

#endif
