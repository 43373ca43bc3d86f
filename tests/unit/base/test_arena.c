/* Memory of an arena is aligned, distinct, keeps its contents as the arena grows, and is counted. */
#include "support/test.h"

#include "base/arena.h"

static void test_aligned_and_distinct(void **state)
{
    (void)state;
    _cleanup_(arena_release) struct arena arena = { 0 };
    static const size_t sizes[] = { 1, 7, 8, 9, 0, 4096, 100000, 3, 5000000, 1 };
    unsigned char *blocks[ARRAY_SIZE(sizes)];
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        blocks[i] = arena_alloc(&arena, sizes[i]);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 8, 0);
        memset(blocks[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        for (size_t at = 0; at < sizes[i]; at++)
            if (blocks[i][at] != i + 1)
                fail_msg("block %zu was overwritten at byte %zu", i, at);
}

static void test_zalloc_clears_used_memory(void **state)
{
    (void)state;
    _cleanup_(arena_release) struct arena arena = { 0 };
    memset(arena_alloc(&arena, 1024), 0xff, 1024);
    arena_reset(&arena);
    const unsigned char *bytes = arena_zalloc(&arena, 1024);
    for (size_t i = 0; i < 1024; i++)
        assert_int_equal(bytes[i], 0);
    const uint64_t *numbers = arena_array(&arena, uint64_t, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(numbers[i], 0);
}

static void test_text(void **state)
{
    (void)state;
    _cleanup_(arena_release) struct arena arena = { 0 };
    char source[] = "node-a";
    struct str copy = arena_str(&arena, str_from(source));
    source[0] = 'X';
    assert_str(copy, "node-a");
    assert_int_equal(copy.ptr[copy.len], '\0');
    assert_str(arena_str(&arena, (struct str){ 0 }), "");
    assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
    assert_str(arena_printf(&arena, "%d/%s", 3, "nodes"), "3/nodes");
    struct str long_text = arena_printf(&arena, "%5000d", 7);
    assert_int_equal(long_text.len, 5000);
    assert_int_equal(long_text.ptr[4999], '7');
}

/* A cycle that fits the kept chunk allocates nothing: total_bytes does not change. */
static void test_reset_keeps_a_chunk(void **state)
{
    (void)state;
    _cleanup_(arena_release) struct arena arena = { 0 };
    for (int i = 0; i < 1000; i++)
        arena_alloc(&arena, 100);
    arena_reset(&arena);
    size_t kept = arena.total_bytes;
    assert_true(kept > 0);
    const struct arena_chunk *chunk = arena.chunks;
    for (int cycle = 0; cycle < 100; cycle++) {
        for (size_t used = 0; used + 64 <= kept; used += 64)
            arena_alloc(&arena, 64);
        arena_reset(&arena);
        assert_int_equal(arena.total_bytes, kept);
        assert_ptr_equal(arena.chunks, chunk);
    }
}

static void test_empty(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    arena_reset(&arena);
    arena_release(&arena);
    arena_alloc(&arena, 10);
    arena_release(&arena);
    assert_null(arena.chunks);
    assert_int_equal(arena.total_bytes, 0);
    arena_release(&arena);
}

/* The bytes used in one arena are exactly enough for a reserved one: no other chunk is added. */
static void test_reserve_what_was_used(void **state)
{
    (void)state;
    _cleanup_(arena_release) struct arena measured = { 0 }, exact = { 0 };
    assert_int_equal(arena_used(&measured), 0);
    arena_reserve(&measured, 1 << 16);
    assert_int_equal(arena_used(&measured), 0);
    for (size_t i = 1; i < 100; i++)
        arena_alloc(&measured, i);
    assert_int_equal(arena_used(&measured), 5304);
    arena_reserve(&exact, arena_used(&measured));
    for (size_t i = 1; i < 100; i++)
        arena_alloc(&exact, i);
    assert_int_equal(exact.total_bytes, 5304);
    assert_int_equal(arena_used(&exact), 5304);
    arena_reserve(&exact, 0);
    assert_int_equal(exact.total_bytes, 5304);
}

/* Texts take no more than their length, whatever is allocated between them, and fit a reserved arena as well. */
static void test_texts_are_packed(void **state)
{
    (void)state;
    _cleanup_(arena_release) struct arena measured = { 0 }, exact = { 0 };
    arena_reserve(&measured, 1 << 12);
    arena_reserve(&exact, 10 * (8 + 6));
    for (int i = 0; i < 10; i++) {
        uint64_t *number = arena_new(&measured, uint64_t), *again = arena_new(&exact, uint64_t);
        assert_int_equal((uintptr_t)number % 8, 0);
        assert_int_equal((uintptr_t)again % 8, 0);
        assert_str(arena_str(&measured, STR("seven")), "seven");
        assert_str(arena_str(&exact, STR("seven")), "seven");
        *again = UINT64_MAX;
    }
    assert_int_equal(arena_used(&measured), 10 * (8 + 6));
    assert_int_equal(exact.total_bytes, 10 * (8 + 6));
    assert_str(arena_str(&exact, STR("one more")), "one more");
}

/* A large allocation gets its own chunk; small ones continue in the old chunk. */
static void test_large_apart(void **state)
{
    (void)state;
    _cleanup_(arena_release) struct arena arena = { 0 };
    char *before = arena_alloc(&arena, 8);
    size_t small = arena.total_bytes;
    memset(arena_alloc(&arena, 100000), 1, 100000);
    assert_int_equal(arena.total_bytes, small + 100000);
    assert_ptr_equal(arena_alloc(&arena, 8), before + 8);
    char text[20000];
    memset(text, 'a', sizeof(text));
    assert_int_equal(strlen(arena_strndup(&arena, text, sizeof(text))), sizeof(text));
    assert_ptr_equal(arena_alloc(&arena, 8), before + 16);
    arena_reset(&arena);
    assert_true(arena.total_bytes >= small + 120000);
    assert_int_equal(arena_used(&arena), 0);
}

static void test_bytes_saturate(void **state)
{
    (void)state;
    assert_int_equal(arena_bytes(3, 8), 24);
    assert_true(arena_bytes(SIZE_MAX / 2, 3) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aligned_and_distinct),
        cmocka_unit_test(test_zalloc_clears_used_memory),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_reset_keeps_a_chunk),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_reserve_what_was_used),
        cmocka_unit_test(test_texts_are_packed),
        cmocka_unit_test(test_large_apart),
        cmocka_unit_test(test_bytes_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
