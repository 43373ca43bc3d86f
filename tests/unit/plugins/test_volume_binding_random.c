/* VolumeBinding with random changes: pods are reserved, written, answered and dropped in any order, and objects change
 * between any two calls. */
#include "unit/plugins/test_volume_binding_live.h"

enum { NAMES = 3, ROUNDS = 4000 };

static void random_change(struct live *live, struct rng *rng, int version)
{
    static const char *const volume_more[] = { "", HELD("c0"), HELD("c1"), IN_ZONE("z1"),
                                               HELD("c2") IN_ZONE("z2") };
    static const char *const claim_notes[] = { "", SELECTED("a"), BOUND, SELECTED("b") ", " BOUND };
    char text[1024], name[16];
    unsigned number = (unsigned)rng_below(rng, NAMES);
    bool volume = rng_below(rng, 2);
    snprintf(name, sizeof(name), "%c%u", volume ? 'v' : 'c', number);
    if (rng_below(rng, 6) == 0) {
        drop(live, volume ? KIND_PV : KIND_PVC, volume ? "" : "default", name);
        return;
    }
    if (volume)
        snprintf(text, sizeof(text), PV("%s", "%d", "%s"), name, name, version,
                 volume_more[rng_below(rng, ARRAY_SIZE(volume_more))]);
    else
        snprintf(text, sizeof(text), PVC("%s", "%s", "%d", "%s", "%s"), name, name, version,
                 claim_notes[rng_below(rng, ARRAY_SIZE(claim_notes))], rng_below(rng, 2) ? "late" : "local",
                 rng_below(rng, 4) ? "" : ", volumeName: v1");
    put(live, text);
}

/* A pod between Reserve and its end, with its own memory. */
struct attempt {
    struct cycle cycle;
    struct arena arena;
    struct host host;
    bool active;
};

static void attempt_end(struct attempt *attempt, bool undo)
{
    struct cycle *cycle = &attempt->cycle;
    cycle->current = &cycle->profile->plugins[0];
    if (undo)
        plugin_volume_binding.unreserve(cycle, cycle->info->row);
    cluster_remove_pod(cycle->cluster, cycle->info);
    cycle_release(cycle);
    arena_release(&attempt->arena);
    attempt->active = false;
}

static void attempt_begin(struct attempt *attempt, struct live *live, struct rng *rng, size_t number)
{
    struct arena cycles = live->f.arena;
    live->f.arena = (struct arena){ 0 };
    unsigned first = (unsigned)rng_below(rng, NAMES), second = (unsigned)rng_below(rng, NAMES);
    fixture_loadf(&live->f, POD("p%zu", CLAIM("c%u") ", " CLAIM("c%u")), number, number, first, first, second,
                  second);
    *attempt = (struct attempt){ .arena = live->f.arena, .active = true, .host.writer.write = write_later };
    live->f.arena = cycles;
    struct cycle *cycle = &attempt->cycle;
    cycle_init(cycle, &live->f.profile, &live->f.cluster, live->f.last_pod, &attempt->arena);
    cycle->writer = &attempt->host.writer;
    struct node_names names;
    uint64_t blamed;
    uint32_t row = fixture_row(&live->f, rng_below(rng, 2) ? "a" : "b");
    struct status status = run_pre_filter(cycle, &names, &blamed);
    if (status_ok(status))
        status = run_filters(cycle, (struct node_view){ &live->f.cluster, row, NULL });
    if (status_ok(status))
        status = run_reserve(cycle, row);
    if (status_ok(status))
        cluster_place(&live->f.cluster, cycle->info, row);
    else
        attempt_end(attempt, true);
}

static void attempt_step(struct attempt *attempt, struct rng *rng, int *version)
{
    static const enum answer_kind kinds[] = { ANSWER_DONE, ANSWER_DONE, ANSWER_DONE, ANSWER_CONFLICT,
                                              ANSWER_GONE };
    struct host *host = &attempt->host;
    struct cycle *cycle = &attempt->cycle;
    for (uint32_t i = 0; i < host->writes; i++)
        if (host->answers[i].kind == ANSWER_PENDING && rng_below(rng, 2))
            host->answers[i] =
                (struct answer){ .kind = kinds[rng_below(rng, ARRAY_SIZE(kinds))],
                                 .resource_version = arena_printf(&attempt->arena, "%d", ++*version) };
    cycle->current = &cycle->profile->plugins[0];
    cycle->now_ns += (int64_t)rng_below(rng, 60) * SECOND;
    struct status status = plugin_volume_binding.pre_bind(cycle, cycle->info->row);
    bool waits = status.code == STATUS_WAIT;
    if (!waits || rng_below(rng, 20) == 0)
        attempt_end(attempt, !status_ok(status));
}

/* When all assumptions are answered or undone, only stored objects count. */
static void check_nothing_assumed(struct live *live, int version)
{
    for (unsigned i = 0; i < NAMES; i++) {
        char text[1024], name[16];
        snprintf(text, sizeof(text), PV("v%u", "%d", ""), i, i, version);
        put(live, text);
        snprintf(text, sizeof(text), PVC("c%u", "late", "%d", "", ""), i, i, version);
        put(live, text);
        snprintf(name, sizeof(name), "v%u", i);
        assert_null(holder(live, name));
        name[0] = 'c';
        assert_null(selected(live, name));
    }
}

static void test_random(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct live live;
    struct attempt attempts[4] = { 0 };
    size_t bound = 0;
    int version = 1;
    live_init(&live);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct attempt *attempt = &attempts[rng_below(&rng, ARRAY_SIZE(attempts))];
        if (rng_below(&rng, 2))
            random_change(&live, &rng, ++version);
        else if (attempt->active)
            attempt_step(attempt, &rng, &version);
        else
            attempt_begin(attempt, &live, &rng, round);
        bound += attempt->active && attempt->host.writes;
    }
    assert_true(bound > ROUNDS / 100); /* the random steps must reach bindings */
    for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
        if (attempts[i].active)
            attempt_end(&attempts[i], true);
    check_nothing_assumed(&live, ++version);
    live_release(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
