/* fields.c: the field tables. Tags are those of the generated.proto files of k8s.io/api.
 *
 * Rows name members, and the compiler checks that a member has the C type of its row's kind. Tables stand in the order
 * in which they use each other. In each, T is the struct that the rows fill. */
#include "api/fields.h"

#include "api/labels.h"

#define X(name, ctype) typedef ctype c_##name;
FIELD_KINDS(X)
#undef X

#define MEMBER(member) (((T *)0)->member)
/* 0, or an error at compile time. */
#define SURELY(condition) (0 * sizeof(char[(condition) ? 1 : -1]))
#define HAS_TYPE(member, ctype) SURELY(__builtin_types_compatible_p(__typeof__(MEMBER(member)), ctype))

#define ROW(json, tag, kind, place, type) { json, sizeof(json) - 1, tag, place, kind, type }
/* A value of a simple kind. */
#define F(json, tag, kind, member) \
    ROW(json, tag, FIELD_##kind, offsetof(T, member) + HAS_TYPE(member, c_##kind), NULL)
#define F_KEYS(json, tag, member) \
    ROW(json, tag, FIELD_KEYS, offsetof(T, member) + HAS_TYPE(member, struct str_list), NULL)
/* A struct that has a table of its own. */
#define F_STRUCT(json, tag, member, of) \
    ROW(json, tag, FIELD_STRUCT, offsetof(T, member) + SURELY(sizeof(MEMBER(member)) == of##_size), \
        &of##_type)
#define F_PTR(json, tag, member, of) \
    ROW(json, tag, FIELD_PTR, offsetof(T, member) + SURELY(sizeof(*MEMBER(member)) == of##_size), &of##_type)
#define F_LIST(json, tag, member, of) \
    ROW(json, tag, FIELD_LIST, offsetof(T, member) + SURELY(sizeof(*MEMBER(member).items) == of##_size), \
        &of##_type)
#define F_PART(json, tag, of) ROW(json, tag, FIELD_PART, SURELY(sizeof(T) == of##_size), &of##_type)

#define TYPE_FINISH(name, finish) \
    enum { name##_size = sizeof(T) }; \
    static const struct type name##_type = { sizeof(T), name##_fields, ARRAY_SIZE(name##_fields), finish };
#define TYPE(name) TYPE_FINISH(name, NULL)

/* In this order: each uses tables of those before it. */
#include "api/fields_meta.def"

#include "api/fields_volume.def"

#include "api/fields_pod.def"

#include "api/fields_cluster.def"

#include "api/fields_workload.def"

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
