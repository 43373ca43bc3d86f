/* credentials.c: tokens, passwords, certificates and programs, behind one function.
 *
 * `current` is what is given out. It is replaced, under the lock and on the loop's thread, by files that changed
 * (take_files) or by what a credential program printed (on_ran); both are read in the worker pool. No lock is held
 * while a program runs or a callback is called. */
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
    EARLY_S = 10,          /* a credential program is asked this long before its answer ends */
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

/* What the files hold, as far as they could be read. */
struct files {
    struct strbuf token;
    struct tls_config *tls;
    int token_result, tls_result;
    struct error err;
};

struct credentials {
    struct kube_access access;
    struct credentials_options options;
    pthread_mutex_t lock;
    struct credential *current; /* NULL: a program has to run first */
    struct strbuf token;        /* that `current` was made of */
    bool has_files;
    struct reread reread;
    struct files read; /* the worker pool's while it reads, then the loop's */

    /* Of a credential program. */
    bool uses_exec, stale;
    bool runs; /* the program does, or is about to */
    struct loop_work run;
    atomic_bool stop;
    VEC(struct pending) pending;
    int64_t expires_s; /* wall clock; INT64_MAX: never */
    int64_t ran_ns;    /* when it last ended, by the monotonic clock; INT64_MIN: never ran */
    bool failed;
    struct error failure;
    /* What the last run gave: the worker pool's until it is done. */
    struct credential *fresh;
    int64_t fresh_expires_s;
    int run_result;
    struct error run_error;
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

static void report(const struct credentials *c, const char *sentence)
{
    if (c->options.on_problem)
        c->options.on_problem(c->options.user, sentence);
}

/* Building one */

struct header_list {
    VEC(struct http_header) items;
};

static void add_header(struct header_list *list, const char *name, struct str value)
{
    *vec_push(&list->items) = (struct http_header){ name, value.ptr ? value.ptr : "" };
}

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

static void add_impersonation(struct header_list *list, struct arena *arena, const struct kube_user *user)
{
    if (!user->as.len)
        return;
    add_header(list, "Impersonate-User", user->as);
    if (user->as_uid.len)
        add_header(list, "Impersonate-Uid", user->as_uid);
    list_for(&user->as_groups, group)
        add_header(list, "Impersonate-Group", *group);
    list_for(&user->as_extra, extra) {
        const char *name = escape_key(arena, extra->key);
        list_for(&extra->values, value)
            add_header(list, name, *value);
    }
}

/* Copies the values, so that they can be wiped with the credential. Takes over `tls`. */
static struct credential *build(const struct credentials *c, struct str token, struct tls_config *tls)
{
    struct credential_box *box = xcalloc(1, sizeof(*box));
    struct arena *arena = &box->arena;
    struct header_list list = { 0 };
    atomic_init(&box->references, 1);
    if (token.len)
        add_header(&list, "Authorization", arena_printf(arena, "Bearer " STR_FMT, STR_ARG(token)));
    else if (c->access.user.username.len || c->access.user.password.len)
        add_header(&list, "Authorization", basic_auth(arena, &c->access.user));
    add_impersonation(&list, arena, &c->access.user);
    box->public.headers = arena_array(arena, struct http_header, list.items.len);
    vec_for(&list.items, header)
        box->public.headers[box->public.header_count++] =
            (struct http_header){ header->name, arena_strndup(arena, header->value, strlen(header->value)) };
    box->public.tls = tls;
    vec_release(&list.items);
    return &box->public;
}

static bool fits_a_header(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return false;
    return true;
}

/* Reading what it is made of */

static struct tls_options tls_options_of(const struct kube_access *access)
{
    const struct kube_cluster *cluster = &access->cluster;
    const struct kube_user *user = &access->user;
    return (struct tls_options){
        .ca_file = cluster->certificate_authority.ptr,
        .ca_data = cluster->certificate_authority_data,
        .insecure = cluster->insecure,
        .server_name = cluster->tls_server_name.ptr,
        .cert_file = user->client_certificate.ptr,
        .cert_data = user->client_certificate_data,
        .key_file =
            user->client_certificate.len || user->client_certificate_data.len ? user->client_key.ptr : NULL,
        .key_data = user->client_certificate.len || user->client_certificate_data.len ? user->client_key_data
                                                                                      : (struct str){ 0 },
    };
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
    if (r == 0 && !fits_a_header(strbuf_slice(ret)))
        r = error_set(err, -EINVAL, "the token has characters that no header can hold");
    return r;
}

static void replace_current(struct credentials *c, struct credential *fresh)
{
    credential_unref(c->current);
    c->current = fresh;
}

static void read_files(const struct credentials *c, struct files *ret)
{
    *ret = (struct files){ 0 };
    ret->token_result = read_token(c, &ret->token, &ret->err);
    if (ret->token_result < 0 && !c->current)
        return;
    struct tls_options options = tls_options_of(&c->access);
    ret->tls_result = c->access.https ? tls_config_new(&options, &ret->tls, &ret->err) : 0;
}

static void wipe(struct strbuf *secret)
{
    if (secret->text)
        explicit_bzero(secret->text, secret->cap);
    strbuf_release(secret);
}

/* Under the lock. What could not be read stays as it is, if there is something. Returns whether connections of before
 * belong to another identity. */
static bool use_files(struct credentials *c, struct files *files)
{
    struct tls_config *old_tls = c->current ? c->current->tls : NULL;
    bool new_identity = false;
    if (files->token_result < 0) {
        strbuf_clear(&files->token);
        strbuf_str(&files->token, strbuf_slice(&c->token));
    }
    if (files->tls_result < 0 || tls_config_equal(files->tls, old_tls)) {
        tls_config_unref(files->tls);
        files->tls = tls_config_ref(old_tls);
    } else {
        new_identity = c->current != NULL;
    }
    if (!c->current || files->tls != old_tls ||
        !str_eq(strbuf_slice(&files->token), strbuf_slice(&c->token))) {
        replace_current(c, build(c, strbuf_slice(&files->token), files->tls));
        struct strbuf old = c->token;
        c->token = files->token;
        files->token = old;
    } else {
        tls_config_unref(files->tls);
    }
    wipe(&files->token);
    *files = (struct files){ .err = files->err };
    return new_identity;
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
    bool new_identity = use_files(c, &c->read);
    pthread_mutex_unlock(&c->lock);
    if (failed)
        report(c, c->read.err.text);
    if (new_identity && c->options.on_new_identity)
        c->options.on_new_identity(c->options.user);
    return monotonic_ns() + c->options.reload_ms * NS_PER_MS;
}

/* At the start: without all of it there is no credential. */
static int first_files(struct credentials *c, struct error *err)
{
    struct files files;
    read_files(c, &files);
    if (files.token_result < 0 || files.tls_result < 0) {
        wipe(&files.token);
        tls_config_unref(files.tls);
        *err = files.err;
        return files.token_result < 0 ? files.token_result : files.tls_result;
    }
    use_files(c, &files);
    c->reread = (struct reread){ .read = reread_files, .took = take_files };
    if (c->has_files)
        reread_start(&c->reread, c->options.loop, monotonic_ns() + c->options.reload_ms * NS_PER_MS);
    return 0;
}

/* Credential programs */

/* The program's certificate takes the place of that of the kubeconfig, which has none: see uses_exec. */
static int exec_tls(const struct credentials *c, const struct exec_output *output, struct tls_config **ret,
                    struct error *err)
{
    struct tls_options options = tls_options_of(&c->access);
    options.cert_data = strbuf_slice(&output->cert);
    options.key_data = strbuf_slice(&output->key);
    return c->access.https ? tls_config_new(&options, ret, err) : 0;
}

/* Runs the program and builds a credential of what it said. */
static int ask_program(struct credentials *c, struct credential **ret, int64_t *ret_expires_s,
                       struct error *err)
{
    struct exec_output output;
    struct tls_config *tls = NULL;
    int r = exec_run(&c->access, c->options.exec_timeout_ms, &c->stop, &output, err);
    if (c->options.on_exec)
        c->options.on_exec(c->options.user, output.exit_code, output.call_status);
    if (r < 0)
        return r;
    if (!fits_a_header(strbuf_slice(&output.token)))
        r = error_set(err, -EINVAL, "the token has characters that no header can hold");
    if (r == 0)
        r = exec_tls(c, &output, &tls, err);
    if (r == 0) {
        *ret = build(c, strbuf_slice(&output.token), tls);
        *ret_expires_s = output.expires.set ? output.expires.seconds : INT64_MAX;
    } else {
        error_prefix(err, "the credential program %s", c->access.user.exec->command.ptr);
    }
    exec_output_release(&output);
    return r;
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

/* Takes in what the program said, under the lock. Returns whether it is another identity. */
static bool settle(struct credentials *c)
{
    bool new_identity = false;
    c->ran_ns = monotonic_ns();
    c->failed = c->run_result < 0;
    c->stale = false; /* a refused one is used again if there is no other */
    if (c->failed) {
        c->failure = c->run_error;
        return false;
    }
    struct credential *fresh = c->fresh;
    c->fresh = NULL;
    if (c->current && !tls_config_equal(c->current->tls, fresh->tls))
        new_identity = true;
    else if (c->current) {
        tls_config_unref(fresh->tls);
        fresh->tls = tls_config_ref(c->current->tls);
    }
    replace_current(c, fresh);
    c->expires_s = c->fresh_expires_s;
    return new_identity;
}

static void run_program(struct loop_work *work)
{
    struct credentials *c = container_of(work, struct credentials, run);
    c->run_error = (struct error){ 0 };
    c->run_result = ask_program(c, &c->fresh, &c->fresh_expires_s, &c->run_error);
}

static void on_ran(struct loop_work *work)
{
    struct credentials *c = container_of(work, struct credentials, run);
    pthread_mutex_lock(&c->lock);
    bool new_identity = settle(c), failed = c->failed;
    struct error why = c->failure;
    c->runs = false;
    bool valid = c->current && (!failed || wall_seconds() < c->expires_s);
    struct credential *given = valid ? credential_ref(c->current) : NULL;
    struct pending *pending = c->pending.items;
    size_t count = c->pending.len;
    memset(&c->pending, 0, sizeof(c->pending));
    pthread_mutex_unlock(&c->lock);

    if (failed && !atomic_load(&c->stop))
        report(c, why.text);
    if (new_identity && c->options.on_new_identity)
        c->options.on_new_identity(c->options.user);
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

/* From outside */

/* A value of the kubeconfig that goes into a header as it is. */
static int check_headers(const struct kube_user *user, struct error *err)
{
    const struct {
        const char *field;
        struct str value;
    } plain[] = { { "as", user->as }, { "as-uid", user->as_uid } };
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        if (!fits_a_header(plain[i].value))
            return error_set(err, -EINVAL, "%s has characters that no header can hold", plain[i].field);
    list_for(&user->as_groups, group)
        if (!fits_a_header(*group))
            return error_set(err, -EINVAL, "as-groups has characters that no header can hold");
    list_for(&user->as_extra, extra)
        list_for(&extra->values, value)
            if (!fits_a_header(*value))
                return error_set(err, -EINVAL, "as-user-extra has characters that no header can hold");
    return 0;
}

static int first_load(struct credentials *c, struct error *err)
{
    int r = check_headers(&c->access.user, err);
    if (r < 0)
        return r;
    if (!c->uses_exec)
        return first_files(c, err);
    /* The trust in the server is checked now, although the program runs later. */
    struct tls_config *tls = NULL;
    struct tls_options options = tls_options_of(&c->access);
    r = c->access.https ? tls_config_new(&options, &tls, err) : 0;
    tls_config_unref(tls);
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
    wipe(&c->read.token);
    tls_config_unref(c->read.tls);
    credential_unref(c->current);
    wipe(&c->token);
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
