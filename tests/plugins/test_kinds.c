/* test_kinds.c: objects of kinds that plugins name, timers of plugins, and their events. The plugin is in this file. */
#include "support/engine_fixture.h"

#include "abi/host.h"
#include "abi/loaded.h"
#include "api/extra_kinds.h"
#include "api/fields.h"
#include "api/protobuf.h"
#include "engine/inputs.h"

#define SECOND NS_PER_SECOND
#define WIDGET "example.com/v1alpha2/Widget"
#define MAP "v1/ConfigMap"

/* ---- the plugin ---- */
static const struct berth_handle *handle;
static uint32_t ticks;
static int64_t ticked_at;
static bool narrows;
static const void *subject; /* of an event */

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    (void)err;
    handle = env->handle;
    *ret_self = NULL;
    host_table.tick_every(handle, 10 * SECOND);
    if (narrows) {
        assert_true(host_table.watch_only(handle, MAP, out_str(STR("kube-system")), out_str(STR("table"))));
        assert_true(host_table.watch_only(handle, WIDGET, out_str(STR("a")), out_str(STR(BERTH_NONE))));
    }
    return 0;
}

static void tick(void *self, const struct berth_cluster *cluster, int64_t now)
{
    (void)self, (void)cluster;
    ticks++;
    ticked_at = now;
    if (subject)
        host_table.event(handle, subject, "Warning", "Broken", "Looking", out_str(STR("it is broken")));
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle, (void)node;
    return (struct berth_status){ .code = BERTH_SUCCESS };
}

static const char *const kinds[] = { WIDGET, MAP, NULL };
static const struct berth_plugin widgets = {
    .name = "Widgets", .init = init, .filter = filter, .kinds = kinds, .tick = tick
};

static const struct berth_host *host;
static struct berth_module module_of(const struct berth_plugin *const *plugins)
{
    return (struct berth_module){ .abi = BERTH_ABI,
                                  .size = sizeof(struct berth_module),
                                  .plugin_size = sizeof(struct berth_plugin),
                                  .host_size = sizeof(struct berth_host),
                                  .host = &host,
                                  .plugins = plugins,
                                  .plugins_len = 1,
                                  .revision = BERTH_REVISION,
                                  .env_size = sizeof(struct berth_env),
                                  .event_rule_size = sizeof(struct berth_event_rule),
                                  .field_size = sizeof(struct berth_field),
                                  .node_names_size = sizeof(struct berth_node_names),
                                  .post_filter_result_size = sizeof(struct berth_post_filter_result) };
}

struct setup {
    struct engine_fixture e;
    struct loaded loaded;
    struct berth_module module;
    const struct berth_plugin *plugins[1];
    uint32_t events;
    struct strbuf said;
};

static void emit(void *context, const struct effect *effect)
{
    struct setup *setup = context;
    if (effect->kind != EFFECT_EVENT)
        return;
    setup->events++;
    strbuf_clear(&setup->said);
    strbuf_printf(&setup->said,
                  STR_FMT " " STR_FMT " " STR_FMT "/" STR_FMT ": " STR_FMT " " STR_FMT " " STR_FMT,
                  STR_ARG(effect->event.api_version), STR_ARG(effect->event.kind), STR_ARG(effect->namespace),
                  STR_ARG(effect->name), STR_ARG(effect->event.type), STR_ARG(effect->event.reason),
                  STR_ARG(effect->event.note));
}

static void add_to_engine(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct engine_fixture *e = container_of(f, struct engine_fixture, f);
    assert_true(engine_set_object(&e->engine, kind, object, object, e->now_ns));
}

static void begin(struct setup *setup)
{
    struct error err;
    memset(setup, 0, sizeof(*setup));
    ticks = 0;
    subject = NULL;
    loaded_init(&setup->loaded, &builtin_plugins);
    setup->plugins[0] = &widgets;
    setup->module = module_of(setup->plugins);
    if (loaded_add(&setup->loaded, &setup->module, "test", &err) < 0)
        fail_msg("%s", err.text);
    engine_fixture_init(
        &setup->e,
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: "
        "[{plugins: {multiPoint: {enabled: [{name: Widgets}]}}}]}",
        &(struct engine_options){ .seed = 1,
                                  .now_ns = 100 * SECOND,
                                  .slowest = PATH_INDEX,
                                  .registry = &setup->loaded.registry,
                                  .host = { .emit = emit, .context = setup } });
    setup->e.f.add = add_to_engine;
}

static void end(struct setup *setup)
{
    engine_fixture_release(&setup->e);
    loaded_release(&setup->loaded);
    strbuf_release(&setup->said);
}

static const struct berth_cluster *cluster_of(struct setup *setup)
{
    return out_cluster(setup->e.engine.cluster);
}

static const void *widget(struct setup *setup, const char *name)
{
    return host_table.get(cluster_of(setup), WIDGET, out_str(STR("ns")), out_str(str_from(name)));
}

#define W \
    "{kind: Widget, metadata: {name: w, namespace: ns, labels: {a: b}}, spec: {number: 5, whole: 5.0, " \
    "part: 0.25, " \
    "negative: -1.5, flag: true, text: '12.5', none: null, list: [1, [x, v], {deep: z}], map: {b.c/d: one, " \
    "a: two}, huge: " \
    "123456789012345678901234567890, big: 18446744073709551615}}"

/* ---- reads ---- */
static void test_reads(void **state _unused_)
{
    static const struct {
        const char *path;
        enum berth_type type;
        int64_t number, milli;
        uint32_t len;
        const char *text;
    } rows[] = {
        { "spec.number", BERTH_NUMBER, 5, 0, 0, "" },
        { "spec.whole", BERTH_NUMBER, 5, 0, 0, "" },
        { "spec.part", BERTH_AMOUNT, 1, 250, 0, "" },
        { "spec.negative", BERTH_AMOUNT, -1, -1500, 0, "" },
        { "spec.flag", BERTH_FLAG, 1, 0, 0, "" },
        { "spec.text", BERTH_TEXT, 0, 0, 0, "12.5" },
        { "spec.none", BERTH_ABSENT, 0, 0, 0, "" },
        { "spec.list", BERTH_ENTRIES, 0, 0, 3, "" },
        { "spec.list[0]", BERTH_NUMBER, 1, 0, 0, "" },
        { "spec.list[1][1]", BERTH_TEXT, 0, 0, 0, "v" },
        { "spec.list[2].deep", BERTH_TEXT, 0, 0, 0, "z" },
        { "spec.list[3]", BERTH_ABSENT, 0, 0, 0, "" },
        { "spec.list[-1]", BERTH_ABSENT, 0, 0, 0, "" },
        { "spec.map", BERTH_OBJECT, 0, 0, 2, "" },
        { "spec.map[b.c/d]", BERTH_TEXT, 0, 0, 0, "one" },
        { "spec.map.a", BERTH_TEXT, 0, 0, 0, "two" },
        { "spec.map.a.b", BERTH_ABSENT, 0, 0, 0, "" },
        { "spec.huge", BERTH_AMOUNT, INT64_MAX, INT64_MAX, 0, "" },
        { "spec.big", BERTH_AMOUNT, INT64_MAX, INT64_MAX, 0, "" },
        { "metadata.name", BERTH_TEXT, 0, 0, 0, "w" },
        { "metadata.labels[a]", BERTH_TEXT, 0, 0, 0, "b" },
        { "apiVersion", BERTH_ABSENT, 0, 0, 0, "" },
        { "", BERTH_ABSENT, 0, 0, 0, "" },
        { "[", BERTH_ABSENT, 0, 0, 0, "" },
        { "spec..", BERTH_ABSENT, 0, 0, 0, "" },
    };
    struct setup setup;
    begin(&setup);
    fixture_load(&setup.e.f, W);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct berth_value value = host_table.read(WIDGET, widget(&setup, "w"), rows[i].path);
        if (value.type != rows[i].type || value.number != rows[i].number || value.milli != rows[i].milli ||
            value.len != rows[i].len || !str_is(in_str(value.text), rows[i].text))
            fail_msg("%s: type %d, number %lld, milli %lld, len %u, text " STR_FMT, rows[i].path, value.type,
                     (long long)value.number, (long long)value.milli, value.len, STR_ARG(in_str(value.text)));
    }
    const void *object = widget(&setup, "w");
    double number;
    assert_true(host_table.read_double(WIDGET, object, "spec.part", &number) && number == 0.25);
    assert_true(host_table.read_double(WIDGET, object, "spec.text", &number) && number == 12.5);
    assert_true(host_table.read_double(WIDGET, object, "spec.number", &number) && number == 5);
    assert_false(host_table.read_double(WIDGET, object, "spec.flag", &number));
    assert_false(host_table.read_double(WIDGET, object, "spec.map", &number));
    assert_true(str_is(in_str(host_table.read_key(WIDGET, object, "spec.map", 0)), "b.c/d"));
    assert_true(str_is(in_str(host_table.read_key(WIDGET, object, "metadata.labels", 0)), "a"));
    assert_null(host_table.read_key(WIDGET, object, "spec.map", 2).ptr);
    assert_null(host_table.read_key(WIDGET, object, "spec.list", 0).ptr);
    assert_true(str_is(in_str(host_table.object_kind(object)), WIDGET));
    /* A plugin that mistakes the kind reads nothing. */
    assert_int_equal(host_table.read(MAP, object, "spec.number").type, BERTH_ABSENT);
    assert_int_equal(host_table.read("Pod", object, "metadata.name").type, BERTH_ABSENT);
    end(&setup);
}

/* A recording has the object as bytes: what is read of it afterwards is the same. */
static void test_bytes(void **state _unused_)
{
    struct setup setup;
    struct arena arena = { 0 };
    struct strbuf bytes = { 0 }, before = { 0 }, after = { 0 };
    struct error err;
    begin(&setup);
    fixture_load(&setup.e.f, W);
    enum api_kind kind = extra_kind_named(STR(WIDGET));
    struct object object = { .kind = kind, .ptr = (void *)widget(&setup, "w") }, copy;
    object.meta = object.ptr;
    object_encode_protobuf(&object, &bytes);
    if (object_decode_protobuf(strbuf_slice(&bytes), STRINGS_COPIED, &arena, &copy, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(copy.kind, kind);
    assert_true(record_equal(api_kinds[kind].type, object.ptr, copy.ptr));
    struct json_writer json = json_writer(&before, JSON_COMPACT);
    object_encode_json(&object, NULL, &json);
    json = json_writer(&after, JSON_COMPACT);
    object_encode_json(&copy, NULL, &json);
    assert_string_equal(before.text, after.text);
    assert_non_null(
        strstr(after.text, "\"apiVersion\":\"example.com/v1alpha2\",\"kind\":\"Widget\",\"metadata\":{"));
    assert_non_null(strstr(after.text, "\"spec\":{\"number\":5,"));
    /* What is damaged is refused, and its metadata is read all the same. */
    bytes.text[bytes.len - 1] = 'x';
    assert_true(object_decode_protobuf(strbuf_slice(&bytes), STRINGS_COPIED, &arena, &copy, &err) < 0);
    assert_true(copy.is_partial && str_is(copy.meta->name, "w"));
    strbuf_release(&bytes);
    strbuf_release(&before);
    strbuf_release(&after);
    arena_release(&arena);
    end(&setup);
}

/* ---- stores ---- */
static bool count_one(void *context, const void *object)
{
    assert_true(host_table.object_name(object).len > 0);
    return ++*(uint32_t *)context < 10;
}

static void test_parts(void **state _unused_)
{
    struct setup setup;
    struct meta object = { .name = STR("table"), .namespace = STR("kube-system") };
    struct extra_object whole = { .meta = object }, part = { .meta = object }, other = { .meta = object };
    uint32_t count = 0;
    narrows = true;
    begin(&setup);
    narrows = false;
    struct engine *engine = &setup.e.engine;
    enum api_kind all = extra_kind_named(STR(MAP)), one = extra_kind_named(STR(MAP " kube-system/table"));
    assert_true(kind_is_extra(all) && kind_is_extra(one) && all != one);
    const struct plugin_wishes *wishes = &profile_find(&engine->profiles[0], "Widgets")->wishes;
    assert_int_equal(wishes->narrowed, UINT64_C(1) << all | UINT64_C(1) << extra_kind_named(STR(WIDGET)));
    assert_int_equal(wishes->kinds, UINT64_C(1) << one);
    /* Only in init(). */
    assert_false(host_table.watch_only(handle, MAP, out_str(STR("a")), out_str(STR("b"))));
    uint64_t version = host_table.kind_version(cluster_of(&setup), MAP);
    other.meta.name = STR("other");
    engine_set_object(engine, one, &part, &part.meta, setup.e.now_ns);
    engine_set_object(engine, all, &whole, &whole.meta, setup.e.now_ns);
    engine_set_object(engine, all, &other, &other.meta, setup.e.now_ns);
    host_table.each(cluster_of(&setup), MAP, count_one, &count);
    assert_int_equal(count, 2); /* what is in two parts is one object */
    assert_int_equal(host_table.kind_version(cluster_of(&setup), MAP), version + 3);
    engine_remove_object(engine, all, object.namespace, object.name, setup.e.now_ns);
    assert_ptr_equal(host_table.get(cluster_of(&setup), MAP, out_str(object.namespace), out_str(object.name)),
                     &part);
    engine_remove_object(engine, all, other.meta.namespace, other.meta.name, setup.e.now_ns);
    engine_remove_object(engine, one, object.namespace, object.name, setup.e.now_ns);
    assert_null(host_table.get(cluster_of(&setup), MAP, out_str(object.namespace), out_str(object.name)));
    end(&setup);
}

/* ---- names of kinds ---- */
static void test_mistakes(void **state _unused_)
{
    static const char *const bad[] = { "Pod", "Widget", "v1/", "/Widget", "v1/Pod", "v1/ConfigMap a/b", "" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        const char *const named[] = { bad[i], NULL };
        const struct berth_plugin plugin = { .name = "X", .filter = filter, .kinds = named };
        const struct berth_plugin *const plugins[] = { &plugin };
        struct berth_module module = module_of(plugins);
        struct loaded loaded;
        struct error err;
        loaded_init(&loaded, &builtin_plugins);
        if (loaded_add(&loaded, &module, "x.so", &err) >= 0 ||
            !strstr(err.text, "x.so: plugin \"X\": kinds: \""))
            fail_msg("%s is taken", bad[i]);
        loaded_release(&loaded);
    }
}

/* As many as there can be; then the sentence says so. The last test: there are no more numbers afterwards. */
static void test_too_many(void **state _unused_)
{
    struct error err = { 0 };
    enum api_kind kind = KIND_EXTRA_FIRST;
    for (int i = 0; i <= EXTRA_KINDS_MAX && kind != KIND_UNKNOWN; i++) {
        char name[16];
        snprintf(name, sizeof(name), "K%d", i);
        kind =
            extra_kind_add(&(struct extra_kind){ .api_version = STR("x/v1"), .kind = str_from(name) }, &err);
    }
    assert_int_equal(kind, KIND_UNKNOWN);
    assert_non_null(strstr(err.text, "have named 24 kinds of objects already"));
    assert_int_not_equal(
        extra_kind_add(&(struct extra_kind){ .api_version = STR("x/v1"), .kind = STR("K0") }, &err),
        KIND_UNKNOWN);
}

/* ---- time, and events ---- */
static void test_ticks(void **state _unused_)
{
    struct setup setup;
    begin(&setup);
    struct engine *engine = &setup.e.engine;
    fixture_load(&setup.e.f, W);
    engine_set_wall_clock(engine, 7 * SECOND);
    engine_tick(engine, 100 * SECOND); /* the interval begins */
    assert_int_equal(ticks, 0);
    assert_int_equal(engine_next_due(engine), 110 * SECOND);
    engine_tick(engine, 110 * SECOND - 1);
    assert_int_equal(ticks, 0);
    engine_tick(engine, 110 * SECOND);
    assert_int_equal(ticks, 1);
    assert_true(ticked_at == 117 * SECOND);
    engine_tick(engine, 150 * SECOND); /* late: once */
    assert_int_equal(ticks, 2);
    assert_int_equal(engine_next_due(engine), 160 * SECOND);
    subject = widget(&setup, "w");
    engine_tick(engine, 160 * SECOND);
    assert_int_equal(setup.events, 1);
    assert_string_equal(setup.said.text, "example.com/v1alpha2 Widget ns/w: Warning Broken it is broken");
    end(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),    cmocka_unit_test(test_bytes), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_ticks), cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
