/* The configuration in effect, written back: byte for byte what kube-scheduler --write-config-to wrote for the same
 * files (tests/unit/config/data: NAME.yaml is the input, NAME.written.yaml the output of v1.36.4,
 * NAME.written-1.37.yaml of v1.37.1). */
#include "support/test.h"

#include "unit/config/catalog.h"

#include "config/write.h"

static const char *const names[] = {
    "affinity", "args",  "contention", "disabledargs", "empty",    "extenders",
    "most",     "names", "nulls",      "points",       "profiles", "settings",
};

static const struct written {
    int minor;
    const char *suffix;
} releases[] = { { 36, ".written" }, { 37, ".written-1.37" } };

static char *data_path(const char *name, const char *suffix, char buf[static 200])
{
    snprintf(buf, 200, "tests/unit/config/data/%s%s.yaml", name, suffix);
    return buf;
}

static void read_file(const char *path, struct strbuf *out)
{
    FILE *file = fopen(path, "r");
    char chunk[4096];
    assert_non_null(file);
    for (size_t len; (len = fread(chunk, 1, sizeof(chunk), file));)
        strbuf_add(out, chunk, len);
    fclose(file);
}

static void load_and_write(const char *path, int minor, struct strbuf *yaml, struct strbuf *json)
{
    struct loaded loaded = { 0 };
    struct features features;
    features_default(&features, release_of(minor), 0);
    struct config_env env = { .catalog = &stock_catalog, .features = &features };
    int r = config_load(path, &env, &loaded.arena, &loaded.config, &loaded.warnings, &loaded.err);
    if (r < 0)
        fail_msg("%s", loaded.err.text);
    config_write_yaml(&loaded.config, yaml);
    config_write_json(&loaded.config, json);
    loaded_release(&loaded);
}

static void is_written_as_kube_scheduler_writes_it(const char *name, const struct written *release)
{
    _cleanup_(strbuf_release) struct strbuf got = { 0 }, json = { 0 }, want = { 0 };
    char path[200];
    load_and_write(data_path(name, "", path), release->minor, &got, &json);
    read_file(data_path(name, release->suffix, path), &want);
    assert_string_equal(got.text, want.text);
}

static void reads_back_as_the_same(const char *name, const struct written *release)
{
    _cleanup_(strbuf_release) struct strbuf got = { 0 }, json = { 0 }, want = { 0 };
    char path[200];
    load_and_write(data_path(name, release->suffix, path), release->minor, &got, &json);
    read_file(path, &want);
    assert_string_equal(got.text, want.text);
}

/* /configz: the JSON has the same values, so it is the same file once more. */
static void json_is_the_same_configuration(const char *name, const struct written *release)
{
    _cleanup_(strbuf_release) struct strbuf yaml = { 0 }, json = { 0 }, again = { 0 };
    struct loaded loaded;
    struct features features;
    char path[200];
    features_default(&features, release_of(release->minor), 0);
    struct config_env env = { .catalog = &stock_catalog, .features = &features };
    load_and_write(data_path(name, "", path), release->minor, &yaml, &json);
    assert_int_equal(loaded_from(&loaded, &env, json.text, ""), 0);
    config_write_yaml(&loaded.config, &again);
    assert_string_equal(again.text, yaml.text);
    loaded_release(&loaded);
}

static void each_file_is_written_as_each_release_writes_it(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        for (size_t k = 0; k < ARRAY_SIZE(releases); k++) {
            is_written_as_kube_scheduler_writes_it(names[i], &releases[k]);
            reads_back_as_the_same(names[i], &releases[k]);
            json_is_the_same_configuration(names[i], &releases[k]);
        }
}

static void default_of_the_program_is_that_of_an_empty_file(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf got = { 0 }, want = { 0 };
    struct loaded loaded = { 0 };
    char path[200];
    assert_int_equal(config_default(&stock_env, &loaded.arena, &loaded.config, &loaded.err), 0);
    config_write_yaml(&loaded.config, &got);
    read_file(data_path("empty", releases[ARRAY_SIZE(releases) - 1].suffix, path), &want);
    assert_string_equal(got.text, want.text);
    loaded_release(&loaded);
}

/* On the command line a name may have any bytes. */
static void bytes_that_are_no_text_are_written_as_such(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf yaml = { 0 }, json = { 0 };
    struct loaded loaded = { 0 };
    assert_int_equal(config_default(&stock_env, &loaded.arena, &loaded.config, &loaded.err), 0);
    loaded.config.leader_election.resource_name = STR("a\xff"
                                                      "b");
    config_write_yaml(&loaded.config, &yaml);
    config_write_json(&loaded.config, &json);
    assert_non_null(strstr(yaml.text, "resourceName: a\xef\xbf\xbd"
                                      "b\n"));
    loaded_release(&loaded);
}

/* Of sources of samples; a token elsewhere is no secret that is known. */
static void tokens_are_hidden(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf got = { 0 };
    config_hide_secrets(
        STR("[{\"token\":\"a\",\"metricProvider\":{\"address\":\"}\\\"token\\\":\\\"b\",\"token\":"
            "\"c\\\"d\"}},{\"metricProvider\":{\"type\":\"x\"},\"token\":\"e\"},{\"keyData\":\"f\"},"
            "{\"metricProvider\":{\"token\":\"g\",\"type\":\"x\"}}]"),
        &got);
    assert_string_equal(
        got.text, "[{\"token\":\"a\",\"metricProvider\":{\"address\":\"}\\\"token\\\":\\\"b\",\"token\":"
                  "\"REDACTED\"}},{\"metricProvider\":{\"type\":\"x\"},\"token\":\"e\"},{\"keyData\":"
                  "\"REDACTED\"},{\"metricProvider\":{\"token\":\"REDACTED\",\"type\":\"x\"}}]");
}

static void secrets_are_hidden(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf got = { 0 };
    config_hide_secrets(
        STR("{\"a\":\"\\\"keyData\\\":\\\"x\",\"e\":[{\"urlPrefix\":\"http://u:p@h/a\",\"tlsConfig\":"
            "{\"certData\":\"Yw==\",\"keyData\":\"aw==\"}},{\"tlsConfig\":{\"keyData\":\"aw==\"}}]}"),
        &got);
    assert_string_equal(got.text,
                        "{\"a\":\"\\\"keyData\\\":\\\"x\",\"e\":[{\"urlPrefix\":\"http://u:***@h/a\","
                        "\"tlsConfig\":{\"certData\":\"Yw==\",\"keyData\":\"REDACTED\"}},"
                        "{\"tlsConfig\":{\"keyData\":\"REDACTED\"}}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_is_written_as_each_release_writes_it),
        cmocka_unit_test(default_of_the_program_is_that_of_an_empty_file),
        cmocka_unit_test(bytes_that_are_no_text_are_written_as_such),
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(tokens_are_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
