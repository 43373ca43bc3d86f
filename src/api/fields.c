/* fields.c: the field tables of all kinds. */
#include "api/fields.h"

#include "api/labels.h"
#include "codec/record_rows.h"

#include "api/fields_all.def"

/* ---- kinds ---- */

#define X(name, kind, version, ctype, namespaced) \
    _Static_assert(offsetof(struct ctype, meta) == 0, "metadata comes first");
API_KINDS(X)
#undef X

static struct kind_info kinds[KIND_COUNT] = {
#define X(name, kind, version, ctype, namespaced) \
    [KIND_##name] = { \
        { kind, sizeof(kind) - 1 }, { version, sizeof(version) - 1 }, namespaced, &KIND_##name##_type \
    },
    API_KINDS(X)
#undef X
        [KIND_EXTRA_FIRST... KIND_COUNT - 1] = { .type = &extra_object_type },
};
const struct kind_info *const api_kinds = kinds;

void fields_name_kind(enum api_kind kind, struct str api_version, struct str name)
{
    assert(kind_is_extra(kind));
    kinds[kind].api_version = api_version;
    kinds[kind].kind = name;
}

const struct record_type *const api_status_type = &status_type;
const struct record_type *const api_allocation_type = &allocation_type;
const struct record_type *const api_derived_attribute_type = &derived_attribute_type;
const struct record_type *const api_claim_status_type = &claim_status_type;
const struct record_type *const api_claim_mapping_type = &claim_mapping_type;
const struct record_type *const api_claim_overhead_type = &claim_overhead_type;
