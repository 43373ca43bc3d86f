/* kubeconfig_decode.c: one table per object. */
#include "client/kubeconfig_decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"

enum field_kind {
    FIELD_STRING,
    FIELD_BYTES,
    FIELD_BOOL,
    FIELD_STRING_LIST,
    FIELD_EXTRA,
    FIELD_ENV,
    FIELD_EXEC
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
};

#define FIELD(name_, kind_, type, member) { (name_), FIELD_##kind_, offsetof(type, member) }

static const struct field context_fields[] = {
    FIELD("cluster", STRING, struct kube_context, cluster),
    FIELD("user", STRING, struct kube_context, user),
    FIELD("namespace", STRING, struct kube_context, namespace),
};

static const struct field cluster_fields[] = {
    FIELD("server", STRING, struct kube_cluster, server),
    FIELD("tls-server-name", STRING, struct kube_cluster, tls_server_name),
    FIELD("insecure-skip-tls-verify", BOOL, struct kube_cluster, insecure),
    FIELD("certificate-authority", STRING, struct kube_cluster, certificate_authority),
    FIELD("certificate-authority-data", BYTES, struct kube_cluster, certificate_authority_data),
    FIELD("proxy-url", STRING, struct kube_cluster, proxy_url),
    FIELD("disable-compression", BOOL, struct kube_cluster, disable_compression),
};

static const struct field user_fields[] = {
    FIELD("client-certificate", STRING, struct kube_user, client_certificate),
    FIELD("client-certificate-data", BYTES, struct kube_user, client_certificate_data),
    FIELD("client-key", STRING, struct kube_user, client_key),
    FIELD("client-key-data", BYTES, struct kube_user, client_key_data),
    FIELD("token", STRING, struct kube_user, token),
    FIELD("tokenFile", STRING, struct kube_user, token_file),
    FIELD("as", STRING, struct kube_user, as),
    FIELD("as-uid", STRING, struct kube_user, as_uid),
    FIELD("as-groups", STRING_LIST, struct kube_user, as_groups),
    FIELD("as-user-extra", EXTRA, struct kube_user, as_extra),
    FIELD("username", STRING, struct kube_user, username),
    FIELD("password", STRING, struct kube_user, password),
    FIELD("exec", EXEC, struct kube_user, exec),
};

static const struct field exec_fields[] = {
    FIELD("apiVersion", STRING, struct kube_exec, api_version),
    FIELD("command", STRING, struct kube_exec, command),
    FIELD("args", STRING_LIST, struct kube_exec, args),
    FIELD("env", ENV, struct kube_exec, env),
    FIELD("installHint", STRING, struct kube_exec, install_hint),
    FIELD("provideClusterInfo", BOOL, struct kube_exec, provide_cluster_info),
    FIELD("interactiveMode", STRING, struct kube_exec, interactive_mode),
};

static const struct field env_fields[] = {
    FIELD("name", STRING, struct exec_env, name),
    FIELD("value", STRING, struct exec_env, value),
};

int kube_complain(const struct kube_place *at, const char *name, struct error *err, const char *format, ...)
{
    char sentence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    yyjson_val *val = name && yyjson_is_obj(at->val) ? yyjson_obj_get(at->val, name) : NULL;
    return doc_error(at->doc, val ? val : at->val, -EINVAL, err, "%s%s%s: %s", at->field,
                     name && *at->field ? "." : "", name ? name : "", sentence);
}

static int wrong_type(const struct kube_place *at, const char *name, yyjson_val *val, const char *expected,
                      struct error *err)
{
    const char *type = doc_type_name(val);
    return doc_error(at->doc, val, -EINVAL, err, "%s%s%s: expected %s, got a%s %s", at->field,
                     name && *at->field ? "." : "", name ? name : "", expected, *type == 'o' ? "n" : "",
                     type);
}

int kube_decode_string(const struct kube_place *at, const char *name, yyjson_val *val, struct arena *arena,
                       struct str *ret, struct error *err)
{
    if (!val || yyjson_is_null(val))
        return 0;
    if (!yyjson_is_str(val))
        return wrong_type(at, name, val, "a string", err);
    const char *text = yyjson_get_str(val);
    size_t len = yyjson_get_len(val);
    if (memchr(text, '\0', len))
        return kube_complain(at, name, err, "a zero byte is not allowed");
    *ret = (struct str){ arena_strndup(arena, text, len), (uint32_t)len };
    return 0;
}

static int decode_bytes(const struct kube_place *at, const char *name, yyjson_val *val, struct arena *arena,
                        struct str *ret, struct error *err)
{
    struct str text = { 0 };
    int r = kube_decode_string(at, name, val, arena, &text, err);
    if (r < 0)
        return r;
    char *bytes = arena_alloc(arena, base64_bytes_max(text.len) + 1);
    ptrdiff_t len = base64_decode(text, bytes);
    if (len < 0)
        return kube_complain(at, name, err, "is not valid base64");
    bytes[len] = '\0';
    *ret = (struct str){ bytes, (uint32_t)len };
    return 0;
}

static int decode_string_list(const struct kube_place *at, const char *name, yyjson_val *val,
                              struct arena *arena, struct str_list *ret, struct error *err)
{
    if (!yyjson_is_arr(val))
        return wrong_type(at, name, val, "a list of strings", err);
    *ret = (struct str_list){ .items = arena_array(arena, struct str, yyjson_arr_size(val)) };
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(val, i, count, item) {
        struct str *text = &ret->items[ret->len++];
        *text = STR("");
        int r = kube_decode_string(at, name, item, arena, text, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int decode_extra(const struct kube_place *at, const char *name, yyjson_val *val, struct arena *arena,
                        void *ret, struct error *err)
{
    if (!yyjson_is_obj(val))
        return wrong_type(at, name, val, "an object with lists of strings", err);
    struct user_extra *items = arena_array(arena, struct user_extra, yyjson_obj_size(val));
    size_t i, count;
    yyjson_val *key, *values;
    yyjson_obj_foreach(val, i, count, key, values) {
        int r = kube_decode_string(at, name, key, arena, &items[i].key, err);
        if (r == 0 && !yyjson_is_null(values))
            r = decode_string_list(at, name, values, arena, &items[i].values, err);
        if (r < 0)
            return r;
    }
    ((struct kube_user *)ret)->as_extra.items = items;
    ((struct kube_user *)ret)->as_extra.len = (uint32_t)yyjson_obj_size(val);
    return 0;
}

static int decode_fields(const struct kube_place *at, const struct field *fields, size_t count,
                         struct arena *arena, void *ret, struct error *err);

static int decode_env(const struct kube_place *at, const char *name, yyjson_val *val, struct arena *arena,
                      struct kube_exec *ret, struct error *err)
{
    if (!yyjson_is_arr(val))
        return wrong_type(at, name, val, "a list", err);
    ret->env.items = arena_array(arena, struct exec_env, yyjson_arr_size(val));
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(val, i, count, item) {
        struct str field = arena_printf(arena, "%s.%s[%zu]", at->field, name, i);
        struct kube_place place = { at->doc, item, field.ptr };
        struct exec_env *variable = &ret->env.items[ret->env.len++];
        int r = decode_fields(&place, env_fields, ARRAY_SIZE(env_fields), arena, variable, err);
        if (r < 0)
            return r;
        if (!variable->name.len || str_find(variable->name, '=') >= 0)
            return kube_complain(&place, "name", err, "expected the name of a variable");
        variable->value = variable->value.ptr ? variable->value : STR("");
    }
    return 0;
}

static int decode_exec(const struct kube_place *at, const char *name, yyjson_val *val, struct arena *arena,
                       struct kube_user *ret, struct error *err)
{
    struct str field = arena_printf(arena, "%s.%s", at->field, name);
    struct kube_place place = { at->doc, val, field.ptr };
    ret->exec = arena_new(arena, struct kube_exec);
    return decode_fields(&place, exec_fields, ARRAY_SIZE(exec_fields), arena, ret->exec, err);
}

/* `object` is the struct that the field is in. */
static int decode_field(const struct kube_place *at, const struct field *field, yyjson_val *val,
                        struct arena *arena, void *object, struct error *err)
{
    void *target = (char *)object + field->offset;
    switch (field->kind) {
    case FIELD_STRING:
        return kube_decode_string(at, field->name, val, arena, target, err);
    case FIELD_BYTES:
        return decode_bytes(at, field->name, val, arena, target, err);
    case FIELD_BOOL:
        if (!yyjson_is_bool(val))
            return wrong_type(at, field->name, val, "true or false", err);
        *(bool *)target = yyjson_get_bool(val);
        return 0;
    case FIELD_STRING_LIST:
        return decode_string_list(at, field->name, val, arena, target, err);
    case FIELD_EXTRA:
        return decode_extra(at, field->name, val, arena, object, err);
    case FIELD_ENV:
        return decode_env(at, field->name, val, arena, object, err);
    case FIELD_EXEC:
        return decode_exec(at, field->name, val, arena, object, err);
    }
    return 0;
}

/* Of a field that is given twice the last counts, as in Go. */
static yyjson_val *member(yyjson_val *object, const char *name)
{
    size_t i, count;
    yyjson_val *key, *val, *found = NULL;
    yyjson_obj_foreach(object, i, count, key, val) {
        if (yyjson_equals_str(key, name))
            found = val;
    }
    return found;
}

static int decode_fields(const struct kube_place *at, const struct field *fields, size_t count,
                         struct arena *arena, void *ret, struct error *err)
{
    if (!at->val || yyjson_is_null(at->val))
        return 0;
    if (!yyjson_is_obj(at->val))
        return wrong_type(at, NULL, at->val, "an object", err);
    for (size_t i = 0; i < count; i++) {
        yyjson_val *val = member(at->val, fields[i].name);
        if (!val || yyjson_is_null(val))
            continue;
        int r = decode_field(at, &fields[i], val, arena, ret, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int kube_decode_context(const struct kube_place *at, struct arena *arena, struct kube_context *ret,
                        struct error *err)
{
    *ret = (struct kube_context){ 0 };
    return decode_fields(at, context_fields, ARRAY_SIZE(context_fields), arena, ret, err);
}

/* The extension named client.authentication.k8s.io/exec, as JSON. */
static struct str exec_config(yyjson_val *cluster, struct arena *arena)
{
    size_t i, count, len;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(cluster, "extensions"), i, count, item) {
        yyjson_val *extension = yyjson_obj_get(item, "extension");
        if (!yyjson_equals_str(yyjson_obj_get(item, "name"), "client.authentication.k8s.io/exec") ||
            !extension)
            continue;
        char *text = yyjson_val_write(extension, YYJSON_WRITE_NOFLAG, &len);
        struct str copy = text ? arena_str(arena, (struct str){ text, (uint32_t)len }) : (struct str){ 0 };
        free(text);
        return copy;
    }
    return (struct str){ 0 };
}

int kube_decode_cluster(const struct kube_place *at, struct arena *arena, struct kube_cluster *ret,
                        struct str *ret_exec_config, struct error *err)
{
    *ret = (struct kube_cluster){ 0 };
    int r = decode_fields(at, cluster_fields, ARRAY_SIZE(cluster_fields), arena, ret, err);
    *ret_exec_config = r == 0 ? exec_config(at->val, arena) : (struct str){ 0 };
    return r;
}

int kube_decode_user(const struct kube_place *at, struct arena *arena, struct kube_user *ret,
                     struct error *err)
{
    *ret = (struct kube_user){ 0 };
    return decode_fields(at, user_fields, ARRAY_SIZE(user_fields), arena, ret, err);
}
