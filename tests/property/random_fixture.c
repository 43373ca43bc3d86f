/* random_fixture.c: creates and changes the cluster; see random_fixture.h. */
#include "property/random_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/defaults.h"
#include "property/picky.h"

static void fail_generated(const struct random_fixture *fixture, const char *why)
{
    printf("the test generated an object that berth rejects: %s\n%s\n", why, fixture->text.text);
    abort();
}

/* ---- from text to the model ---- */
static char *padded_copy(const struct strbuf *text)
{
    char *copy = xcalloc(text->len + YYJSON_PADDING_SIZE + 1, 1);
    memcpy(copy, text->text, text->len);
    return copy;
}

static struct object decode(struct random_fixture *fixture)
{
    struct doc_stream *stream = xcalloc(1, sizeof(*stream));
    struct doc doc;
    struct object object = { 0 };
    struct error err;
    doc_stream_init(stream, "object", padded_copy(&fixture->text), fixture->text.len);
    *vec_push(&fixture->streams) = stream;
    if (doc_stream_next(stream, &doc, &err) <= 0)
        fail_generated(fixture, err.text);
    if (object_decode(&doc, doc.root, &fixture->arena, &object, &err) < 0)
        fail_generated(fixture, err.text);
    if (object.kind == KIND_UNKNOWN)
        fail_generated(fixture, "an unknown kind");
    object_default(&object, &fixture->arena);
    doc_release(&doc);
    return object;
}

static void set_node(struct random_fixture *fixture, uint32_t number)
{
    struct node_seeds *seeds = &fixture->nodes[number];
    for (int part = 0; part < NODE_PARTS; part++)
        if (!seeds->by_part[part] || chance(&fixture->rng, 35))
            seeds->by_part[part] = rng_next(&fixture->rng);
    strbuf_clear(&fixture->text);
    write_node(&fixture->text, seeds, number, fixture->names, fixture->images);
    cluster_set_node(&fixture->cluster, decode(fixture).ptr);
}

static void set_object(struct random_fixture *fixture)
{
    struct object object = decode(fixture);
    if (!cluster_set_object(&fixture->cluster, object.kind, object.ptr, object.meta))
        fail_generated(fixture, "a kind that the model does not keep");
}

static void set_namespace(struct random_fixture *fixture, uint32_t number)
{
    strbuf_clear(&fixture->text);
    write_namespace(&fixture->text, &fixture->rng, number);
    set_object(fixture);
}

static void set_controller(struct random_fixture *fixture)
{
    strbuf_clear(&fixture->text);
    write_controller(&fixture->text, &fixture->rng, random_below(&fixture->rng, SETS));
    set_object(fixture);
}

static void set_storage(struct random_fixture *fixture, enum storage_kind kind, uint32_t number)
{
    strbuf_clear(&fixture->text);
    write_storage(&fixture->text, &fixture->rng, kind, number, fixture->names);
    set_object(fixture);
}

/* Most objects that volumes need exist. */
static void add_storage(struct random_fixture *fixture)
{
    for (enum storage_kind kind = 0; kind < STORAGE_KINDS; kind++)
        for (uint32_t i = 0; i < storage_count(kind, fixture->names); i++)
            if (!chance(&fixture->rng, 8))
                set_storage(fixture, kind, i);
}

static struct pod_info *set_pod(struct random_fixture *fixture, const struct template *template,
                                struct pod_text pod)
{
    static const int priorities[] = { 0, 0, 0, 10, 10, -5, 1000 };
    pod.priority = priorities[random_below(&fixture->rng, ARRAY_SIZE(priorities))];
    pod.unique = fixture->crowded;
    strbuf_clear(&fixture->text);
    write_pod(&fixture->text, template, &pod);
    return cluster_add_pod(&fixture->cluster, decode(fixture).ptr);
}

static const struct template *any_template(struct random_fixture *fixture)
{
    return &fixture->templates[random_below(&fixture->rng, fixture->templates_len)];
}

/* Some pods run on nodes that do not exist. */
static void add_running(struct random_fixture *fixture)
{
    char node[16];
    uint32_t names = fixture->names + (chance(&fixture->rng, 5) ? 3 : 0);
    snprintf(node, sizeof(node), "n%u", random_below(&fixture->rng, names));
    struct pod_text pod = { .number = fixture->pods++,
                            .node = node,
                            .terminating = chance(&fixture->rng, 8) };
    *vec_push(&fixture->placed) = set_pod(fixture, any_template(fixture), pod);
}

/* A running pod gets other labels, or is being deleted: the same name, another object. */
static void change_pod(struct random_fixture *fixture)
{
    char node[64];
    if (!fixture->placed.len)
        return;
    struct pod_info **pod =
        &fixture->placed.items[random_below(&fixture->rng, (uint32_t)fixture->placed.len)];
    const struct template *template = any_template(fixture);
    int64_t number;
    struct str name = (*pod)->api->meta.name;
    if (!str_is((*pod)->api->meta.namespace, template->namespace) || (*pod)->row == ROW_NONE ||
        !str_to_int64(str_slice(name, 1, name.len), &number))
        return;
    snprintf(node, sizeof(node), STR_FMT, STR_ARG(cluster_node_name(&fixture->cluster, (*pod)->row)));
    *pod = set_pod(fixture, template,
                   (struct pod_text){
                       .number = (uint32_t)number, .node = node, .terminating = chance(&fixture->rng, 50) });
}

/* ---- init and release ---- */
static void start_engine(struct random_fixture *fixture, uint64_t seed)
{
    uint32_t profiles = 1 + random_below(&fixture->rng, PROFILES_MAX);
    struct plugin_catalog catalog = registry_catalog(picky_registry(), &fixture->arena);
    const struct config_env env = { .catalog = &catalog, .features = &fixture->features };
    struct error err;
    features_default(&fixture->features, release_of(seed % 2 ? 37 : 36), 0);
    fixture->features.enabled[FEATURE_StorageCapacityScoring] = chance(&fixture->rng, 40);
    fixture->cluster.features = fixture->features;
    write_config(&fixture->text, &fixture->rng, profiles);
    if (config_load_text("config", padded_copy(&fixture->text), fixture->text.len, &env, &fixture->arena,
                         &fixture->config, NULL, &err) < 0)
        fail_generated(fixture, err.text);
    const struct engine_options options = {
        .config = &fixture->config, .registry = picky_registry(), .seed = seed, .slowest = PATH_INDEX
    };
    if (engine_init(&fixture->engine, &fixture->cluster, &options, &err) < 0)
        fail_generated(fixture, err.text);
}

/* Mostly small; some large enough that not all nodes are evaluated. */
static uint32_t cluster_size(struct rng *rng)
{
    uint32_t kind = random_below(rng, 100);
    if (kind < 40)
        return 1 + random_below(rng, 12);
    if (kind < 85)
        return 10 + random_below(rng, 50);
    return kind < 92 ? 60 + random_below(rng, 60) : 100 + random_below(rng, 160);
}

void random_fixture_init(struct random_fixture *fixture, uint64_t seed)
{
    *fixture = (struct random_fixture){ .what = "nothing" };
    rng_seed(&fixture->rng, seed);
    cluster_init(&fixture->cluster);
    start_engine(fixture, seed);
    fixture->crowded = seed % CROWDED_EVERY == CROWDED_EVERY - 1;
    fixture->nominates = chance(&fixture->rng, 40);
    fixture->names = fixture->crowded ? 40 : cluster_size(&fixture->rng);
    fixture->nodes = xcalloc(fixture->names, sizeof(*fixture->nodes));
    /* With few templates the same classes recur, and their tables are repaired more often. */
    fixture->templates_len = 1 + random_below(&fixture->rng, chance(&fixture->rng, 50) ? 4 : TEMPLATES_MAX);
    fixture->images = chance(&fixture->rng, 50);
    fixture->volumes = chance(&fixture->rng, 50) ? 0 : 50;
    fixture->has_policies = chance(&fixture->rng, 30);
    if (fixture->has_policies)
        random_fixture_policies(fixture);
    for (uint32_t i = 0; i < fixture->templates_len; i++)
        template_init(&fixture->templates[i], &fixture->rng, fixture->config.profiles.len, fixture->volumes);
    for (uint32_t i = 0; i < NAMESPACES; i++)
        if (chance(&fixture->rng, 80))
            set_namespace(fixture, i);
    for (uint32_t left = random_below(&fixture->rng, 4); left > 0; left--)
        set_controller(fixture);
    for (uint32_t i = 0; i < fixture->names; i++)
        if (!chance(&fixture->rng, 5))
            set_node(fixture, i);
    if (fixture->volumes)
        add_storage(fixture);
    for (uint32_t left = random_below(&fixture->rng, fixture->names * 4 + 1); left > 0; left--)
        add_running(fixture);
}

void random_fixture_release(struct random_fixture *fixture)
{
    engine_release(&fixture->engine);
    cluster_release(&fixture->cluster);
    config_release(&fixture->config);
    for (uint32_t i = 0; i < fixture->templates_len; i++)
        template_release(&fixture->templates[i]);
    vec_for(&fixture->streams, stream) {
        doc_stream_release(*stream);
        free(*stream);
    }
    vec_release(&fixture->streams);
    free(fixture->nodes);
    vec_release(&fixture->placed);
    vec_release(&fixture->waiting);
    vec_release(&fixture->leaving);
    strbuf_release(&fixture->text);
    arena_release(&fixture->arena);
}

/* ---- changes ---- */
static void remove_one(struct random_fixture *fixture, bool waiting)
{
    if (fixture->crowded)
        return;
    __typeof__(fixture->placed) *pods = waiting ? (void *)&fixture->waiting : &fixture->placed;
    if (!pods->len)
        return;
    uint32_t at = random_below(&fixture->rng, (uint32_t)pods->len);
    cluster_remove_pod(&fixture->cluster, pods->items[at]);
    vec_swap_remove(pods, at);
}

static void change_node(struct random_fixture *fixture)
{
    set_node(fixture, random_below(&fixture->rng, fixture->names));
}

static void remove_node(struct random_fixture *fixture)
{
    char name[16];
    snprintf(name, sizeof(name), "n%u", random_below(&fixture->rng, fixture->names));
    cluster_remove_node(&fixture->cluster, str_from(name));
}

/* A pod waits for its victims to leave, or still has the nomination of an earlier attempt. */
static void nominate(struct random_fixture *fixture)
{
    if (!fixture->nominates || !fixture->waiting.len || !fixture->cluster.nodes.len)
        return;
    uint32_t row = random_below(&fixture->rng, (uint32_t)fixture->cluster.nodes.len);
    if (!fixture->cluster.nodes.items[row].api)
        return;
    cluster_nominate(&fixture->cluster,
                     fixture->waiting.items[random_below(&fixture->rng, (uint32_t)fixture->waiting.len)],
                     row);
}

/* Changes the same few nodes many times: more entries than the change log keeps, or many for the same row. */
static void churn(struct random_fixture *fixture)
{
    if (!fixture->placed.len)
        return;
    bool endless = chance(&fixture->rng, 1);
    for (uint32_t left = endless ? 9000 : 60; left > 0; left--) {
        struct pod_info *pod =
            fixture->placed.items[random_below(&fixture->rng, MIN(3, (uint32_t)fixture->placed.len))];
        uint32_t row = pod->row;
        /* A row without a node is freed with its last pod. */
        if (row == ROW_NONE || !fixture->cluster.nodes.items[row].api)
            continue;
        cluster_displace(&fixture->cluster, pod);
        cluster_place(&fixture->cluster, pod, row);
    }
}

static void change_namespace(struct random_fixture *fixture)
{
    uint32_t number = random_below(&fixture->rng, NAMESPACES);
    if (chance(&fixture->rng, 80))
        set_namespace(fixture, number);
    else
        cluster_remove_object(&fixture->cluster, KIND_NAMESPACE, (struct str){ 0 }, STR("blue"));
}

/* A claim is bound, a volume is created, a driver starts: an object is replaced or deleted. */
static void change_storage(struct random_fixture *fixture)
{
    for (int left = fixture->volumes ? between(&fixture->rng, 1, 3) : 0; left > 0; left--) {
        enum storage_kind kind = random_below(&fixture->rng, 3)
                                     ? STORAGE_CLAIM - random_below(&fixture->rng, 3)
                                     : random_below(&fixture->rng, STORAGE_KINDS);
        set_storage(fixture, kind, random_below(&fixture->rng, storage_count(kind, fixture->names)));
    }
}

static void remove_claim(struct random_fixture *fixture)
{
    char name[16];
    snprintf(name, sizeof(name), "c%u", random_below(&fixture->rng, 12));
    cluster_remove_object(&fixture->cluster, KIND_PVC,
                          str_from(namespaces[random_below(&fixture->rng, NAMESPACES)]), str_from(name));
}

static void remove_placed(struct random_fixture *fixture)
{
    remove_one(fixture, false);
}

static void remove_waiting(struct random_fixture *fixture)
{
    remove_one(fixture, true);
}

/* A controller is deleted with all its pods, or replaced by a new one. */
static void change_template(struct random_fixture *fixture)
{
    struct template *template = &fixture->templates[random_below(&fixture->rng, fixture->templates_len)];
    template_release(template);
    template_init(template, &fixture->rng, fixture->config.profiles.len, fixture->volumes);
}

static void change_policies(struct random_fixture *fixture)
{
    if (fixture->has_policies)
        random_fixture_policies(fixture);
}

static const struct {
    uint32_t percent;
    const char *what;
    void (*apply)(struct random_fixture *fixture);
} changes[] = {
    { 20, "a pod left its node", remove_placed },
    { 17, "a node changed", change_node },
    { 9, "a volume or claim changed", change_storage },
    { 1, "a claim went", remove_claim },
    { 5, "a pod changed", change_pod },
    { 6, "a node went", remove_node },
    { 10, "a pod started", add_running },
    { 8, "a pod was nominated", nominate },
    { 8, "a waiting pod went", remove_waiting },
    { 5, "pods came and went", churn },
    { 1, "policies changed", change_policies },
    { 3, "a namespace changed", change_namespace },
    { 3, "a service or controller changed", set_controller },
    { 4, "a template changed", change_template },
};

void random_fixture_change(struct random_fixture *fixture)
{
    uint32_t at = random_below(&fixture->rng, 100);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        if (at < changes[i].percent) {
            fixture->what = changes[i].what;
            changes[i].apply(fixture);
            return;
        }
        at -= changes[i].percent;
    }
}

struct pod_info *random_fixture_pod(struct random_fixture *fixture, bool rare)
{
    char nominated[16];
    uint32_t at = random_below(&fixture->rng, fixture->templates_len);
    for (uint32_t tries = 0; tries < fixture->templates_len && fixture->templates[at].rare != rare; tries++)
        at = (at + 1) % fixture->templates_len;
    struct pod_text pod = { .number = fixture->pods++ };
    if (fixture->nominates && chance(&fixture->rng, 12)) {
        snprintf(nominated, sizeof(nominated), "n%u", random_below(&fixture->rng, fixture->names));
        pod.nominated = nominated;
    }
    return set_pod(fixture, &fixture->templates[at], pod);
}

void random_fixture_settle(struct random_fixture *fixture, struct pod_info *pod, uint32_t row)
{
    if (row != ROW_NONE) {
        cluster_place(&fixture->cluster, pod, row);
        *vec_push(&fixture->placed) = pod;
    } else if (fixture->waiting.len < 6 || fixture->crowded) {
        *vec_push(&fixture->waiting) = pod;
    } else {
        cluster_remove_pod(&fixture->cluster, pod);
    }
}

/* ---- sums ---- */
static int64_t used_by_pods(const struct node_entry *node, uint32_t resource)
{
    int64_t sum = 0;
    if (resource == RES_PODS)
        return (int64_t)node->pods.len;
    vec_for(&node->pods, pod)
        for (uint32_t i = 0; i < (*pod)->class->used.len; i++)
            if ((*pod)->class->used.items[i].resource == resource)
                sum += (*pod)->class->used.items[i].value;
    return sum;
}

bool random_fixture_adds_up(const struct random_fixture *fixture)
{
    const struct cluster *cluster = &fixture->cluster;
    uint32_t live = 0;
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        const struct node_entry *node = &cluster->nodes.items[row];
        live += node->api != NULL;
        for (uint32_t r = 0; r < cluster->col.resources; r++) {
            int64_t want = used_by_pods(node, r), got = cluster->col.used[r][row];
            if (want == got)
                continue;
            printf("row %u uses %lld of " STR_FMT ", its pods %lld\n", row, (long long)got,
                   STR_ARG(cluster->resource_names.items[r]), (long long)want);
            return false;
        }
    }
    if (live != cluster->live_nodes)
        printf("%u nodes, counted as %u\n", live, cluster->live_nodes);
    return live == cluster->live_nodes;
}

/* ---- with the engine's own queue ---- */
static void enqueue(struct random_fixture *fixture)
{
    struct pod_info *pod = random_fixture_pod(fixture, false);
    struct status gate;
    struct error err;
    if (engine_add_pod(&fixture->engine, pod, RANDOM_FIXTURE_NOW_NS, &gate, &err) < 0) {
        printf("%s\n", err.text);
        abort();
    }
}

static void let_victims_go(struct random_fixture *fixture)
{
    while (fixture->leaving.len && chance(&fixture->rng, 25)) {
        uint32_t at = random_below(&fixture->rng, (uint32_t)fixture->leaving.len);
        struct pod_info *victim = fixture->leaving.items[at];
        vec_swap_remove(&fixture->leaving, at);
        engine_remove_pod(&fixture->engine, victim, RANDOM_FIXTURE_NOW_NS);
    }
}

void random_fixture_live(struct random_fixture *fixture)
{
    const struct cluster_event anything = { .resource = EVENT_ANY, .actions = ACTION_ALL };
    bool changed = chance(&fixture->rng, 15);
    let_victims_go(fixture);
    if (fixture->leaving.len && chance(&fixture->rng, 50))
        engine_event(&fixture->engine, &anything, RANDOM_FIXTURE_NOW_NS);
    for (uint32_t left = random_below(&fixture->rng, 3); left > 0; left--)
        enqueue(fixture);
    if (changed) {
        random_fixture_change(fixture);
        engine_event(&fixture->engine, &anything, RANDOM_FIXTURE_NOW_NS);
    }
}

/* Victims stay for a while, mostly known as such: meanwhile the pod that preempted them may be tried again. */
static void leave(struct random_fixture *fixture, struct pod_info *victim)
{
    for (size_t i = 0; i < fixture->placed.len; i++) {
        if (fixture->placed.items[i] == victim) {
            vec_swap_remove(&fixture->placed, i);
            break;
        }
    }
    if (victim->eviction == EVICTION_NONE)
        *vec_push(&fixture->leaving) = victim;
    victim->eviction = EVICTION_DONE;
}

void random_fixture_follow(struct random_fixture *fixture, const struct decision *decision)
{
    if (decision->row != ROW_NONE)
        *vec_push(&fixture->placed) = decision->pod;
    if (decision->victims_len)
        engine_preemption_done(&fixture->engine, decision->pod, false, RANDOM_FIXTURE_NOW_NS);
    for (uint32_t i = 0; i < decision->victims_len; i++)
        leave(fixture, decision->victims[i]);
}
