/* Changes of the configuration: which fields need a restart, and how changes are reported. */
#include "support/test.h"

#include "unit/config/catalog.h"

#include "config/change.h"
#include "config/write.h"

static void load(struct loaded *ret, const char *text)
{
    if (loaded_from(ret, &stock_env, CONFIG_HEAD, text) < 0)
        fail_msg("%s", ret->err.text);
}

/* Each field that only takes effect at the start of the process; one line per field. */
static void some_fields_wait_for_a_restart(void **state _unused_)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "" },
        { "leaderElection: {leaderElect: false}", "leaderElection.leaderElect" },
        { "leaderElection: {leaseDuration: 20s}", "leaderElection.leaseDuration" },
        { "leaderElection: {renewDeadline: 9s}", "leaderElection.renewDeadline" },
        { "leaderElection: {retryPeriod: 3s}", "leaderElection.retryPeriod" },
        { "leaderElection: {resourceName: other}", "leaderElection.resourceName" },
        { "leaderElection: {resourceNamespace: other}", "leaderElection.resourceNamespace" },
        { "clientConnection: {kubeconfig: /x}", "clientConnection.kubeconfig" },
        { "clientConnection: {acceptContentTypes: application/json}", "clientConnection.acceptContentTypes" },
        { "clientConnection: {contentType: application/json}", "clientConnection.contentType" },
        { "clientConnection: {qps: 7}", "clientConnection.qps" },
        { "clientConnection: {burst: 7}", "clientConnection.burst" },
        { "enableProfiling: false", "enableProfiling, enableContentionProfiling" }, /* its default */
        { "enableContentionProfiling: false", "enableContentionProfiling" },
        { "clientConnection: {qps: 7, burst: 9}\nleaderElection: {leaseDuration: 20s}",
          "leaderElection.leaseDuration, clientConnection.qps, clientConnection.burst" },
        /* and these do not */
        { "parallelism: 7", "" },
        { "delayCacheUntilActive: true", "" },
        { "percentageOfNodesToScore: 7", "" },
        { "podInitialBackoffSeconds: 7", "" },
        { "podMaxBackoffSeconds: 77", "" },
        { "profiles: [{schedulerName: gold}]", "" },
        { "extenders: [{urlPrefix: 'http://a', filterVerb: f}]", "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf names = { 0 }, kept = { 0 }, want = { 0 };
        struct loaded first = { 0 }, next = { 0 };
        struct arena arena = { 0 };
        struct scheduler_config fixed = { 0 };
        load(&first, "");
        config_write_json(&first.config, &want);
        config_copy_fixed(&first.config, &arena, &fixed);
        loaded_release(&first); /* the copy is independent */
        load(&next, cases[i].text);
        config_keep_fixed(&fixed, &next.arena, &next.config, &names);
        arena_release(&arena);
        assert_string_equal(names.text ? names.text : "", cases[i].want);
        config_write_json(&next.config, &kept);
        if (cases[i].want[0] && strcmp(want.text, kept.text) != 0)
            fail_msg("%s: it is now\n%s\nand was\n%s", cases[i].text, kept.text, want.text);
        loaded_release(&next);
    }
}

/* A field that is not listed would silently not take effect, or break the election. */
static void every_field_is_listed(void **state _unused_)
{
    static const char *const known[] = {
        "apiVersion",
        "kind",
        /* fixed */
        "leaderElection",
        "clientConnection",
        "enableProfiling",
        "enableContentionProfiling",
        /* live */
        "percentageOfNodesToScore",
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
        "profiles",
        "extenders",
        /* without effect */
        "parallelism",
        "delayCacheUntilActive",
    };
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    struct loaded loaded = { 0 };
    load(&loaded, "extenders: [{urlPrefix: 'http://a', filterVerb: f}]\ndelayCacheUntilActive: true\n");
    config_write_json(&loaded.config, &json);
    yyjson_doc *doc = yyjson_read(json.text, json.len, 0);
    yyjson_obj_iter iter = yyjson_obj_iter_with(yyjson_doc_get_root(doc));
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
        bool found = false;
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
            found |= strcmp(known[i], yyjson_get_str(key)) == 0;
        if (!found)
            fail_msg("can %s change while the scheduler runs?", yyjson_get_str(key));
    }
    yyjson_doc_free(doc);
    loaded_release(&loaded);
}

static void changes_are_reported(void **state _unused_)
{
#define TWO "profiles: [{schedulerName: gold}, {schedulerName: tin}]\n"
#define EXTENDER(name, verb) "{urlPrefix: 'http://" name "', " verb "Verb: v, weight: 1}"
    static const struct {
        const char *before, *after, *want;
    } cases[] = {
        { "", "", "" },
        { "", "# a comment\npodMaxBackoffSeconds: 10\n", "" },
        { TWO, "profiles:\n- schedulerName: gold\n- schedulerName: tin\n", "" },
        { "", "podMaxBackoffSeconds: 11", "podMaxBackoffSeconds" },
        { "", "podInitialBackoffSeconds: 2\npercentageOfNodesToScore: 5",
          "percentageOfNodesToScore; podInitialBackoffSeconds" },
        { "", TWO, "profile gold added; profile tin added; profile default-scheduler removed" },
        { TWO, "profiles: [{schedulerName: tin}]", "profile gold removed" },
        { TWO, "profiles: [{schedulerName: tin}, {schedulerName: gold}]", "order of profiles" },
        { TWO, "profiles: [{schedulerName: gold, percentageOfNodesToScore: 3}, {schedulerName: tin}]",
          "profile gold changed" },
        { TWO,
          "profiles:\n- schedulerName: gold\n- schedulerName: tin\n  plugins: {score: {disabled: [{name: "
          "ImageLocality}]}}\n",
          "profile tin changed" },
        { TWO,
          "profiles:\n- schedulerName: gold\n- schedulerName: tin\n  pluginConfig: [{name: NodeResourcesFit, "
          "args: {ignoredResources: [example.com/x]}}]\n",
          "profile tin changed" },
        { "", "extenders: [" EXTENDER("a", "filter") "]", "extender http://a added" },
        { "extenders: [" EXTENDER("a", "filter") "]", "", "extender http://a removed" },
        { "extenders: [" EXTENDER("a", "filter") "]", "extenders: [" EXTENDER("a", "prioritize") "]",
          "extender http://a changed" },
        { "extenders: [" EXTENDER("a", "filter") "]",
          "extenders: [" EXTENDER("a", "filter") ", " EXTENDER("a", "filter") "]",
          "extender http://a added" },
        { "extenders: [" EXTENDER("a", "filter") ", " EXTENDER("b", "filter") "]",
          "extenders: [" EXTENDER("b", "filter") ", " EXTENDER("a", "filter") "]", "order of extenders" },
        { "extenders: [" EXTENDER("me:old@a", "filter") "]",
          "extenders: [" EXTENDER("me:new@a", "filter") "]",
          "extender http://me:***@a added; extender http://me:***@a removed" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf before = { 0 }, after = { 0 }, got = { 0 };
        struct loaded was = { 0 }, is = { 0 };
        load(&was, cases[i].before);
        load(&is, cases[i].after);
        config_write_json(&was.config, &before);
        config_write_json(&is.config, &after);
        config_describe_change(strbuf_slice(&before), strbuf_slice(&after), &got);
        assert_string_equal(got.text ? got.text : "", cases[i].want);
        loaded_release(&was);
        loaded_release(&is);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_fields_wait_for_a_restart),
        cmocka_unit_test(every_field_is_listed),
        cmocka_unit_test(changes_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
