/* A ring of texts: the newest stay, equal ones are kept once, no text wraps around. */
#include "support/test.h"

#include "debug/ring.h"

struct head {
    uint64_t number;
};

struct seen {
    uint64_t first, last;
    size_t count, gone;
    const char *body; /* expected of each item with a body */
};

static void see(void *context, const struct ring_item *item)
{
    struct seen *seen = context;
    const struct head *head = item->head;
    char own[32];
    if (!seen->count++)
        seen->first = head->number;
    else
        assert_int_equal(head->number, seen->last + 1);
    seen->last = head->number;
    snprintf(own, sizeof(own), "own %llu", (unsigned long long)head->number);
    assert_true(str_is(item->own, own));
    seen->gone += item->body_gone;
    if (seen->body && !item->body_gone)
        assert_true(str_is(item->body, seen->body));
}

static void add(struct ring *ring, uint64_t number, struct str body)
{
    char own[32];
    snprintf(own, sizeof(own), "own %llu", (unsigned long long)number);
    assert_true(ring_add(ring, &(struct head){ number }, str_from(own), body));
}

static void the_newest_stay(void **state)
{
    (void)state;
    enum { BYTES = 4096 };
    struct ring *ring = ring_new(BYTES, sizeof(struct head));
    char text[700];
    memset(text, 'x', sizeof(text));
    for (uint64_t i = 1; i <= 10000; i++) {
        struct seen seen = { 0 };
        text[0] = (char)i; /* bodies differ, also in length */
        text[1] = (char)(i >> 8);
        add(ring, i, (struct str){ text, (uint32_t)(2 + i * 37 % 690) });
        ring_each(ring, see, &seen);
        assert_int_equal(seen.last, i);
        assert_true(seen.count >= MIN(i, 3));
    }
    ring_free(ring);
}

static void equal_bodies_are_kept_once(void **state)
{
    (void)state;
    struct ring *ring = ring_new(1 << 16, sizeof(struct head));
    char body[2001];
    memset(body, 'b', 2000);
    body[2000] = '\0';
    for (uint64_t i = 1; i <= 200; i++) /* six times the capacity if kept separately */
        add(ring, i, str_from(body));
    struct seen seen = { .body = body };
    ring_each(ring, see, &seen);
    assert_int_equal(seen.count, 200);
    assert_int_equal(seen.gone, 0);
    for (uint64_t i = 201; i <= 20000; i++) {
        seen = (struct seen){ .body = body };
        add(ring, i, str_from(body));
        ring_each(ring, see, &seen);
        assert_true(seen.count > 100);
        assert_true(seen.gone < seen.count / 2 + 1); /* the newer half still has its bodies */
    }
    ring_free(ring);
}

static void too_long_is_rejected(void **state)
{
    (void)state;
    struct ring *ring = ring_new(4096, sizeof(struct head));
    char text[2000];
    memset(text, 'x', sizeof(text));
    assert_false(ring_add(ring, &(struct head){ 1 }, STR(""), (struct str){ text, sizeof(text) }));
    struct seen seen = { 0 };
    ring_each(ring, see, &seen);
    assert_int_equal(seen.count, 0);
    ring_free(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_stay),
        cmocka_unit_test(equal_bodies_are_kept_once),
        cmocka_unit_test(too_long_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
