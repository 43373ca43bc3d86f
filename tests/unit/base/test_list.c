/* A list keeps its order while items are added and removed, and a walk survives the removal of its current item. */
#include "support/test.h"

#include "base/list.h"

struct item {
    int number;
    struct list_link link;
};

/* The numbers in the list, forwards and backwards, as "123 321". */
static const char *shown(const struct list *list)
{
    static char text[64];
    size_t len = 0;
    list_for_each(list, struct item, item, link)
        text[len++] = (char)('0' + item->number);
    text[len++] = ' ';
    for (struct list_link *link = list->last; link; link = link->prev)
        text[len++] = (char)('0' + container_of(link, struct item, link)->number);
    text[len] = '\0';
    return text;
}

static void test_order(void **state)
{
    (void)state;
    struct item items[] = { { .number = 1 }, { .number = 2 }, { .number = 3 }, { .number = 4 } };
    struct list list = { 0 };
    assert_true(list_empty(&list));
    assert_string_equal(shown(&list), " ");
    for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
        assert_false(list_has(&list, &items[i].link));
        list_append(&list, &items[i].link);
        assert_true(list_has(&list, &items[i].link));
    }
    assert_string_equal(shown(&list), "1234 4321");
    list_remove(&list, &items[1].link);
    assert_string_equal(shown(&list), "134 431");
    list_remove(&list, &items[3].link);
    assert_string_equal(shown(&list), "13 31");
    list_remove(&list, &items[0].link);
    assert_string_equal(shown(&list), "3 3");
    assert_false(list_has(&list, &items[0].link));
    list_append(&list, &items[0].link);
    assert_string_equal(shown(&list), "31 13");
    list_insert_before(&list, &items[0].link, &items[1].link);
    list_insert_before(&list, list.first, &items[3].link);
    assert_string_equal(shown(&list), "4321 1234");
    list_remove(&list, &items[1].link);
    list_insert_before(&list, NULL, &items[1].link);
    assert_string_equal(shown(&list), "4312 2134");
}

static void test_take(void **state)
{
    (void)state;
    struct item items[] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
    struct list list = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(items); i++)
        list_append(&list, &items[i].link);
    assert_ptr_equal(list_first(&list, struct item, link), &items[0]);
    assert_ptr_equal(list_take(&list, struct item, link), &items[0]);
    assert_string_equal(shown(&list), "23 32");
    assert_ptr_equal(list_take(&list, struct item, link), &items[1]);
    assert_ptr_equal(list_take(&list, struct item, link), &items[2]);
    assert_null(list_take(&list, struct item, link));
    assert_true(list_empty(&list));
}

static void test_walk_while_removing(void **state)
{
    (void)state;
    struct list list = { 0 };
    for (int i = 1; i <= 4; i++) {
        struct item *item = xcalloc(1, sizeof(*item));
        item->number = i;
        list_append(&list, &item->link);
    }
    list_for_each(&list, struct item, item, link) {
        if (item->number % 2) {
            list_remove(&list, &item->link);
            free(item);
        }
    }
    assert_string_equal(shown(&list), "24 42");
    list_for_each(&list, struct item, item, link)
        free(item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_walk_while_removing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
