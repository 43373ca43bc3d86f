/* kubeconfig.c: files merged, a context chosen, its cluster and user checked; or the service account instead.
 *
 *     files ──read_file()──▶ entries by name (the first of a name wins) ──choose()──▶ context ─▶ cluster, user
 *
 * Only what the chosen context names is decoded: a broken entry that is not used does no harm. */
#include "client/kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/kubeconfig_decode.h"
#include "net/file.h"
#include "net/tls.h"

enum { FILES_MAX = 64, SMALL_FILE_BYTES_MAX = 1 << 20, WARNINGS_MAX = 20 };

static const char service_account_dir[] = "/var/run/secrets/kubernetes.io/serviceaccount";

struct open_file {
    const char *path;
    struct doc_stream stream;
    struct doc doc;
};

/* An entry of clusters, users or contexts. */
struct entry {
    struct str name;
    const struct open_file *file;
    struct kube_place place;
};

struct section {
    const char *list, *member; /* "clusters" holds { name, cluster } */
    VEC(struct entry) entries;
};

enum { CLUSTERS, USERS, CONTEXTS, SECTIONS };

struct loader {
    struct arena *arena;
    struct warnings *warnings;
    struct error *err;
    VEC(struct open_file *) files;
    struct section sections[SECTIONS];
    struct str current_context;
    struct kube_place current_context_at;
};

static void warn(struct loader *loader, const char *format, ...) _printf_(2, 3);

static void warn(struct loader *loader, const char *format, ...)
{
    if (!loader->warnings || loader->warnings->list.len >= WARNINGS_MAX)
        return;
    va_list args;
    va_start(args, format);
    *vec_push(&loader->warnings->list) = arena_vprintf(loader->arena, format, args);
    va_end(args);
}

static void loader_release(struct loader *loader)
{
    vec_for(&loader->files, file) {
        doc_release(&(*file)->doc);
        doc_stream_release(&(*file)->stream);
        free(*file);
    }
    vec_release(&loader->files);
    for (int i = 0; i < SECTIONS; i++)
        vec_release(&loader->sections[i].entries);
}

static const struct entry *find_entry(const struct section *section, struct str name)
{
    vec_for(&section->entries, entry)
        if (str_eq(entry->name, name))
            return entry;
    return NULL;
}

/* Reading */

static int read_entry(struct loader *loader, struct section *section, const struct open_file *file,
                      yyjson_val *item, size_t index)
{
    struct str field = arena_printf(loader->arena, "%s[%zu]", section->list, index);
    struct kube_place at = { &file->doc, item, field.ptr };
    if (!yyjson_is_obj(item))
        return kube_complain(&at, NULL, loader->err, "expected an object");
    struct str name = STR("");
    int r = kube_decode_string(&at, "name", yyjson_obj_get(item, "name"), loader->arena, &name, loader->err);
    if (r < 0)
        return r;
    const struct entry *same = find_entry(section, name);
    if (same && same->file == file)
        return kube_complain(&at, "name", loader->err, "\"" STR_FMT "\" is given twice", STR_ARG(name));
    if (same)
        return 0; /* an earlier file has it */
    struct str inner = arena_printf(loader->arena, "%s.%s", field.ptr, section->member);
    *vec_push(&section->entries) = (struct entry){
        .name = name, .file = file, .place = { &file->doc, yyjson_obj_get(item, section->member), inner.ptr }
    };
    return 0;
}

static int read_section(struct loader *loader, struct section *section, const struct open_file *file)
{
    yyjson_val *list = yyjson_obj_get(file->doc.root, section->list);
    struct kube_place at = { &file->doc, list, section->list };
    if (!list || yyjson_is_null(list))
        return 0;
    if (!yyjson_is_arr(list))
        return kube_complain(&at, NULL, loader->err, "expected a list");
    size_t i, count;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, count, item) {
        int r = read_entry(loader, section, file, item, i);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_document(struct loader *loader, const struct open_file *file)
{
    struct kube_place root = { &file->doc, file->doc.root, "" };
    static const struct {
        const char *field, *want;
    } head[] = { { "apiVersion", "v1" }, { "kind", "Config" } };
    if (!yyjson_is_obj(root.val))
        return doc_error(root.doc, root.val, -EINVAL, loader->err, "expected a kubeconfig, got a %s",
                         doc_type_name(root.val));
    for (size_t i = 0; i < ARRAY_SIZE(head); i++) {
        struct str value = { 0 };
        yyjson_val *val = yyjson_obj_get(root.val, head[i].field);
        int r = kube_decode_string(&root, head[i].field, val, loader->arena, &value, loader->err);
        if (r < 0)
            return r;
        if (value.len && !str_is(value, head[i].want))
            return kube_complain(&root, head[i].field, loader->err, "expected %s", head[i].want);
    }
    for (int i = 0; i < SECTIONS; i++) {
        int r = read_section(loader, &loader->sections[i], file);
        if (r < 0)
            return r;
    }
    if (loader->current_context.len)
        return 0;
    loader->current_context_at = root;
    return kube_decode_string(&root, "current-context", yyjson_obj_get(root.val, "current-context"),
                              loader->arena, &loader->current_context, loader->err);
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
    struct open_file *file = xcalloc(1, sizeof(*file));
    *vec_push(&loader->files) = file;
    file->path = path;
    int r = doc_stream_open(&file->stream, path, loader->err);
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

/* Paths */

/* Below the folder of the file that names it, unless absolute. */
static struct str resolve(struct loader *loader, const struct entry *entry, struct str path)
{
    if (!path.len || path.ptr[0] == '/' || !entry)
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

/* Checking */

static bool readable(struct str path)
{
    return access(path.ptr, R_OK) == 0;
}

static int check_file(const struct entry *entry, const char *field, struct str path, struct error *err)
{
    if (!path.len || readable(path))
        return 0;
    return kube_complain(&entry->place, field, err, "cannot read %s: %s", path.ptr, strerror(errno));
}

static int check_proxy(const struct entry *entry, struct str url, struct error *err)
{
    static const char *const schemes[] = { "http://", "https://", "socks5://" };
    if (!url.len)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
        if (strncasecmp(url.ptr, schemes[i], strlen(schemes[i])) == 0)
            return 0;
    return kube_complain(&entry->place, "proxy-url", err, "expected a URL with http, https or socks5");
}

static int check_cluster(struct loader *loader, const struct entry *entry, struct kube_cluster *cluster)
{
    struct error *err = loader->err;
    if (cluster->certificate_authority.len && cluster->certificate_authority_data.len)
        return kube_complain(&entry->place, "certificate-authority", err,
                             "certificate-authority-data is given as well");
    if (cluster->insecure && (cluster->certificate_authority.len || cluster->certificate_authority_data.len))
        return kube_complain(&entry->place, "insecure-skip-tls-verify", err,
                             "a certificate authority is given as well");
    cluster->certificate_authority = resolve(loader, entry, cluster->certificate_authority);
    int r = check_file(entry, "certificate-authority", cluster->certificate_authority, err);
    return r < 0 ? r : check_proxy(entry, cluster->proxy_url, err);
}

static int check_certificate(const struct entry *entry, const struct kube_user *user, struct error *err)
{
    if (!user->client_certificate.len && !user->client_certificate_data.len)
        return 0;
    if (user->client_certificate.len && user->client_certificate_data.len)
        return kube_complain(&entry->place, "client-certificate", err,
                             "client-certificate-data is given as well");
    if (user->client_key.len && user->client_key_data.len)
        return kube_complain(&entry->place, "client-key", err, "client-key-data is given as well");
    if (!user->client_key.len && !user->client_key_data.len)
        return kube_complain(&entry->place, NULL, err,
                             "a client certificate needs client-key or client-key-data");
    int r = check_file(entry, "client-certificate", user->client_certificate, err);
    return r < 0 ? r : check_file(entry, "client-key", user->client_key, err);
}

static int check_exec(const struct entry *entry, struct kube_exec *exec, struct error *err)
{
    static const char *const modes[] = {
        [EXEC_INTERACTIVE_NEVER] = "Never",
        [EXEC_INTERACTIVE_IF_AVAILABLE] = "IfAvailable",
        [EXEC_INTERACTIVE_ALWAYS] = "Always",
    };
    if (!exec->command.len)
        return kube_complain(&entry->place, "exec", err, "command is missing");
    bool beta = str_is(exec->api_version, "client.authentication.k8s.io/v1beta1");
    if (!beta && !str_is(exec->api_version, "client.authentication.k8s.io/v1"))
        return kube_complain(&entry->place, "exec", err,
                             "expected an apiVersion of client.authentication.k8s.io/v1 or v1beta1");
    for (int mode = EXEC_INTERACTIVE_NEVER; mode <= EXEC_INTERACTIVE_ALWAYS; mode++)
        if (str_is(exec->interactive_mode, modes[mode]))
            exec->interactive = (enum exec_interactive)mode;
    if (!exec->interactive_mode.len && beta)
        exec->interactive = EXEC_INTERACTIVE_IF_AVAILABLE;
    if (exec->interactive == EXEC_INTERACTIVE_UNSET)
        return kube_complain(&entry->place, "exec", err,
                             "expected an interactiveMode of Never, IfAvailable or Always");
    return 0;
}

static int check_user(struct loader *loader, const struct entry *entry, struct kube_user *user)
{
    struct error *err = loader->err;
    yyjson_val *provider = yyjson_obj_get(entry->place.val, "auth-provider");
    if (provider && !yyjson_is_null(provider))
        return kube_complain(&entry->place, "auth-provider", err,
                             "auth providers are not supported; use a credential program (exec)");
    user->client_certificate = resolve(loader, entry, user->client_certificate);
    user->client_key = resolve(loader, entry, user->client_key);
    user->token_file = resolve(loader, entry, user->token_file);
    if (user->exec && str_find(user->exec->command, '/') >= 0)
        user->exec->command = resolve(loader, entry, user->exec->command);
    if (user->token.len && (user->username.len || user->password.len))
        return kube_complain(&entry->place, NULL, err, "token and username or password exclude each other");
    if (!user->as.len && (user->as_uid.len || user->as_groups.len || user->as_extra.len))
        return kube_complain(&entry->place, NULL, err, "as-uid, as-groups and as-user-extra need as");
    int r = check_certificate(entry, user, err);
    if (r == 0 && !user->token.len)
        r = check_file(entry, "tokenFile", user->token_file, err);
    return r == 0 && user->exec ? check_exec(entry, user->exec, err) : r;
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

/* In a pod */

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
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
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

/* Choosing */

static int choose_context(struct loader *loader, const struct kube_source *source, struct kube_context *ret)
{
    *ret = (struct kube_context){ 0 };
    bool asked = source->context && *source->context;
    struct str name = asked ? str_from(source->context) : loader->current_context;
    if (!name.len)
        return 0;
    const struct entry *entry = find_entry(&loader->sections[CONTEXTS], name);
    if (entry)
        return kube_decode_context(&entry->place, loader->arena, ret, loader->err);
    if (asked || !loader->current_context_at.doc)
        return error_set(loader->err, -ENOENT, "the context \"" STR_FMT "\" is not in the kubeconfig",
                         STR_ARG(name));
    return kube_complain(&loader->current_context_at, "current-context", loader->err,
                         "the context \"" STR_FMT "\" is not in the kubeconfig", STR_ARG(name));
}

static int choose_user(struct loader *loader, struct str name, struct kube_user *ret)
{
    const struct entry *entry = find_entry(&loader->sections[USERS], name);
    *ret = (struct kube_user){ 0 };
    if (!entry) {
        if (name.len)
            warn(loader, "the user \"" STR_FMT "\" is not in the kubeconfig: going on without credentials",
                 STR_ARG(name));
        return 0;
    }
    int r = kube_decode_user(&entry->place, loader->arena, ret, loader->err);
    return r < 0 ? r : check_user(loader, entry, ret);
}

static int choose_cluster(struct loader *loader, struct str name, const char *master, struct kube_access *ret)
{
    const struct entry *entry = find_entry(&loader->sections[CLUSTERS], name);
    struct str config = { 0 };
    int r =
        entry ? kube_decode_cluster(&entry->place, loader->arena, &ret->cluster, &config, loader->err) : 0;
    if (r == 0 && entry)
        r = check_cluster(loader, entry, &ret->cluster);
    if (r < 0)
        return r;
    if (ret->user.exec)
        ret->user.exec->cluster_config = config;
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
               : kube_complain(&entry->place, "server", loader->err,
                               "expected host:port or an http or https URL");
}

/* Nothing secret goes over a connection that anybody can read. */
static void drop_credentials(struct kube_access *access)
{
    struct kube_user all = access->user;
    access->user = (struct kube_user){ .as = all.as, .as_uid = all.as_uid, .as_groups = all.as_groups };
    access->user.as_extra.items = all.as_extra.items;
    access->user.as_extra.len = all.as_extra.len;
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
        .sections = { [CLUSTERS] = { "clusters", "cluster" },
                      [USERS] = { "users", "user" },
                      [CONTEXTS] = { "contexts", "context" } },
    };
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
