/* Which node a text means: its name or an address, with or without a port. */
#include "sync/node_lookup.h"

#include "support/test.h"

static void set(struct node_lookup *lookup, const char *name, const char *type, const char *address)
{
    struct node_address addresses[] = { { str_from(type), str_from(address) },
                                        { STR("ExternalIP"), STR("203.0.113.1") } };
    const struct node node = { .meta.name = str_from(name), .status.addresses = { addresses, 2 } };
    node_lookup_set(lookup, &node);
}

static const struct {
    const char *text, *name; /* NULL: none */
} cases[] = {
    { "a", "a" },
    { "a:9100", "a" },
    { "10.0.0.1", "a" },
    { "10.0.0.1:9100", "a" },
    { "10.0.0.10:9100", NULL },
    { "[fd00::2]:9100", "b" },
    { "fd00::2", "b" },
    { "b.internal:9100", NULL },
    { "c.internal:9100", "c" },
    { "203.0.113.1", NULL },
    { "", NULL },
    { ":9100", NULL },
    { "[", NULL },
    { "[]:1", NULL },
};

static void expect(const struct node_lookup *lookup, const char *text, const char *name)
{
    struct str found = node_lookup_find(lookup, str_from(text));
    if (!str_eq(found, str_from(name)))
        fail_msg("%s: got \"" STR_FMT "\"", text, STR_ARG(found));
}

static void test_find(void **state _unused_)
{
    struct node_lookup lookup = { 0 };
    set(&lookup, "a", "InternalIP", "10.0.0.1");
    set(&lookup, "b", "InternalIP", "fd00::2");
    set(&lookup, "c", "InternalDNS", "c.internal");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect(&lookup, cases[i].text, cases[i].name);
    node_lookup_release(&lookup);
}

/* Addresses move from node to node. */
static void test_changes(void **state _unused_)
{
    struct node_lookup lookup = { 0 };
    set(&lookup, "a", "InternalIP", "10.0.0.1");
    set(&lookup, "a", "InternalIP", "10.0.0.1");
    set(&lookup, "a", "InternalIP", "10.0.0.2");
    expect(&lookup, "10.0.0.1", NULL);
    expect(&lookup, "10.0.0.2", "a");
    set(&lookup, "b", "InternalIP", "10.0.0.2");
    expect(&lookup, "10.0.0.2", "b");
    node_lookup_remove(&lookup, STR("a"));
    expect(&lookup, "10.0.0.2", "b");
    expect(&lookup, "a", NULL);
    set(&lookup, "b", "ExternalIP", "10.0.0.2"); /* it has none within the cluster */
    expect(&lookup, "10.0.0.2", NULL);
    node_lookup_remove(&lookup, STR("nowhere"));
    node_lookup_release(&lookup);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_find), cmocka_unit_test(test_changes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
