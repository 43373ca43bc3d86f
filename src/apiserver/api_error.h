/* api_error.h: why a request failed, as a metav1.Status with the texts of kube-apiserver.
 *
 *     return api_error_not_found(err, resource, name);       -404, {"kind":"Status", ... "reason":"NotFound" ...}
 *
 * Functions return the negative HTTP status, so that 0 is success everywhere. A zeroed struct is no error. */
#ifndef APISERVER_API_ERROR_H
#define APISERVER_API_ERROR_H

#include "apiserver/resources.h"
#include "base/arena.h"
#include "base/vec.h"

struct api_cause {
    const char *reason;
    struct str message, field;
};

struct api_error {
    int code;           /* 0: none */
    const char *reason; /* NULL: none */
    struct str message;
    bool has_details; /* an empty one is written, too */
    struct str name, group, kind, uid;
    VEC(struct api_cause) causes;
    int retry_after_s;
    struct arena arena;
};

void api_error_release(struct api_error *err);
/* Forgets what it was. */
void api_error_clear(struct api_error *err);
int api_error_set(struct api_error *err, int code, const char *reason, const char *format, ...)
    _printf_(4, 5);

int api_error_bad_request(struct api_error *err, const char *format, ...) _printf_(2, 3);
int api_error_not_found(struct api_error *err, const struct api_resource *resource, struct str name);
int api_error_exists(struct api_error *err, const struct api_resource *resource, struct str name);
/* "Operation cannot be fulfilled on pods "a": ..." */
int api_error_conflict(struct api_error *err, const struct api_resource *resource, struct str name,
                       const char *format, ...) _printf_(4, 5);
#define API_ERROR_MODIFIED \
    "the object has been modified; please apply your changes to the latest version and try again"
int api_error_forbidden(struct api_error *err, const struct api_resource *resource, struct str name,
                        const char *format, ...) _printf_(4, 5);
/* A path that no resource has. */
int api_error_no_resource(struct api_error *err);
int api_error_no_method(struct api_error *err);
/* 410: a list or watch from a revision that is not known any more. */
int api_error_expired(struct api_error *err, const char *format, ...) _printf_(2, 3);

/* Fields of an object that are wrong. They are collected, and api_error_invalid() makes the error of them: 0 if there
 * are none. */
enum field_fault { FIELD_REQUIRED, FIELD_INVALID, FIELD_FORBIDDEN, FIELD_DUPLICATE, FIELD_UNSUPPORTED };
/* `value` is JSON, as it stands behind "Invalid value: "; without a pointer there is none. */
void api_error_field(struct api_error *err, enum field_fault fault, const char *field, struct str value,
                     const char *detail);
int api_error_invalid(struct api_error *err, struct str group, struct str kind, struct str name);

/* The Status, appended. */
void api_error_write(const struct api_error *err, struct strbuf *out);

#endif
