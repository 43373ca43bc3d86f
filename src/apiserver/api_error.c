/* api_error.c: metav1.Status of failures. The order of its fields is Go's. */
#include "apiserver/api_error.h"

#include "codec/json_writer.h"

void api_error_release(struct api_error *err)
{
    vec_release(&err->causes);
    arena_release(&err->arena);
}

void api_error_clear(struct api_error *err)
{
    api_error_release(err);
    *err = (struct api_error){ 0 };
}

static void set_text(struct api_error *err, int code, const char *reason, const char *format, va_list args)
{
    err->code = code;
    err->reason = reason;
    err->message = arena_vprintf(&err->arena, format, args);
}

int api_error_set(struct api_error *err, int code, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(err, code, reason, format, args);
    va_end(args);
    return -code;
}

int api_error_bad_request(struct api_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(err, 400, "BadRequest", format, args);
    va_end(args);
    return -400;
}

/* The details name the resource by its plural. */
static void set_subject(struct api_error *err, const struct api_resource *resource, struct str name)
{
    err->has_details = true;
    err->name = arena_str(&err->arena, name);
    err->group = arena_str(&err->arena, resource->group);
    err->kind = arena_str(&err->arena, resource->plural);
}

/* "pods "a"". */
static struct str subject_text(struct api_error *err, const struct api_resource *resource, struct str name)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    resource_write_name(resource, &text);
    if (name.len)
        strbuf_printf(&text, " \"" STR_FMT "\"", STR_ARG(name));
    return arena_str(&err->arena, strbuf_slice(&text));
}

int api_error_not_found(struct api_error *err, const struct api_resource *resource, struct str name)
{
    set_subject(err, resource, name);
    struct str subject = subject_text(err, resource, name);
    return api_error_set(err, 404, "NotFound", STR_FMT " not found", STR_ARG(subject));
}

int api_error_exists(struct api_error *err, const struct api_resource *resource, struct str name)
{
    set_subject(err, resource, name);
    struct str subject = subject_text(err, resource, name);
    return api_error_set(err, 409, "AlreadyExists", STR_FMT " already exists", STR_ARG(subject));
}

int api_error_conflict(struct api_error *err, const struct api_resource *resource, struct str name,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str detail = arena_vprintf(&err->arena, format, args);
    va_end(args);
    set_subject(err, resource, name);
    struct str subject = subject_text(err, resource, name);
    return api_error_set(err, 409, "Conflict", "Operation cannot be fulfilled on " STR_FMT ": " STR_FMT,
                         STR_ARG(subject), STR_ARG(detail));
}

int api_error_forbidden(struct api_error *err, const struct api_resource *resource, struct str name,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str detail = arena_vprintf(&err->arena, format, args);
    va_end(args);
    set_subject(err, resource, name);
    struct str subject = subject_text(err, resource, name);
    return api_error_set(err, 403, "Forbidden", STR_FMT " is forbidden: " STR_FMT, STR_ARG(subject),
                         STR_ARG(detail));
}

int api_error_no_resource(struct api_error *err)
{
    err->has_details = true;
    return api_error_set(err, 404, "NotFound", "the server could not find the requested resource");
}

int api_error_no_method(struct api_error *err)
{
    err->has_details = true;
    return api_error_set(err, 405, "MethodNotAllowed",
                         "the server does not allow this method on the requested resource");
}

int api_error_expired(struct api_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(err, 410, "Expired", format, args);
    va_end(args);
    return -410;
}

/* ---- fields ---- */
static const struct {
    const char *reason, *text;
} faults[] = {
    [FIELD_REQUIRED] = { "FieldValueRequired", "Required value" },
    [FIELD_INVALID] = { "FieldValueInvalid", "Invalid value" },
    [FIELD_FORBIDDEN] = { "FieldValueForbidden", "Forbidden" },
    [FIELD_DUPLICATE] = { "FieldValueDuplicate", "Duplicate value" },
    [FIELD_UNSUPPORTED] = { "FieldValueNotSupported", "Unsupported value" },
};

void api_error_field(struct api_error *err, enum field_fault fault, const char *field, struct str value,
                     const char *detail)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_puts(&text, faults[fault].text);
    if (value.ptr) {
        strbuf_puts(&text, ": ");
        strbuf_str(&text, value);
    }
    if (*detail)
        strbuf_printf(&text, ": %s", detail);
    *vec_push(&err->causes) = (struct api_cause){ .reason = faults[fault].reason,
                                                  .message = arena_str(&err->arena, strbuf_slice(&text)),
                                                  .field = arena_str(&err->arena, str_from(field)) };
}

int api_error_invalid(struct api_error *err, struct str group, struct str kind, struct str name)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (!err->causes.len)
        return 0;
    strbuf_str(&text, kind);
    if (group.len)
        strbuf_printf(&text, "." STR_FMT, STR_ARG(group));
    strbuf_printf(&text, " \"" STR_FMT "\" is invalid: %s", STR_ARG(name), err->causes.len > 1 ? "[" : "");
    for (size_t i = 0; i < err->causes.len; i++)
        strbuf_printf(&text, "%s" STR_FMT ": " STR_FMT, i ? ", " : "", STR_ARG(err->causes.items[i].field),
                      STR_ARG(err->causes.items[i].message));
    strbuf_puts(&text, err->causes.len > 1 ? "]" : "");
    err->has_details = true;
    err->name = arena_str(&err->arena, name);
    err->group = arena_str(&err->arena, group);
    err->kind = arena_str(&err->arena, kind);
    return api_error_set(err, 422, "Invalid", STR_FMT, STR_ARG(strbuf_slice(&text)));
}

/* ---- the Status ---- */
static void member_unless_empty(struct json_writer *json, const char *key, struct str value)
{
    if (value.len)
        json_member_str(json, key, value);
}

static void write_details(const struct api_error *err, struct json_writer *json)
{
    json_member_object(json, "details");
    member_unless_empty(json, "name", err->name);
    member_unless_empty(json, "group", err->group);
    member_unless_empty(json, "kind", err->kind);
    member_unless_empty(json, "uid", err->uid);
    if (err->causes.len) {
        json_member_array(json, "causes");
        vec_for(&err->causes, cause) {
            json_begin_object(json);
            member_unless_empty(json, "reason", str_from(cause->reason));
            member_unless_empty(json, "message", cause->message);
            member_unless_empty(json, "field", cause->field);
            json_end_object(json);
        }
        json_end_array(json);
    }
    if (err->retry_after_s)
        json_member_int(json, "retryAfterSeconds", err->retry_after_s);
    json_end_object(json);
}

void api_error_write(const struct api_error *err, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("Status"));
    json_member_str(&json, "apiVersion", STR("v1"));
    json_member_object(&json, "metadata");
    json_end_object(&json);
    json_member_str(&json, "status", STR("Failure"));
    json_member_str(&json, "message", err->message);
    if (err->reason)
        json_member_str(&json, "reason", str_from(err->reason));
    if (err->has_details || err->causes.len || err->retry_after_s)
        write_details(err, &json);
    json_member_int(&json, "code", err->code);
    json_end_object(&json);
}
