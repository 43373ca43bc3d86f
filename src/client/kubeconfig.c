/* kubeconfig.c: files merged, a context chosen, its cluster and user checked; or the service account instead.
 *
 *     files ──read_file()──▶ entries by name (the first of a name wins) ──choose()──▶ context ─▶ cluster, user
 *
 * Tables decode it all, as forgiving as client-go: unknown fields are ignored, null is absence. Types are not forgiven.
 * Only what the chosen context names is decoded: a broken entry that is not used does no harm. */
#include "client/kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "codec/doc.h"
#include "codec/record_rows.h"
#include "net/file.h"
#include "net/tls.h"

enum { FILES_MAX = 64, SMALL_FILE_BYTES_MAX = 1 << 20, WARNINGS_MAX = 20 };

static const char service_account_dir[] = "/var/run/secrets/kubernetes.io/serviceaccount";

/* ---- tables ---- */

struct kube_context {
    struct str cluster, user, namespace;
};

#define T struct kube_context
static const struct record_field kube_context_fields[] = {
    F("cluster", 0, STR, cluster),
    F("user", 0, STR, user),
    F("namespace", 0, STR, namespace),
};
TYPE(kube_context)
#undef T

#define T struct kube_cluster
static const struct record_field kube_cluster_fields[] = {
    F("server", 0, STR, server),
    F("tls-server-name", 0, STR, tls_server_name),
    F("insecure-skip-tls-verify", 0, BOOL, insecure),
    F("certificate-authority", 0, STR, certificate_authority),
    F("certificate-authority-data", 0, BYTES, certificate_authority_data),
    F("proxy-url", 0, STR, proxy_url),
    F("disable-compression", 0, BOOL, disable_compression),
};
TYPE_SHARED(kube_cluster)
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
static const struct record_field kube_user_fields[] = {
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
TYPE(kube_user)
#undef T

enum section { CLUSTERS, USERS, CONTEXTS, SECTIONS };

/* "clusters" holds { name, cluster }, and so on. */
static const char *const lists[SECTIONS] = { "clusters", "users", "contexts" };
static const char *const members[SECTIONS] = { "cluster", "user", "context" };

struct entry {
    struct str name;
    yyjson_val *objects[SECTIONS]; /* that of its own section counts */
    /* Where it stands. */
    const struct config_file *file;
    enum section section;
    uint32_t index;
};

#define T struct entry
static const struct record_field entry_fields[] = {
    F("name", 0, STR, name),
    F("cluster", 0, VALUE, objects[CLUSTERS]),
    F("user", 0, VALUE, objects[USERS]),
    F("context", 0, VALUE, objects[CONTEXTS]),
};
TYPE(entry)
#undef T

struct config_file {
    const char *path;
    struct doc_stream stream;
    struct doc doc;
    struct str api_version, kind, current_context;
    LIST(struct entry) sections[SECTIONS];
};

#define T struct config_file
static const struct record_field file_fields[] = {
    F("apiVersion", 0, STR, api_version),          F("kind", 0, STR, kind),
    F("current-context", 0, STR, current_context), F_LIST("clusters", 0, sections[CLUSTERS], entry),
    F_LIST("users", 0, sections[USERS], entry),    F_LIST("contexts", 0, sections[CONTEXTS], entry),
};
TYPE(file)
#undef T

struct loader {
    struct arena *arena;
    struct warnings *warnings;
    struct error *err;
    VEC(struct config_file *) files;
};

static void loader_release(struct loader *loader)
{
    vec_for(&loader->files, file) {
        doc_release(&(*file)->doc);
        doc_stream_release(&(*file)->stream);
        free(*file);
    }
    vec_release(&loader->files);
}

_printf_(2, 3) static void warn(struct loader *loader, const char *format, ...)
{
    if (!loader->warnings || loader->warnings->list.len >= WARNINGS_MAX)
        return;
    va_list args;
    va_start(args, format);
    *vec_push(&loader->warnings->list) = arena_vprintf(loader->arena, format, args);
    va_end(args);
}

/* No sentence repeats a value. */
static struct record_reader reader_of(const struct loader *loader, const struct config_file *file)
{
    return (struct record_reader){ .arena = loader->arena,
                                   .keep = arena_str,
                                   .err = loader->err,
                                   .doc = &file->doc,
                                   .mode = RECORD_SECRET | RECORD_C_STRINGS };
}

/* "users[3].user" */
#define ENTRY_PATH(entry) \
    PATH_FIELD(PATH_INDEX(PATH_FIELD(NULL, lists[(entry)->section]), (entry)->index), \
               members[(entry)->section])

/* About a field of the entry's object, "users[3].user.token: ..."; NULL: about the object. */
_printf_(4, 5) static int complain(const struct loader *loader, const struct entry *entry, const char *field,
                                   const char *format, ...)
{
    char sentence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    struct record_reader reader = reader_of(loader, entry->file);
    const struct path *path = ENTRY_PATH(entry);
    path = field ? PATH_FIELD(path, field) : path;
    return record_complain(&reader, path, path_resolve(entry->file->doc.root, path), "%s", sentence);
}

/* The first one of that name, or NULL. */
static const struct entry *find_entry(const struct loader *loader, enum section section, struct str name)
{
    vec_for(&loader->files, file)
        list_for(&(*file)->sections[section], entry)
            if (str_eq(entry->name, name))
                return entry;
    return NULL;
}

/* The object of an entry. */
static int decode(const struct loader *loader, const struct entry *entry, const struct record_type *type,
                  void *ret)
{
    struct record_reader reader = reader_of(loader, entry->file);
    return record_read(&reader, ENTRY_PATH(entry), entry->objects[entry->section], type, ret);
}

/* ---- reading ---- */

static int place_entries(struct loader *loader, struct config_file *file, enum section section)
{
    struct record_reader reader = reader_of(loader, file);
    for (uint32_t i = 0; i < file->sections[section].len; i++) {
        struct entry *entry = &file->sections[section].items[i];
        entry->file = file;
        entry->section = section;
        entry->index = i;
        const struct entry *same = find_entry(loader, section, entry->name);
        if (same == entry || same->file != file)
            continue;
        const struct path *path = PATH_FIELD(PATH_INDEX(PATH_FIELD(NULL, lists[section]), i), "name");
        return record_complain(&reader, path, path_resolve(file->doc.root, path),
                               "\"" STR_FMT "\" is given twice", STR_ARG(entry->name));
    }
    return 0;
}

static int read_document(struct loader *loader, struct config_file *file)
{
    struct record_reader reader = reader_of(loader, file);
    yyjson_val *root = file->doc.root;
    if (!yyjson_is_obj(root))
        return doc_error(&file->doc, root, -EINVAL, loader->err, "expected a kubeconfig, got a %s",
                         doc_type_name(root));
    int r = record_read(&reader, NULL, root, &file_type, file);
    if (r < 0)
        return r;
    if (file->api_version.len && !str_is(file->api_version, "v1"))
        return record_complain(&reader, PATH_FIELD(NULL, "apiVersion"), yyjson_obj_get(root, "apiVersion"),
                               "expected v1");
    if (file->kind.len && !str_is(file->kind, "Config"))
        return record_complain(&reader, PATH_FIELD(NULL, "kind"), yyjson_obj_get(root, "kind"),
                               "expected Config");
    for (int i = 0; i < SECTIONS && r == 0; i++)
        r = place_entries(loader, file, (enum section)i);
    return r;
}

/* Cuts what the sentence quotes from the file: the name of an anchor that is none, as in "password: *x", is a
 * secret. */
static void drop_quotation(struct error *err, const char *path)
{
    size_t skip = strncmp(err->text, path, strlen(path)) == 0 ? strlen(path) : 0;
    char *sentence = err->text + MIN(skip, strlen(err->text));
    sentence[strcspn(sentence, "'")] = '\0';
}

static int read_file(struct loader *loader, const char *path)
{
    struct config_file *file = xcalloc(1, sizeof(*file));
    *vec_push(&loader->files) = file;
    file->path = path;
    int r = doc_stream_open_secret(&file->stream, path, loader->err);
    if (r < 0)
        return r;
    r = doc_stream_next(&file->stream, &file->doc, loader->err);
    if (r < 0)
        drop_quotation(loader->err, path);
    return r <= 0 ? r : read_document(loader, file);
}

/* The files of a list such as "a:b". Those that are not there are skipped. */
static int read_list(struct loader *loader, const char *list)
{
    struct str rest = str_from(list);
    while (rest.len) {
        ptrdiff_t colon = str_find(rest, ':');
        size_t end = colon < 0 ? rest.len : (size_t)colon;
        struct str path = arena_str(loader->arena, str_slice(rest, 0, end));
        rest = str_slice(rest, MIN(end + 1, (size_t)rest.len), rest.len);
        if (!path.len || (access(path.ptr, F_OK) < 0 && errno == ENOENT))
            continue;
        if (loader->files.len == FILES_MAX)
            return error_set(loader->err, -EINVAL, "more than %d kubeconfig files", FILES_MAX);
        int r = read_file(loader, path.ptr);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- paths ---- */

/* Below the folder of the file that names it, unless absolute. */
static struct str resolve(struct loader *loader, const struct entry *entry, struct str path)
{
    if (!path.len || path.ptr[0] == '/')
        return path;
    struct str file = str_from(entry->file->path);
    ptrdiff_t slash = str_rfind(file, '/');
    struct str folder = slash < 0 ? STR("") : str_slice(file, 0, (size_t)slash + 1);
    char *here = file.len && file.ptr[0] == '/' ? NULL : getcwd(NULL, 0);
    struct str absolute = arena_printf(loader->arena, "%s%s" STR_FMT STR_FMT, here ? here : "",
                                       here ? "/" : "", STR_ARG(folder), STR_ARG(path));
    free(here);
    return absolute;
}

/* ---- checking ---- */

static int check_file(const struct loader *loader, const struct entry *entry, const char *field,
                      struct str path)
{
    if (!path.len || access(path.ptr, R_OK) == 0)
        return 0;
    return complain(loader, entry, field, "cannot read %s: %s", path.ptr, strerror(errno));
}

static int check_proxy(const struct loader *loader, const struct entry *entry, struct str url)
{
    static const char *const schemes[] = { "http://", "https://", "socks5://" };
    if (!url.len)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
        if (strncasecmp(url.ptr, schemes[i], strlen(schemes[i])) == 0)
            return 0;
    return complain(loader, entry, "proxy-url", "expected a URL with http, https or socks5");
}

static int check_cluster(struct loader *loader, const struct entry *entry, struct kube_cluster *cluster)
{
    bool has_file = cluster->certificate_authority.len, has_data = cluster->certificate_authority_data.len;
    if (has_file && has_data)
        return complain(loader, entry, "certificate-authority",
                        "certificate-authority-data is given as well");
    if (cluster->insecure && (has_file || has_data))
        return complain(loader, entry, "insecure-skip-tls-verify",
                        "a certificate authority is given as well");
    cluster->certificate_authority = resolve(loader, entry, cluster->certificate_authority);
    int r = check_file(loader, entry, "certificate-authority", cluster->certificate_authority);
    return r < 0 ? r : check_proxy(loader, entry, cluster->proxy_url);
}

static int check_certificate(const struct loader *loader, const struct entry *entry,
                             const struct kube_user *user)
{
    bool has_file = user->client_certificate.len, has_data = user->client_certificate_data.len;
    bool has_key = user->client_key.len, has_key_data = user->client_key_data.len;
    if (!has_file && !has_data)
        return 0;
    if (has_file && has_data)
        return complain(loader, entry, "client-certificate", "client-certificate-data is given as well");
    if (has_key && has_key_data)
        return complain(loader, entry, "client-key", "client-key-data is given as well");
    if (!has_key && !has_key_data)
        return complain(loader, entry, NULL, "a client certificate needs client-key or client-key-data");
    int r = check_file(loader, entry, "client-certificate", user->client_certificate);
    return r < 0 ? r : check_file(loader, entry, "client-key", user->client_key);
}

static int check_exec(const struct loader *loader, const struct entry *entry, struct kube_exec *exec)
{
    static const char *const modes[] = {
        [EXEC_INTERACTIVE_NEVER] = "Never",
        [EXEC_INTERACTIVE_IF_AVAILABLE] = "IfAvailable",
        [EXEC_INTERACTIVE_ALWAYS] = "Always",
    };
    for (uint32_t i = 0; i < exec->env.len; i++)
        if (!exec->env.items[i].name.len || str_find(exec->env.items[i].name, '=') >= 0)
            return complain(loader, entry, arena_printf(loader->arena, "exec.env[%u].name", i).ptr,
                            "expected the name of a variable");
    if (!exec->command.len)
        return complain(loader, entry, "exec", "command is missing");
    bool is_beta = str_is(exec->api_version, "client.authentication.k8s.io/v1beta1");
    if (!is_beta && !str_is(exec->api_version, "client.authentication.k8s.io/v1"))
        return complain(loader, entry, "exec",
                        "expected an apiVersion of client.authentication.k8s.io/v1 or v1beta1");
    for (int mode = EXEC_INTERACTIVE_NEVER; mode <= EXEC_INTERACTIVE_ALWAYS; mode++)
        if (str_is(exec->interactive_mode, modes[mode]))
            exec->interactive = (enum exec_interactive)mode;
    if (!exec->interactive_mode.len && is_beta)
        exec->interactive = EXEC_INTERACTIVE_IF_AVAILABLE;
    if (exec->interactive == EXEC_INTERACTIVE_UNSET)
        return complain(loader, entry, "exec", "expected an interactiveMode of Never, IfAvailable or Always");
    return 0;
}

static int check_user(struct loader *loader, const struct entry *entry, struct kube_user *user)
{
    yyjson_val *provider = yyjson_obj_get(entry->objects[USERS], "auth-provider");
    if (provider && !yyjson_is_null(provider))
        return complain(loader, entry, "auth-provider",
                        "auth providers are not supported; use a credential program (exec)");
    user->client_certificate = resolve(loader, entry, user->client_certificate);
    user->client_key = resolve(loader, entry, user->client_key);
    user->token_file = resolve(loader, entry, user->token_file);
    if (user->exec && str_find(user->exec->command, '/') >= 0)
        user->exec->command = resolve(loader, entry, user->exec->command);
    if (user->token.len && (user->username.len || user->password.len))
        return complain(loader, entry, NULL, "token and username or password exclude each other");
    if (!user->as.len && (user->as_uid.len || user->as_groups.len || user->as_extra.len))
        return complain(loader, entry, NULL, "as-uid, as-groups and as-user-extra need as");
    int r = check_certificate(loader, entry, user);
    if (r == 0 && !user->token.len)
        r = check_file(loader, entry, "tokenFile", user->token_file);
    return r == 0 && user->exec ? check_exec(loader, entry, user->exec) : r;
}

/* Splits off what a base URL cannot have, and says whether it is safe to send credentials there. */
static int normalise_server(struct str *server, struct arena *arena, bool *ret_https)
{
    struct str url = *server;
    for (uint32_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 0x7f)
            return -EINVAL;
    const char *colon = strstr(url.ptr, "://");
    if (!colon) {
        /* A bare host:port has no path. */
        ptrdiff_t slash = str_find(url, '/');
        if (slash >= 0 && (uint32_t)slash + 1 != url.len)
            return -EINVAL;
        url = arena_printf(arena, "http://" STR_FMT, STR_ARG(url));
        colon = url.ptr + 4;
    }
    *ret_https = colon - url.ptr == 5 && strncasecmp(url.ptr, "https", 5) == 0;
    if (!*ret_https && !(colon - url.ptr == 4 && strncasecmp(url.ptr, "http", 4) == 0))
        return -EINVAL;
    size_t end = (size_t)(colon + 3 - url.ptr) + strcspn(colon + 3, "?#");
    while (end > (size_t)(colon + 3 - url.ptr) && url.ptr[end - 1] == '/')
        end--;
    if (end == (size_t)(colon + 3 - url.ptr))
        return -EINVAL;
    *server = arena_str(arena, str_slice(url, 0, end));
    return 0;
}

/* ---- in a pod ---- */

static int in_cluster(struct loader *loader, const struct kube_source *source, struct kube_access *ret)
{
    const char *dir = source->service_account_dir && *source->service_account_dir
                          ? source->service_account_dir
                          : service_account_dir;
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    if (!host || !*host || !port || !*port)
        return error_set(loader->err, -ENOENT,
                         "no cluster to talk to: give --kubeconfig, or run in a pod "
                         "(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)");
    *ret = (struct kube_access){ .in_cluster = true, .https = true };
    ret->cluster.server =
        arena_printf(loader->arena, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
    bool https;
    if (normalise_server(&ret->cluster.server, loader->arena, &https) < 0)
        return error_set(loader->err, -EINVAL,
                         "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT make no valid address");
    ret->user.token_file = arena_printf(loader->arena, "%s/token", dir);
    _cleanup_(strbuf_release) struct strbuf text = { .secret = true };
    int r = file_read(ret->user.token_file.ptr, SMALL_FILE_BYTES_MAX, &text, loader->err);
    if (r < 0)
        return r;
    struct str ca = arena_printf(loader->arena, "%s/ca.crt", dir);
    struct tls_options trust = { .ca_file = ca.ptr };
    struct tls_config *tls = NULL;
    struct error why;
    if (tls_config_new(&trust, &tls, &why) < 0)
        warn(loader, "the service account's authority is not usable, the system's are trusted instead: %s",
             why.text);
    else
        ret->cluster.certificate_authority = ca;
    tls_config_unref(tls);
    strbuf_clear(&text);
    struct str namespace = arena_printf(loader->arena, "%s/namespace", dir);
    if (file_read(namespace.ptr, SMALL_FILE_BYTES_MAX, &text, NULL) == 0 && text.len)
        ret->namespace =
            arena_str(loader->arena, (struct str){ text.text, (uint32_t)strcspn(text.text, " \r\n") });
    return 0;
}

/* ---- choosing ---- */

static int choose_context(struct loader *loader, const struct kube_source *source, struct kube_context *ret)
{
    const struct config_file *from = NULL; /* that names the current context */
    *ret = (struct kube_context){ 0 };
    bool is_given = source->context && *source->context;
    for (size_t i = 0; !is_given && !from && i < loader->files.len; i++)
        from = loader->files.items[i]->current_context.len ? loader->files.items[i] : NULL;
    if (!is_given && !from)
        return 0;
    struct str name = is_given ? str_from(source->context) : from->current_context;
    const struct entry *entry = find_entry(loader, CONTEXTS, name);
    if (entry)
        return decode(loader, entry, &kube_context_type, ret);
    if (is_given)
        return error_set(loader->err, -ENOENT, "the context \"" STR_FMT "\" is not in the kubeconfig",
                         STR_ARG(name));
    struct record_reader reader = reader_of(loader, from);
    return record_complain(&reader, PATH_FIELD(NULL, "current-context"),
                           yyjson_obj_get(from->doc.root, "current-context"),
                           "the context \"" STR_FMT "\" is not in the kubeconfig", STR_ARG(name));
}

static int choose_user(struct loader *loader, struct str name, struct kube_user *ret)
{
    const struct entry *entry = find_entry(loader, USERS, name);
    *ret = (struct kube_user){ 0 };
    if (!entry) {
        if (name.len)
            warn(loader, "the user \"" STR_FMT "\" is not in the kubeconfig: going on without credentials",
                 STR_ARG(name));
        return 0;
    }
    int r = decode(loader, entry, &kube_user_type, ret);
    return r < 0 ? r : check_user(loader, entry, ret);
}

/* The extension named client.authentication.k8s.io/exec, as JSON. */
static struct str exec_config(yyjson_val *cluster, struct arena *arena)
{
    size_t i, count, len;
    yyjson_val *item;
    yyjson_arr_foreach(doc_items(yyjson_obj_get(cluster, "extensions")), i, count, item) {
        yyjson_val *extension = yyjson_obj_get(item, "extension");
        if (!yyjson_equals_str(yyjson_obj_get(item, "name"), "client.authentication.k8s.io/exec") ||
            !extension)
            continue;
        char *text = yyjson_val_write(extension, YYJSON_WRITE_NOFLAG, &len);
        struct str copy = text ? arena_str(arena, (struct str){ text, (uint32_t)len }) : (struct str){ 0 };
        secret_free(text);
        return copy;
    }
    return (struct str){ 0 };
}

static int choose_cluster(struct loader *loader, struct str name, const char *master, struct kube_access *ret)
{
    const struct entry *entry = find_entry(loader, CLUSTERS, name);
    int r = entry ? decode(loader, entry, &kube_cluster_type, &ret->cluster) : 0;
    if (r == 0 && entry)
        r = check_cluster(loader, entry, &ret->cluster);
    if (r < 0)
        return r;
    if (ret->user.exec && entry)
        ret->user.exec->cluster_config = exec_config(entry->objects[CLUSTERS], loader->arena);
    if (*master) {
        ret->cluster.server = arena_str(loader->arena, str_from(master));
        ret->cluster.tls_server_name = (struct str){ 0 }; /* it was that of another server */
    }
    if (!ret->cluster.server.len)
        return -ENODATA;
    if (normalise_server(&ret->cluster.server, loader->arena, &ret->https) == 0)
        return 0;
    return *master || !entry
               ? error_set(loader->err, -EINVAL, "--master: expected host:port or an http or https URL")
               : complain(loader, entry, "server", "expected host:port or an http or https URL");
}

/* Nothing secret goes over a connection without TLS. */
static void drop_credentials(struct kube_access *access)
{
    struct kube_user all = access->user;
    access->user = (struct kube_user){
        .as = all.as, .as_uid = all.as_uid, .as_groups = all.as_groups, .as_extra = all.as_extra
    };
    struct kube_cluster cluster = access->cluster;
    access->cluster = (struct kube_cluster){ .server = cluster.server,
                                             .proxy_url = cluster.proxy_url,
                                             .disable_compression = cluster.disable_compression };
}

static int choose(struct loader *loader, const struct kube_source *source, struct kube_access *ret)
{
    const char *master = source->master ? source->master : "";
    struct kube_context context;
    *ret = (struct kube_access){ 0 };
    int r = choose_context(loader, source, &context);
    if (r == 0)
        r = choose_user(loader, context.user, &ret->user);
    if (r == 0)
        r = choose_cluster(loader, context.cluster, master, ret);
    if (r == -ENODATA) {
        const char *file = loader->files.len ? loader->files.items[0]->path : "the kubeconfig";
        struct error why;
        /* An empty file in a pod means the pod's own account. */
        if (in_cluster(&(struct loader){ .arena = loader->arena, .err = &why, .warnings = loader->warnings },
                       source, ret) == 0)
            return 0;
        return context.cluster.len
                   ? error_set(loader->err, -ENOENT, "%s: there is no server for the cluster \"" STR_FMT "\"",
                               file, STR_ARG(context.cluster))
                   : error_set(loader->err, -ENOENT,
                               "%s: no context is chosen (current-context), so there is no server", file);
    }
    if (r == 0) {
        ret->namespace = context.namespace;
        if (!ret->https)
            drop_credentials(ret);
    }
    return r;
}

int kubeconfig_load(const struct kube_source *source, struct arena *arena, struct kube_access *ret,
                    struct warnings *warnings, struct error *err)
{
    struct error unused;
    _cleanup_(loader_release) struct loader loader = {
        .arena = arena,
        .warnings = warnings,
        .err = err ? err : &unused,
    };
    arena->secret = true;
    bool one = source->kubeconfig && *source->kubeconfig, master = source->master && *source->master;
    int r = 0;
    if (one)
        r = read_file(&loader, source->kubeconfig);
    else if (source->kubeconfig_list)
        r = read_list(&loader, source->kubeconfig_list);
    if (r < 0)
        return r;
    if (!loader.files.len && !master)
        return in_cluster(&loader, source, ret);
    return choose(&loader, source, ret);
}
