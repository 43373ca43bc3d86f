/* compare.c: see cache_comparer.h. */
#include "debug/cache_comparer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "client/rest.h"
#include "sync/watch_decode.h"
#include "sync/watched.h"

enum { PODS_PER_LOOK = 64 }; /* at the clock */
enum { PAGE_MS = 30000, PAGE_BYTES_MAX = 256 << 20, PAGES_MAX = 100000 };

/* ---- what the model holds ---- */

static void keep(struct arena *arena, text_vec *list, struct str text)
{
    *vec_push(list) = arena_str(arena, text);
}

static void read_names(struct held *held, const struct engine *engine)
{
    const struct cluster *cluster = engine->cluster;
    for (uint32_t row = 0; row < cluster->nodes.len; row++)
        if (cluster_node(cluster, row)->name != SYM_NONE)
            keep(&held->arena, &held->nodes, cluster_node_name(cluster, row));
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        keep(&held->arena, &held->schedulers, engine->profiles[i].scheduler_name);
}

bool held_read(struct held *held, const struct engine *engine, int64_t step_ns)
{
    const struct strmap *pods = &engine->cluster->pods;
    int64_t begun_ns = monotonic_ns();
    if (!held->schedulers.len)
        read_names(held, engine);
    while (held->at < pods->cap) {
        const struct pod_info *pod = pods->slots[held->at++].value;
        if (!pod)
            continue;
        keep(&held->arena, &held->pods, pod->api->meta.uid);
        if (held->pods.len % PODS_PER_LOOK == 0 && monotonic_ns() - begun_ns >= step_ns)
            return true;
    }
    return false;
}

void held_release(struct held *held)
{
    vec_release(&held->nodes);
    vec_release(&held->pods);
    vec_release(&held->schedulers);
    arena_release(&held->arena);
    held->at = 0;
}

/* ---- what the API server has ---- */

struct lister {
    struct api *api;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping, waits; /* waits: a request is under way */
    uint64_t id;
    struct strbuf body;
    struct error error; /* empty: the body is a page */
};

struct lister *lister_new(struct api *api)
{
    struct lister *lister = xcalloc(1, sizeof(*lister));
    lister->api = api;
    pthread_mutex_init(&lister->lock, NULL);
    pthread_cond_init(&lister->changed, NULL);
    return lister;
}

void lister_free(struct lister *lister)
{
    if (!lister)
        return;
    strbuf_release(&lister->body);
    pthread_cond_destroy(&lister->changed);
    pthread_mutex_destroy(&lister->lock);
    free(lister);
}

void lister_stop(struct lister *lister)
{
    pthread_mutex_lock(&lister->lock);
    lister->stopping = true;
    uint64_t id = lister->waits ? lister->id : 0;
    pthread_mutex_unlock(&lister->lock);
    if (id)
        api_cancel(lister->api, id);
}

/* On the I/O thread: only takes the body, others read it. */
static void on_done(void *user, struct http_response *response)
{
    struct lister *lister = user;
    struct error error = { 0 };
    if (!rest_is_yes(response)) {
        struct arena arena = { 0 };
        struct api_status status = { 0 };
        rest_status(response, &arena, &status);
        struct str sentence = rest_sentence(response, &status, &arena);
        error_set(&error, -EIO, STR_FMT, STR_ARG(sentence));
        arena_release(&arena);
    }
    pthread_mutex_lock(&lister->lock);
    lister->error = error;
    if (!error.text[0]) {
        strbuf_release(&lister->body);
        lister->body = *response->body;
        *response->body = (struct strbuf){ 0 };
    }
    lister->waits = false;
    pthread_cond_signal(&lister->changed);
    pthread_mutex_unlock(&lister->lock);
}

static const struct http_callbacks callbacks = { .on_done = on_done };

/* One page into lister->body. The lock is held while the request is handed over, so that lister_stop() knows its id. */
static int read_page(struct lister *lister, struct str path, struct error *err)
{
    const struct api_request request = { .method = "GET",
                                         .path = path,
                                         .accept = REST_ACCEPT,
                                         .unlimited = true,
                                         .timeout_ms = PAGE_MS,
                                         .body_bytes_max = PAGE_BYTES_MAX,
                                         .callbacks = &callbacks,
                                         .user = lister };
    pthread_mutex_lock(&lister->lock);
    int r = lister->stopping ? error_set(err, -ECANCELED, "the process ends")
                             : api_send(lister->api, &request, &lister->id, err);
    lister->waits = r == 0;
    while (lister->waits)
        pthread_cond_wait(&lister->changed, &lister->lock);
    if (r == 0 && lister->error.text[0])
        r = error_set(err, lister->stopping ? -ECANCELED : -EIO, "%s", lister->error.text);
    pthread_mutex_unlock(&lister->lock);
    return r;
}

static void take(struct listed *listed, const struct object *object)
{
    if (object->kind == KIND_NODE) {
        keep(&listed->arena, &listed->nodes, object->meta->name);
        return;
    }
    const struct pod *pod = object->ptr;
    struct listed_pod *to = vec_push(&listed->pods);
    to->uid = arena_str(&listed->arena, pod->meta.uid);
    to->scheduler =
        pod->spec.node_name.len ? (struct str){ 0 } : arena_str(&listed->arena, pod->spec.scheduler_name);
}

/* Objects of the page in lister->body; *ret_token: where the next one begins. */
static int take_page(struct lister *lister, enum api_kind kind, struct listed *listed,
                     struct strbuf *ret_token, struct error *err)
{
    struct list_page page;
    struct arena scratch = { 0 };
    struct live_object *live;
    int r = list_page_init(&page, kind, &lister->body, err);
    int more = r == 0;
    while (more && (more = list_page_next(&page, &scratch, &live, err)) != 0) {
        if (more < 0)
            continue; /* an object that cannot be decoded counts as not listed */
        take(listed, &live->object);
        live_object_free(live);
    }
    strbuf_clear(ret_token);
    if (r == 0)
        strbuf_str(ret_token, page.continue_token);
    list_page_release(&page);
    arena_release(&scratch);
    return r;
}

static int read_kind(struct lister *lister, const struct watched_kind *kind, struct listed *listed,
                     struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf token = { 0 }, path = { 0 };
    char limit[16];
    snprintf(limit, sizeof(limit), "%u", kind->page_len);
    int r = 0;
    for (int i = 0; i < PAGES_MAX && r == 0 && (i == 0 || token.len); i++) {
        strbuf_clear(&path);
        watched_path(kind, 0, &path);
        watched_query(&path, "limit", str_from(limit));
        if (token.len)
            watched_query(&path, "continue", strbuf_slice(&token));
        r = read_page(lister, strbuf_slice(&path), err);
        if (r == 0)
            r = take_page(lister, kind->kind, listed, &token, err);
    }
    return r;
}

int lister_read(struct lister *lister, struct listed *ret, struct error *err)
{
    *ret = (struct listed){ 0 };
    int r = 0;
    for (size_t i = 0; i < watched_kind_count && r == 0; i++)
        if (watched_kinds[i].kind == KIND_NODE || watched_kinds[i].kind == KIND_POD)
            r = read_kind(lister, &watched_kinds[i], ret, err);
    if (r < 0)
        listed_release(ret);
    return r;
}

void listed_release(struct listed *listed)
{
    vec_release(&listed->nodes);
    vec_release(&listed->pods);
    arena_release(&listed->arena);
}

/* ---- differences ---- */

static void sort(text_vec *list)
{
    if (list->len)
        qsort(list->items, list->len, sizeof(*list->items), str_qsort_cmp);
}

/* Of two sorted lists: what only the first has, each once. */
static text_vec only_in(const text_vec *a, const text_vec *b)
{
    text_vec only = { 0 };
    size_t j = 0;
    vec_for(a, text) {
        while (j < b->len && str_cmp(b->items[j], *text) < 0)
            j++;
        bool again = only.len && str_eq(only.items[only.len - 1], *text);
        if (!again && (j == b->len || !str_eq(b->items[j], *text)))
            *vec_push(&only) = *text;
    }
    return only;
}

/* Pods that the model should have. */
static text_vec expected_pods(const struct listed *listed, const struct held *held)
{
    text_vec expected = { 0 };
    vec_for(&listed->pods, pod) {
        bool ours = !pod->scheduler.len;
        vec_for(&held->schedulers, name)
            ours = ours || str_eq(*name, pod->scheduler);
        if (ours)
            *vec_push(&expected) = pod->uid;
    }
    return expected;
}

/* Both lists become sorted. `known` keeps what is a difference now, and was one before. */
static void look(struct arena *arena, bool is_first, text_vec *a, text_vec *b, text_vec *known)
{
    sort(a);
    sort(b);
    text_vec now = only_in(a, b);
    if (is_first) {
        vec_for(&now, text)
            keep(arena, known, *text);
    } else {
        text_vec gone = only_in(known, &now), stays = only_in(known, &gone);
        vec_release(&gone);
        vec_release(known);
        *known = stays;
    }
    vec_release(&now);
}

void mismatch_look(struct mismatch *mismatch, bool is_first, struct listed *listed, struct held *held)
{
    text_vec pods = expected_pods(listed, held);
    look(&mismatch->arena, is_first, &listed->nodes, &held->nodes, &mismatch->missed_nodes);
    look(&mismatch->arena, is_first, &held->nodes, &listed->nodes, &mismatch->redundant_nodes);
    look(&mismatch->arena, is_first, &pods, &held->pods, &mismatch->missed_pods);
    look(&mismatch->arena, is_first, &held->pods, &pods, &mismatch->redundant_pods);
    vec_release(&pods);
}

bool mismatch_is_empty(const struct mismatch *mismatch)
{
    return !mismatch->missed_nodes.len && !mismatch->redundant_nodes.len && !mismatch->missed_pods.len &&
           !mismatch->redundant_pods.len;
}

static struct log_value list_of(const char *key, const text_vec *list)
{
    return log_list(key, list->items, list->len);
}

void mismatch_log(const struct mismatch *mismatch)
{
    if (mismatch->missed_nodes.len || mismatch->redundant_nodes.len)
        log_info(0, "Cache mismatch", list_of("missedNodes", &mismatch->missed_nodes),
                 list_of("redundantNodes", &mismatch->redundant_nodes));
    if (mismatch->missed_pods.len || mismatch->redundant_pods.len)
        log_info(0, "Cache mismatch", list_of("missedPods", &mismatch->missed_pods),
                 list_of("redundantPods", &mismatch->redundant_pods));
}

void mismatch_release(struct mismatch *mismatch)
{
    vec_release(&mismatch->missed_nodes);
    vec_release(&mismatch->redundant_nodes);
    vec_release(&mismatch->missed_pods);
    vec_release(&mismatch->redundant_pods);
    arena_release(&mismatch->arena);
    *mismatch = (struct mismatch){ 0 };
}
