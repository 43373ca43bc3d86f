/* Queueing hints of every plugin, compared with recorded hints of kube-scheduler v1.36.4 and v1.37.1.
 *
 * hints-1.MINOR.jsonl: the first line holds objects of the cluster, each other line a pod, an event (an object before
 * and after) and per action of the event which plugins would queue the pod and which would skip it; plugins that have
 * no rule for the event are in neither list. BERTH_HINTS names another file, of 1.36. */
#include "support/fixture.h"

#include "api/defaults.h"
#include "codec/doc.h"
#include "config/config.h"
#include "framework/profile.h"
#include "plugins/inter_pod_affinity/args.h"
#include "plugins/node_resources/args.h"
#include "plugins/registry.h"

struct setup {
    struct cluster cluster;
    struct scheduler_config config;
    struct profile profile;
    struct event_interest interest;
    struct arena arena, line, scratch;
    size_t lines, answers, queued, more;
};

static void setup_init(struct setup *setup, int minor)
{
    struct error err;
    *setup = (struct setup){ 0 };
    cluster_init(&setup->cluster);
    features_default(&setup->cluster.features, release_of(minor), 0);
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &setup->arena);
    const struct config_env env = { .catalog = &catalog, .features = &setup->cluster.features };
    if (config_default(&env, &setup->arena, &setup->config, &err) < 0 ||
        profile_init(&setup->profile, &builtin_plugins, &setup->config.profiles.items[0], &setup->cluster,
                     &err) < 0)
        fail_msg("%s", err.text);
    event_interest_init(&setup->interest, &setup->profile);
}

static void setup_release(struct setup *setup)
{
    cluster_release(&setup->cluster);
    profile_release(&setup->profile);
    config_release(&setup->config);
    arena_release(&setup->arena);
    arena_release(&setup->line);
    arena_release(&setup->scratch);
}

static struct object decode(struct setup *setup, const struct doc *doc, yyjson_val *value,
                            struct arena *arena)
{
    struct object object = { 0 };
    struct error err;
    (void)setup;
    if (!value)
        return object;
    if (object_decode(doc, value, arena, &object, &err) < 0)
        fail_msg("%s", err.text);
    if (object.kind == KIND_UNKNOWN)
        fail_msg("unknown kind " STR_FMT, STR_ARG(object.kind_name));
    object_default(&object, arena);
    return object;
}

static bool names(yyjson_val *list, const char *name)
{
    size_t i, len;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, len, item)
        if (strcmp(yyjson_get_str(item), name) == 0)
            return true;
    return false;
}

/* Plugins that queue pods more often: InterPodAffinity where kube-scheduler misses events that do help (see
 * test_affinity_more), DynamicResources because the status of claims is not known here. */
static bool may_queue_more(const struct plugin *plugin)
{
    return strcmp(plugin->name, "InterPodAffinity") == 0 || strcmp(plugin->name, "DynamicResources") == 0;
}

static void check_hint(struct setup *setup, struct pod_info *pod, const struct cluster_event *event,
                       yyjson_val *answer)
{
    struct hint_context context = { .cluster = &setup->cluster, .info = pod, .arena = &setup->scratch };
    uint64_t interested = event_interest_of(&setup->interest, event);
    const char *label = yyjson_get_str(yyjson_obj_get(answer, "label"));
    assert_str(event_label_text(event_label(event), setup->cluster.features.release, &setup->line), label);
    for (uint32_t i = 0; i < setup->profile.plugins_len; i++) {
        const struct plugin *plugin = setup->profile.plugins[i].plugin;
        bool queue = names(yyjson_obj_get(answer, "queue"), plugin->name);
        bool skip = names(yyjson_obj_get(answer, "skip"), plugin->name);
        if ((interested >> i & 1) != (queue || skip))
            fail_msg("line %zu, %s: %s has a rule: want %d", setup->lines, label, plugin->name,
                     queue || skip);
        if (!queue && !skip)
            continue;
        enum hint hint = event_hint(&setup->profile, i, &context, pod->api, event);
        setup->answers++;
        setup->queued += queue;
        if (hint == HINT_QUEUE && skip && may_queue_more(plugin))
            setup->more++;
        else if (hint != (queue ? HINT_QUEUE : HINT_SKIP))
            fail_msg("line %zu, %s: %s: want %s", setup->lines, label, plugin->name,
                     queue ? "queue" : "skip");
    }
}

static enum event_resource resource_of(struct setup *setup, const char *name)
{
    for (uint32_t i = 0; i < EVENT_RESOURCE_COUNT; i++) {
        enum event_label label = LABEL_FIRST_EVENT + i * LABELS_PER_RESOURCE;
        struct str text =
            event_label_text(label, setup->cluster.features.release, &setup->line); /* "...Add" */
        if (str_is(str_slice(text, 0, text.len - 3), name))
            return (enum event_resource)i;
    }
    fail_msg("no resource %s", name);
    return EVENT_ANY;
}

static struct action_list actions_of(struct setup *setup, const struct object *before,
                                     const struct object *after)
{
    if (before->ptr && after->ptr && before->kind == KIND_NODE)
        return node_update_actions(&setup->cluster.features, before->ptr, after->ptr);
    if (before->ptr && after->ptr && before->kind == KIND_POD)
        return pod_update_actions(&setup->cluster.features, before->ptr, after->ptr, &setup->line);
    return (struct action_list){
        .items = { !before->ptr  ? (uint32_t)ACTION_ADD
                   : !after->ptr ? (uint32_t)ACTION_DELETE
                                 : (uint32_t)ACTION_UPDATE },
        .len = 1,
    };
}

static void check_line(struct setup *setup, const struct doc *doc)
{
    yyjson_val *root = doc->root, *answers = yyjson_obj_get(root, "answers");
    struct object pod = decode(setup, doc, yyjson_obj_get(root, "pod"), &setup->line);
    struct object before = decode(setup, doc, yyjson_obj_get(root, "before"), &setup->line);
    struct object after = decode(setup, doc, yyjson_obj_get(root, "after"), &setup->line);
    struct cluster_event event = { .before = before.ptr, .after = after.ptr };
    struct action_list actions = actions_of(setup, &before, &after);
    struct pod_info *info = cluster_add_pod(&setup->cluster, pod.ptr);
    event.resource = resource_of(setup, yyjson_get_str(yyjson_obj_get(root, "resource")));
    if (event.resource == EVENT_POD && before.ptr && after.ptr && pod_is(after.ptr, pod.ptr))
        event.resource = pod_own_event_resource(&setup->cluster.features, after.ptr);
    else if (event.resource == EVENT_POD)
        event.resource = pod_event_resource(after.ptr ? after.ptr : before.ptr);
    assert_int_equal(actions.len, yyjson_arr_size(answers));
    for (uint32_t i = 0; i < actions.len; i++) {
        event.actions = actions.items[i];
        check_hint(setup, info, &event, yyjson_arr_get(answers, i));
    }
    cluster_remove_pod(&setup->cluster, info);
}

static void load_objects(struct setup *setup, const struct doc *doc)
{
    size_t i, len;
    yyjson_val *value;
    yyjson_arr_foreach(yyjson_obj_get(doc->root, "objects"), i, len, value) {
        struct object object = decode(setup, doc, value, &setup->arena);
        assert_true(cluster_set_object(&setup->cluster, object.kind, object.ptr, object.meta));
    }
}

static void check_file(int minor, const char *path)
{
    struct setup setup;
    struct doc_stream stream;
    struct doc doc;
    struct error err;
    int r;
    setup_init(&setup, minor);
    if (doc_stream_open(&stream, path, &err) < 0)
        fail_msg("%s", err.text);
    while ((r = doc_stream_next(&stream, &doc, &err)) > 0) {
        arena_reset(&setup.line);
        if (setup.lines++ == 0)
            load_objects(&setup, &doc);
        else
            check_line(&setup, &doc);
        doc_release(&doc);
    }
    if (r < 0)
        fail_msg("%s", err.text);
    printf("%zu lines, %zu answers, %zu queue; queued beyond the reference: %zu\n", setup.lines,
           setup.answers, setup.queued, setup.more);
    assert_true(setup.answers > 500);
    doc_stream_release(&stream);
    setup_release(&setup);
}

static void test_recorded(void **state)
{
    (void)state;
    const char *path = getenv("BERTH_HINTS");
    check_file(36, path ? path : "tests/unit/queue/hints-1.36.jsonl");
    check_file(37, "tests/unit/queue/hints-1.37.jsonl");
}

/* ---- where pods are queued more often than by kube-scheduler ---- */
static enum hint hint_for(struct fixture *f, const struct cluster_event *event)
{
    struct arena scratch = { 0 };
    struct hint_context context = { .cluster = &f->cluster,
                                    .info = fixture_pod(f, "waiting"),
                                    .arena = &scratch };
    enum hint hint = event_hint(&f->profile, 0, &context, context.info->api, event);
    arena_release(&scratch);
    return hint;
}

#define WAITING(affinity) \
    "{kind: Pod, metadata: {name: waiting, uid: w, labels: {app: red}}, spec: {affinity: {" affinity "}}}"
#define REQUIRED(terms) "{requiredDuringSchedulingIgnoredDuringExecution: [" terms "]}"
#define ZONE_TERM(app) "{topologyKey: zone, labelSelector: {matchLabels: {app: " app "}}}"
#define HOST_TERM(app) "{topologyKey: host, labelSelector: {matchLabels: {app: " app "}}}"
#define SELECTED_TERM \
    "{topologyKey: zone, labelSelector: {matchLabels: {app: blue}}, namespaceSelector: {matchLabels: " \
    "{team: a}}}"

/* Each anti-affinity term applies on its own, a namespace selector matches the labels of the namespace, and a pod
 * without terms was rejected by those of existing pods. */
static void test_affinity_more(void **state)
{
    (void)state;
    static const struct {
        const char *waiting, *other, *node;
        enum hint want;
    } cases[] = {
        { WAITING("podAntiAffinity: " REQUIRED(ZONE_TERM("blue") ", " HOST_TERM("green"))), "app: blue", NULL,
          HINT_QUEUE },
        { WAITING("podAntiAffinity: " REQUIRED(ZONE_TERM("blue") ", " HOST_TERM("green"))), "app: grey", NULL,
          HINT_SKIP },
        { WAITING("podAntiAffinity: " REQUIRED(SELECTED_TERM)), "app: blue", NULL, HINT_QUEUE },
        { WAITING(""), NULL, "{kind: Node, metadata: {name: a}}", HINT_QUEUE },
        { WAITING("podAffinity: " REQUIRED(ZONE_TERM("blue"))), NULL, "{kind: Node, metadata: {name: a}}",
          HINT_SKIP },
    };
    extern const struct plugin plugin_inter_pod_affinity;
    const struct inter_pod_affinity_args args = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        struct cluster_event event = { 0 };
        FIXTURE(&f, &args, &plugin_inter_pod_affinity);
        fixture_load(&f, "{kind: Namespace, metadata: {name: default, labels: {team: a}}}");
        fixture_load(&f, cases[i].waiting);
        if (cases[i].other) {
            fixture_loadf(&f,
                          "{kind: Pod, metadata: {name: gone, uid: g, labels: {%s}}, spec: {nodeName: a}}",
                          cases[i].other);
            event = (struct cluster_event){ .resource = EVENT_ASSIGNED_POD,
                                            .actions = ACTION_DELETE,
                                            .before = f.last_pod->api };
        } else {
            fixture_load(&f, cases[i].node);
            event = (struct cluster_event){ .resource = EVENT_NODE,
                                            .actions = ACTION_ADD,
                                            .after = node_api(fixture_view(&f, "a")) };
        }
        if (hint_for(&f, &event) != cases[i].want)
            fail_msg("case %zu: want %d", i, cases[i].want);
        fixture_release(&f);
    }
}

/* A pod that was placed or nominated here uses resources, although its object does not show it. */
static void test_placed_here(void **state)
{
    (void)state;
    extern const struct plugin plugin_inter_pod_affinity;
    const struct inter_pod_affinity_args args = { 0 };
    struct fixture f;
    FIXTURE(&f, &args, &plugin_inter_pod_affinity);
    fixture_load(&f, WAITING("podAffinity: " REQUIRED(ZONE_TERM("blue"))));
    fixture_load(&f, "{kind: Pod, metadata: {name: placed, uid: p, labels: {app: blue}}}");
    struct cluster_event event = { .resource = EVENT_ASSIGNED_POD,
                                   .actions = ACTION_ADD,
                                   .after = f.last_pod->api };
    assert_int_equal(hint_for(&f, &event), HINT_SKIP);
    event.holds_resources = true;
    assert_int_equal(hint_for(&f, &event), HINT_QUEUE);
    fixture_release(&f);
}

/* Resources that the configuration ignores do not keep a pod waiting. */
static void test_ignored_resources(void **state)
{
    (void)state;
    extern const struct plugin plugin_node_resources_fit;
    struct scoring_strategy strategy = { 0 };
    struct str ignored = STR("example.com/gpu");
    struct node_resources_fit_args args = { .scoring_strategy = &strategy };
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        args.ignored_resources = (struct str_list){ &ignored, (uint32_t)i };
        FIXTURE(&f, &args, &plugin_node_resources_fit);
        fixture_load(&f, "{kind: Pod, metadata: {name: waiting}, spec: {containers: [{name: c, resources: "
                         "{requests: {cpu: 1, example.com/gpu: 1}}}]}}\n---\n"
                         "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 2, pods: 9}}}");
        struct cluster_event event = { .resource = EVENT_NODE,
                                       .actions = ACTION_ADD,
                                       .after = node_api(fixture_view(&f, "a")) };
        assert_int_equal(hint_for(&f, &event), i ? HINT_QUEUE : HINT_SKIP);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_affinity_more),
        cmocka_unit_test(test_placed_here),
        cmocka_unit_test(test_ignored_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
