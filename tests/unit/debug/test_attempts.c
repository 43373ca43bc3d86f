/* The history of attempts: which pods, how much, and that it is accurate. */
#include "support/engine_fixture.h"

#include "debug/attempts.h"

#define SECOND INT64_C(1000000000)

struct history {
    struct engine_fixture e;
    struct attempts *attempts;
    struct arena arena;
    struct attempt of[ATTEMPTS_SHOWN];
    size_t len;
};

static void begin(struct history *h)
{
    *h = (struct history){ 0 };
    engine_fixture_init(&h->e, NULL,
                        &(struct engine_options){ .seed = 1, .now_ns = 1000 * SECOND, .ranks = true });
    h->attempts = attempts_new(&h->e.f.cluster);
}

static void end(struct history *h)
{
    attempts_free(h->attempts);
    arena_release(&h->arena);
    engine_fixture_release(&h->e);
}

static struct decision step(struct history *h, int64_t seconds)
{
    h->e.now_ns = seconds * SECOND;
    struct decision decision = engine_fixture_step(&h->e);
    attempts_decision(h->attempts, &decision, h->e.now_ns, 5000);
    return decision;
}

static const struct attempt *look(struct history *h, const char *name)
{
    const struct pod_info *pod = cluster_find_pod(&h->e.f.cluster, STR("default"), str_from(name));
    arena_reset(&h->arena);
    h->len = attempts_of(h->attempts, STR("default"), str_from(name), pod ? pod->api->meta.uid : STR(""),
                         &h->arena, h->of);
    return h->of;
}

static uint32_t row_of(struct history *h, const char *name)
{
    return cluster_row(&h->e.f.cluster, str_from(name));
}

static void a_rejection_keeps_every_node_status(void **state)
{
    (void)state;
    struct history h;
    begin(&h);
    fixture_load(&h.e.f,
                 "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 1, pods: 9}}}\n---\n"
                 "{kind: Node, metadata: {name: b}, spec: {unschedulable: true}, status: {allocatable: {cpu: "
                 "9, pods: 9}}}\n---\n"
                 "{kind: Node, metadata: {name: c}, status: {allocatable: {cpu: 1, pods: 9}}}");
    engine_fixture_add(&h.e, "{kind: Pod, metadata: {name: big, uid: u1}, spec: {containers: [{resources: "
                             "{requests: {cpu: 4}}}]}}");
    step(&h, 1001);
    const struct attempt *attempt = look(&h, "big");
    assert_int_equal(h.len, 1);
    assert_int_equal(attempt->outcome, ATTEMPT_UNSCHEDULABLE);
    assert_int_equal(attempt->time_ns, 1001 * SECOND);
    assert_int_equal(attempt->took_ns, 5000);
    assert_true(
        str_starts_with(attempt->message, STR("0/3 nodes are available: 1 node(s) were unschedulable")));
    assert_true(str_is(attempt->rejected_by, "NodeResourcesFit NodeUnschedulable"));
    assert_int_equal(attempt->live_nodes, 3);
    const struct attempt_status *a = &attempt->statuses[attempt->status_of[row_of(&h, "a")]],
                                *b = &attempt->statuses[attempt->status_of[row_of(&h, "b")]],
                                *c = &attempt->statuses[attempt->status_of[row_of(&h, "c")]];
    assert_ptr_equal(a, c);
    assert_int_equal(a->nodes, 2);
    assert_true(str_is(a->plugin, "NodeResourcesFit"));
    assert_true(str_is(a->reasons[0], "Insufficient cpu"));
    assert_true(str_is(b->plugin, "NodeUnschedulable"));
    assert_int_equal(b->code, STATUS_UNRESOLVABLE);
    end(&h);
}

static void rows_of_removed_nodes_are_not_mixed_up(void **state)
{
    (void)state;
    struct history h;
    begin(&h);
    fixture_load(&h.e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 1, pods: 9}}}");
    engine_fixture_add(&h.e, "{kind: Pod, metadata: {name: big}, spec: {containers: [{resources: {requests: "
                             "{cpu: 4}}}]}}");
    step(&h, 1001);
    uint32_t row = row_of(&h, "a");
    const struct attempt *attempt = look(&h, "big");
    assert_true(attempt_node_is_same(attempt, &h.e.f.cluster, row));
    cluster_remove_node(&h.e.f.cluster, STR("a"));
    assert_false(attempt_node_is_same(attempt, &h.e.f.cluster, row));
    fixture_load(&h.e.f, "{kind: Node, metadata: {name: other}, status: {allocatable: {cpu: 1, pods: 9}}}");
    assert_int_equal(row_of(&h, "other"), row); /* rows are reused */
    assert_false(attempt_node_is_same(attempt, &h.e.f.cluster, row));
    attempts_restart(h.attempts, &h.e.f.cluster);
    assert_false(attempt_node_is_same(look(&h, "big"), &h.e.f.cluster, row));
    assert_int_equal(h.of[0].outcome, ATTEMPT_UNSCHEDULABLE);
    end(&h);
}

static void notice(struct history *h, const struct decision *decision, enum notice_kind kind,
                   const char *message, int64_t seconds)
{
    attempts_notice(h->attempts, &(struct notice){ .kind = kind,
                                                   .pod = decision->pod->api,
                                                   .profile = decision->profile,
                                                   .node = STR("a"),
                                                   .message = str_from(message),
                                                   .decision = decision,
                                                   .took_ns = seconds * SECOND,
                                                   .now_ns = h->e.now_ns + seconds * SECOND });
}

static void a_decision_and_its_binding_are_one_attempt(void **state)
{
    (void)state;
    struct history h;
    begin(&h);
    fixture_load(&h.e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 9, pods: 9}}}");
    engine_fixture_add(&h.e, "{kind: Pod, metadata: {name: good}}");
    struct decision decision = step(&h, 1001);
    look(&h, "good");
    assert_int_equal(h.of[0].outcome, ATTEMPT_PLACED);
    assert_int_equal(h.of[0].row, row_of(&h, "a"));
    notice(&h, &decision, NOTICE_BOUND, "", 2);
    look(&h, "good");
    assert_int_equal(h.len, 1);
    assert_int_equal(h.of[0].outcome, ATTEMPT_BOUND);
    assert_int_equal(h.of[0].time_ns, 1001 * SECOND);
    assert_int_equal(h.of[0].took_ns, 5000);
    assert_int_equal(h.of[0].bound_ns, 2 * SECOND);

    engine_fixture_add(&h.e, "{kind: Pod, metadata: {name: bad}}");
    decision = step(&h, 1010);
    notice(&h, &decision, NOTICE_BINDING_FAILED, "conflict", 2);
    look(&h, "bad");
    assert_int_equal(h.len, 1);
    assert_int_equal(h.of[0].outcome, ATTEMPT_BINDING_FAILED);
    assert_true(str_is(h.of[0].message, "conflict"));
    attempts_decision(h.attempts, &decision, 1020 * SECOND, 7000); /* tried again, without an answer yet */
    look(&h, "bad");
    assert_int_equal(h.len, 2);
    assert_int_equal(h.of[0].outcome, ATTEMPT_PLACED);
    assert_int_equal(h.of[0].took_ns, 7000);
    assert_int_equal(h.of[1].outcome, ATTEMPT_BINDING_FAILED);

    engine_fixture_add(&h.e, "{kind: Pod, metadata: {name: at-once}}");
    h.e.now_ns = 1030 * SECOND;
    decision = engine_fixture_step(&h.e);
    notice(&h, &decision, NOTICE_BINDING_FAILED, "refused", 0); /* before the decision is recorded */
    attempts_decision(h.attempts, &decision, h.e.now_ns, 5000);
    look(&h, "at-once");
    assert_int_equal(h.len, 1);
    assert_int_equal(h.of[0].outcome, ATTEMPT_BINDING_FAILED);
    end(&h);
}

static void the_last_five_attempts_of_a_pod(void **state)
{
    (void)state;
    struct history h;
    begin(&h);
    fixture_load(&h.e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 1, pods: 9}}}");
    static const char text[] = "{kind: Pod, metadata: {name: p, uid: first}, spec: {containers: [{resources: "
                               "{requests: {cpu: 4}}}]}}";
    engine_fixture_add(&h.e, text);
    struct decision decision = step(&h, 1001);
    for (int i = 0; i < 9; i++)
        attempts_decision(h.attempts, &decision, (1002 + i) * SECOND, 1000);
    look(&h, "p");
    assert_int_equal(h.len, ATTEMPTS_SHOWN);
    assert_int_equal(h.of[0].time_ns, 1010 * SECOND);
    assert_int_equal(h.of[ATTEMPTS_SHOWN - 1].time_ns, 1006 * SECOND);
    assert_int_equal(attempts_of(h.attempts, STR("default"), STR("p"), STR("second"), &h.arena, h.of), 0);
    assert_int_equal(attempts_of(h.attempts, STR("other"), STR("p"), STR(""), &h.arena, h.of), 0);
    assert_int_equal(attempts_of(h.attempts, STR("default"), STR("p"), STR(""), &h.arena, h.of),
                     ATTEMPTS_SHOWN);
    end(&h);
}

static void scores_of_any_size_are_kept(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 0,         1,        -1, 63, 64, 100, 300, -70000, INT64_C(1) << 40,
                                     INT64_MAX, INT64_MIN };
    struct history h;
    begin(&h);
    fixture_load(&h.e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 90, pods: 9}}}\n---\n"
                         "{kind: Node, metadata: {name: b}, status: {allocatable: {cpu: 9, pods: 9}}}");
    engine_fixture_add(
        &h.e, "{kind: Pod, metadata: {name: p}, spec: {containers: [{resources: {requests: {cpu: 2}}}]}}");
    struct decision decision = step(&h, 1001);
    struct ranking ranking = *decision.ranking;
    assert_int_equal(ranking.len, 2);
    decision.ranking = &ranking;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        ranking.totals[1] = sizes[i];
        ranking.scores[1][ranking.plugins - 1] = sizes[i] == INT64_MIN ? INT64_MAX : -sizes[i];
        attempts_decision(h.attempts, &decision, 1002 * SECOND, 1000);
        notice(&h, &decision, NOTICE_BOUND, "", 2);
        const struct attempt *attempt = look(&h, "p");
        assert_int_equal(attempt->outcome, ATTEMPT_BOUND);
        assert_int_equal(attempt->best.len, 2);
        assert_int_equal(attempt->best_rows[0], decision.row);
        assert_true(attempt->best.nodes[1].total == ranking.totals[1]);
        assert_int_equal(attempt->best.plugins_len, ranking.plugins);
        assert_true(attempt->best.nodes[1].scores[ranking.plugins - 1] ==
                    ranking.scores[1][ranking.plugins - 1]);
    }
    end(&h);
}

/* A cluster where every node has its own reason, and an endless series of pods. */
static void memory_has_a_limit(void **state)
{
    (void)state;
    enum { ROWS = 20000, TIMES = 3000 };
    struct history h;
    begin(&h);
    fixture_load(&h.e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 1, pods: 9}}}");
    struct pod_info *pod = engine_fixture_add(&h.e, "{kind: Pod, metadata: {name: p}, spec: {containers: "
                                                    "[{resources: {requests: {cpu: 4}}}]}}");
    struct decision decision = step(&h, 1001);
    struct diagnosis many = { .arena = &h.arena, .rows = ROWS };
    struct arena arena = { 0 };
    many.status_of = arena_array(&arena, uint32_t, ROWS);
    *vec_push(&many.statuses) = (struct counted_status){ 0 };
    for (uint32_t i = 0; i < ROWS; i++)
        diagnosis_assign(&many, i,
                         diagnosis_add(&many, status_printf(&arena, STATUS_UNSCHEDULABLE, "reason %u", i)));
    decision.diagnosis = &many;
    for (int i = 0; i < TIMES; i++) {
        struct str message = arena_printf(&arena, "message %d", i);
        decision.message = message;
        attempts_decision(h.attempts, &decision, (2000 + i) * SECOND, 1000);
    }
    const struct attempt *attempt = look(&h, "p");
    assert_int_equal(h.len, ATTEMPTS_SHOWN);
    assert_true(str_is(attempt->message, "message 2999"));
    assert_int_equal(attempt->statuses_len, ROWS + 1);
    assert_true(str_is(attempt->statuses[attempt->status_of[7]].reasons[0], "reason 7"));
    assert_true(attempt->statuses[attempt->status_of[ROWS - 1]].is_cut);
    decision.diagnosis = NULL;
    decision.row = 0;
    for (int i = 0; i < 200000; i++) /* other pods were placed; the rejection of p is kept */
        attempts_decision(h.attempts, &decision, 9000 * SECOND, 1000);
    look(&h, "p");
    assert_int_equal(h.of[0].outcome, ATTEMPT_PLACED);
    assert_ptr_equal(pod, decision.pod);
    diagnosis_release(&many);
    arena_release(&arena);
    end(&h);
}

static void encoded_rows_are_decoded(void **state)
{
    (void)state;
    enum { ROWS = 70000 };
    struct history h;
    begin(&h);
    fixture_load(&h.e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 1, pods: 9}}}");
    engine_fixture_add(&h.e,
                       "{kind: Pod, metadata: {name: p}, spec: {containers: [{resources: {requests: {cpu: "
                       "4}}}]}}");
    struct decision decision = step(&h, 1001);
    for (int every = 1; every <= 3; every++) { /* 1: all different, 2: pairs, 3: one long run */
        struct arena arena = { 0 };
        struct diagnosis rows = { .arena = &arena, .rows = ROWS };
        rows.status_of = arena_array(&arena, uint32_t, ROWS);
        *vec_push(&rows.statuses) = (struct counted_status){ 0 };
        uint32_t x = diagnosis_add(&rows, reject(STATUS_UNSCHEDULABLE, "x")),
                 y = diagnosis_add(&rows, reject(STATUS_PENDING, "y"));
        for (uint32_t i = 0; i < ROWS; i++)
            diagnosis_assign(&rows, i, every == 3 || i / (uint32_t)every % 2 ? x : y);
        decision.diagnosis = &rows;
        attempts_decision(h.attempts, &decision, 1002 * SECOND, 1000);
        const struct attempt *attempt = look(&h, "p");
        assert_int_equal(attempt->rows, ROWS);
        for (uint32_t i = 0; i < ROWS; i++)
            assert_int_equal(attempt->status_of[i], rows.status_of[i]);
        diagnosis_release(&rows);
        arena_release(&arena);
    }
    end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rejection_keeps_every_node_status),
        cmocka_unit_test(rows_of_removed_nodes_are_not_mixed_up),
        cmocka_unit_test(a_decision_and_its_binding_are_one_attempt),
        cmocka_unit_test(the_last_five_attempts_of_a_pod),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(scores_of_any_size_are_kept),
        cmocka_unit_test(encoded_rows_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
