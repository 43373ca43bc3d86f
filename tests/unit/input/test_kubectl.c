/* Tests of input/kubectl.c: the line for kubectl has every kind that decisions depend on. */
#include "support/test.h"

#include "api/fields.h"
#include "input/kubectl.h"

/* What no cluster's decisions depend on by default: samples of strategies, policies, an alpha kind, and what schedulers
 * write. */
static bool is_special(enum api_kind kind)
{
    return kind == KIND_NODE_METRICS || kind == KIND_POD_METRICS || kind == KIND_CONFIG_MAP ||
           kind == KIND_DEVICE_TAINT_RULE || kind == KIND_BINDING || kind == KIND_EVENT || kind == KIND_LEASE;
}

static bool is_in(const char *list, const char *resource)
{
    struct str rest = str_from(list);
    while (rest.len)
        if (str_is(str_cut(&rest, ','), resource))
            return true;
    return false;
}

static void test_every_kind(void **state)
{
    (void)state;
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_EXTRA_FIRST; kind++) {
        const char *resource = kubectl_resource((enum api_kind)kind);
        if (is_special((enum api_kind)kind))
            assert_null(resource);
        else if (!resource || is_in(KUBECTL_RESOURCES, resource) == is_in(KUBECTL_DEVICE_RESOURCES, resource))
            fail_msg(STR_FMT " must be in one of the lists", STR_ARG(api_kinds[kind].kind));
    }
}

static void test_nothing_else(void **state)
{
    (void)state;
    static const char *const lists[] = { KUBECTL_RESOURCES, KUBECTL_DEVICE_RESOURCES };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        struct str rest = str_from(lists[i]);
        while (rest.len) {
            struct str word = str_cut(&rest, ',');
            int kind = KIND_UNKNOWN + 1;
            while (kind < KIND_EXTRA_FIRST && !(kubectl_resource((enum api_kind)kind) &&
                                                str_is(word, kubectl_resource((enum api_kind)kind))))
                kind++;
            if (kind == KIND_EXTRA_FIRST)
                fail_msg(STR_FMT " is of no kind", STR_ARG(word));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
