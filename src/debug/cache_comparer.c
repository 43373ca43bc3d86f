/* cache_comparer.c: see cache_comparer.h. */
#include "debug/cache_comparer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/thread.h"
#include "client/rest.h"
#include "sync/watch_decode.h"
#include "sync/watched.h"

enum { PODS_PER_LOOK = 64 }; /* at the clock */
enum { PAGE_MS = 30000, PAGE_BYTES_MAX = 256 << 20, PAGES_MAX = 100000 };

static void keep(struct arena *arena, text_vec *list, struct str text)
{
    *vec_push(list) = arena_str(arena, text);
}

void compared_release(struct compared *compared)
{
    for (int kind = 0; kind < COMPARED_KINDS; kind++)
        vec_release(&compared->lists[kind]);
    vec_release(&compared->schedulers);
    arena_release(&compared->arena);
    *compared = (struct compared){ 0 };
}

/* ---- what the model holds ---- */

static void read_names(struct compared *held, const struct engine *engine)
{
    const struct cluster *cluster = engine->cluster;
    for (uint32_t row = 0; row < cluster->nodes.len; row++)
        if (cluster_node(cluster, row)->name != SYM_NONE)
            keep(&held->arena, &held->lists[COMPARED_NODES], cluster_node_name(cluster, row));
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        keep(&held->arena, &held->schedulers, engine->profiles[i].scheduler_name);
}

bool held_read(struct compared *held, const struct engine *engine, int64_t step_ns)
{
    const struct strmap *pods = &engine->cluster->pods;
    text_vec *uids = &held->lists[COMPARED_PODS];
    int64_t begun_ns = monotonic_ns();
    if (!held->schedulers.len)
        read_names(held, engine);
    while (held->at < pods->map.used) {
        const struct pod_info *pod = pods->map.slots[held->at++].value;
        if (!pod || pod->is_foreign)
            continue;
        keep(&held->arena, uids, pod->api->meta.uid);
        if (uids->len % PODS_PER_LOOK == 0 && monotonic_ns() - begun_ns >= step_ns)
            return true;
    }
    return false;
}

/* ---- what the API server has ---- */

struct lister {
    struct api *api;
    struct monitor monitor;
    bool stopping;
    uint64_t id; /* of the last request */
};

struct lister *lister_new(struct api *api)
{
    struct lister *lister = xcalloc(1, sizeof(*lister));
    lister->api = api;
    monitor_init(&lister->monitor);
    return lister;
}

void lister_free(struct lister *lister)
{
    monitor_release(&lister->monitor);
    free(lister);
}

void lister_stop(struct lister *lister)
{
    monitor_lock(&lister->monitor);
    lister->stopping = true;
    uint64_t id = lister->id;
    monitor_unlock(&lister->monitor);
    if (id)
        api_cancel(lister->api, id);
}

struct page {
    struct completion answered;
    struct strbuf body;
    struct error error; /* empty: the body is a page */
};

/* On the I/O thread: takes the body, and decodes nothing. */
static void on_done(void *user, struct http_response *response)
{
    struct page *page = user;
    if (rest_is_yes(response)) {
        page->body = *response->body;
        *response->body = (struct strbuf){ 0 };
    } else {
        struct arena arena = { 0 };
        struct api_status status = { 0 };
        rest_status(response, &arena, &status);
        struct str sentence = rest_sentence(response, &status, &arena);
        error_set(&page->error, -EIO, STR_FMT, STR_ARG(sentence));
        arena_release(&arena);
    }
    completion_done(&page->answered);
}

/* The lock is held while the request is handed over, so that lister_stop() knows its id. */
static int read_page(struct lister *lister, struct str path, struct strbuf *ret, struct error *err)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    struct page page = { 0 };
    const struct api_request request = { .method = "GET",
                                         .path = path,
                                         .unlimited = true,
                                         .timeout_ms = PAGE_MS,
                                         .body_bytes_max = PAGE_BYTES_MAX,
                                         .callbacks = &callbacks,
                                         .user = &page };
    completion_init(&page.answered);
    monitor_lock(&lister->monitor);
    int r = lister->stopping ? error_set(err, -ECANCELED, "the process ends")
                             : api_send(lister->api, &request, &lister->id, err);
    monitor_unlock(&lister->monitor);
    if (r == 0)
        completion_wait(&page.answered, INT64_MAX);
    completion_release(&page.answered);
    *ret = page.body;
    monitor_lock(&lister->monitor);
    if (page.error.text[0])
        r = error_set(err, lister->stopping ? -ECANCELED : -EIO, "%s", page.error.text);
    monitor_unlock(&lister->monitor);
    return r;
}

void listed_add(struct compared *listed, const struct compared *held, const struct object *object)
{
    if (object->kind == KIND_NODE) {
        keep(&listed->arena, &listed->lists[COMPARED_NODES], object->meta->name);
        return;
    }
    const struct pod_spec *spec = &((const struct pod *)object->ptr)->spec;
    bool is_ours = spec->node_name.len;
    vec_for(&held->schedulers, name)
        is_ours |= str_eq(*name, spec->scheduler_name);
    if (is_ours)
        keep(&listed->arena, &listed->lists[COMPARED_PODS], object->meta->uid);
}

/* *ret_token: where the next page begins. An object that cannot be decoded counts as not listed. */
static int add_page(struct strbuf *body, enum api_kind kind, const struct compared *held,
                    struct compared *listed, struct strbuf *ret_token, struct error *err)
{
    struct list_page page;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    struct live_object *live;
    int r = list_page_init(&page, kind, body, err);
    for (int more = r == 0; more && (more = list_page_next(&page, &scratch, &live, err)) != 0;)
        if (more > 0) {
            listed_add(listed, held, &live->object);
            live_object_free(live);
        }
    strbuf_clear(ret_token);
    if (r == 0)
        strbuf_str(ret_token, page.continue_token);
    list_page_release(&page);
    return r;
}

static int read_kind(struct lister *lister, const struct watched_kind *kind, const struct compared *held,
                     struct compared *listed, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf token = { 0 }, path = { 0 };
    char limit[16];
    snprintf(limit, sizeof(limit), "%u", kind->page_len);
    int r = 0;
    for (int i = 0; i < PAGES_MAX && r == 0 && (i == 0 || token.len); i++) {
        _cleanup_(strbuf_release) struct strbuf body = { 0 };
        strbuf_clear(&path);
        watched_path(kind, 0, (struct str){ 0 }, &path);
        watched_query(&path, "limit", str_from(limit));
        if (token.len)
            watched_query(&path, "continue", strbuf_slice(&token));
        r = read_page(lister, strbuf_slice(&path), &body, err);
        if (r == 0)
            r = add_page(&body, kind->kind, held, listed, &token, err);
    }
    return r;
}

int lister_read(struct lister *lister, const struct compared *held, struct compared *ret, struct error *err)
{
    int r = 0;
    *ret = (struct compared){ 0 };
    for (size_t i = 0; i < watched_kind_count && r == 0; i++)
        if (watched_kinds[i].kind == KIND_NODE || watched_kinds[i].kind == KIND_POD)
            r = read_kind(lister, &watched_kinds[i], held, ret, err);
    if (r < 0)
        compared_release(ret);
    return r;
}

/* ---- differences ---- */

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

/* `known` keeps what is a difference now, and was one before. */
static void look(struct arena *arena, bool is_first, const text_vec *a, const text_vec *b, text_vec *known)
{
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

void mismatch_look(struct mismatch *mismatch, bool is_first, struct compared *listed, struct compared *held)
{
    for (int kind = 0; kind < COMPARED_KINDS; kind++) {
        text_vec *a = &listed->lists[kind], *b = &held->lists[kind];
        vec_sort(a, str_qsort_cmp);
        vec_sort(b, str_qsort_cmp);
        look(&mismatch->arena, is_first, a, b, &mismatch->missed[kind]);
        look(&mismatch->arena, is_first, b, a, &mismatch->redundant[kind]);
    }
}

static bool differs(const struct mismatch *mismatch, int kind)
{
    return mismatch->missed[kind].len || mismatch->redundant[kind].len;
}

bool mismatch_is_empty(const struct mismatch *mismatch)
{
    return !differs(mismatch, COMPARED_NODES) && !differs(mismatch, COMPARED_PODS);
}

void mismatch_log(const struct mismatch *mismatch)
{
    static const char *const keys[COMPARED_KINDS][2] = {
        [COMPARED_NODES] = { "missedNodes", "redundantNodes" },
        [COMPARED_PODS] = { "missedPods", "redundantPods" },
    };
    for (int kind = 0; kind < COMPARED_KINDS; kind++) {
        const text_vec *missed = &mismatch->missed[kind], *redundant = &mismatch->redundant[kind];
        if (differs(mismatch, kind))
            log_info(0, "Cache mismatch", log_list(keys[kind][0], missed->items, missed->len),
                     log_list(keys[kind][1], redundant->items, redundant->len));
    }
}

void mismatch_release(struct mismatch *mismatch)
{
    for (int kind = 0; kind < COMPARED_KINDS; kind++) {
        vec_release(&mismatch->missed[kind]);
        vec_release(&mismatch->redundant[kind]);
    }
    arena_release(&mismatch->arena);
    *mismatch = (struct mismatch){ 0 };
}
