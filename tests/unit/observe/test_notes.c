/* A ring of texts: the newest stay, equal ones are kept once, nothing goes around the end. */
#include "support/test.h"

#include "observe/notes.h"

struct head {
    uint64_t number;
};

struct seen {
    uint64_t first, last;
    size_t count, gone;
    const char *body; /* that each must have, where it has one */
};

static void see(void *context, const struct note_text *note)
{
    struct seen *seen = context;
    const struct head *head = note->head;
    char own[32];
    if (!seen->count++)
        seen->first = head->number;
    else
        assert_int_equal(head->number, seen->last + 1);
    seen->last = head->number;
    snprintf(own, sizeof(own), "own %llu", (unsigned long long)head->number);
    assert_true(str_is(note->own, own));
    seen->gone += note->body_gone;
    if (seen->body && !note->body_gone)
        assert_true(str_is(note->body, seen->body));
}

static void add(struct notes *notes, uint64_t number, struct str body)
{
    char own[32];
    snprintf(own, sizeof(own), "own %llu", (unsigned long long)number);
    assert_true(notes_add(notes, &(struct head){ number }, str_from(own), body));
}

static void the_newest_stay(void **state)
{
    (void)state;
    enum { BYTES = 4096 };
    struct notes *notes = notes_new(BYTES, sizeof(struct head));
    char text[700];
    memset(text, 'x', sizeof(text));
    for (uint64_t i = 1; i <= 10000; i++) {
        struct seen seen = { 0 };
        text[0] = (char)i; /* bodies differ, also in length */
        text[1] = (char)(i >> 8);
        add(notes, i, (struct str){ text, (uint32_t)(2 + i * 37 % 690) });
        notes_each(notes, see, &seen);
        assert_int_equal(seen.last, i);
        assert_true(seen.count >= MIN(i, 3));
    }
    notes_free(notes);
}

static void equal_bodies_are_kept_once(void **state)
{
    (void)state;
    struct notes *notes = notes_new(1 << 16, sizeof(struct head));
    char body[2001];
    memset(body, 'b', 2000);
    body[2000] = '\0';
    for (uint64_t i = 1; i <= 200; i++) /* which would be six times the room */
        add(notes, i, str_from(body));
    struct seen seen = { .body = body };
    notes_each(notes, see, &seen);
    assert_int_equal(seen.count, 200);
    assert_int_equal(seen.gone, 0);
    for (uint64_t i = 201; i <= 20000; i++) {
        seen = (struct seen){ .body = body };
        add(notes, i, str_from(body));
        notes_each(notes, see, &seen);
        assert_true(seen.count > 100);
        assert_true(seen.gone < seen.count / 2 + 1); /* the newer half has its words */
    }
    notes_free(notes);
}

static void too_long_is_refused(void **state)
{
    (void)state;
    struct notes *notes = notes_new(4096, sizeof(struct head));
    char text[2000];
    memset(text, 'x', sizeof(text));
    assert_false(notes_add(notes, &(struct head){ 1 }, STR(""), (struct str){ text, sizeof(text) }));
    struct seen seen = { 0 };
    notes_each(notes, see, &seen);
    assert_int_equal(seen.count, 0);
    notes_free(notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_stay),
        cmocka_unit_test(equal_bodies_are_kept_once),
        cmocka_unit_test(too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
