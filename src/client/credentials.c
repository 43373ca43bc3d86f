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
#include "base/percent.h"
#include "base/utf8.h"
#include "client/credentials_exec.h"
#include "net/file.h"
#include "net/reread.h"

enum {
    TOKEN_BYTES_MAX = 1 << 20,
    EARLY_S = 10,          /* a credential program runs this long before its answer ends */
    EARLY_EVERY_MS = 5000, /* and no more often than this while the old answer is still good */
};

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
    struct credential *current; /* NULL: a program has to run first */
    struct strbuf token;        /* that `current` was made of */
    struct secrets read;        /* the worker pool's while it reads, then the loop's */
    bool has_files, uses_exec;  /* not both */
    struct reread reread;

    /* Of a credential program. */
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
    for (size_t i = 0; i < credential->header_count; i++)
        explicit_bzero((char *)credential->headers[i].value, strlen(credential->headers[i].value));
    arena_release(&box->arena);
    free(box);
}

/* ---- building one ---- */

typedef VEC(struct http_header) header_vec;

static struct str basic_auth(struct arena *arena, const struct kube_user *user)
{
    _cleanup_(strbuf_release) struct strbuf pair = { 0 }, text = { 0 };
    strbuf_printf(&pair, STR_FMT ":" STR_FMT, STR_ARG(user->username), STR_ARG(user->password));
    base64_encode(&text, strbuf_slice(&pair));
    explicit_bzero(pair.text, pair.len);
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

/* All values are its own, so that they can be wiped with it. Takes over `tls`. */
static struct credential *build(const struct credentials *c, struct str token, struct tls_config *tls)
{
    const struct kube_user *user = &c->access.user;
    struct credential_box *box = xcalloc(1, sizeof(*box));
    struct arena *arena = &box->arena;
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

/* NULL where the server is plain http. `output`: its certificate takes the place of that of the kubeconfig, which has
 * none (see uses_exec). */
static int make_tls(const struct credentials *c, const struct exec_output *output, struct tls_config **ret,
                    struct error *err)
{
    const struct kube_cluster *cluster = &c->access.cluster;
    const struct kube_user *user = &c->access.user;
    bool has_certificate = user->client_certificate.len || user->client_certificate_data.len;
    struct tls_options options = {
        .ca_file = cluster->certificate_authority.ptr,
        .ca_data = cluster->certificate_authority_data,
        .insecure = cluster->insecure,
        .server_name = cluster->tls_server_name.ptr,
        .cert_file = user->client_certificate.ptr,
        .cert_data = output ? strbuf_slice(&output->cert) : user->client_certificate_data,
        .key_file = has_certificate ? user->client_key.ptr : NULL,
        .key_data = output            ? strbuf_slice(&output->key)
                    : has_certificate ? user->client_key_data
                                      : (struct str){ 0 },
    };
    return c->access.https ? tls_config_new(&options, ret, err) : 0;
}

/* The token of the file, or else the one of the kubeconfig. */
static int read_token(const struct credentials *c, struct strbuf *ret, struct error *err)
{
    const struct kube_user *user = &c->access.user;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    int r = 0;
    if (user->token_file.len) {
        r = file_read(user->token_file.ptr, TOKEN_BYTES_MAX, &text, err);
        if (r == 0 && !utf8_trim(strbuf_slice(&text)).len)
            r = error_set(err, -ENODATA, "%s: the token file is empty", user->token_file.ptr);
        if (r == 0)
            strbuf_str(ret, utf8_trim(strbuf_slice(&text)));
    }
    if (!ret->len && user->token.len) {
        strbuf_str(ret, user->token);
        r = 0;
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
    secret_release(&secrets->token);
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

static void read_files(const struct credentials *c, struct secrets *ret)
{
    *ret = (struct secrets){ 0 };
    ret->token_result = read_token(c, &ret->token, &ret->err);
    if (ret->token_result == 0 || c->current)
        ret->tls_result = make_tls(c, NULL, &ret->tls, &ret->err);
}

static void reread_files(struct reread *reread)
{
    struct credentials *c = container_of(reread, struct credentials, reread);
    read_files(c, &c->read);
}

static int64_t take_files(struct reread *reread)
{
    struct credentials *c = container_of(reread, struct credentials, reread);
    bool failed = c->read.token_result < 0 || c->read.tls_result < 0;
    pthread_mutex_lock(&c->lock);
    bool new_identity = use(c, &c->read);
    pthread_mutex_unlock(&c->lock);
    tell(c, new_identity, failed ? &c->read.err : NULL);
    return monotonic_ns() + c->options.reload_ms * NS_PER_MS;
}

/* At the start: without all of it there is no credential. */
static int first_files(struct credentials *c, struct error *err)
{
    read_files(c, &c->read);
    int r = c->read.token_result < 0 ? c->read.token_result : c->read.tls_result;
    if (r < 0)
        return error_set(err, r, "%s", c->read.err.text);
    use(c, &c->read);
    c->reread = (struct reread){ .read = reread_files, .took = take_files };
    if (c->has_files)
        reread_start(&c->reread, c->options.loop, monotonic_ns() + c->options.reload_ms * NS_PER_MS);
    return 0;
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
        r = make_tls(c, &output, &ret->tls, err);
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
    r = make_tls(c, NULL, &c->read.tls, err);
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
    c->has_files = user->token_file.len || user->client_certificate.len || user->client_key.len ||
                   access->cluster.certificate_authority.len;
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
    reread_stop(&c->reread);
    secrets_release(&c->read);
    credential_unref(c->current);
    secret_release(&c->token);
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

/* A file may hold a newer one already; but it is read no more than once per second. */
static void read_soon(void *context)
{
    struct credentials *c = context;
    reread_by(&c->reread, monotonic_ns() + c->options.exec_interval_ms * NS_PER_MS);
}

void credentials_refused(struct credentials *c, const struct credential *credential)
{
    pthread_mutex_lock(&c->lock);
    bool is_current = credential == c->current;
    if (is_current)
        c->stale = c->uses_exec && !ran_within(c, c->options.exec_interval_ms);
    pthread_mutex_unlock(&c->lock);
    if (is_current && c->has_files && !c->uses_exec)
        loop_run(c->options.loop, read_soon, c);
}
