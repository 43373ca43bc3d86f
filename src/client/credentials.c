/* credentials.c: tokens, passwords, certificates and programs, behind one function.
 *
 * `current` is what is given out. It is replaced, under the lock, by files that changed (reload) or by what a
 * credential program printed (exec_thread). No lock is held while a program runs or a callback is called. */
#include "client/credentials.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/base64.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "client/credentials_exec.h"
#include "net/file.h"

enum {
    TOKEN_BYTES_MAX = 1 << 20,
    NS_PER_MS = 1000000,
    EARLY_S = 10,          /* a credential program is asked this long before its answer ends */
    EARLY_EVERY_MS = 5000, /* and no more often than this while the old answer is still good */
};

struct credential_box {
    struct credential public; /* first */
    atomic_uint references;
    struct arena arena;
};

struct waiter {
    credentials_ready ready;
    void *user;
};

struct credentials {
    struct kube_access access;
    struct credentials_options options;
    pthread_mutex_t lock;
    struct credential *current; /* NULL: a program has to be asked first */
    struct strbuf token;        /* that `current` was made of */
    int64_t reload_ns;          /* when files are looked at again */
    bool has_files;

    /* Of a credential program. */
    bool uses_exec, has_thread, wanted, stale;
    pthread_t thread;
    pthread_cond_t work;
    atomic_bool stop;
    VEC(struct waiter) waiters;
    int64_t expires_s; /* wall clock; INT64_MAX: never */
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

/* Reads all files. What cannot be read stays as it is, if there is something; `ret_new_identity`: connections
 * of before are those of somebody else. */
static int reload(struct credentials *c, bool *ret_new_identity, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf token = { 0 };
    struct tls_config *tls = NULL, *old_tls = c->current ? c->current->tls : NULL;
    *ret_new_identity = false;
    int token_r = read_token(c, &token, err);
    if (token_r < 0 && !c->current)
        return token_r;
    if (token_r < 0) {
        strbuf_clear(&token);
        strbuf_str(&token, strbuf_slice(&c->token));
    }
    struct tls_options options = tls_options_of(&c->access);
    int tls_r = c->access.https ? tls_config_new(&options, &tls, err) : 0;
    if (tls_r < 0 && !c->current)
        return tls_r;
    if (tls_r < 0 || tls_config_equal(tls, old_tls)) {
        tls_config_unref(tls);
        tls = tls_config_ref(old_tls);
    } else {
        *ret_new_identity = c->current != NULL;
    }
    if (!c->current || tls != old_tls || !str_eq(strbuf_slice(&token), strbuf_slice(&c->token))) {
        replace_current(c, build(c, strbuf_slice(&token), tls));
        struct strbuf old = c->token;
        c->token = token;
        token = old;
    } else {
        tls_config_unref(tls);
    }
    return token_r < 0 ? token_r : tls_r;
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
    return c->ran_ns != INT64_MIN && http_now_ns() - c->ran_ns < ms * NS_PER_MS;
}

/* May `current` be given out? What just came may, even if it says that it has ended: asking at once again
 * would only bring the same. */
static bool usable(const struct credentials *c)
{
    bool just_came = !c->failed && ran_within(c, c->options.exec_interval_ms);
    return c->current && !c->stale && (just_came || wall_seconds() < c->expires_s);
}

/* Takes in what the program said, under the lock. */
static bool settle(struct credentials *c, int r, struct credential *fresh, int64_t expires_s,
                   const struct error *why)
{
    bool new_identity = false;
    c->ran_ns = http_now_ns();
    c->failed = r < 0;
    c->stale = false; /* a refused one is used again if there is no other */
    if (r < 0) {
        c->failure = *why;
        return false;
    }
    if (c->current && !tls_config_equal(c->current->tls, fresh->tls))
        new_identity = true;
    else if (c->current) {
        tls_config_unref(fresh->tls);
        fresh->tls = tls_config_ref(c->current->tls);
    }
    replace_current(c, fresh);
    c->expires_s = expires_s;
    return new_identity;
}

static void answer_waiters(struct waiter *waiters, size_t count, struct credential *credential,
                           const struct error *err)
{
    for (size_t i = 0; i < count; i++)
        waiters[i].ready(waiters[i].user, credential, credential ? NULL : err);
}

static void *exec_thread(void *user)
{
    struct credentials *c = user;
    pthread_mutex_lock(&c->lock);
    while (!atomic_load(&c->stop)) {
        if (!c->wanted) {
            pthread_cond_wait(&c->work, &c->lock);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        struct credential *fresh = NULL;
        int64_t expires_s = INT64_MAX;
        struct error why = { 0 };
        int r = ask_program(c, &fresh, &expires_s, &why);

        pthread_mutex_lock(&c->lock);
        bool new_identity = settle(c, r, fresh, expires_s, &why);
        c->wanted = false;
        bool valid = c->current && (r == 0 || wall_seconds() < c->expires_s);
        struct credential *given = valid ? credential_ref(c->current) : NULL;
        struct waiter *waiters = c->waiters.items;
        size_t count = c->waiters.len;
        memset(&c->waiters, 0, sizeof(c->waiters));
        pthread_mutex_unlock(&c->lock);

        if (r < 0 && !atomic_load(&c->stop))
            report(c, why.text);
        if (new_identity && c->options.on_new_identity)
            c->options.on_new_identity(c->options.user);
        answer_waiters(waiters, count, given, &why);
        credential_unref(given);
        free(waiters);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void want_program(struct credentials *c)
{
    c->wanted = true;
    pthread_cond_signal(&c->work);
}

/* Under the lock. True: `ready` was put on the list of those who wait. */
static bool get_from_program(struct credentials *c, struct waiter waiter, struct credential **ret,
                             struct error *ret_err)
{
    if (usable(c)) {
        if (c->expires_s != INT64_MAX && wall_seconds() > c->expires_s - EARLY_S &&
            !ran_within(c, EARLY_EVERY_MS))
            want_program(c);
        *ret = credential_ref(c->current);
        return false;
    }
    if (c->failed && !c->wanted && ran_within(c, c->options.exec_interval_ms)) {
        *ret_err = c->failure;
        return false;
    }
    *vec_push(&c->waiters) = waiter;
    want_program(c);
    return true;
}

/* From outside */

static int start_thread(struct credentials *c, struct error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = -pthread_create(&c->thread, NULL, exec_thread, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    c->has_thread = r == 0;
    if (r == 0)
        pthread_setname_np(c->thread, "credentials");
    return r < 0 ? error_set(err, r, "no thread for the credential program: %s", strerror(-r)) : 0;
}

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
    bool new_identity;
    int r = check_headers(&c->access.user, err);
    if (r < 0)
        return r;
    if (!c->uses_exec)
        return reload(c, &new_identity, err);
    /* The trust in the server is checked now, although the program is only asked later. */
    struct tls_config *tls = NULL;
    struct tls_options options = tls_options_of(&c->access);
    r = c->access.https ? tls_config_new(&options, &tls, err) : 0;
    tls_config_unref(tls);
    return r < 0 ? r : start_thread(c, err);
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
    pthread_cond_init(&c->work, NULL);
    c->reload_ns = http_now_ns() + c->options.reload_ms * NS_PER_MS;
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
    if (c->has_thread) {
        pthread_mutex_lock(&c->lock);
        atomic_store(&c->stop, true);
        pthread_cond_signal(&c->work);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
    }
    struct error ending;
    error_set(&ending, 0, "the client is ending");
    answer_waiters(c->waiters.items, c->waiters.len, NULL, &ending);
    vec_release(&c->waiters);
    credential_unref(c->current);
    if (c->token.text)
        explicit_bzero(c->token.text, c->token.cap);
    strbuf_release(&c->token);
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void credentials_get(struct credentials *c, credentials_ready ready, void *user)
{
    struct credential *given = NULL;
    struct error err = { 0 }, problem = { 0 };
    bool waits = false, new_identity = false;
    pthread_mutex_lock(&c->lock);
    if (c->uses_exec) {
        waits = get_from_program(c, (struct waiter){ ready, user }, &given, &err);
    } else {
        if (c->has_files && http_now_ns() >= c->reload_ns) {
            c->reload_ns = http_now_ns() + c->options.reload_ms * NS_PER_MS;
            reload(c, &new_identity, &problem);
        }
        given = credential_ref(c->current);
    }
    pthread_mutex_unlock(&c->lock);
    if (problem.text[0])
        report(c, problem.text);
    if (new_identity && c->options.on_new_identity)
        c->options.on_new_identity(c->options.user);
    if (!waits)
        ready(user, given, given ? NULL : &err);
    credential_unref(given);
}

void credentials_refused(struct credentials *c, const struct credential *credential)
{
    pthread_mutex_lock(&c->lock);
    if (credential == c->current) {
        c->stale = c->uses_exec && !ran_within(c, c->options.exec_interval_ms);
        /* A file may hold a newer one already; but no more than once per second is looked. */
        c->reload_ns = MIN(c->reload_ns, http_now_ns() + c->options.exec_interval_ms * NS_PER_MS);
    }
    pthread_mutex_unlock(&c->lock);
}
