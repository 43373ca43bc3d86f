/* A vector keeps its items in order while it grows, and is empty and reusable after its release. */
#include "support/test.h"

#include "base/vec.h"

static void test_push_and_iterate(void **state)
{
    (void)state;
    VEC(size_t) numbers = { 0 };
    vec_for(&numbers, item)
        fail_msg("an empty vector has no item at %p", (void *)item);
    for (size_t i = 0; i < 10000; i++)
        *vec_push(&numbers) = i * i;
    assert_int_equal(numbers.len, 10000);
    assert_true(numbers.cap >= numbers.len);
    size_t at = 0;
    vec_for(&numbers, item) {
        assert_int_equal(*item, at * at);
        at++;
    }
    assert_int_equal(at, 10000);
    vec_release(&numbers);
    assert_null(numbers.items);
    assert_int_equal(numbers.len + numbers.cap, 0);
    *vec_push(&numbers) = 5;
    assert_int_equal(numbers.items[0], 5);
    vec_release(&numbers);
}

static void test_reserve(void **state)
{
    (void)state;
    VEC(char) bytes = { 0 };
    vec_reserve(&bytes, 1000);
    const char *before = bytes.items;
    assert_int_equal(bytes.len, 0);
    for (int i = 0; i < 1000; i++)
        *vec_push(&bytes) = 'x';
    assert_ptr_equal(bytes.items, before);
    vec_clear(&bytes);
    assert_int_equal(bytes.len, 0);
    assert_true(bytes.cap >= 1000);
    vec_release(&bytes);
}

static void test_swap_remove(void **state)
{
    (void)state;
    VEC(int) numbers = { 0 };
    for (int i = 0; i < 4; i++)
        *vec_push(&numbers) = i;
    vec_swap_remove(&numbers, 1);
    assert_int_equal(numbers.len, 3);
    assert_int_equal(numbers.items[0], 0);
    assert_int_equal(numbers.items[1], 3);
    assert_int_equal(numbers.items[2], 2);
    vec_swap_remove(&numbers, 2);
    vec_swap_remove(&numbers, 0);
    assert_int_equal(numbers.len, 1);
    assert_int_equal(numbers.items[0], 3);
    vec_release(&numbers);
}

static void test_shrink(void **state)
{
    (void)state;
    VEC(int) numbers = { 0 };
    for (int i = 0; i < 1000; i++)
        *vec_push(&numbers) = i;
    numbers.len = 300;
    vec_shrink(&numbers);
    assert_true(numbers.cap >= 1000);
    numbers.len = 20;
    vec_shrink(&numbers);
    assert_int_equal(numbers.cap, 40);
    assert_int_equal(numbers.items[19], 19);
    vec_clear(&numbers);
    vec_shrink(&numbers); /* it is small */
    assert_int_equal(numbers.cap, 40);
    vec_release(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_and_iterate),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_swap_remove),
        cmocka_unit_test(test_shrink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
