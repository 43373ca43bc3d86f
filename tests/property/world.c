/* world.c: makes and changes the cluster; see world.h. */
#include "property/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/defaults.h"
#include "plugins/registry.h"

static void give_up(const struct world *world, const char *why)
{
    printf("the test made something that berth refuses: %s\n%s\n", why, world->text.text);
    abort();
}

/* ---- from text to the model ---- */
static char *padded_copy(const struct strbuf *text)
{
    char *copy = xcalloc(text->len + YYJSON_PADDING_SIZE + 1, 1);
    memcpy(copy, text->text, text->len);
    return copy;
}

static struct object decode(struct world *world)
{
    struct doc_stream *stream = xcalloc(1, sizeof(*stream));
    struct doc doc;
    struct object object = { 0 };
    struct error err;
    doc_stream_init(stream, "object", padded_copy(&world->text), world->text.len);
    *vec_push(&world->streams) = stream;
    if (doc_stream_next(stream, &doc, &err) <= 0)
        give_up(world, err.text);
    if (object_decode(&doc, doc.root, &world->arena, &object, &err) < 0)
        give_up(world, err.text);
    if (object.kind == KIND_UNKNOWN)
        give_up(world, "an unknown kind");
    object_default(&object, &world->arena);
    doc_release(&doc);
    return object;
}

static void set_node(struct world *world, uint32_t number)
{
    strbuf_clear(&world->text);
    write_node(&world->text, &world->rng, number, world->names);
    cluster_set_node(&world->cluster, decode(world).ptr);
}

static void set_object(struct world *world)
{
    struct object object = decode(world);
    if (!cluster_set_object(&world->cluster, object.kind, object.ptr, object.meta))
        give_up(world, "a kind that the model does not keep");
}

static void set_namespace(struct world *world, uint32_t number)
{
    strbuf_clear(&world->text);
    write_namespace(&world->text, &world->rng, number);
    set_object(world);
}

static void set_controller(struct world *world)
{
    strbuf_clear(&world->text);
    write_controller(&world->text, &world->rng, roll(&world->rng, SETS));
    set_object(world);
}

static struct pod_info *add_pod(struct world *world, const struct template *template, struct pod_text pod)
{
    pod.number = world->pods++;
    strbuf_clear(&world->text);
    write_pod(&world->text, template, &pod);
    return cluster_add_pod(&world->cluster, decode(world).ptr);
}

/* Names beyond the nodes that there are: ghosts. */
static void add_running(struct world *world)
{
    char node[16];
    uint32_t names = world->names + (chance(&world->rng, 5) ? 3 : 0);
    snprintf(node, sizeof(node), "n%u", roll(&world->rng, names));
    const struct template *template = &world->templates[roll(&world->rng, world->templates_len)];
    struct pod_text pod = { .node = node, .terminating = chance(&world->rng, 8) };
    *vec_push(&world->placed) = add_pod(world, template, pod);
}

/* ---- beginning and end ---- */
static void start_engine(struct world *world, uint64_t seed)
{
    uint32_t profiles = 1 + roll(&world->rng, PROFILES_MAX);
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &world->arena);
    const struct config_env env = { .catalog = &catalog };
    struct error err;
    write_config(&world->text, &world->rng, profiles);
    if (config_load_text("config", padded_copy(&world->text), world->text.len, &env, &world->arena, &world->config, NULL,
                         &err) < 0)
        give_up(world, err.text);
    const struct engine_options options = {
        .config = &world->config, .registry = &builtin_plugins, .seed = seed, .slowest = PATH_INDEX
    };
    if (engine_init(&world->engine, &world->cluster, &options, &err) < 0)
        give_up(world, err.text);
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

void world_init(struct world *world, uint64_t seed)
{
    *world = (struct world){ .what = "nothing" };
    rng_seed(&world->rng, seed);
    cluster_init(&world->cluster);
    start_engine(world, seed);
    world->names = cluster_size(&world->rng);
    world->templates_len = 3 + roll(&world->rng, TEMPLATES_MAX - 2);
    for (uint32_t i = 0; i < world->templates_len; i++)
        template_init(&world->templates[i], &world->rng, world->engine.profiles_len);
    for (uint32_t i = 0; i < NAMESPACES; i++)
        if (chance(&world->rng, 80))
            set_namespace(world, i);
    for (uint32_t left = roll(&world->rng, 4); left > 0; left--)
        set_controller(world);
    for (uint32_t i = 0; i < world->names; i++)
        if (!chance(&world->rng, 5))
            set_node(world, i);
    for (uint32_t left = roll(&world->rng, world->names * 2 + 1); left > 0; left--)
        add_running(world);
}

void world_release(struct world *world)
{
    engine_release(&world->engine);
    cluster_release(&world->cluster);
    config_release(&world->config);
    for (uint32_t i = 0; i < world->templates_len; i++)
        template_release(&world->templates[i]);
    vec_for(&world->streams, stream) {
        doc_stream_release(*stream);
        free(*stream);
    }
    vec_release(&world->streams);
    vec_release(&world->placed);
    vec_release(&world->waiting);
    strbuf_release(&world->text);
    arena_release(&world->arena);
}

/* ---- changes ---- */
static void remove_one(struct world *world, bool waiting)
{
    __typeof__(world->placed) *pods = waiting ? (void *)&world->waiting : &world->placed;
    if (!pods->len)
        return;
    uint32_t at = roll(&world->rng, (uint32_t)pods->len);
    cluster_remove_pod(&world->cluster, pods->items[at]);
    vec_swap_remove(pods, at);
}

static void change_node(struct world *world)
{
    set_node(world, roll(&world->rng, world->names));
}

static void remove_node(struct world *world)
{
    char name[16];
    snprintf(name, sizeof(name), "n%u", roll(&world->rng, world->names));
    cluster_remove_node(&world->cluster, str_from(name));
}

/* Somebody evicted others and waits for them to leave, or still has the nomination of an earlier attempt. */
static void nominate(struct world *world)
{
    uint32_t row = roll(&world->rng, (uint32_t)world->cluster.nodes.len);
    if (!world->waiting.len || !world->cluster.nodes.items[row].api)
        return;
    cluster_nominate(&world->cluster, world->waiting.items[roll(&world->rng, (uint32_t)world->waiting.len)], row);
}

/* The same few nodes again and again: more entries in the log than it keeps, or many for the same row. */
static void churn(struct world *world)
{
    if (!world->placed.len)
        return;
    bool endless = chance(&world->rng, 1);
    for (uint32_t left = endless ? 9000 : 60; left > 0; left--) {
        struct pod_info *pod = world->placed.items[roll(&world->rng, MIN(3, (uint32_t)world->placed.len))];
        uint32_t row = pod->row;
        /* A row whose last pod leaves is free unless it has a node. */
        if (row == ROW_NONE || !world->cluster.nodes.items[row].api)
            continue;
        cluster_displace(&world->cluster, pod);
        cluster_place(&world->cluster, pod, row);
    }
}

static void change_namespace(struct world *world)
{
    uint32_t number = roll(&world->rng, NAMESPACES);
    if (chance(&world->rng, 80))
        set_namespace(world, number);
    else
        cluster_remove_object(&world->cluster, KIND_NAMESPACE, (struct str){ 0 }, STR("blue"));
}

static void remove_placed(struct world *world)
{
    remove_one(world, false);
}

static void remove_waiting(struct world *world)
{
    remove_one(world, true);
}

/* A controller is deleted with all its pods, or a new one takes its place. */
static void change_template(struct world *world)
{
    struct template *template = &world->templates[roll(&world->rng, world->templates_len)];
    template_release(template);
    template_init(template, &world->rng, world->engine.profiles_len);
}

static const struct {
    uint32_t percent;
    const char *what;
    void (*apply)(struct world *world);
} changes[] = {
    { 30, "a pod left its node", remove_placed },
    { 22, "a node changed", change_node },
    { 6, "a node went", remove_node },
    { 10, "a pod started", add_running },
    { 8, "a pod was nominated", nominate },
    { 8, "a waiting pod went", remove_waiting },
    { 6, "pods came and went", churn },
    { 3, "a namespace changed", change_namespace },
    { 3, "a service or controller changed", set_controller },
    { 4, "a template changed", change_template },
};

void world_change(struct world *world)
{
    uint32_t at = roll(&world->rng, 100);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        if (at < changes[i].percent) {
            world->what = changes[i].what;
            changes[i].apply(world);
            return;
        }
        at -= changes[i].percent;
    }
}

struct pod_info *world_pod(struct world *world, bool rare)
{
    char nominated[16];
    uint32_t at = roll(&world->rng, world->templates_len);
    for (uint32_t tries = 0; tries < world->templates_len && world->templates[at].rare != rare; tries++)
        at = (at + 1) % world->templates_len;
    struct pod_text pod = { 0 };
    if (chance(&world->rng, 2)) {
        snprintf(nominated, sizeof(nominated), "n%u", roll(&world->rng, world->names));
        pod.nominated = nominated;
    }
    return add_pod(world, &world->templates[at], pod);
}

void world_settle(struct world *world, struct pod_info *pod, uint32_t row)
{
    if (row != ROW_NONE) {
        cluster_place(&world->cluster, pod, row);
        *vec_push(&world->placed) = pod;
    } else if (world->waiting.len < 6) {
        *vec_push(&world->waiting) = pod;
    } else {
        cluster_remove_pod(&world->cluster, pod);
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

bool world_adds_up(const struct world *world)
{
    const struct cluster *cluster = &world->cluster;
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
