/* test_permit.c: pods that wait in Permit, with all other events in random order: they are allowed, rejected, timed
 * out, deleted, changed, bound by another scheduler, recreated; nodes are removed and added; the API server answers
 * late, never, or with an error.
 *
 * After every step: exactly the pods in a binding cycle are reserved, requested resources are those of the pods, and no
 * pod is lost. A failing seed is printed; test_permit SEED repeats it. */
#include "unit/engine/fake_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "debug/waiting.h"
#include "engine/binding.h"

enum { PODS = 12, NODES = 3, STEPS = 1500, SEEDS = 50 };

/* ---- plugins ---- */
static int outstanding[PODS]; /* reserved, and neither unreserved nor bound */
static struct rng rng;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rng_below(&rng, n);
}

static size_t number_of(const struct pod *pod)
{
    int64_t number = 0;
    assert_true(str_to_int64(str_slice(pod->meta.name, 1, pod->meta.name.len), &number));
    return (size_t)number;
}

static struct status reserve(struct cycle *cycle, uint32_t row)
{
    (void)row;
    outstanding[number_of(cycle->pod)]++;
    return STATUS_OK;
}

static void unreserve(struct cycle *cycle, uint32_t row)
{
    (void)row;
    outstanding[number_of(cycle->pod)]--;
}

static struct status permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    (void)cycle, (void)row;
    *ret_timeout_ms = 1000 + below(9000);
    return below(4) ? (struct status){ .code = STATUS_WAIT } : STATUS_OK;
}

static struct status pre_bind(struct cycle *cycle, uint32_t row)
{
    (void)row;
    uint32_t choice = below(8);
    cycle->wake_ns = cycle->now_ns + SECOND;
    if (choice < 3)
        return (struct status){ .code = STATUS_WAIT };
    return choice == 3 ? status_printf(cycle->arena, STATUS_ERROR, "no luck") : STATUS_OK;
}

extern const struct plugin plugin_priority_sort, plugin_default_binder, plugin_node_resources_fit;
static const struct plugin guard = {
    .name = "Guard", .reserve = reserve, .unreserve = unreserve, .permit = permit, .post_bind = unreserve
};
static const struct plugin gate = { .name = "Gate", .permit = permit, .pre_bind = pre_bind };
static const struct plugin *const plugins[] = { &plugin_priority_sort, &plugin_node_resources_fit, &guard,
                                                &gate, &plugin_default_binder };
static const struct registry registry = { plugins, ARRAY_SIZE(plugins) };
#define CONFIG \
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" \
    "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, " \
    "{name: NodeResourcesFit}, {name: Guard}, {name: Gate}, {name: DefaultBinder}]}}}]"

/* ---- events ---- */
static uint32_t versions; /* of anything */
static uint32_t lives[PODS];

static struct pod_info *pod_of(const struct fake_host *h, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof(name), "p%u", number);
    return cluster_find_pod(&h->e.f.cluster, STR("default"), str_from(name));
}

static void load_pod(struct fake_host *h, uint32_t number, const char *meta, const char *spec)
{
    fixture_loadf(&h->e.f,
                  "{kind: Pod, metadata: {name: p%u, uid: u%u-%u, resourceVersion: '%u'%s}, spec: "
                  "{containers: [{name: c, "
                  "resources: {requests: {cpu: 1}}}]%s}}",
                  number, number, lives[number], ++versions, meta, spec);
}

/* The next version of a pod that is neither bound nor terminating. */
static void change_pod(struct fake_host *h, uint32_t number)
{
    struct pod_info *pod = pod_of(h, number);
    uint32_t how = below(8);
    if (!pod) {
        lives[number]++;
        load_pod(h, number, "", "");
    } else if (how == 0 || pod->terminating || pod->api->spec.node_name.len) {
        engine_remove_pod(&h->e.engine, pod, h->e.now_ns);
    } else if (how == 1) {
        load_pod(h, number, ", deletionTimestamp: '2026-01-01T00:00:00Z'", "");
    } else if (how == 2) {
        load_pod(h, number, "", ", nodeName: far");
    } else if (how == 3) {
        lives[number]++; /* its deletion was not seen */
        load_pod(h, number, "", "");
    } else {
        char labels[32];
        snprintf(labels, sizeof(labels), ", labels: {v: v%u}", versions);
        load_pod(h, number, labels, "");
    }
}

static void change_node(struct fake_host *h)
{
    char name[8];
    snprintf(name, sizeof(name), "n%u", below(NODES));
    if (cluster_row(&h->e.f.cluster, str_from(name)) != ROW_NONE && below(2))
        engine_remove_object(&h->e.engine, KIND_NODE, STR(""), str_from(name), h->e.now_ns);
    else
        fixture_loadf(&h->e.f,
                      "{kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: 2, pods: 20}}}", name);
}

static void judge(struct fake_host *h, uint32_t number)
{
    struct pod_info *pod = pod_of(h, number);
    struct pod_binding *binding = pod ? binding_find(&h->e.engine, pod->api) : NULL;
    if (!binding)
        return;
    if (below(4))
        binding_event(
            binding, &(struct binding_event){ BINDING_ON_ALLOWED, h->e.now_ns, below(2) ? "Guard" : "Gate" });
    else
        binding_event(binding,
                      &(struct binding_event){ BINDING_ON_REJECTED, h->e.now_ns, "Guard", STR("not today") });
}

static void answer_one(struct fake_host *h)
{
    static const enum answer_kind kinds[] = { ANSWER_DONE,     ANSWER_DONE,   ANSWER_REFUSED, ANSWER_UNKNOWN,
                                              ANSWER_CONFLICT, ANSWER_UNSENT, ANSWER_GONE };
    for (size_t i = 0; i < h->wanted.len; i++) {
        struct wanted *wanted = h->wanted.items[i];
        if (wanted->answered || !wanted->effect.ticket || below(3) == 0)
            continue;
        host_answer(h, wanted, kinds[below(ARRAY_SIZE(kinds))]);
        return;
    }
}

static void random_event(struct fake_host *h)
{
    struct decision decision;
    switch (below(8)) {
    case 0:
    case 1:
        change_pod(h, below(PODS));
        break;
    case 2:
        judge(h, below(PODS));
        break;
    case 3:
        answer_one(h);
        break;
    case 4:
        h->e.now_ns += (int64_t)below(4000) * MS;
        engine_tick(&h->e.engine, h->e.now_ns);
        break;
    case 5:
        if (below(6) == 0)
            change_node(h);
        break;
    default:
        engine_step(&h->e.engine, h->e.now_ns, &decision);
    }
}

/* ---- invariants ---- */
static void check_pods(const struct fake_host *h, uint64_t seed, int step)
{
    const struct engine *engine = &h->e.engine;
    int64_t need[NODES + 1] = { 0 };
    for (uint32_t i = 0; i < PODS; i++) {
        struct pod_info *pod = pod_of(h, i);
        bool in_binding = pod && binding_find(engine, pod->api);
        if (outstanding[i] != in_binding)
            fail_msg("seed %llu, step %d: p%u is %sin a binding cycle and reserved %d times",
                     (unsigned long long)seed, step, i, in_binding ? "" : "not ", outstanding[i]);
        if (!pod)
            continue;
        const struct queued_pod *entry = queue_find(&engine->queue, pod);
        bool waits = entry && entry->place != QUEUE_IN_FLIGHT;
        bool wants = !pod->terminating && pod->row == ROW_NONE && !pod->api->spec.node_name.len;
        if (wants && !in_binding && !waits)
            fail_msg("seed %llu, step %d: p%u is lost", (unsigned long long)seed, step, i);
        for (uint32_t k = 0; k <= NODES && pod->row != ROW_NONE; k++) {
            char name[8];
            snprintf(name, sizeof(name), k < NODES ? "n%u" : "far", k);
            need[k] += str_is(cluster_node_name(&h->e.f.cluster, pod->row), name) ? 1000 : 0;
        }
    }
    for (uint32_t k = 0; k <= NODES; k++) {
        char name[8];
        snprintf(name, sizeof(name), k < NODES ? "n%u" : "far", k);
        uint32_t row = cluster_row(&h->e.f.cluster, str_from(name));
        if (row != ROW_NONE && h->e.f.cluster.col.used[RES_CPU][row] != need[k])
            fail_msg("seed %llu, step %d: %s has %lld taken, and pods that need %lld",
                     (unsigned long long)seed, step, name, (long long)h->e.f.cluster.col.used[RES_CPU][row],
                     (long long)need[k]);
    }
}

static void check_lists(const struct fake_host *h)
{
    const struct engine *engine = &h->e.engine;
    struct strbuf out = { 0 };
    size_t at_stages = 0;
    for (int i = 0; i < BINDING_STAGE_COUNT; i++)
        at_stages += engine->bindings_at[i];
    assert_int_equal(at_stages, engine_bindings(engine));
    waiting_write(engine, &(struct view_filter){ .limit = PODS }, h->e.now_ns, &out);
    yyjson_doc *doc = yyjson_read(out.text, out.len, 0);
    assert_int_equal(yyjson_arr_size(yyjson_doc_ptr_get(doc, "/pods")), at_stages);
    yyjson_doc_free(doc);
    strbuf_release(&out);
}

static void churn(uint64_t seed)
{
    struct fake_host h;
    memset(outstanding, 0, sizeof(outstanding));
    rng_seed(&rng, seed);
    host_begin(&h, CONFIG, &registry);
    fixture_load(&h.e.f, NODE("far", "0"));
    for (uint32_t i = 0; i < NODES; i++)
        fixture_loadf(&h.e.f,
                      "{kind: Node, metadata: {name: n%u}, status: {allocatable: {cpu: 2, pods: 20}}}", i);
    for (int step = 0; step < STEPS; step++) {
        random_event(&h);
        check_pods(&h, seed, step);
        if (step % 16 == 0)
            check_lists(&h);
    }
    for (uint32_t i = 0; i < PODS; i++)
        if (pod_of(&h, i))
            engine_remove_pod(&h.e.engine, pod_of(&h, i), h.e.now_ns);
    engine_tick(&h.e.engine, h.e.now_ns);
    assert_int_equal(engine_bindings(&h.e.engine), 0);
    assert_int_equal(h.e.engine.due.items.len, 0);
    assert_int_equal(h.e.engine.ended.len, 0);
    for (uint32_t i = 0; i < PODS; i++)
        assert_int_equal(outstanding[i], 0);
    host_end(&h);
}

static uint64_t only_seed;

static void nothing_leaks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS && !only_seed; seed++)
        churn(seed);
    if (only_seed)
        churn(only_seed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_leaks) };
    only_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
