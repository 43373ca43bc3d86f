/* An inbox that is not read for long keeps the newest state of each object: the engine ends where it would have ended
 * with every single message. Random histories as watches and lists tell them; BERTH_TEST_SEED=7 tries others. */
#include "support/engine_fixture.h"

#include "base/rng.h"
#include "sync/mirror.h"

enum { NAMES = 12, POSTS = 3000, RUNS = 40, TAKE_CHANCE = 1000 };

/* ---- two engines: one gets each message at once, the other one what the inbox has left ---- */
struct side {
    struct engine_fixture e;
    struct mirror mirror;
};

static void side_init(struct side *side)
{
    engine_fixture_init(&side->e, NULL, &(struct engine_options){ .slowest = PATH_INDEX, .seed = 1 });
    mirror_init(&side->mirror, &side->e.engine);
}

static void side_release(struct side *side)
{
    engine_release(&side->e.engine);
    mirror_release(&side->mirror);
    config_release(&side->e.config);
    fixture_release(&side->e.f);
}

/* ---- the API server's objects ---- */
struct item {
    bool exists;
    uint64_t uid, version;
    uint32_t node;   /* of a pod; 0: none */
    uint32_t more;   /* of CPU, of a node; a pod requests the same for its life */
    bool is_partial; /* its last version cannot be read: which one is known then depends on those before */
};

struct history {
    struct rng *rng;
    struct side plain, merged;
    struct inbox *inbox;
    struct item items[2][NAMES]; /* pods, nodes */
    uint64_t version;
    size_t posted, taken;
};

static struct live_object *render(enum api_kind kind, uint32_t number, const struct item *item,
                                  bool is_partial)
{
    struct live_object *live = live_object_new();
    struct arena *arena = &live->arena;
    struct resource *amounts = arena_zalloc(arena, 2 * sizeof(*amounts));
    amounts[0] =
        (struct resource){ STR("cpu"), quantity_from_int((int64_t)(1 + item->uid % 5 + item->more)) };
    amounts[1] = (struct resource){ STR("pods"), quantity_from_int(50) };
    struct meta *meta = arena_zalloc(arena, api_kinds[kind].type->size);
    char text[32];
    snprintf(text, sizeof(text), "o%u", number);
    meta->name = arena_str(arena, str_from(text));
    snprintf(text, sizeof(text), "u%llu", (unsigned long long)item->uid);
    meta->uid = arena_str(arena, str_from(text));
    snprintf(text, sizeof(text), "%llu", (unsigned long long)item->version);
    meta->resource_version = arena_str(arena, str_from(text));
    if (kind == KIND_POD) {
        struct pod *pod = (struct pod *)meta;
        meta->namespace = STR("default");
        pod->spec.scheduler_name = STR("default-scheduler");
        pod->spec.containers.items = arena_zalloc(arena, sizeof(struct container));
        pod->spec.containers.len = 1;
        pod->spec.containers.items[0].resources.requests.items = amounts;
        pod->spec.containers.items[0].resources.requests.len = 1;
        snprintf(text, sizeof(text), "o%u", item->node - 1);
        if (item->node)
            pod->spec.node_name = arena_str(arena, str_from(text));
    } else {
        struct node *node = (struct node *)meta;
        node->status.allocatable.items = amounts;
        node->status.allocatable.len = 2;
    }
    live->object = (struct object){
        .kind = kind, .ptr = meta, .meta = meta, .kind_name = api_kinds[kind].kind, .is_partial = is_partial
    };
    return live;
}

static struct inbox_message *message_of(enum inbox_message_kind kind, enum api_kind api_kind, uint32_t number,
                                        const struct item *item)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = api_kind;
    message->object = item ? render(api_kind, number, item, kind == MESSAGE_PARTIAL) : NULL;
    return message;
}

static void post(struct history *h, enum inbox_message_kind kind, enum api_kind api_kind, uint32_t number,
                 const struct item *item)
{
    struct inbox_message *message = message_of(kind, api_kind, number, item);
    mirror_apply(&h->plain.mirror, message, 0);
    inbox_message_free(message);
    inbox_post(h->inbox, message_of(kind, api_kind, number, item));
    h->posted++;
}

static void take(struct history *h)
{
    struct list messages = inbox_take(h->inbox, 0);
    for (struct inbox_message *message; (message = inbox_next(&messages)); inbox_message_free(message)) {
        mirror_apply(&h->merged.mirror, message, 0);
        h->taken++;
    }
}

/* ---- a random change, as a watch shows it ---- */
static void change(struct history *h)
{
    uint32_t which = (uint32_t)rng_below(h->rng, 4) == 0, number = (uint32_t)rng_below(h->rng, NAMES);
    enum api_kind kind = which ? KIND_NODE : KIND_POD;
    struct item *item = &h->items[which][number], old = *item;
    item->version = ++h->version;
    if (!item->exists) {
        *item = (struct item){ .exists = true, .uid = h->version, .version = h->version };
    } else if (rng_below(h->rng, 5) == 0) {
        item->exists = false;
        post(h, MESSAGE_REMOVE, kind, number, item);
        return;
    }
    item->more = which ? (uint32_t)rng_below(h->rng, 5) : 0;
    item->is_partial = rng_below(h->rng, 8) == 0;
    if (!item->node && rng_below(h->rng, 2))
        item->node = 1 + (uint32_t)rng_below(h->rng, NAMES);
    post(h, item->is_partial ? MESSAGE_PARTIAL : MESSAGE_SET, kind, number, item);
    bool has_older = old.exists && old.uid == item->uid && !item->is_partial;
    if (has_older && rng_below(h->rng, 10) == 0) /* a straggler */
        post(h, rng_below(h->rng, 2) ? MESSAGE_SET : MESSAGE_REMOVE, kind, number, &old);
}

/* Lists until one is complete. */
static void list(struct history *h)
{
    uint32_t which = (uint32_t)rng_below(h->rng, 2);
    enum api_kind kind = which ? KIND_NODE : KIND_POD;
    bool breaks = rng_below(h->rng, 3) == 0;
    for (uint32_t i = 0; i < NAMES; i++) /* what no watch has shown */
        if (rng_below(h->rng, 6) == 0) {
            bool exists = rng_below(h->rng, 2);
            h->items[which][i] =
                (struct item){ .exists = exists, .uid = ++h->version, .version = h->version };
        }
    if (rng_below(h->rng, 4) == 0)
        post(h, MESSAGE_DOUBT, kind, 0, NULL);
    post(h, MESSAGE_LIST_BEGIN, kind, 0, NULL);
    for (uint32_t i = 0; i < NAMES; i++) {
        struct item *item = &h->items[which][i];
        item->is_partial = rng_below(h->rng, 9) == 0;
        if (item->exists)
            post(h, item->is_partial ? MESSAGE_PARTIAL : MESSAGE_SET, kind, i, item);
        if (breaks && rng_below(h->rng, NAMES) == 0) {
            post(h, MESSAGE_LIST_BEGIN, kind, 0, NULL);
            breaks = false;
            i = (uint32_t)-1;
        }
    }
    post(h, MESSAGE_LIST_END, kind, 0, NULL);
}

/* ---- what is compared ---- */
static void assert_same_pod(const struct side *plain, const struct side *merged, uint32_t number,
                            bool is_partial)
{
    char name[16];
    snprintf(name, sizeof(name), "o%u", number);
    const struct pod_info *a = cluster_find_pod(&plain->e.f.cluster, STR("default"), str_from(name));
    const struct pod_info *b = cluster_find_pod(&merged->e.f.cluster, STR("default"), str_from(name));
    if (!a != !b)
        fail_msg("pod %s is known to %s side only", name, a ? "the plain" : "the merged");
    if (!a)
        return;
    assert_true(str_eq(a->api->meta.uid, b->api->meta.uid));
    assert_true(str_eq(a->api->spec.node_name, b->api->spec.node_name));
    assert_true(is_partial || record_equal(api_kinds[KIND_POD].type, a->api, b->api));
    bool queued = queue_find(&plain->e.engine.queue, a);
    assert_int_equal(queued, queue_find(&merged->e.engine.queue, b) != NULL);
}

static void assert_same_node(const struct side *plain, const struct side *merged, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof(name), "o%u", number);
    const struct cluster *x = &plain->e.f.cluster, *y = &merged->e.f.cluster;
    uint32_t a = cluster_row(x, str_from(name)), b = cluster_row(y, str_from(name));
    const struct node *p = a == ROW_NONE ? NULL : cluster_node(x, a)->api,
                      *q = b == ROW_NONE ? NULL : cluster_node(y, b)->api;
    assert_int_equal(!p, !q);
    if (!p)
        return;
    assert_true(record_equal(api_kinds[KIND_NODE].type, p, q));
    for (uint32_t resource = 0; resource < RES_SCALAR_FIRST; resource++)
        assert_int_equal(node_used((struct node_view){ x, a, NULL }, resource),
                         node_used((struct node_view){ y, b, NULL }, resource));
}

static void compare(const struct history *h)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        assert_same_pod(&h->plain, &h->merged, i, h->items[0][i].is_partial);
        assert_same_node(&h->plain, &h->merged, i);
    }
    assert_int_equal(h->plain.e.f.cluster.pods.len, h->merged.e.f.cluster.pods.len);
    assert_int_equal(h->plain.e.f.cluster.live_nodes, h->merged.e.f.cluster.live_nodes);
}

static void test_same_state(void **state _unused_)
{
    struct rng rng = test_rng();
    size_t posted = 0, taken = 0;
    for (int run = 0; run < RUNS; run++) {
        struct history h = { .rng = &rng, .inbox = inbox_new() };
        side_init(&h.plain);
        side_init(&h.merged);
        while (h.posted < POSTS) {
            if (rng_below(&rng, 150) == 0)
                list(&h);
            else
                change(&h);
            if (rng_below(&rng, TAKE_CHANCE) == 0) {
                take(&h);
                compare(&h);
            }
        }
        take(&h);
        compare(&h);
        posted += h.posted;
        taken += h.taken;
        side_release(&h.plain);
        side_release(&h.merged);
        inbox_free(h.inbox);
    }
    assert_true(taken < posted / 2); /* it did merge */
}

/* However many updates of however few objects: what waits is bounded. */
static void test_bound(void **state _unused_)
{
    struct inbox *inbox = inbox_new();
    struct item item = { .uid = 1 };
    for (uint64_t i = 1; i <= 100000; i++) {
        item.version = i;
        inbox_post(inbox, message_of(MESSAGE_SET, KIND_NODE, (uint32_t)(i % NAMES), &item));
        if (i % 3 == 0)
            inbox_post(inbox, message_of(MESSAGE_PARTIAL, KIND_NODE, (uint32_t)(i % NAMES), &item));
    }
    assert_true(inbox_depth(inbox) < 300);
    struct list messages = inbox_take(inbox, 0);
    uint64_t newest = 0;
    for (struct inbox_message *message; (message = inbox_next(&messages)); inbox_message_free(message)) {
        int64_t version;
        assert_true(str_to_int64(message->object->object.meta->resource_version, &version));
        newest = MAX(newest, (uint64_t)version);
    }
    assert_int_equal(newest, 100000);
    assert_int_equal(inbox_depth(inbox), 0);
    inbox_free(inbox);
}

/* Names with one and the same str_hash(), which is public: the second word undoes what the first did. A tenant cannot
 * choose names that keep updates from being merged. */
static struct str colliding_name(struct arena *arena, uint64_t first)
{
    __uint128_t product = (__uint128_t)(16 * 0x9e3779b97f4a7c15u ^ first) * 0xa0761d6478bd642fu;
    uint64_t words[] = { first, (uint64_t)product ^ (uint64_t)(product >> 64) };
    return arena_str(arena, (struct str){ (const char *)words, sizeof(words) });
}

static void test_colliding_names(void **state _unused_)
{
    struct inbox *inbox = inbox_new();
    struct item item = { .uid = 1 };
    struct str first = { 0 };
    _cleanup_(arena_release) struct arena arena = { 0 };
    for (item.version = 1; item.version <= 10000; item.version++) {
        struct inbox_message *message = message_of(MESSAGE_SET, KIND_POD, 0, &item);
        struct live_object *live = message->object;
        live->object.meta->name = colliding_name(&live->arena, item.version % 2);
        if (item.version == 1)
            first = arena_str(&arena, live->object.meta->name);
        assert_true(str_hash(live->object.meta->name) == str_hash(first));
        inbox_post(inbox, message);
    }
    assert_true(inbox_depth(inbox) < 300);
    inbox_free(inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_state),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_colliding_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
