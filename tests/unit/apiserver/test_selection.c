/* Selectors of labels and fields: what they match, and what kube-apiserver says about wrong ones. */
#include "support/test.h"

#include "apiserver/selection.h"

#define POD \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"labels\":{\"a\":\"1\",\"b\":\"x\"}}," \
    "\"spec\":{\"nodeName\":\"k\"},\"status\":{\"phase\":\"Running\"}}"

static const struct {
    const char *labels, *fields;
    bool matches;
} cases[] = {
    { "", "", true },
    { "a=1", "", true },
    { "a==1,b!=y", "", true },
    { "a=2", "", false },
    { "c!=1", "", true },
    { "a", "", true },
    { "!a", "", false },
    { "!c", "", true },
    { "b in (w, x)", "", true },
    { "b notin (w,x)", "", false },
    { "a>0,a<2", "", true },
    { "a>1", "", false },
    { "c=", "", false },
    { "", "metadata.name=p", true },
    { "", "metadata.namespace!=n", false },
    { "", "spec.nodeName=k,status.phase!=Failed", true },
    { "", "spec.nodeName=", false },
    { "", "spec.hostNetwork=false", true },
    { "a=1", "status.phase==Pending", false },
};

static void test_matches(void **state _unused_)
{
    yyjson_doc *pod = yyjson_read(POD, strlen(POD), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct selection *selection;
        struct api_error err = { 0 };
        int r = selection_parse(resource_named("", "pods"), str_from(cases[i].labels),
                                str_from(cases[i].fields), &selection, &err);
        if (r < 0 || selection_matches(selection, yyjson_doc_get_root(pod)) != cases[i].matches)
            fail_msg("%s %s: r %d", cases[i].labels, cases[i].fields, r);
        selection_free(selection);
    }
    yyjson_doc_free(pod);
}

static const struct {
    const char *labels, *fields, *message;
} wrong[] = {
    { "a===b", "", "unable to parse requirement: found '=', expected: identifier" },
    { "a b", "", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt" },
    { "", "spec.foo=1", "field label not supported: spec.foo" },
};

static void test_wrong(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct selection *selection;
        struct api_error err = { 0 };
        int r = selection_parse(resource_named("", "pods"), str_from(wrong[i].labels),
                                str_from(wrong[i].fields), &selection, &err);
        assert_int_equal(r, -400);
        if (!str_is(err.message, wrong[i].message))
            fail_msg("%s: " STR_FMT, wrong[i].message, STR_ARG(err.message));
        api_error_release(&err);
    }
}

static void test_hostile(void **state _unused_)
{
    static const char *const texts[] = { "in", "notin (", "a in", "a in (", "a in (,", "(((",
                                         ",",  "a=b,",    "=",    "!",      "a in (b" };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct selection *selection = NULL;
        struct api_error err = { 0 };
        if (selection_parse(resource_named("", "pods"), str_from(texts[i]), str_from(texts[i]), &selection,
                            &err) == 0)
            selection_free(selection);
        api_error_release(&err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_matches), cmocka_unit_test(test_wrong),
                                        cmocka_unit_test(test_hostile) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
