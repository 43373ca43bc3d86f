/* fixture.h: a small cluster, written as YAML, with a profile of chosen plugins; for tests of plugins and of the
 * framework.
 *
 *     struct fixture f;
 *     FIXTURE(&f, NULL, &plugin_node_name);
 *     fixture_load(&f, "{kind: Node, metadata: {name: a}}\n---\n"
 *                      "{kind: Pod, metadata: {name: p}, spec: {nodeName: a}}");
 *     fixture_cycle(&f, "{kind: Pod, metadata: {name: q}}");     // the pod that is being scheduled
 *     assert_status(fixture_filter(&f, "a"), STATUS_SUCCESS, "");
 *     fixture_release(&f);
 *
 * A pod without a namespace is in "default", one without a scheduler is the default scheduler's. */
#ifndef SUPPORT_FIXTURE_H
#define SUPPORT_FIXTURE_H

#include "support/test.h"

#include "api/fields.h"
#include "api/object.h"
#include "codec/doc.h"
#include "framework/run.h"

struct fixture {
    struct cluster cluster;
    struct arena arena;
    struct profile profile;
    struct cycle cycle;
    struct pod_info *last_pod;
    /* Where loaded objects go; NULL: into the cluster. */
    void (*add)(struct fixture *f, enum api_kind kind, struct meta *object);
};

/* The plugins run in this order at every extension point that they have; args are those of the first one. */
#define FIXTURE(fixture, args, ...) FIXTURE_AS(fixture, RELEASE_DEFAULT, args, __VA_ARGS__)
/* As that release of Kubernetes 1. */
#define FIXTURE_AS(fixture, minor, args, ...) \
    fixture_init((fixture), (minor), (const struct plugin *const[]){ __VA_ARGS__, NULL }, (args))
/* A cluster without plugins. */
#define FIXTURE_BARE(fixture) FIXTURE_BARE_AS(fixture, RELEASE_DEFAULT)
#define FIXTURE_BARE_AS(fixture, minor) \
    fixture_init((fixture), (minor), (const struct plugin *const[]){ NULL }, NULL)

static inline void fixture_add_plugin(struct fixture *f, const struct plugin *plugin, const void *args)
{
    struct profile *profile = &f->profile;
    uint32_t index = profile->plugins_len++;
    struct plugin_instance *instance = &profile->plugins[index];
    *instance = (struct plugin_instance){ .plugin = plugin, .index = index, .weight = 1 };
    for (int point = 0; point < POINT_COUNT; point++)
        if (plugin_points(plugin) & ~plugin->silent_points & POINT_BIT(point))
            profile->points[point].items[profile->points[point].len++] = instance;
    plugin_reads(plugin, &f->cluster);
    instance->rules = event_rules_for(plugin, &f->cluster.features, &profile->arena);
    struct plugin_env env = {
        .cluster = &f->cluster, .arena = &profile->arena, .args = args, .profile = profile
    };
    struct error err;
    if (plugin->init && plugin->init(&env, &instance->self, &err) < 0)
        fail_msg("%s: %s", plugin->name, err.text);
    instance->is_made = plugin->init;
}

static inline void fixture_init(struct fixture *f, int minor, const struct plugin *const *plugins,
                                const void *args)
{
    *f = (struct fixture){ 0 };
    cluster_init(&f->cluster);
    features_default(&f->cluster.features, release_of(minor), 0);
    struct profile *profile = &f->profile;
    profile->scheduler_name = STR("default-scheduler");
    profile->plugins = arena_array(&profile->arena, struct plugin_instance, PLUGINS_MAX);
    for (int point = 0; point < POINT_COUNT; point++)
        profile->points[point].items = arena_array(&profile->arena, struct plugin_instance *, PLUGINS_MAX);
    for (size_t i = 0; plugins[i]; i++)
        fixture_add_plugin(f, plugins[i], i == 0 ? args : NULL);
}

static inline void fixture_add_object(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct pod *pod = kind == KIND_POD ? (struct pod *)object : NULL;
    if (pod && !object->namespace.len)
        object->namespace = STR("default");
    if (pod && !pod->spec.scheduler_name.len)
        pod->spec.scheduler_name = STR("default-scheduler");
    if (f->add) {
        f->add(f, kind, object);
    } else if (kind == KIND_NODE) {
        cluster_set_node(&f->cluster, (const struct node *)object);
    } else if (pod) {
        f->last_pod = cluster_add_pod(&f->cluster, pod);
    } else {
        assert_true(cluster_set_object(&f->cluster, kind, object, object));
    }
}

/* apiVersion may be omitted. Kinds that plugins name come first. */
static inline enum api_kind fixture_kind(const char *name)
{
    for (int i = 0, kind = KIND_EXTRA_FIRST; i < KIND_COUNT; i++, kind = (kind + 1) % KIND_COUNT)
        if (kind != KIND_UNKNOWN && name && str_is(api_kinds[kind].kind, name))
            return (enum api_kind)kind;
    fail_msg("no kind %s", name ? name : "at all");
    return KIND_UNKNOWN;
}

/* Loads any number of documents: nodes, pods and other objects of the model. An existing object is replaced. */
static inline void fixture_load(struct fixture *f, const char *text)
{
    size_t len = strlen(text);
    char *copy = xcalloc(len + 16, 1);
    memcpy(copy, text, len);
    struct doc_stream stream;
    struct doc doc;
    struct error err;
    doc_stream_init(&stream, "fixture", copy, len);
    int r;
    while ((r = doc_stream_next(&stream, &doc, &err)) > 0) {
        enum api_kind kind = fixture_kind(yyjson_get_str(yyjson_obj_get(doc.root, "kind")));
        struct meta *object = arena_zalloc(&f->arena, api_kinds[kind].type->size);
        struct record_reader reader = { .doc = &doc, .arena = &f->arena, .keep = arena_str, .err = &err };
        object->kind = (uint8_t)kind;
        if (record_read(&reader, NULL, doc.root, api_kinds[kind].type, object) < 0)
            fail_msg("%s", err.text);
        fixture_add_object(f, kind, object);
        doc_release(&doc);
    }
    if (r < 0)
        fail_msg("%s", err.text);
    doc_stream_release(&stream);
}

/* The same with a printf() format. */
static inline void fixture_loadf(struct fixture *f, const char *format, ...) _printf_(2, 3);
static inline void fixture_loadf(struct fixture *f, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    assert_true(vasprintf(&text, format, args) >= 0);
    va_end(args);
    fixture_load(f, text);
    free(text);
}

/* A pod of the default namespace. */
static inline struct pod_info *fixture_pod(const struct fixture *f, const char *name)
{
    struct pod_info *pod = cluster_find_pod(&f->cluster, STR("default"), str_from(name));
    if (!pod)
        fail_msg("no pod %s", name);
    return pod;
}

static inline uint32_t fixture_row(const struct fixture *f, const char *node)
{
    uint32_t row = cluster_row(&f->cluster, str_from(node));
    if (row == ROW_NONE)
        fail_msg("no node %s", node);
    return row;
}

static inline struct node_view fixture_view(const struct fixture *f, const char *node)
{
    return (struct node_view){ &f->cluster, fixture_row(f, node), NULL };
}

/* Begins an attempt to schedule the pod; the previous one ends. */
static inline void fixture_cycle(struct fixture *f, const char *pod)
{
    if (f->cycle.profile)
        cycle_release(&f->cycle);
    fixture_load(f, pod);
    cycle_init(&f->cycle, &f->profile, &f->cluster, f->last_pod, &f->arena);
}

static inline void fixture_release(struct fixture *f)
{
    if (f->cycle.profile)
        cycle_release(&f->cycle);
    cluster_release(&f->cluster);
    profile_release(&f->profile);
    arena_release(&f->arena);
}

/* The status of PreFilter and then of Filter on one node. */
static inline struct status fixture_filter(struct fixture *f, const char *node)
{
    struct node_names names;
    uint64_t blamed;
    struct status status = run_pre_filter(&f->cycle, &names, &blamed);
    return status_ok(status) ? run_filters(&f->cycle, fixture_view(f, node)) : status;
}

/* Totals of the nodes (names end with NULL); false when the only score plugin skipped the pod. */
static inline bool fixture_scores(struct fixture *f, const char *const *nodes, int64_t *ret)
{
    uint32_t rows[16], len = 0;
    for (; nodes[len]; len++)
        rows[len] = fixture_row(f, nodes[len]);
    struct score_table table;
    struct status status = run_scores(&f->cycle, (struct row_list){ rows, len }, &table);
    if (!status_ok(status))
        fail_msg("scores: " STR_FMT, STR_ARG(status_message(status, &f->arena)));
    for (uint32_t i = 0; i < len; i++)
        ret[i] = table.totals[i];
    return !f->cycle.skip_score;
}

#define assert_status(got, want_code, want_reason) \
    do { \
        struct status status_ = (got); \
        struct str reason_ = status_.len ? status_.reasons[0] : STR(""); \
        if (status_.code != (want_code) || !str_is(reason_, (want_reason))) \
            fail_msg("got %s \"" STR_FMT "\", want %s \"%s\"", status_code_name(status_.code), \
                     STR_ARG(reason_), status_code_name(want_code), (want_reason)); \
    } while (0)

#endif
