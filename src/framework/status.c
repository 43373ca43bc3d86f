/* status.c: names and texts of statuses. */
#include "framework/status.h"

const char *status_code_name(enum status_code code)
{
    static const char *const names[] = {
#define X(name, text) [STATUS_##name] = text,
        STATUS_CODES(X)
#undef X
    };
    return (size_t)code < ARRAY_SIZE(names) ? names[code] : "Unknown";
}

struct status status_printf(struct arena *arena, enum status_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str *reason = arena_new(arena, struct str);
    *reason = arena_vprintf(arena, format, args);
    va_end(args);
    return (struct status){ .code = code, .len = 1, .reasons = reason };
}

struct status status_checked(struct status status, struct arena *arena)
{
    status = status_without_missing_reasons(status);
    if ((uint32_t)status.code >= STATUS_CODES_LEN)
        return status_printf(arena, STATUS_ERROR, "%d is no verdict", (int)status.code);
    if (status.code == STATUS_ERROR && !status.len)
        return status_printf(arena, STATUS_ERROR, "failed, and does not say why");
    return status;
}

struct str status_message(struct status status, struct arena *arena)
{
    if (status.len == 1)
        return status.reasons[0];
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (uint32_t i = 0; i < status.len; i++) {
        if (i)
            strbuf_puts(&text, ", ");
        strbuf_str(&text, status.reasons[i]);
    }
    return arena_str(arena, strbuf_slice(&text));
}

struct status status_copy(struct status from, struct arena *arena)
{
    struct status copy = from;
    struct str *reasons = arena_array(arena, struct str, from.len);
    for (uint32_t i = 0; i < from.len; i++)
        reasons[i] = arena_str(arena, from.reasons[i]);
    copy.reasons = reasons;
    return copy;
}

bool status_eq(struct status a, struct status b)
{
    if (a.code != b.code || a.plugin != b.plugin || a.len != b.len)
        return false;
    if (a.reasons == b.reasons)
        return true;
    for (uint32_t i = 0; i < a.len; i++)
        if (!str_eq(a.reasons[i], b.reasons[i]))
            return false;
    return true;
}
