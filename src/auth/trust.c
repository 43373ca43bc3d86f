/* trust.c: two sources, one state.
 *
 * The ConfigMap's watch is only a trigger: whatever comes through it, the object is fetched anew. So it is read in one
 * way only, and events need no order. Callbacks of client/api run on its I/O thread, which alone touches
 * `patience_ms`, `fetching` and `fetch_again`; what is in use is under the lock. */
#include "auth/trust.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "auth/auth_metrics.h"
#include "base/log.h"
#include "base/thread.h"
#include "client/rest.h"
#include "codec/doc.h"
#include "net/file_set.h"

#define MAP_NAME "extension-apiserver-authentication"
#define MAP_NAMESPACE "kube-system"
#define MAP_PATH "/api/v1/namespaces/" MAP_NAMESPACE "/configmaps/" MAP_NAME
#define WATCH_PATH \
    "/api/v1/namespaces/" MAP_NAMESPACE "/configmaps?fieldSelector=metadata.name%3D" MAP_NAME "&watch=true"

enum {
    FILE_BYTES_MAX = 1 << 20,
    MAP_BYTES_MAX = 4 << 20,
    FILE_LOOK_MS = 10000,
    PATIENCE_MS_MIN = 1000,
    PATIENCE_MS_MAX = 30000,
    FIRST_LOOK_MS = 10000,
    NAMES_MAX = 256,
};

static const struct {
    const char *name, *map_key, *work_queue;
} authorities[AUTHORITY_COUNT] = {
    [AUTHORITY_CLIENTS] = { "clients", "client-ca-file", QUEUE_CLIENT_CA },
    [AUTHORITY_PROXIES] = { "proxies", "requestheader-client-ca-file", QUEUE_PROXY_CA },
};

static const char *const list_keys[PROXY_LIST_COUNT] = {
    [USERNAME_HEADERS] = "requestheader-username-headers",
    [UID_HEADERS] = "requestheader-uid-headers",
    [GROUP_HEADERS] = "requestheader-group-headers",
    [EXTRA_PREFIXES] = "requestheader-extra-headers-prefix",
    [ALLOWED_NAMES] = "requestheader-allowed-names",
};

struct trust {
    struct api *api; /* NULL: nothing is looked up in the cluster */
    struct metrics *metrics;
    const char *files[AUTHORITY_COUNT]; /* NULL: from the cluster */
    struct file_set *set;               /* of them; NULL: none */

    int64_t patience_ms;
    bool fetching, fetch_again;

    bool first_done; /* the first look-up in the cluster */
    int first_result;
    struct error first_error;
    struct completion first;

    pthread_mutex_t lock;
    struct trust_now now;
    struct strbuf pems[AUTHORITY_COUNT]; /* that the pools were made of */
    struct arena arena;                  /* lists of the ConfigMap */
};

/* Under the lock. A text that is wrong leaves the authority that is in use. */
static int use_pem(struct trust *trust, int which, struct str pem, struct error *err)
{
    struct ca_pool *pool;
    if (trust->now.pools[which] && str_eq(pem, strbuf_slice(&trust->pems[which])))
        return 0;
    int r = ca_pool_new(pem, &pool, err);
    if (r < 0)
        return r;
    ca_pool_free(trust->now.pools[which]);
    trust->now.pools[which] = pool;
    strbuf_clear(&trust->pems[which]);
    strbuf_str(&trust->pems[which], pem);
    return 0;
}

/* Of the ConfigMap, which need not have it. */
static void use_map_pem(struct trust *trust, int which, struct str pem)
{
    struct error err;
    if (pem.len && use_pem(trust, which, pem, &err) < 0)
        log_error(&err, "Cannot use the certificate authority",
                  log_str("of", str_from(authorities[which].name)));
}

/* A JSON list of strings in a string; an absent one is empty. */
static bool read_list(yyjson_val *data, const char *key, struct arena *arena, struct str_list *ret)
{
    yyjson_val *text = yyjson_obj_get(data, key);
    *ret = (struct str_list){ 0 };
    if (!text || !yyjson_get_len(text))
        return true;
    yyjson_doc *doc = yyjson_is_str(text) ? yyjson_read(yyjson_get_str(text), yyjson_get_len(text), 0) : NULL;
    yyjson_val *list = doc ? yyjson_doc_get_root(doc) : NULL, *item;
    size_t index, count;
    bool ok = yyjson_is_null(list) || (yyjson_is_arr(list) && yyjson_arr_size(list) <= NAMES_MAX);
    if (ok && yyjson_is_arr(list)) {
        ret->items = arena_array(arena, struct str, yyjson_arr_size(list) + 1);
        yyjson_arr_foreach(list, index, count, item) {
            ok = ok && yyjson_is_str(item);
            ret->items[ret->len++] = arena_str(arena, doc_text(item));
        }
    }
    yyjson_doc_free(doc);
    return ok;
}

/* The ConfigMap, as it came. */
static int apply_map(struct trust *trust, struct str json, struct error *err)
{
    yyjson_doc *doc = yyjson_read(json.ptr ? json.ptr : "", json.len, 0);
    yyjson_val *data = doc ? yyjson_obj_get(yyjson_doc_get_root(doc), "data") : NULL;
    struct arena arena = { 0 };
    struct str_list lists[PROXY_LIST_COUNT];
    bool ok = doc;
    for (int i = 0; i < PROXY_LIST_COUNT; i++)
        ok = ok && read_list(data, list_keys[i], &arena, &lists[i]);
    pthread_mutex_lock(&trust->lock);
    for (int i = 0; i < AUTHORITY_COUNT && ok; i++)
        if (!trust->files[i])
            use_map_pem(trust, i, doc_member_text(data, authorities[i].map_key));
    if (ok && !trust->files[AUTHORITY_PROXIES]) {
        struct arena old = trust->arena;
        memcpy(trust->now.lists, lists, sizeof(lists));
        trust->arena = arena;
        arena = old;
    }
    pthread_mutex_unlock(&trust->lock);
    arena_release(&arena);
    yyjson_doc_free(doc);
    return ok ? 0 : error_set(err, -EINVAL, "configmap/" MAP_NAME " in " MAP_NAMESPACE " is not understood");
}

static void note_first(struct trust *trust, int result, const struct error *err)
{
    if (trust->first_done)
        return;
    trust->first_done = true;
    trust->first_result = result;
    trust->first_error = *err;
    completion_done(&trust->first);
}

static void fetch(struct trust *trust, int64_t delay_ms);

static void on_fetched(void *user, struct http_response *response)
{
    struct trust *trust = user;
    struct error err = { 0 };
    int r = 0;
    trust->fetching = false;
    if (rest_is_yes(response)) {
        int64_t begun_ns = monotonic_ns();
        r = apply_map(trust, strbuf_slice(response->body), &err);
        int64_t took_ns = monotonic_ns() - begun_ns;
        for (int i = 0; i < AUTHORITY_COUNT; i++)
            if (!trust->files[i])
                auth_metrics_work(trust->metrics, authorities[i].work_queue, took_ns);
    } else if (response->status != 404) { /* a cluster without it is one without such clients */
        struct arena arena = { 0 };
        struct api_status status = { 0 };
        rest_status(response, &arena, &status);
        struct str why = rest_sentence(response, &status, &arena);
        r = error_set(&err, -EIO, STR_FMT, STR_ARG(why));
        arena_release(&arena);
    }
    bool ending = response->failure == HTTP_FAILURE_CANCELLED;
    if (r < 0 && !ending)
        log_error(&err, "Error looking up in-cluster authentication configuration");
    note_first(trust, r, &err);
    if (ending)
        return;
    if (r < 0) {
        trust->patience_ms = MIN(trust->patience_ms * 2, PATIENCE_MS_MAX);
        fetch(trust, trust->patience_ms);
    } else {
        trust->patience_ms = PATIENCE_MS_MIN;
        if (trust->fetch_again)
            fetch(trust, 0);
    }
}

static const struct http_callbacks fetch_callbacks = { .on_done = on_fetched };

/* One at a time; another one that is wanted meanwhile follows it. */
static void fetch(struct trust *trust, int64_t delay_ms)
{
    trust->fetch_again = trust->fetching;
    if (trust->fetching)
        return;
    struct api_request request = {
        .method = "GET",
        .path = STR(MAP_PATH),
        .accept = API_JSON,
        .timeout_ms = FIRST_LOOK_MS,
        .delay_ms = delay_ms,
        .body_bytes_max = MAP_BYTES_MAX,
        .callbacks = &fetch_callbacks,
        .user = trust,
    };
    struct error err;
    trust->fetching = true;
    int r = api_send(trust->api, &request, NULL, &err);
    if (r < 0) {
        trust->fetching = false;
        note_first(trust, r, &err);
    }
}

static void watch(struct trust *trust, int64_t delay_ms);

static int on_watch_event(void *user, uint64_t id _unused_, struct str chunk _unused_)
{
    fetch(user, 0);
    return 0;
}

static void on_watch_end(void *user, struct http_response *response)
{
    struct trust *trust = user;
    if (response->failure == HTTP_FAILURE_CANCELLED)
        return;
    bool fine = response->status == 200;
    trust->patience_ms = fine ? PATIENCE_MS_MIN : MIN(trust->patience_ms * 2, PATIENCE_MS_MAX);
    /* Get may be allowed where watch is not; if it is not, its error is logged. */
    if (!fine)
        fetch(trust, 0);
    watch(trust, trust->patience_ms);
}

static const struct http_callbacks watch_callbacks = { .on_chunk = on_watch_event, .on_done = on_watch_end };

static void watch(struct trust *trust, int64_t delay_ms)
{
    struct api_request request = {
        .method = "GET",
        .path = STR(WATCH_PATH),
        .accept = API_JSON,
        .stream = true,
        .unlimited = true,
        .timeout_ms = FIRST_LOOK_MS,
        .delay_ms = delay_ms,
        .callbacks = &watch_callbacks,
        .user = trust,
    };
    /* It fails only when the process ends. */
    (void)api_send(trust->api, &request, NULL, NULL);
}

static int take_files(void *user, struct file_reading *readings, struct error *err)
{
    struct trust *trust = user;
    int failed = 0;
    pthread_mutex_lock(&trust->lock);
    for (int i = 0; i < AUTHORITY_COUNT; i++) {
        if (!trust->files[i])
            continue;
        const struct file_reading *reading = readings++;
        struct error why;
        int r = reading->result < 0 ? 0 : use_pem(trust, i, strbuf_slice(&reading->text), &why);
        if (r < 0 && !failed)
            failed = error_set(err, r, "%s: %s", reading->path, why.text);
    }
    pthread_mutex_unlock(&trust->lock);
    return failed;
}

static void on_problem(void *user _unused_, const char *sentence)
{
    struct error err;
    if (!sentence) {
        log_info(0, "The certificate authorities can be read again");
        return;
    }
    error_set(&err, 0, "%s", sentence);
    log_error(&err, "Cannot read a certificate authority; the one before stays in use");
}

static int read_files(struct trust *trust, struct error *err)
{
    const char *paths[AUTHORITY_COUNT];
    size_t count = 0;
    for (int i = 0; i < AUTHORITY_COUNT; i++)
        if (trust->files[i])
            paths[count++] = trust->files[i];
    if (!count)
        return 0;
    trust->set = file_set_new(&(struct file_set_options){ .paths = paths,
                                                          .count = count,
                                                          .bytes_max = FILE_BYTES_MAX,
                                                          .interval_ms = FILE_LOOK_MS,
                                                          .take = take_files,
                                                          .on_problem = on_problem,
                                                          .user = trust });
    return file_set_read(trust->set, err);
}

void trust_watch(struct trust *trust, struct loop *loop)
{
    if (trust->set)
        file_set_start(trust->set, loop);
}

void trust_unwatch(struct trust *trust)
{
    file_set_stop(trust->set);
}

int trust_check(const struct trust *trust, struct error *err)
{
    return file_set_check(trust->set, err);
}

const struct trust_now *trust_lock(struct trust *trust)
{
    pthread_mutex_lock(&trust->lock);
    return &trust->now;
}

void trust_unlock(struct trust *trust)
{
    pthread_mutex_unlock(&trust->lock);
}

bool trust_is_possible(const struct trust *trust)
{
    return trust->api || trust->files[AUTHORITY_CLIENTS] || trust->files[AUTHORITY_PROXIES];
}

static int await_first(struct trust *trust, struct error *err)
{
    static const char sentence[] = "unable to load configmap based request-header-client-ca-file";
    if (!completion_wait(&trust->first, monotonic_ns() + (FIRST_LOOK_MS + 1000) * NS_PER_MS))
        return error_set(err, -ETIMEDOUT, "%s: no answer", sentence);
    return trust->first_result < 0
               ? error_set(err, trust->first_result, "%s: %s", sentence, trust->first_error.text)
               : 0;
}

static void init(struct trust *trust, const struct scheduler_flags *flags)
{
    pthread_mutex_init(&trust->lock, NULL);
    completion_init(&trust->first);
    trust->patience_ms = PATIENCE_MS_MIN;
    const struct str files[AUTHORITY_COUNT] = { flags->client_ca_file, flags->requestheader_client_ca_file };
    for (int i = 0; i < AUTHORITY_COUNT; i++)
        trust->files[i] = files[i].len ? files[i].ptr : NULL;
    const struct str_list lists[PROXY_LIST_COUNT] = {
        flags->requestheader_username_headers, flags->requestheader_uid_headers,
        flags->requestheader_group_headers,    flags->requestheader_extra_headers_prefix,
        flags->requestheader_allowed_names,
    };
    if (trust->files[AUTHORITY_PROXIES])
        memcpy(trust->now.lists, lists, sizeof(lists));
}

int trust_new(const struct scheduler_flags *flags, struct api *api, struct metrics *metrics,
              struct trust **ret, struct error *err)
{
    struct trust *trust = xcalloc(1, sizeof(*trust));
    trust->metrics = metrics;
    init(trust, flags);
    int r = read_files(trust, err);
    bool wants = !flags->authentication_skip_lookup &&
                 (!trust->files[AUTHORITY_CLIENTS] || !trust->files[AUTHORITY_PROXIES]);
    if (r < 0) {
        trust_free(trust);
        return r;
    }
    *ret = trust;
    if (!wants || !api)
        return 0;
    trust->api = api;
    /* The watch begins with the object as it is, which triggers the first look-up. Where that one must succeed, it is
     * made before the watch. */
    if (flags->authentication_tolerate_lookup_failure) {
        watch(trust, 0);
        return 0;
    }
    fetch(trust, 0);
    r = await_first(trust, err);
    if (r == 0)
        watch(trust, 0);
    return r;
}

void trust_free(struct trust *trust)
{
    if (!trust)
        return;
    file_set_free(trust->set);
    for (int i = 0; i < AUTHORITY_COUNT; i++) {
        ca_pool_free(trust->now.pools[i]);
        strbuf_release(&trust->pems[i]);
    }
    pthread_mutex_destroy(&trust->lock);
    completion_release(&trust->first);
    arena_release(&trust->arena);
    free(trust);
}
