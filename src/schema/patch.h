/* patch.h: the patches of the Kubernetes API, with the answers of kube-apiserver.
 *
 *     text ──parse──▶ patch ──▶ applied to the object ──▶ checked against its type ──▶ new object, warnings
 *
 * What a patch may cost is bounded: its nesting (SCHEMA_DEPTH_MAX), the operations of a JSON patch, the bytes that its
 * copies add, and the list elements that it steps over. Everything else is linear in the sizes of object and patch. */
#ifndef SCHEMA_PATCH_H
#define SCHEMA_PATCH_H

#include <yyjson.h>

#include "schema/check.h"

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC };
enum field_validation { FIELDS_WARN /* the default of the API server */, FIELDS_STRICT, FIELDS_IGNORE };

enum {
    PATCH_OPERATIONS_MAX = 10000,
    PATCH_COPY_BYTES_MAX = 3 << 20,
    PATCH_STEPS_MAX = 20000000, /* list elements and members that a JSON patch may pass */
};

/* A metav1.Status that is no success. */
struct schema_error {
    int code;           /* of HTTP; 0: no error */
    const char *reason; /* "BadRequest", "Invalid" ...; "" for none */
    struct strbuf message;
    /* Not 0: the message has one cause, FieldValueInvalid for the field "patch", and its message begins here. */
    size_t cause_at;
};

int schema_error(struct schema_error *err, int code, const char *reason, const char *format, ...)
    _printf_(4, 5);
void schema_error_release(struct schema_error *err);

struct patch_request {
    enum patch_type type;
    const struct schema_type *schema; /* NULL: a custom resource, whose fields are not checked */
    enum field_validation validation;
    struct str patch; /* as the client sent it, JSON */
};

struct patch_result {
    yyjson_mut_doc *doc; /* the new object; the caller frees it */
    struct schema_problems
        problems; /* FIELDS_WARN: its `strict` are the warnings. To be released in any case */
};

/* 0, or -EINVAL with *err. Defaults are not set, and nothing is normalised, in the new object. */
int patch_apply(const struct patch_request *request, yyjson_val *object, struct patch_result *ret,
                struct schema_error *err);

/* ---- the three of them, on trees: `target` is changed in place. 0 or -EINVAL ---- */

/* On success *root is the new root: a patch may replace it. */
int patch_json(yyjson_mut_doc *doc, yyjson_mut_val **root, yyjson_val *operations, struct schema_error *err);
/* RFC 7386. Both are objects; values of the patch become part of the target. */
void patch_merge(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch);
/* *root as above. Both are in `doc`. */
int patch_strategic(yyjson_mut_doc *doc, yyjson_mut_val **root, yyjson_mut_val *patch,
                    const struct schema_type *type, struct schema_error *err);

#endif
