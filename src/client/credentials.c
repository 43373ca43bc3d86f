/* credentials.c: tokens, passwords, certificates and programs, behind one function.
 *
 *     files, read again ────────▶ struct secrets ──use()──▶ current ──credentials_get()──▶ requests
 *     credential program, run ──▶
 *
 * Secrets are read in the worker pool. `current` is what is given out; it is replaced under the lock and on the loop's
 * thread. No lock is held while a program runs or a callback is called. */
#include "client/credentials.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/base64.h"
#include "base/log.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "client/credentials_exec.h"
#include "net/file_set.h"

enum {
    TOKEN_BYTES_MAX = 1 << 20,
    FILE_BYTES_MAX = 4 << 20,
    EARLY_S = 10,          /* a credential program runs this long before its answer ends */
    EARLY_EVERY_MS = 5000, /* and no more often than this while the old answer is still good */
};

/* Files that a credential is made of. */
enum file_kind { FILE_TOKEN, FILE_CA, FILE_CERT, FILE_KEY, FILE_KIND_COUNT };

struct credential_box {
    struct credential public; /* first */
    atomic_uint references;
    struct arena arena;
};

/* A request for a credential that waits for the program. */
struct pending {
    credentials_ready ready;
    void *user;
};

/* What a credential is made of, as far as it could be read. */
struct secrets {
    struct strbuf token;
    struct tls_config *tls;
    int64_t expires_s; /* of a program: wall clock; INT64_MAX: never */
    int token_result, tls_result;
    struct error err;
};

struct credentials {
    struct kube_access access;
    struct credentials_options options;
    pthread_mutex_t lock;
    struct credential *current;         /* NULL: a program has to run first */
    struct strbuf token;                /* that `current` was made of */
    const char *files[FILE_KIND_COUNT]; /* NULL: there is none, or its text is in the kubeconfig */
    struct file_set *set;               /* of them; NULL: none */

    /* Of a credential program. */
    bool uses_exec;      /* instead of files */
    struct secrets read; /* the worker pool's while it runs, then the loop's */
    bool stale;
    bool runs; /* the program does, or is about to */
    struct loop_work run;
    atomic_bool stop;
    VEC(struct pending) pending;
    int64_t expires_s; /* of `current` */
    int64_t ran_ns;    /* when it last ended, by the monotonic clock; INT64_MIN: never ran */
    bool failed;
    struct error failure;
};

struct credential *credential_ref(struct credential *credential)
{
    if (credential)
        atomic_fetch_add_explicit(&((struct credential_box *)credential)->references, 1,
                                  memory_order_relaxed);
    return credential;
}

void credential_unref(struct credential *credential)
{
    struct credential_box *box = (struct credential_box *)credential;
    if (!box || atomic_fetch_sub_explicit(&box->references, 1, memory_order_acq_rel) != 1)
        return;
    tls_config_unref(credential->tls);
    arena_release(&box->arena);
    free(box);
}

/* ---- building one ---- */

typedef VEC(struct http_header) header_vec;

static struct str basic_auth(struct arena *arena, const struct kube_user *user)
{
    _cleanup_(strbuf_release) struct strbuf pair = { .secret = true }, text = { .secret = true };
    strbuf_printf(&pair, STR_FMT ":" STR_FMT, STR_ARG(user->username), STR_ARG(user->password));
    base64_encode(&text, strbuf_slice(&pair));
    return arena_printf(arena, "Basic %s", text.text);
}

/* A key of as-user-extra as the end of a header's name: bytes that no name can hold are written %XX. */
static const char *escape_key(struct arena *arena, struct str key)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    strbuf_puts(&name, "Impersonate-Extra-");
    percent_encode(&name, key, "!#$&'*+-.^_`|~");
    return arena_str(arena, strbuf_slice(&name)).ptr;
}

static void add_impersonation(header_vec *headers, struct arena *arena, const struct kube_user *user)
{
    if (!user->as.len)
        return;
    *vec_push(headers) = (struct http_header){ "Impersonate-User", arena_str(arena, user->as).ptr };
    if (user->as_uid.len)
        *vec_push(headers) = (struct http_header){ "Impersonate-Uid", arena_str(arena, user->as_uid).ptr };
    list_for(&user->as_groups, group)
        *vec_push(headers) = (struct http_header){ "Impersonate-Group", arena_str(arena, *group).ptr };
    list_for(&user->as_extra, extra) {
        const char *name = escape_key(arena, extra->key);
        list_for(&extra->values, value)
            *vec_push(headers) = (struct http_header){ name, arena_str(arena, *value).ptr };
    }
}

/* All values are its own, in an arena for secrets. Takes over `tls`. */
static struct credential *build(const struct credentials *c, struct str token, struct tls_config *tls)
{
    const struct kube_user *user = &c->access.user;
    struct credential_box *box = xcalloc(1, sizeof(*box));
    struct arena *arena = &box->arena;
    arena->secret = true;
    header_vec headers = { 0 };
    struct str authorization = { 0 };
    atomic_init(&box->references, 1);
    if (token.len)
        authorization = arena_printf(arena, "Bearer " STR_FMT, STR_ARG(token));
    else if (user->username.len || user->password.len)
        authorization = basic_auth(arena, user);
    if (authorization.len)
        *vec_push(&headers) = (struct http_header){ "Authorization", authorization.ptr };
    add_impersonation(&headers, arena, user);
    box->public = (struct credential){
        .headers = arena_copy(arena, struct http_header, headers.items, headers.len, headers.len),
        .header_count = headers.len,
        .tls = tls,
    };
    vec_release(&headers);
    return &box->public;
}

/* A value that goes into a header as it is. */
static int check_value(const char *what, struct str text, struct error *err)
{
    for (uint32_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return error_set(err, -EINVAL, "%s has characters that no header can hold", what);
    return 0;
}

static int check_impersonation(const struct kube_user *user, struct error *err)
{
    int r = check_value("as", user->as, err);
    if (r == 0)
        r = check_value("as-uid", user->as_uid, err);
    list_for(&user->as_groups, group)
        r = r == 0 ? check_value("as-groups", *group, err) : r;
    list_for(&user->as_extra, extra)
        list_for(&extra->values, value)
            r = r == 0 ? check_value("as-user-extra", *value, err) : r;
    return r;
}

/* ---- reading what it is made of ---- */

static bool has_certificate(const struct kube_user *user)
{
    return user->client_certificate.len || user->client_certificate_data.len;
}

static struct str text_of(const struct file_reading *reading, struct str data)
{
    return reading ? strbuf_slice(&reading->text) : data;
}

/* NULL where the server is plain http. The files have been read: `readings` by kind. */
static int make_tls(const struct credentials *c, struct file_reading *const *readings,
                    struct tls_config **ret, struct error *err)
{
    const struct kube_cluster *cluster = &c->access.cluster;
    const struct kube_user *user = &c->access.user;
    for (int kind = FILE_CA; kind < FILE_KIND_COUNT; kind++)
        if (readings[kind] && readings[kind]->result < 0)
            return error_set(err, readings[kind]->result, "%s", readings[kind]->err.text);
    struct str key_data = has_certificate(user) ? user->client_key_data : (struct str){ 0 };
    struct tls_options options = {
        .ca_file = c->files[FILE_CA],
        .ca_data = text_of(readings[FILE_CA], cluster->certificate_authority_data),
        .insecure = cluster->insecure,
        .server_name = cluster->tls_server_name.ptr,
        .cert_file = c->files[FILE_CERT],
        .cert_data = text_of(readings[FILE_CERT], user->client_certificate_data),
        .key_file = c->files[FILE_KEY],
        .key_data = text_of(readings[FILE_KEY], key_data),
        .has_texts = true,
    };
    return c->access.https ? tls_config_new(&options, ret, err) : 0;
}

/* With the certificate of a credential program, where the kubeconfig has none (see uses_exec). In the worker pool. */
static int make_exec_tls(const struct credentials *c, const struct exec_output *output,
                         struct tls_config **ret, struct error *err)
{
    const struct kube_cluster *cluster = &c->access.cluster;
    struct tls_options options = {
        .ca_file = cluster->certificate_authority.ptr,
        .ca_data = cluster->certificate_authority_data,
        .insecure = cluster->insecure,
        .server_name = cluster->tls_server_name.ptr,
        .cert_data = output ? strbuf_slice(&output->cert) : (struct str){ 0 },
        .key_data = output ? strbuf_slice(&output->key) : (struct str){ 0 },
    };
    return c->access.https ? tls_config_new(&options, ret, err) : 0;
}

/* The token of the file, or else the one of the kubeconfig, for whose sake a file may be missing. */
static int take_token(const struct credentials *c, struct file_reading *file, struct strbuf *ret,
                      struct error *err)
{
    const struct kube_user *user = &c->access.user;
    int r = 0;
    ret->secret = true;
    if (file) {
        struct str token = utf8_trim(strbuf_slice(&file->text));
        if (file->result < 0)
            r = error_set(err, file->result, "%s", file->err.text);
        else if (file->text.len > TOKEN_BYTES_MAX)
            r = error_set(err, -EFBIG, "%s: is longer than %d bytes", file->path, TOKEN_BYTES_MAX);
        else if (!token.len)
            r = error_set(err, -ENODATA, "%s: the token file is empty", file->path);
        else
            strbuf_str(ret, token);
    }
    if (!ret->len && user->token.len) {
        strbuf_str(ret, user->token);
        r = 0;
        if (file)
            file->result = 0;
    }
    return r < 0 ? r : check_value("the token", strbuf_slice(ret), err);
}

static void swap(struct strbuf *a, struct strbuf *b)
{
    struct strbuf before = *a;
    *a = *b;
    *b = before;
}

static void secrets_release(struct secrets *secrets)
{
    strbuf_release(&secrets->token);
    tls_config_unref(secrets->tls);
    secrets->tls = NULL;
}

/* Under the lock. What could not be read stays as it is, if there is something. Returns whether connections of before
 * belong to another identity. */
static bool use(struct credentials *c, struct secrets *secrets)
{
    struct tls_config *old_tls = c->current ? c->current->tls : NULL;
    bool same_tls = c->current && (secrets->tls_result < 0 || tls_config_equal(secrets->tls, old_tls));
    bool same_token =
        secrets->token_result < 0 || str_eq(strbuf_slice(&secrets->token), strbuf_slice(&c->token));
    bool new_identity = c->current && !same_tls;
    if (!c->current || !same_tls || !same_token || c->uses_exec) {
        if (!same_token)
            swap(&secrets->token, &c->token);
        struct credential *fresh =
            build(c, strbuf_slice(&c->token), tls_config_ref(same_tls ? old_tls : secrets->tls));
        credential_unref(c->current);
        c->current = fresh;
    }
    secrets_release(secrets);
    return new_identity;
}

static void tell(const struct credentials *c, bool new_identity, const struct error *problem)
{
    if (problem && c->options.on_problem)
        c->options.on_problem(c->options.user, problem->text);
    if (new_identity && c->options.on_new_identity)
        c->options.on_new_identity(c->options.user);
}

/* ---- files ---- */

static int take_files(void *user, struct file_reading *readings, struct error *err)
{
    struct credentials *c = user;
    struct file_reading *by_kind[FILE_KIND_COUNT] = { 0 };
    struct secrets secrets = { 0 };
    struct error token_err, tls_err;
    bool new_identity = false;
    for (int kind = 0; kind < FILE_KIND_COUNT; kind++)
        if (c->files[kind])
            by_kind[kind] = readings++;
    secrets.token_result = take_token(c, by_kind[FILE_TOKEN], &secrets.token, &token_err);
    secrets.tls_result = make_tls(c, by_kind, &secrets.tls, &tls_err);
    int r = secrets.token_result < 0 ? secrets.token_result : secrets.tls_result;
    if (r < 0)
        *err = secrets.token_result < 0 ? token_err : tls_err;
    pthread_mutex_lock(&c->lock);
    /* At the start, without all of it there is no credential. */
    if (c->current || r == 0)
        new_identity = use(c, &secrets);
    else
        secrets_release(&secrets);
    pthread_mutex_unlock(&c->lock);
    tell(c, new_identity, NULL);
    return r;
}

static void on_problem(void *user, const char *sentence)
{
    const struct credentials *c = user;
    if (!sentence)
        log_info(0, "The files of the credentials can be read again");
    else if (c->options.on_problem)
        c->options.on_problem(c->options.user, sentence);
}

static int first_files(struct credentials *c, struct error *err)
{
    const struct kube_user *user = &c->access.user;
    const struct kube_cluster *cluster = &c->access.cluster;
    const char *paths[FILE_KIND_COUNT];
    size_t count = 0;
    if (user->token_file.len)
        c->files[FILE_TOKEN] = user->token_file.ptr;
    bool https = c->access.https;
    if (https && cluster->certificate_authority.len && !cluster->certificate_authority_data.len)
        c->files[FILE_CA] = cluster->certificate_authority.ptr;
    if (https && user->client_certificate.len && !user->client_certificate_data.len)
        c->files[FILE_CERT] = user->client_certificate.ptr;
    if (https && user->client_key.len && !user->client_key_data.len && has_certificate(user))
        c->files[FILE_KEY] = user->client_key.ptr;
    for (int kind = 0; kind < FILE_KIND_COUNT; kind++)
        if (c->files[kind])
            paths[count++] = c->files[kind];
    if (!count)
        return take_files(c, NULL, err);
    c->set = file_set_new(&(struct file_set_options){ .paths = paths,
                                                      .count = count,
                                                      .bytes_max = FILE_BYTES_MAX,
                                                      .interval_ms = c->options.reload_ms,
                                                      .hang_ms = c->options.hang_ms,
                                                      .take = take_files,
                                                      .on_problem = on_problem,
                                                      .user = c });
    int r = file_set_read(c->set, err);
    if (r == 0)
        file_set_start(c->set, c->options.loop);
    return r;
}

/* ---- credential programs ---- */

static int run_exec(struct credentials *c, struct secrets *ret, struct error *err)
{
    struct exec_output output;
    int r = exec_run(&c->access, c->options.exec_timeout_ms, &c->stop, &output, err);
    if (c->options.on_exec)
        c->options.on_exec(c->options.user, output.exit_code, output.call_status);
    if (r < 0)
        return r;
    r = check_value("the token", strbuf_slice(&output.token), err);
    if (r == 0)
        r = make_exec_tls(c, &output, &ret->tls, err);
    if (r < 0)
        error_prefix(err, "the credential program %s", c->access.user.exec->command.ptr);
    ret->expires_s = output.expires.set ? output.expires.seconds : INT64_MAX;
    swap(&ret->token, &output.token);
    exec_output_release(&output);
    return r;
}

static void run_program(struct loop_work *work)
{
    struct credentials *c = container_of(work, struct credentials, run);
    c->read = (struct secrets){ 0 };
    c->read.token_result = run_exec(c, &c->read, &c->read.err);
}

static int64_t wall_seconds(void)
{
    return (int64_t)time(NULL);
}

static bool ran_within(const struct credentials *c, int64_t ms)
{
    return c->ran_ns != INT64_MIN && monotonic_ns() - c->ran_ns < ms * NS_PER_MS;
}

/* May `current` be given out? What just came may, even if it says that it has ended: asking at once again
 * would only bring the same. */
static bool usable(const struct credentials *c)
{
    bool just_came = !c->failed && ran_within(c, c->options.exec_interval_ms);
    return c->current && !c->stale && (just_came || wall_seconds() < c->expires_s);
}

static void on_ran(struct loop_work *work)
{
    struct credentials *c = container_of(work, struct credentials, run);
    bool new_identity = false;
    pthread_mutex_lock(&c->lock);
    c->ran_ns = monotonic_ns();
    c->failed = c->read.token_result < 0;
    c->stale = false; /* a refused one is used again if there is no other */
    c->runs = false;
    if (c->failed) {
        c->failure = c->read.err;
        secrets_release(&c->read);
    } else {
        c->expires_s = c->read.expires_s;
        new_identity = use(c, &c->read);
    }
    bool failed = c->failed, valid = c->current && (!failed || wall_seconds() < c->expires_s);
    struct error why = c->failure;
    struct credential *given = valid ? credential_ref(c->current) : NULL;
    struct pending *pending = c->pending.items;
    size_t count = c->pending.len;
    memset(&c->pending, 0, sizeof(c->pending));
    pthread_mutex_unlock(&c->lock);

    tell(c, new_identity, failed && !atomic_load(&c->stop) ? &why : NULL);
    for (size_t i = 0; i < count; i++)
        pending[i].ready(pending[i].user, given, given ? NULL : &why);
    credential_unref(given);
    free(pending);
}

/* Under the lock. */
static void want_program(struct credentials *c)
{
    if (c->runs)
        return;
    c->runs = true;
    loop_work(c->options.loop, &c->run);
}

/* Under the lock. True: `pending` was put on the list. */
static bool get_from_program(struct credentials *c, struct pending pending, struct credential **ret,
                             struct error *ret_err)
{
    if (usable(c)) {
        if (c->expires_s != INT64_MAX && wall_seconds() > c->expires_s - EARLY_S &&
            !ran_within(c, EARLY_EVERY_MS))
            want_program(c);
        *ret = credential_ref(c->current);
        return false;
    }
    if (c->failed && !c->runs && ran_within(c, c->options.exec_interval_ms)) {
        *ret_err = c->failure;
        return false;
    }
    *vec_push(&c->pending) = pending;
    want_program(c);
    return true;
}

/* ---- from outside ---- */

static int first_load(struct credentials *c, struct error *err)
{
    int r = check_impersonation(&c->access.user, err);
    if (r < 0)
        return r;
    if (!c->uses_exec)
        return first_files(c, err);
    /* The trust in the server is checked now, although the program runs later. */
    r = make_exec_tls(c, NULL, &c->read.tls, err);
    secrets_release(&c->read);
    return r;
}

int credentials_new(const struct kube_access *access, const struct credentials_options *options,
                    struct credentials **ret, struct error *err)
{
    struct credentials *c = xcalloc(1, sizeof(*c));
    const struct kube_user *user = &access->user;
    c->access = *access;
    c->options = *options;
    c->options.reload_ms = options->reload_ms > 0 ? options->reload_ms : 60000;
    c->options.exec_timeout_ms = options->exec_timeout_ms > 0 ? options->exec_timeout_ms : 60000;
    c->options.exec_interval_ms = options->exec_interval_ms > 0 ? options->exec_interval_ms : 1000;
    c->expires_s = c->ran_ns = INT64_MIN;
    bool has_other = user->token.len || user->token_file.len || user->username.len || user->password.len ||
                     user->client_certificate.len || user->client_certificate_data.len;
    c->uses_exec = user->exec && !has_other;
    pthread_mutex_init(&c->lock, NULL);
    c->run = (struct loop_work){ .work = run_program, .done = on_ran };
    int r = first_load(c, err);
    if (r < 0)
        credentials_free(c);
    else
        *ret = c;
    return r;
}

void credentials_free(struct credentials *c)
{
    if (!c)
        return;
    atomic_store(&c->stop, true);
    loop_work_wait(c->options.loop, &c->run); /* which has answered what was pending */
    file_set_free(c->set);
    secrets_release(&c->read);
    credential_unref(c->current);
    strbuf_release(&c->token);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void credentials_get(struct credentials *c, credentials_ready ready, void *user)
{
    struct credential *given = NULL;
    struct error err = { 0 };
    bool waits = false;
    pthread_mutex_lock(&c->lock);
    if (c->uses_exec)
        waits = get_from_program(c, (struct pending){ ready, user }, &given, &err);
    else
        given = credential_ref(c->current);
    pthread_mutex_unlock(&c->lock);
    if (!waits)
        ready(user, given, given ? NULL : &err);
    credential_unref(given);
}

bool credentials_forget(struct credentials *c, const void *user)
{
    size_t kept = 0;
    pthread_mutex_lock(&c->lock);
    vec_for(&c->pending, pending)
        if (pending->user != user)
            c->pending.items[kept++] = *pending;
    bool found = kept < c->pending.len;
    c->pending.len = kept;
    pthread_mutex_unlock(&c->lock);
    return found;
}

/* A file may hold a newer one already; but it is read no more than once per second. */
static void read_soon(void *context)
{
    struct credentials *c = context;
    file_set_read_by(c->set, monotonic_ns() + c->options.exec_interval_ms * NS_PER_MS);
}

void credentials_refused(struct credentials *c, const struct credential *credential)
{
    pthread_mutex_lock(&c->lock);
    bool is_current = credential == c->current;
    if (is_current)
        c->stale = c->uses_exec && !ran_within(c, c->options.exec_interval_ms);
    pthread_mutex_unlock(&c->lock);
    if (is_current && c->set)
        loop_run(c->options.loop, read_soon, c);
}

int credentials_check(struct credentials *c, struct error *err)
{
    pthread_mutex_lock(&c->lock);
    bool failed = c->uses_exec && c->failed;
    if (failed)
        error_set(err, -EIO, "%s", c->failure.text);
    pthread_mutex_unlock(&c->lock);
    return failed ? -EIO : file_set_check(c->set, err);
}
