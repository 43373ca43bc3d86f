/* fields.c: the field tables, rows as fields_all.def has them: mostly in the order of JSON documents. */
#include "api/fields.h"

#include "api/labels.h"

#define ROW(json, tag, kind, place, type) { json, sizeof(json) - 1, tag, place, kind, type }
#include "api/fields_all.def"

/* ---- kinds ---- */

#define X(name, kind, version, ctype, namespaced) \
    _Static_assert(offsetof(struct ctype, meta) == 0, "metadata comes first");
API_KINDS(X)
#undef X

const struct kind_info api_kinds[KIND_COUNT] = {
#define X(name, kind, version, ctype, namespaced) \
    [KIND_##name] = { \
        { kind, sizeof(kind) - 1 }, { version, sizeof(version) - 1 }, namespaced, &KIND_##name##_type \
    },
    API_KINDS(X)
#undef X
};

const struct type *const api_status_type = &status_type;
const struct type *const api_allocation_type = &allocation_type;
const struct type *const api_claim_status_type = &claim_status_type;
const struct type *const api_claim_type = &KIND_RESOURCE_CLAIM_type;
