/* Writes are retried with backoff until their outcome is known. */
#include "fake_host.h"

struct outcome {
    uint32_t count;
    enum answer_kind kind;
    bool in_doubt;
    uint32_t attempts;
};

static void on_done(void *context, const struct write *write, const struct answer *answer, int64_t now_ns)
{
    struct outcome *outcome = context;
    (void)now_ns;
    *outcome = (struct outcome){ outcome->count + 1, answer->kind, write->in_doubt, write->attempts };
}

static void begin(struct writes *writes, struct fake_host *h)
{
    *h = (struct fake_host){ 0 };
    writes_init(writes, fake_emit, h, 1);
}

static void end(struct writes *writes, struct fake_host *h)
{
    writes_release(writes);
    vec_release(&h->wanted);
    arena_release(&h->arena);
}

static const struct effect bind_effect = {
    .kind = EFFECT_BIND, .namespace = STR("default"), .name = STR("p"), .uid = STR("u"), .node = STR("a")
};

static void test_until_the_outcome_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        enum effect_kind effect;
        enum answer_kind answers[6]; /* the last one is final, or PENDING: it is retried */
        enum answer_kind outcome;
        bool in_doubt;
    } cases[] = {
        { "at once", EFFECT_BIND, { ANSWER_DONE }, ANSWER_DONE, false },
        { "gone", EFFECT_BIND, { ANSWER_GONE }, ANSWER_GONE, false },
        { "a conflict", EFFECT_BIND, { ANSWER_CONFLICT }, ANSWER_CONFLICT, false },
        { "refused", EFFECT_BIND, { ANSWER_REFUSED }, ANSWER_REFUSED, false },
        { "the answer was lost", EFFECT_BIND, { ANSWER_UNKNOWN, ANSWER_CONFLICT }, ANSWER_CONFLICT, true },
        { "nothing was sent", EFFECT_BIND, { ANSWER_UNSENT, ANSWER_DONE }, ANSWER_DONE, false },
        { "many retries",
          EFFECT_POD_STATUS,
          { ANSWER_UNSENT, ANSWER_UNKNOWN, ANSWER_UNSENT, ANSWER_UNSENT, ANSWER_GONE },
          ANSWER_GONE,
          true },
        { "a read that is rejected decides nothing",
          EFFECT_READ_POD,
          { ANSWER_REFUSED, ANSWER_DONE },
          ANSWER_DONE,
          false },
        { "not yet", EFFECT_DELETE_POD, { ANSWER_UNKNOWN, ANSWER_UNSENT }, ANSWER_PENDING, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct writes writes;
        struct fake_host h;
        struct outcome outcome = { .kind = ANSWER_PENDING };
        struct effect effect = bind_effect;
        int64_t now_ns = SECOND;
        uint32_t sent = 0;
        begin(&writes, &h);
        effect.kind = cases[i].effect;
        writes_send(&writes, &effect, on_done, &outcome, now_ns);
        for (; sent < 6 && cases[i].answers[sent] != ANSWER_PENDING; sent++) {
            const struct effect *out = &host_wants(&h, effect.kind)->effect;
            host_wants(&h, effect.kind)->answered = true;
            assert_str(out->name, "p");
            writes_answer(&writes, out->ticket, &(struct answer){ .kind = cases[i].answers[sent] }, now_ns);
            if (writes_next_due(&writes) != INT64_MAX)
                now_ns = writes_next_due(&writes);
            writes_tick(&writes, now_ns);
        }
        bool open = cases[i].outcome == ANSWER_PENDING;
        if (outcome.kind != cases[i].outcome || outcome.in_doubt != cases[i].in_doubt ||
            outcome.count != (open ? 0 : 1) || writes.by_ticket.len != open)
            fail_msg("%s: %u outcomes: %s", cases[i].what, outcome.count, answer_kind_names[outcome.kind]);
        assert_int_equal(h.wanted.len, sent + open);
        end(&writes, &h);
    }
}

/* The first retries are fast, later ones within a second; Retry-After is honored up to a bound. */
static void test_backoff(void **state)
{
    (void)state;
    static const struct {
        uint32_t failures;
        int64_t retry_after_ms, low_ms, high_ms;
    } cases[] = {
        { 1, 0, 12, 25 },    { 2, 0, 25, 50 },        { 3, 0, 50, 100 },          { 6, 0, 400, 800 },
        { 40, 0, 400, 800 }, { 1, 3000, 1500, 3000 }, { 1, 100000, 5000, 10000 }, { 40, -5, 400, 800 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct writes writes;
        struct fake_host h;
        struct outcome outcome = { 0 };
        int64_t now_ns = SECOND, due_ns = 0;
        begin(&writes, &h);
        struct write *write = writes_send(&writes, &bind_effect, on_done, &outcome, now_ns);
        for (uint32_t left = cases[i].failures; left > 0; left--) {
            writes_answer(
                &writes, write->effect.ticket,
                &(struct answer){ .kind = ANSWER_UNSENT, .retry_after_ms = cases[i].retry_after_ms }, now_ns);
            due_ns = writes_next_due(&writes) - now_ns;
            now_ns = writes_next_due(&writes);
            writes_tick(&writes, now_ns - 1);
            assert_int_equal(h.wanted.len, cases[i].failures - left + 1);
            writes_tick(&writes, now_ns);
        }
        if (due_ns < cases[i].low_ms * MS || due_ns > cases[i].high_ms * MS)
            fail_msg("case %zu: %lld ms", i, (long long)(due_ns / MS));
        end(&writes, &h);
    }
}

/* An answer counts once, and only while its write is pending. */
static void test_stray_answers(void **state)
{
    (void)state;
    struct writes writes;
    struct fake_host h;
    struct outcome outcome = { 0 };
    begin(&writes, &h);
    struct write *write = writes_send(&writes, &bind_effect, on_done, &outcome, 0);
    uint64_t ticket = write->effect.ticket;
    writes_answer(&writes, 0, &(struct answer){ .kind = ANSWER_DONE }, 0);
    writes_answer(&writes, ticket + 1, &(struct answer){ .kind = ANSWER_DONE }, 0);
    assert_int_equal(outcome.count, 0);
    writes_answer(&writes, ticket, &(struct answer){ .kind = ANSWER_UNKNOWN }, 0);
    writes_answer(&writes, ticket, &(struct answer){ .kind = ANSWER_DONE },
                  0); /* a second answer to the same attempt */
    assert_int_equal(outcome.count, 0);
    writes_tick(&writes, SECOND);
    assert_int_equal(h.wanted.len, 2);
    writes_answer(&writes, ticket, &(struct answer){ .kind = ANSWER_DONE }, SECOND);
    writes_answer(&writes, ticket, &(struct answer){ .kind = ANSWER_DONE }, SECOND);
    assert_int_equal(outcome.count, 1);
    end(&writes, &h);
}

static void test_cancel(void **state)
{
    (void)state;
    struct writes writes;
    struct fake_host h;
    struct outcome outcome = { 0 };
    begin(&writes, &h);
    for (int waits = 0; waits < 2; waits++) {
        struct write *write = writes_send(&writes, &bind_effect, on_done, &outcome, 0);
        uint64_t ticket = write->effect.ticket;
        if (waits)
            writes_answer(&writes, ticket, &(struct answer){ .kind = ANSWER_UNKNOWN }, 0);
        writes_cancel(&writes, write);
        writes_answer(&writes, ticket, &(struct answer){ .kind = ANSWER_DONE }, 0);
        writes_tick(&writes, 100 * SECOND);
        assert_int_equal(outcome.count, 0);
        assert_int_equal(h.wanted.len, waits + 1);
        assert_int_equal(writes.by_ticket.len, 0);
        assert_true(writes_next_due(&writes) == INT64_MAX);
    }
    end(&writes, &h);
}

/* A write that begins with a backoff, as if it had been tried before. */
static void test_send_later(void **state)
{
    (void)state;
    static const struct {
        uint32_t attempts;
        int64_t low_ms, high_ms;
    } cases[] = { { 0, 12, 25 }, { 1, 12, 25 }, { 3, 50, 100 }, { 1000, 400, 800 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct writes writes;
        struct fake_host h;
        struct outcome outcome = { 0 };
        begin(&writes, &h);
        struct write *write =
            writes_send_later(&writes, &bind_effect, on_done, &outcome, cases[i].attempts, SECOND);
        int64_t due_ns = writes_next_due(&writes);
        assert_int_equal(h.wanted.len, 0);
        assert_in_range(due_ns, SECOND + cases[i].low_ms * MS, SECOND + cases[i].high_ms * MS);
        writes_answer(&writes, write->effect.ticket, &(struct answer){ .kind = ANSWER_DONE }, SECOND);
        assert_int_equal(outcome.count, 0); /* nothing was sent */
        writes_tick(&writes, due_ns);
        assert_int_equal(h.wanted.len, 1);
        writes_answer(&writes, write->effect.ticket, &(struct answer){ .kind = ANSWER_DONE }, due_ns);
        assert_int_equal(outcome.count, 1);
        end(&writes, &h);
    }
}

/* The caller may free its strings at once; retries send the same ones. */
static void test_strings_are_copied(void **state)
{
    (void)state;
    struct writes writes;
    struct fake_host h;
    struct outcome outcome = { 0 };
    char text[] = "abc";
    struct wanted_condition condition = { .type = { text, 1 }, .message = { text, 3 } };
    struct effect effect = { .kind = EFFECT_POD_STATUS,
                             .name = { text, 3 },
                             .node = { text, 2 },
                             .condition = &condition,
                             .sets_nomination = true };
    begin(&writes, &h);
    struct write *write = writes_send(&writes, &effect, on_done, &outcome, 0);
    memcpy(text, "xyz", 3);
    condition.type = STR("gone");
    writes_answer(&writes, write->effect.ticket, &(struct answer){ .kind = ANSWER_UNSENT }, 0);
    writes_tick(&writes, SECOND);
    assert_int_equal(h.wanted.len, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct wanted *wanted = h.wanted.items[i];
        assert_str(wanted->effect.name, "abc");
        assert_str(wanted->effect.node, "ab");
        assert_str(wanted->condition.type, "a");
        assert_str(wanted->condition.message, "abc");
        assert_true(wanted->effect.sets_nomination);
    }
    end(&writes, &h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_until_the_outcome_is_known),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_stray_answers),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_send_later),
        cmocka_unit_test(test_strings_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
