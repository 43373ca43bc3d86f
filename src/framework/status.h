/* status.h: what a plugin answers is a status, not an error.
 *
 * Reasons are static text or live in the cycle's arena; a status is passed by value and owns nothing. */
#ifndef FRAMEWORK_STATUS_H
#define FRAMEWORK_STATUS_H

#include "base/arena.h"
#include "base/str.h"

#define STATUS_CODES(X) \
    X(SUCCESS, "Success") \
    X(ERROR, "Error") \
    X(UNSCHEDULABLE, "Unschedulable") \
    X(UNRESOLVABLE, "UnschedulableAndUnresolvable") \
    X(WAIT, "Wait") \
    X(SKIP, "Skip") \
    X(PENDING, "Pending")

enum status_code {
#define X(name, text) STATUS_##name,
    STATUS_CODES(X)
#undef X
        STATUS_CODES_LEN
};

struct plugin;

struct status {
    enum status_code code;
    uint32_t len;
    const struct str *reasons;
    const struct plugin *plugin; /* whose status it is; set by the framework */
};

#define STATUS_OK ((struct status){ .code = STATUS_SUCCESS })
#define STATUS_SKIPPED ((struct status){ .code = STATUS_SKIP })
#define STATUS_WAITING ((struct status){ .code = STATUS_WAIT })

/* A status with one reason that is a string literal. */
#define reject(code_, literal) \
    ({ \
        static const struct str reason_[] = { STR(literal) }; \
        (struct status){ .code = (code_), .len = 1, .reasons = reason_ }; \
    })

const char *status_code_name(enum status_code code);
/* A status with one reason made by printf in the arena. */
struct status status_printf(struct arena *arena, enum status_code code, const char *format, ...)
    _printf_(3, 4);
/* The status of a plugin, checked: a plugin from a shared object may return anything. A status without reasons, or with
 * an unknown code, becomes an error that says so. */
struct status status_checked(struct status status, struct arena *arena);
/* The reasons joined with ", " as the reference's Message() does. */
struct str status_message(struct status status, struct arena *arena);

/* With all texts, in the arena. */
struct status status_copy(struct status from, struct arena *arena);
bool status_eq(struct status a, struct status b);

/* Without the count of reasons where there are none. */
static inline struct status status_without_missing_reasons(struct status status)
{
    if (!status.reasons)
        status.len = 0;
    return status;
}

static inline bool status_ok(struct status status)
{
    return status.code == STATUS_SUCCESS;
}

/* Unschedulable, UnschedulableAndUnresolvable or Pending: the pod waits, nothing is broken. */
static inline bool status_rejected(struct status status)
{
    return status.code == STATUS_UNSCHEDULABLE || status.code == STATUS_UNRESOLVABLE ||
           status.code == STATUS_PENDING;
}

#endif
