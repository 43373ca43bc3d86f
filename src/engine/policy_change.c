/* policy_change.c: see policy_change.h. */
#include "engine/policy_change.h"

#include <stdlib.h>

#include "engine/binding.h"
#include "engine/generations.h"

/* ---- pods ---- */
/* A pod that was placed here and whose object does not say so yet. */
static bool is_under_way(const struct engine *engine, const struct pod_info *pod)
{
    return (pod->row != ROW_NONE && !pod->api->spec.node_name.len) || binding_find(engine, pod->api);
}

static bool may_be_stale(const struct engine *engine, const struct pod_info *pod)
{
    return engine->stale.all || strmap_get(&engine->stale.namespaces, pod->api->meta.namespace);
}

/* Its nomination is as it was, and so is its place in the queue, for now. */
static struct pod_info *derive_pod(struct engine *engine, struct pod_info *before)
{
    uint32_t nominated = before->nominated_row;
    pod_info_ref(before);
    if (nominated != ROW_NONE)
        cluster_hold_row(engine->cluster, nominated);
    struct pod_info *after = cluster_derive_pod(engine->cluster, before);
    if (nominated == ROW_NONE)
        cluster_denominate(engine->cluster, after);
    else if (after->row == ROW_NONE && after->nominated_row != nominated)
        cluster_nominate(engine->cluster, after, nominated);
    if (nominated != ROW_NONE)
        cluster_unhold_row(engine->cluster, nominated);
    queue_replace(&engine->queue, before, after);
    pod_info_unref(engine->cluster, before);
    return after;
}

static int by_name(const void *a, const void *b)
{
    const struct meta *x = &(*(struct pod_info *const *)a)->api->meta,
                      *y = &(*(struct pod_info *const *)b)->api->meta;
    return str_cmp(x->namespace, y->namespace) ?: str_cmp(x->name, y->name);
}

static void forget_stale(struct engine *engine)
{
    map_for(&engine->stale.namespaces, slot)
        free(slot->value);
    strmap_release(&engine->stale.namespaces);
    engine->stale.all = false;
}

static void derive_stale(struct engine *engine, pod_vec *ret)
{
    engine->stale.skipped &= !engine->stale.all;
    map_for(&engine->cluster->pods, slot) {
        struct pod_info *pod = slot->value;
        if (!may_be_stale(engine, pod) || policies_is_current(engine->policies, pod))
            continue;
        if (is_under_way(engine, pod))
            engine->stale.skipped = true;
        else
            *vec_push(ret) = pod;
    }
    if (ret->len)
        vec_sort(ret, by_name); /* no order of a table may be seen in what is decided */
    vec_for(ret, pod)
        *pod = derive_pod(engine, *pod);
    forget_stale(engine);
}

uint32_t policy_change_derive(struct engine *engine)
{
    pod_vec found = { 0 };
    if (engine->policies)
        derive_stale(engine, &found);
    uint32_t count = (uint32_t)found.len;
    vec_release(&found);
    return count;
}

/* The same where the profiles stay: no other pod is judged anew. Those that are keep their order. */
static uint32_t derive_and_judge(struct engine *engine, int64_t now_ns)
{
    pod_vec found = { 0 };
    VEC(struct queued_pod *) waiting = { 0 };
    derive_stale(engine, &found);
    vec_for(&found, pod) {
        struct queued_pod *entry = queue_find(&engine->queue, *pod);
        if (entry)
            *vec_push(&waiting) = entry;
    }
    if (waiting.len)
        vec_sort(&waiting, queued_by_arrival);
    vec_for(&waiting, entry)
        queue_judge_anew(&engine->queue, (*entry)->pod, now_ns);
    uint32_t count = (uint32_t)found.len;
    vec_release(&waiting);
    vec_release(&found);
    return count;
}

/* ---- sets ---- */
static void tell(struct engine *engine, const struct policy_news *news)
{
    if (engine->host.on_policies)
        engine->host.on_policies(engine->host.context, news);
}

static bool weighs(const struct policy_set *set)
{
    return set && set->weighing;
}

/* All or nothing. Plugins begin anew where weights are concerned, as with another configuration. */
static int apply(struct engine *engine, struct policy_set *set, int64_t now_ns, uint32_t *ret_pods,
                 struct error *err)
{
    struct policies *policies = engine->policies;
    struct policy_set *old = policies->set ? policy_set_ref(policies->set) : NULL;
    struct generation made;
    bool remakes = weighs(old) || weighs(set);
    policies_use(policies, set);
    int r = remakes ? generation_make(engine, &engine->setup, &made, err) : 0;
    if (r < 0) {
        policies_use(policies, old);
    } else {
        engine->stale.all = true;
        if (!remakes) {
            *ret_pods = derive_and_judge(engine, now_ns);
        } else {
            const struct engine_setup setup = engine->setup;
            generation_replace(engine, &made, &setup);
            *ret_pods = policy_change_derive(engine);
            generation_judge_anew(engine, now_ns);
        }
    }
    policy_set_unref(old);
    return r;
}

void policy_change_map(struct engine *engine, const struct config_map *map, int64_t now_ns)
{
    struct policy_set *set = NULL;
    struct error err;
    struct policy_news news = { .map = map };
    if (!engine->policies) {
        engine->policies = &engine->own_policies;
        policies_init(engine->policies, engine->cluster, engine->setup.config);
    }
    int r = map ? policy_set_read(map, engine->setup.registry, &set, &err) : 0;
    if (r == 0 && policy_set_equal(set, engine->policies->set))
        news.result = POLICIES_UNCHANGED;
    else if (r == 0)
        r = apply(engine, set, now_ns, &news.pods, &err);
    if (r < 0) {
        news.result = POLICIES_REFUSED;
        news.error = &err;
    }
    policy_set_unref(set);
    news.set = engine->policies->set;
    tell(engine, &news);
}

/* ---- what chooses ---- */
static bool same_labels(const struct meta *a, const struct meta *b)
{
    bool same = a && b && a->labels.len == b->labels.len;
    for (uint32_t i = 0; same && i < a->labels.len; i++)
        same = str_eq(a->labels.items[i].key, b->labels.items[i].key) &&
               str_eq(a->labels.items[i].value, b->labels.items[i].value);
    return same;
}

void policy_change_object(struct engine *engine, enum api_kind kind, const struct meta *before,
                          const struct meta *after)
{
    const struct meta *meta = after ? after : before;
    if (!engine->policies || !engine->policies->set || !meta)
        return;
    if (kind == KIND_PRIORITY_CLASS)
        engine->stale.all = true;
    if (kind != KIND_NAMESPACE || same_labels(before, after) ||
        strmap_get(&engine->stale.namespaces, meta->name))
        return;
    char *name = xcalloc(1, (size_t)meta->name.len + 1);
    if (meta->name.len)
        memcpy(name, meta->name.ptr, meta->name.len);
    strmap_put(&engine->stale.namespaces, (struct str){ name, meta->name.len }, name);
}

void policy_change_binding_failed(struct engine *engine)
{
    engine->stale.all |= engine->stale.skipped;
}

void policy_change_settle(struct engine *engine, int64_t now_ns)
{
    if (engine->stale.all || engine->stale.namespaces.len)
        derive_and_judge(engine, now_ns);
}

void policy_change_release(struct engine *engine)
{
    forget_stale(engine);
    if (engine->policies == &engine->own_policies)
        policies_release(&engine->own_policies);
    engine->policies = NULL;
}
