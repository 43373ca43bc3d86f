/* test_names.c: names that were chosen to collide in a hash without a key do not do so in the tables of strategies. */
#include "../../strategies/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { NAMES = 1000, PLACES = 4096 };

/* FNV-1a, whose lowest bits are those that a small table uses. */
static uint64_t fnv(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

/* How many other names the lookups of all names pass. */
static uint64_t steps(const struct names *names)
{
    uint64_t sum = 0;
    uint32_t mask = 2 * names->cap - 1;
    for (uint32_t i = 0; i < names->len; i++) {
        uint32_t at = (uint32_t)keyed_hash(&names->key, names->texts[i].ptr, names->texts[i].len) & mask;
        sum += (names_slot(names, names->texts[i]) - at) & mask;
    }
    return sum;
}

static void add(struct names *names, const char *text)
{
    uint32_t number = names_add(names, berth_text(text));
    assert_int_equal(number, names->len - 1);
    assert_int_equal(names_find(names, berth_text(text)), number);
}

static void test_colliding_names(void **state)
{
    (void)state;
    struct names names = { 0 };
    char text[32];
    for (uint64_t i = 0; names.len < NAMES; i++) {
        snprintf(text, sizeof(text), "workload-%llu", (unsigned long long)i);
        if (fnv(text) % PLACES == 7)
            add(&names, text);
    }
    assert_in_range(steps(&names), 0, 4 * NAMES); /* all in one place: NAMES * NAMES / 2 */
    names_release(&names);
}

/* Keys of all lengths are told apart, and one has another place in another table. */
static void test_lengths(void **state)
{
    (void)state;
    struct names names = { 0 };
    struct hash_key other = hash_key_new();
    char text[100] = { 0 };
    uint32_t differ = 0;
    for (uint32_t len = 0; len < sizeof(text) - 1; len++) {
        add(&names, text);
        differ += keyed_hash(&names.key, text, len) != keyed_hash(&other, text, len);
        text[len] = 'a';
    }
    assert_in_range(differ, names.len - 1, names.len);
    names_release(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_colliding_names),
                                        cmocka_unit_test(test_lengths) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
