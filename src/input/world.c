/* world.c: builds the model from the input; see world.h.
 *
 * Objects go in by namespace and name, as an API server lists them: the order of nodes decides ties and rotation. */
#include "input/world.h"

#include <stdio.h>

#include "api/protobuf.h"
#include "plugins/registry.h"
#include "sync/listing.h"

static int load_config(struct world *world, const struct world_options *options, struct error *err)
{
    const char *path = options->config;
    struct plugin_catalog catalog = registry_catalog(world->registry, &world->config_arena);
    const struct config_env env = { .catalog = &catalog };
    struct warnings warnings = { 0 };
    int r = path ? config_load(path, &env, &world->config_arena, &world->config, &warnings, err)
                 : config_default(&env, &world->config_arena, &world->config, err);
    world->config_ready = r == 0;
    vec_for(&warnings.list, warning)
        fprintf(stderr, "berth: warning: " STR_FMT "\n", STR_ARG(*warning));
    warnings_release(&warnings);
    if (r == 0 && world->config.extenders.len && !options->asks_extenders)
        fprintf(stderr,
                "berth: warning: extenders are not asked here: decisions are those of the plugins alone\n");
    return r;
}

static void add_nodes(struct world *world)
{
    struct meta **nodes = load_sorted(&world->load, KIND_NODE);
    for (size_t i = 0; i < world->load.objects[KIND_NODE].len; i++)
        cluster_set_node(&world->cluster, (const struct node *)nodes[i]);
    free(nodes);
}

static void add_running(struct world *world)
{
    struct meta **pods = load_sorted(&world->load, KIND_POD);
    for (size_t i = 0; i < world->load.objects[KIND_POD].len; i++) {
        const struct pod *pod = (const struct pod *)pods[i];
        if (str_empty(pod->spec.node_name))
            continue;
        cluster_add_pod(&world->cluster, pod);
        world->running++;
    }
    free(pods);
}

static void add_others(struct world *world)
{
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++) {
        if (kind == KIND_NODE || kind == KIND_POD)
            continue;
        struct meta **objects = load_sorted(&world->load, (enum api_kind)kind);
        for (size_t i = 0; i < world->load.objects[kind].len; i++)
            cluster_set_object(&world->cluster, (enum api_kind)kind, objects[i], objects[i]);
        free(objects);
    }
}

/* Copies, so that objects of files and of a cluster live in the same place. */
static int add_listing(struct world *world, const struct listing *listing, struct error *err)
{
    struct strbuf bytes = { 0 };
    int r = 0;
    vec_for(&listing->objects, live) {
        struct object copy;
        strbuf_clear(&bytes);
        object_encode_protobuf(&(*live)->object, &bytes);
        r = object_decode_protobuf(strbuf_slice(&bytes), STRINGS_COPIED, &world->load.arena, &copy, err);
        if (r < 0)
            break;
        load_add(&world->load, copy.kind, copy.meta);
    }
    strbuf_release(&bytes);
    return r;
}

int world_open(struct world *world, const struct world_options *options, struct error *err)
{
    *world = (struct world){ .registry = options->registry ? options->registry : &builtin_plugins };
    load_init(&world->load);
    int r = load_config(world, options, err);
    if (r == 0 && options->listing)
        r = add_listing(world, options->listing, err);
    for (size_t i = 0; i < options->paths_len && r == 0; i++)
        r = load_path(&world->load, options->paths[i], err);
    if (r < 0)
        return r;
    load_warn(&world->load);
    expansion_init(&world->expansion, &world->load);
    world->expansion_ready = true;
    cluster_init(&world->cluster);
    world->cluster_ready = true;
    add_nodes(world);
    add_others(world);
    add_running(world);
    return 0;
}

void world_release(struct world *world)
{
    if (world->cluster_ready)
        cluster_release(&world->cluster);
    if (world->expansion_ready)
        expansion_release(&world->expansion);
    if (world->config_ready)
        config_release(&world->config);
    arena_release(&world->config_arena);
    load_release(&world->load);
}

void world_apply_claims(struct world *world)
{
    struct maker *maker = &world->expansion.maker;
    vec_for(&maker->claims, claim)
        cluster_set_object(&world->cluster, KIND_PVC, *claim, &(*claim)->meta);
    vec_clear(&maker->claims);
}

/* ---- pending pods ---- */

struct waiting {
    struct pod *pod;
    size_t place;
};

static int by_age(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    const struct opt_time *s = &x->pod->meta.creation_time, *t = &y->pod->meta.creation_time;
    if (s->set != t->set) /* what has no time has not been created yet */
        return s->set ? -1 : 1;
    if (s->seconds != t->seconds)
        return s->seconds < t->seconds ? -1 : 1;
    if (s->nanos != t->nanos)
        return s->nanos < t->nanos ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

struct pod **world_pending(const struct world *world, size_t *ret_len)
{
    const object_vec *pods = &world->load.objects[KIND_POD];
    struct waiting *waiting = xcalloc(pods->len + 1, sizeof(*waiting));
    size_t len = 0;
    for (size_t i = 0; i < pods->len; i++) {
        struct pod *pod = (struct pod *)pods->items[i];
        if (str_empty(pod->spec.node_name))
            waiting[len++] = (struct waiting){ pod, i };
    }
    qsort(waiting, len, sizeof(*waiting), by_age);
    struct pod **sorted = xcalloc(len + 1, sizeof(*sorted));
    for (size_t i = 0; i < len; i++)
        sorted[i] = waiting[i].pod;
    free(waiting);
    *ret_len = len;
    return sorted;
}

struct str pod_full_name(const struct pod *pod, struct arena *arena)
{
    return arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(pod->meta.namespace), STR_ARG(pod->meta.name));
}
