/* apply.h: server-side apply, and who manages which field (metadata.managedFields).
 *
 *     create, update, patch ──▶ apply_track(): what the write changed belongs to its manager, and to no other
 *     apply ──▶ apply_merge(): what is applied is merged into the object; a field of another manager is a conflict
 *               unless it is forced or equal; fields that are applied no longer, and that nobody else manages, go
 *
 * An entry is one manager, one operation (Apply or Update), one subresource, and for Update one API version. Entries
 * are compared by fields of one version: the embedded API server serves one version of a kind. */
#ifndef SCHEMA_APPLY_H
#define SCHEMA_APPLY_H

#include "schema/patch.h"

enum {
    APPLY_UPDATERS_MAX = 10,          /* older updaters become one entry */
    APPLY_ANNOTATION_MAX = 256 << 10, /* annotations of an object have at most so many bytes */
};

struct apply_request {
    const struct schema_type *type; /* of custom resources: schema_of_custom() */
    struct str manager; /* fieldManager, or what stands before the first slash of the User-Agent */
    struct str group, version, kind;
    struct str subresource; /* "": none */
    /* The kind has a status subresource: a write of the object does not own its status, one of the status not its
     * spec. */
    bool has_status;
    bool force;
    int64_t now; /* seconds since 1970 */
};

struct apply_conflict {
    struct str message; /* conflict with "manager" */
    struct str field;   /* .spec.replicas */
};

struct apply_result {
    yyjson_mut_doc *doc; /* the new object without defaults; the caller frees it. managedFields are set */
    bool unchanged;      /* but for managedFields, at most */
    VEC(struct apply_conflict) conflicts; /* causes (FieldManagerConflict) of an error with the code 409 */
    struct arena arena;                   /* of the conflicts */
};

/* Merges the applied object (a JSON object) into the live one (NULL: it does not exist). 0, or -EINVAL with *err. */
int apply_merge(const struct apply_request *request, yyjson_val *live, yyjson_val *applied,
                struct apply_result *ret, struct schema_error *err);
void apply_result_release(struct apply_result *result);

/* Sets metadata.managedFields of a new state that was created (no live one), updated or patched. It has its defaults.
 * A client may reset managedFields with an empty list, or replace them in an update of the object itself. */
void apply_track(const struct apply_request *request, yyjson_val *live, yyjson_mut_doc *object);

#endif
