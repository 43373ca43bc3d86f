/* stage.c: makes and changes the cluster; see stage.h. */
#include "property/stage.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/defaults.h"
#include "property/picky.h"

static void give_up(const struct stage *stage, const char *why)
{
    printf("the test made something that berth refuses: %s\n%s\n", why, stage->text.text);
    abort();
}

/* ---- from text to the model ---- */
static char *padded_copy(const struct strbuf *text)
{
    char *copy = xcalloc(text->len + YYJSON_PADDING_SIZE + 1, 1);
    memcpy(copy, text->text, text->len);
    return copy;
}

static struct object decode(struct stage *stage)
{
    struct doc_stream *stream = xcalloc(1, sizeof(*stream));
    struct doc doc;
    struct object object = { 0 };
    struct error err;
    doc_stream_init(stream, "object", padded_copy(&stage->text), stage->text.len);
    *vec_push(&stage->streams) = stream;
    if (doc_stream_next(stream, &doc, &err) <= 0)
        give_up(stage, err.text);
    if (object_decode(&doc, doc.root, &stage->arena, &object, &err) < 0)
        give_up(stage, err.text);
    if (object.kind == KIND_UNKNOWN)
        give_up(stage, "an unknown kind");
    object_default(&object, &stage->arena);
    doc_release(&doc);
    return object;
}

static void set_node(struct stage *stage, uint32_t number)
{
    struct node_dice *dice = &stage->nodes[number];
    for (int part = 0; part < NODE_PARTS; part++)
        if (!dice->seeds[part] || chance(&stage->rng, 35))
            dice->seeds[part] = rng_next(&stage->rng);
    strbuf_clear(&stage->text);
    write_node(&stage->text, dice, number, stage->names, stage->images);
    cluster_set_node(&stage->cluster, decode(stage).ptr);
}

static void set_object(struct stage *stage)
{
    struct object object = decode(stage);
    if (!cluster_set_object(&stage->cluster, object.kind, object.ptr, object.meta))
        give_up(stage, "a kind that the model does not keep");
}

static void set_namespace(struct stage *stage, uint32_t number)
{
    strbuf_clear(&stage->text);
    write_namespace(&stage->text, &stage->rng, number);
    set_object(stage);
}

static void set_controller(struct stage *stage)
{
    strbuf_clear(&stage->text);
    write_controller(&stage->text, &stage->rng, roll(&stage->rng, SETS));
    set_object(stage);
}

static void set_storage(struct stage *stage, enum storage_kind kind, uint32_t number)
{
    strbuf_clear(&stage->text);
    write_storage(&stage->text, &stage->rng, kind, number, stage->names);
    set_object(stage);
}

/* Most of what volumes need is there. */
static void add_storage(struct stage *stage)
{
    for (enum storage_kind kind = 0; kind < STORAGE_KINDS; kind++)
        for (uint32_t i = 0; i < storage_count(kind, stage->names); i++)
            if (!chance(&stage->rng, 8))
                set_storage(stage, kind, i);
}

static struct pod_info *set_pod(struct stage *stage, const struct template *template, struct pod_text pod)
{
    static const int priorities[] = { 0, 0, 0, 10, 10, -5, 1000 };
    pod.priority = priorities[roll(&stage->rng, ARRAY_SIZE(priorities))];
    pod.unique = stage->crowded;
    strbuf_clear(&stage->text);
    write_pod(&stage->text, template, &pod);
    return cluster_add_pod(&stage->cluster, decode(stage).ptr);
}

static const struct template *any_template(struct stage *stage)
{
    return &stage->templates[roll(&stage->rng, stage->templates_len)];
}

/* Names beyond the nodes that there are: ghosts. */
static void add_running(struct stage *stage)
{
    char node[16];
    uint32_t names = stage->names + (chance(&stage->rng, 5) ? 3 : 0);
    snprintf(node, sizeof(node), "n%u", roll(&stage->rng, names));
    struct pod_text pod = { .number = stage->pods++, .node = node, .terminating = chance(&stage->rng, 8) };
    *vec_push(&stage->placed) = set_pod(stage, any_template(stage), pod);
}

/* A running pod gets other labels, or is being deleted: the same name, another object. */
static void change_pod(struct stage *stage)
{
    char node[64];
    if (!stage->placed.len)
        return;
    struct pod_info **pod = &stage->placed.items[roll(&stage->rng, (uint32_t)stage->placed.len)];
    const struct template *template = any_template(stage);
    int64_t number;
    struct str name = (*pod)->api->meta.name;
    if (!str_is((*pod)->api->meta.namespace, template->namespace) || (*pod)->row == ROW_NONE ||
        !str_to_int64(str_slice(name, 1, name.len), &number))
        return;
    snprintf(node, sizeof(node), STR_FMT, STR_ARG(cluster_node_name(&stage->cluster, (*pod)->row)));
    *pod = set_pod(stage, template,
                   (struct pod_text){
                       .number = (uint32_t)number, .node = node, .terminating = chance(&stage->rng, 50) });
}

/* ---- beginning and end ---- */
static void start_engine(struct stage *stage, uint64_t seed)
{
    uint32_t profiles = 1 + roll(&stage->rng, PROFILES_MAX);
    struct plugin_catalog catalog = registry_catalog(picky_registry(), &stage->arena);
    const struct config_env env = { .catalog = &catalog, .features = &stage->features };
    struct error err;
    features_default(&stage->features);
    stage->features.enabled[FEATURE_StorageCapacityScoring] = chance(&stage->rng, 40);
    write_config(&stage->text, &stage->rng, profiles);
    if (config_load_text("config", padded_copy(&stage->text), stage->text.len, &env, &stage->arena,
                         &stage->config, NULL, &err) < 0)
        give_up(stage, err.text);
    const struct engine_options options = {
        .config = &stage->config, .registry = picky_registry(), .seed = seed, .slowest = PATH_INDEX
    };
    if (engine_init(&stage->engine, &stage->cluster, &options, &err) < 0)
        give_up(stage, err.text);
}

/* Mostly small; some large enough that not all nodes are looked at. */
static uint32_t cluster_size(struct rng *rng)
{
    uint32_t kind = roll(rng, 100);
    if (kind < 40)
        return 1 + roll(rng, 12);
    if (kind < 85)
        return 10 + roll(rng, 50);
    return 60 + roll(rng, kind < 97 ? 60 : 200);
}

void stage_init(struct stage *stage, uint64_t seed)
{
    *stage = (struct stage){ .what = "nothing" };
    rng_seed(&stage->rng, seed);
    cluster_init(&stage->cluster);
    start_engine(stage, seed);
    stage->crowded = seed % CROWDED_EVERY == CROWDED_EVERY - 1;
    stage->nominates = chance(&stage->rng, 40);
    stage->names = stage->crowded ? 40 : cluster_size(&stage->rng);
    stage->nodes = xcalloc(stage->names, sizeof(*stage->nodes));
    /* With few templates the same classes come again and again: their tables are repaired more often. */
    stage->templates_len = 1 + roll(&stage->rng, chance(&stage->rng, 50) ? 4 : TEMPLATES_MAX);
    stage->images = chance(&stage->rng, 50);
    stage->volumes = chance(&stage->rng, 50) ? 0 : 50;
    for (uint32_t i = 0; i < stage->templates_len; i++)
        template_init(&stage->templates[i], &stage->rng, stage->engine.profiles_len, stage->volumes);
    for (uint32_t i = 0; i < NAMESPACES; i++)
        if (chance(&stage->rng, 80))
            set_namespace(stage, i);
    for (uint32_t left = roll(&stage->rng, 4); left > 0; left--)
        set_controller(stage);
    for (uint32_t i = 0; i < stage->names; i++)
        if (!chance(&stage->rng, 5))
            set_node(stage, i);
    if (stage->volumes)
        add_storage(stage);
    for (uint32_t left = roll(&stage->rng, stage->names * 4 + 1); left > 0; left--)
        add_running(stage);
}

void stage_release(struct stage *stage)
{
    engine_release(&stage->engine);
    cluster_release(&stage->cluster);
    config_release(&stage->config);
    for (uint32_t i = 0; i < stage->templates_len; i++)
        template_release(&stage->templates[i]);
    vec_for(&stage->streams, stream) {
        doc_stream_release(*stream);
        free(*stream);
    }
    vec_release(&stage->streams);
    free(stage->nodes);
    vec_release(&stage->placed);
    vec_release(&stage->waiting);
    strbuf_release(&stage->text);
    arena_release(&stage->arena);
}

/* ---- changes ---- */
static void remove_one(struct stage *stage, bool waiting)
{
    if (stage->crowded)
        return;
    __typeof__(stage->placed) *pods = waiting ? (void *)&stage->waiting : &stage->placed;
    if (!pods->len)
        return;
    uint32_t at = roll(&stage->rng, (uint32_t)pods->len);
    cluster_remove_pod(&stage->cluster, pods->items[at]);
    vec_swap_remove(pods, at);
}

static void change_node(struct stage *stage)
{
    set_node(stage, roll(&stage->rng, stage->names));
}

static void remove_node(struct stage *stage)
{
    char name[16];
    snprintf(name, sizeof(name), "n%u", roll(&stage->rng, stage->names));
    cluster_remove_node(&stage->cluster, str_from(name));
}

/* Somebody evicted others and waits for them to leave, or still has the nomination of an earlier attempt. */
static void nominate(struct stage *stage)
{
    if (!stage->nominates || !stage->waiting.len || !stage->cluster.nodes.len)
        return;
    uint32_t row = roll(&stage->rng, (uint32_t)stage->cluster.nodes.len);
    if (!stage->cluster.nodes.items[row].api)
        return;
    cluster_nominate(&stage->cluster, stage->waiting.items[roll(&stage->rng, (uint32_t)stage->waiting.len)],
                     row);
}

/* The same few nodes again and again: more entries in the log than it keeps, or many for the same row. */
static void churn(struct stage *stage)
{
    if (!stage->placed.len)
        return;
    bool endless = chance(&stage->rng, 1);
    for (uint32_t left = endless ? 9000 : 60; left > 0; left--) {
        struct pod_info *pod = stage->placed.items[roll(&stage->rng, MIN(3, (uint32_t)stage->placed.len))];
        uint32_t row = pod->row;
        /* A row whose last pod leaves is free unless it has a node. */
        if (row == ROW_NONE || !stage->cluster.nodes.items[row].api)
            continue;
        cluster_displace(&stage->cluster, pod);
        cluster_place(&stage->cluster, pod, row);
    }
}

static void change_namespace(struct stage *stage)
{
    uint32_t number = roll(&stage->rng, NAMESPACES);
    if (chance(&stage->rng, 80))
        set_namespace(stage, number);
    else
        cluster_remove_object(&stage->cluster, KIND_NAMESPACE, (struct str){ 0 }, STR("blue"));
}

/* A claim is bound, a volume made, a driver started: another object of that name, or none. */
static void change_storage(struct stage *stage)
{
    for (int left = stage->volumes ? between(&stage->rng, 1, 3) : 0; left > 0; left--) {
        enum storage_kind kind =
            roll(&stage->rng, 3) ? STORAGE_CLAIM - roll(&stage->rng, 3) : roll(&stage->rng, STORAGE_KINDS);
        set_storage(stage, kind, roll(&stage->rng, storage_count(kind, stage->names)));
    }
}

static void remove_claim(struct stage *stage)
{
    char name[16];
    snprintf(name, sizeof(name), "c%u", roll(&stage->rng, 12));
    cluster_remove_object(&stage->cluster, KIND_PVC, str_from(namespaces[roll(&stage->rng, NAMESPACES)]),
                          str_from(name));
}

static void remove_placed(struct stage *stage)
{
    remove_one(stage, false);
}

static void remove_waiting(struct stage *stage)
{
    remove_one(stage, true);
}

/* A controller is deleted with all its pods, or a new one takes its place. */
static void change_template(struct stage *stage)
{
    struct template *template = &stage->templates[roll(&stage->rng, stage->templates_len)];
    template_release(template);
    template_init(template, &stage->rng, stage->engine.profiles_len, stage->volumes);
}

static const struct {
    uint32_t percent;
    const char *what;
    void (*apply)(struct stage *stage);
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
    { 6, "pods came and went", churn },
    { 3, "a namespace changed", change_namespace },
    { 3, "a service or controller changed", set_controller },
    { 4, "a template changed", change_template },
};

void stage_change(struct stage *stage)
{
    uint32_t at = roll(&stage->rng, 100);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        if (at < changes[i].percent) {
            stage->what = changes[i].what;
            changes[i].apply(stage);
            return;
        }
        at -= changes[i].percent;
    }
}

struct pod_info *stage_pod(struct stage *stage, bool rare)
{
    char nominated[16];
    uint32_t at = roll(&stage->rng, stage->templates_len);
    for (uint32_t tries = 0; tries < stage->templates_len && stage->templates[at].rare != rare; tries++)
        at = (at + 1) % stage->templates_len;
    struct pod_text pod = { .number = stage->pods++ };
    if (stage->nominates && chance(&stage->rng, 2)) {
        snprintf(nominated, sizeof(nominated), "n%u", roll(&stage->rng, stage->names));
        pod.nominated = nominated;
    }
    return set_pod(stage, &stage->templates[at], pod);
}

void stage_settle(struct stage *stage, struct pod_info *pod, uint32_t row)
{
    if (row != ROW_NONE) {
        cluster_place(&stage->cluster, pod, row);
        *vec_push(&stage->placed) = pod;
    } else if (stage->waiting.len < 6 || stage->crowded) {
        *vec_push(&stage->waiting) = pod;
    } else {
        cluster_remove_pod(&stage->cluster, pod);
    }
}

/* ---- sums ---- */
static int64_t used_by_pods(const struct node_entry *node, uint32_t resource)
{
    int64_t sum = 0;
    if (resource == RES_PODS)
        return (int64_t)node->pods.len;
    vec_for(&node->pods, pod)
        for (uint32_t i = 0; i < (*pod)->class->used_len; i++)
            if ((*pod)->class->used[i].resource == resource)
                sum += (*pod)->class->used[i].value;
    return sum;
}

bool stage_adds_up(const struct stage *stage)
{
    const struct cluster *cluster = &stage->cluster;
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
static void enqueue(struct stage *stage)
{
    struct pod_info *pod = stage_pod(stage, false);
    struct status gate;
    struct error err;
    if (engine_add_pod(&stage->engine, pod, STAGE_NOW_NS, &gate, &err) < 0) {
        printf("%s\n", err.text);
        abort();
    }
}

void stage_live(struct stage *stage)
{
    bool changed = chance(&stage->rng, 15);
    for (uint32_t left = roll(&stage->rng, 3); left > 0; left--)
        enqueue(stage);
    if (changed) {
        const struct cluster_event anything = { .resource = EVENT_ANY, .actions = ACTION_ALL };
        stage_change(stage);
        engine_event(&stage->engine, &anything, STAGE_NOW_NS);
    }
}

static void leave(struct stage *stage, struct pod_info *victim)
{
    for (size_t i = 0; i < stage->placed.len; i++) {
        if (stage->placed.items[i] == victim) {
            vec_swap_remove(&stage->placed, i);
            break;
        }
    }
    engine_remove_pod(&stage->engine, victim, STAGE_NOW_NS);
}

void stage_follow(struct stage *stage, const struct decision *decision)
{
    if (decision->row != ROW_NONE)
        *vec_push(&stage->placed) = decision->pod;
    if (decision->victims_len)
        engine_preemption_done(&stage->engine, decision->pod, false, STAGE_NOW_NS);
    for (uint32_t i = 0; i < decision->victims_len; i++)
        leave(stage, decision->victims[i]);
}
