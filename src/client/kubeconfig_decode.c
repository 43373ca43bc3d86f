/* kubeconfig_decode.c: one table per object. */
#include "client/kubeconfig_decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "codec/record_rows.h"

#define T struct kube_context
static const struct record_field context_fields[] = {
    F("cluster", 0, STR, cluster),
    F("user", 0, STR, user),
    F("namespace", 0, STR, namespace),
};
TYPE(context)
#undef T

#define T struct kube_cluster
static const struct record_field cluster_fields[] = {
    F("server", 0, STR, server),
    F("tls-server-name", 0, STR, tls_server_name),
    F("insecure-skip-tls-verify", 0, BOOL, insecure),
    F("certificate-authority", 0, STR, certificate_authority),
    F("certificate-authority-data", 0, BYTES, certificate_authority_data),
    F("proxy-url", 0, STR, proxy_url),
    F("disable-compression", 0, BOOL, disable_compression),
};
TYPE(cluster)
#undef T

#define T struct exec_env
static const struct record_field env_fields[] = {
    F("name", 0, STR, name),
    F("value", 0, STR, value),
};
TYPE(env)
#undef T

#define T struct kube_exec
static const struct record_field exec_fields[] = {
    F("apiVersion", 0, STR, api_version),
    F("command", 0, STR, command),
    F("args", 0, STRS, args),
    F_LIST("env", 0, env, env),
    F("installHint", 0, STR, install_hint),
    F("provideClusterInfo", 0, BOOL, provide_cluster_info),
    F("interactiveMode", 0, STR, interactive_mode),
};
TYPE(exec)
#undef T

typedef struct user_extras record_c_EXTRAS;
static const struct record_kind record_EXTRAS = RECORD_MAP_OF(STRS, struct user_extra, values);

#define T struct kube_user
static const struct record_field user_fields[] = {
    F("client-certificate", 0, STR, client_certificate),
    F("client-certificate-data", 0, BYTES, client_certificate_data),
    F("client-key", 0, STR, client_key),
    F("client-key-data", 0, BYTES, client_key_data),
    F("token", 0, STR, token),
    F("tokenFile", 0, STR, token_file),
    F("as", 0, STR, as),
    F("as-uid", 0, STR, as_uid),
    F("as-groups", 0, STRS, as_groups),
    F("as-user-extra", 0, EXTRAS, as_extra),
    F("username", 0, STR, username),
    F("password", 0, STR, password),
    F_PTR("exec", 0, exec, exec),
};
TYPE(user)
#undef T

static struct record_reader reader_of(const struct kube_place *at, struct arena *arena, struct error *err)
{
    return (struct record_reader){ .arena = arena,
                                   .keep = arena_str,
                                   .err = err,
                                   .doc = at->doc,
                                   .mode = RECORD_SECRET | RECORD_C_STRINGS };
}

int kube_complain(const struct kube_place *at, const char *name, struct error *err, const char *format, ...)
{
    char sentence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    struct record_reader reader = reader_of(at, NULL, err);
    yyjson_val *val = name && yyjson_is_obj(at->val) ? yyjson_obj_get(at->val, name) : NULL;
    const struct path *path = *at->field ? PATH_FIELD(NULL, at->field) : NULL;
    return record_complain(&reader, name ? PATH_FIELD(path, name) : path, val ? val : at->val, "%s",
                           sentence);
}

int kube_decode_string(const struct kube_place *at, const char *name, yyjson_val *val, struct arena *arena,
                       struct str *ret, struct error *err)
{
    struct record_reader reader = reader_of(at, arena, err);
    const struct path *path = *at->field ? PATH_FIELD(NULL, at->field) : NULL;
    return val && !yyjson_is_null(val) ? record_read_str(&reader, PATH_FIELD(path, name), val, ret) : 0;
}

static int decode(const struct kube_place *at, const struct record_type *type, struct arena *arena, void *ret,
                  struct error *err)
{
    struct record_reader reader = reader_of(at, arena, err);
    memset(ret, 0, type->size);
    return record_read(&reader, PATH_FIELD(NULL, at->field), at->val, type, ret);
}

int kube_decode_context(const struct kube_place *at, struct arena *arena, struct kube_context *ret,
                        struct error *err)
{
    return decode(at, &context_type, arena, ret, err);
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
    int r = decode(at, &cluster_type, arena, ret, err);
    *ret_exec_config = r == 0 ? exec_config(at->val, arena) : (struct str){ 0 };
    return r;
}

int kube_decode_user(const struct kube_place *at, struct arena *arena, struct kube_user *ret,
                     struct error *err)
{
    int r = decode(at, &user_type, arena, ret, err);
    for (uint32_t i = 0; r == 0 && ret->exec && i < ret->exec->env.len; i++) {
        struct exec_env *variable = &ret->exec->env.items[i];
        struct str field = arena_printf(arena, "%s.exec.env[%u]", at->field, i);
        if (!variable->name.len || str_find(variable->name, '=') >= 0)
            r = kube_complain(&(struct kube_place){ at->doc, at->val, field.ptr }, "name", err,
                              "expected the name of a variable");
        variable->value = variable->value.ptr ? variable->value : STR("");
    }
    return r;
}
