/* input.c: builds the model from the input; see input.h.
 *
 * Objects go in by namespace and name, as an API server lists them: the order of nodes decides ties and rotation. */
#include "input/input.h"

#include <stdio.h>

#include "api/protobuf.h"
#include "input/config_folder.h"
#include "input/policy_folder.h"
#include "plugins/registry.h"
#include "sync/listing.h"

void print_warnings(const struct warnings *warnings)
{
    vec_for(&warnings->list, sentence)
        fprintf(stderr, "berth: warning: " STR_FMT "\n", STR_ARG(*sentence));
}

static int load_config(struct input *input, const struct input_options *options, struct error *err)
{
    const char *path = NULL;
    struct plugin_catalog catalog = registry_catalog(input->registry, &input->config_arena);
    const struct config_env env = { .catalog = &catalog, .features = options->features };
    struct warnings warnings = { 0 };
    int r = config_folder_resolve(options->config, &input->config_arena, &path, &warnings, err);
    if (r == 0)
        r = path ? config_load(path, &env, &input->config_arena, &input->config, &warnings, err)
                 : config_default(&env, &input->config_arena, &input->config, err);
    input->config_ready = r == 0;
    print_warnings(&warnings);
    warnings_release(&warnings);
    if (r == 0 && input->config.extenders.len && !options->calls_extenders)
        fprintf(stderr,
                "berth: warning: extenders are not asked here: decisions are those of the plugins alone\n");
    return r;
}

static void add_objects(struct input *input, enum api_kind kind)
{
    struct meta **objects = load_sorted(&input->load, kind);
    for (size_t i = 0; i < input->load.objects[kind].len; i++) {
        if (kind == KIND_NODE) {
            cluster_set_node(&input->cluster, (const struct node *)objects[i]);
        } else if (kind != KIND_POD) {
            cluster_set_object(&input->cluster, kind, objects[i], objects[i]);
        } else if (((const struct pod *)objects[i])->spec.node_name.len) {
            cluster_add_pod(&input->cluster, (const struct pod *)objects[i]);
            input->running++;
        }
    }
    free(objects);
}

/* Copies, so that objects of files and of a cluster live in the same place. */
static int add_listed(struct input *input, const struct object *listed, struct strbuf *bytes,
                      struct error *err)
{
    struct object copy;
    strbuf_clear(bytes);
    object_encode_protobuf(listed, bytes);
    int r = object_decode_protobuf_as(strbuf_slice(bytes), listed->kind, STRINGS_COPIED, &input->load.arena,
                                      &copy, err);
    if (r == 0)
        load_add(&input->load, listed->kind, copy.meta);
    return r;
}

static int add_listing(struct input *input, const struct input_options *options, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf bytes = { 0 };
    _cleanup_(listing_release) struct listing listing = { 0 };
    int r = options->list(options->user, &input->config, &listing, err);
    input->is_live = listing.objects.len > 0;
    for (size_t i = 0; i < listing.objects.len && r == 0; i++)
        r = add_listed(input, &listing.objects.items[i]->object, &bytes, err);
    return r;
}

/* ---- policies ---- */
static int find_policies(const struct input *input, const char *full_name, const struct config_map **ret,
                         struct error *err)
{
    struct str name = str_from(full_name), namespace = str_cut(&name, '/');
    *ret = load_find(&input->load, KIND_CONFIG_MAP, namespace, name);
    if (*ret)
        return 0;
    return error_set(
        err, -ENOENT,
        "--policy-configmap=%s: there is no such ConfigMap in the input; for files, `kubectl -n " STR_FMT
        " get configmap " STR_FMT " -o yaml` prints it",
        full_name, STR_ARG(namespace), STR_ARG(name));
}

static int read_policies(struct input *input, const struct input_options *options, struct error *err)
{
    const struct config_map *map;
    struct config_map folder;
    int r;
    if (options->policy_dir) {
        r = policy_folder_read(options->policy_dir, &input->config_arena, &folder, err);
        map = &folder;
    } else if (options->policy_config_map) {
        r = find_policies(input, options->policy_config_map, &map, err);
    } else {
        return 0;
    }
    return r < 0 ? r : policy_set_read(map, input->registry, &input->policy_set, err);
}

/* ---- the model ---- */

/* Those of removed nodes and pods that leave are there at first: the cluster as it is without the changes. */
static void add_what_leaves(struct input *input)
{
    vec_for(&input->changes.departures, departure)
        if (departure->cause == CHANGE_SCALE) {
            cluster_add_pod(&input->cluster, departure->pod);
            input->running++;
        }
}

static void set_removed_nodes(struct input *input)
{
    vec_clear(&input->changes.removed_rows);
    vec_for(&input->changes.list, change)
        if (change->kind == CHANGE_REMOVE) {
            cluster_set_node(&input->cluster, (const struct node *)change->object);
            *vec_push(&input->changes.removed_rows) = cluster_row(&input->cluster, change->object->name);
        }
}

static void take_away(struct input *input)
{
    struct cluster *cluster = &input->cluster;
    struct changes *changes = &input->changes;
    usage_take(cluster, &changes->arena, &changes->before);
    vec_clear(&input->expansion.leaving);
    vec_for(&changes->list, change)
        if (change->kind == CHANGE_ADD)
            for (uint32_t r = 0; r < changes->before.resources; r++)
                changes->before.alloc[r][cluster_row(cluster, change->object->name)] = 0;
    vec_for(&changes->departures, departure) {
        const struct meta *meta = &departure->pod->meta;
        cluster_remove_pod(cluster, cluster_find_pod(cluster, meta->namespace, meta->name));
        if (departure->fate == FATE_RETURNS)
            *vec_push(&input->expansion.leaving) = departure->pod;
    }
    vec_for(&changes->list, change)
        if (change->kind == CHANGE_REMOVE)
            cluster_remove_node(cluster, change->object->name);
}

/* Policies come before pods: each gets its policy as it does. */
static void build(struct input *input)
{
    cluster_init(&input->cluster);
    if (input->options.features)
        input->cluster.features = *input->options.features;
    input->cluster_ready = true;
    add_objects(input, KIND_NODE);
    set_removed_nodes(input);
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        if (kind != KIND_NODE && kind != KIND_POD)
            add_objects(input, (enum api_kind)kind);
    vec_clear(&input->expansion.factory.claims); /* they were among the objects */
    if (input->policy_set) {
        policies_init(&input->policies, &input->cluster, &input->config);
        policies_use(&input->policies, input->policy_set);
    }
    add_objects(input, KIND_POD);
    add_what_leaves(input);
    if (input_is_changed(input))
        take_away(input);
}

void input_rebuild(struct input *input)
{
    policies_release(&input->policies);
    input->policies = (struct policies){ 0 };
    cluster_release(&input->cluster);
    input->running = 0;
    build(input);
}

/* What controllers find is the cluster with the changes. */
static int complete(struct input *input, const struct change_requests *changes, struct error *err)
{
    expansion_begin(&input->expansion, &input->load);
    input->expansion_ready = true;
    load_save(&input->load, &input->read);
    int r = changes->len ? changes_apply(&input->changes, &input->load, changes, err) : 0;
    expansion_settle(&input->expansion);
    if (r == 0)
        r = read_policies(input, &input->options, err);
    if (r == 0)
        build(input);
    return r;
}

/* What was read is no cluster at all. */
static int check_any(const struct input *input, struct error *err)
{
    size_t count = input->load.finished.len;
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        count += input->load.objects[kind].len;
    if (count)
        return 0;
    return error_set(err, -ENODATA, "the input has no objects%s",
                     input->load.ignored.len ? " of kinds that decisions depend on" : "");
}

int input_check_nodes(const struct input *input, struct error *err)
{
    if (input->read.objects[KIND_NODE].len)
        return 0;
    return input->is_live ? error_set(err, -ENODATA, "the cluster has no nodes")
                          : error_set(err, -ENODATA,
                                      "the input has no nodes, so that nothing can be decided; `kubectl get "
                                      "nodes -o json` prints them");
}

static void keep_options(struct input *input, const struct input_options *options)
{
    input->options = *options;
    input->options.paths_len = 0;
    input->options.templates_len = 0;
    input->options.list = NULL;
    input->options.changes = (struct change_requests){ 0 };
    if (!options->features)
        return;
    input->features = *options->features;
    input->options.features = &input->features;
}

static void end_progress(const struct input_options *options)
{
    if (options->on_progress)
        options->on_progress(NULL, 1);
}

int input_open(struct input *input, const struct input_options *options, struct error *err)
{
    *input = (struct input){ .registry = options->registry ? options->registry : &builtin_plugins };
    keep_options(input, options);
    input->load.reads_config_maps = options->policy_config_map;
    input->load.documents.on_progress = options->on_progress;
    int r = load_config(input, options, err);
    if (r == 0 && options->list)
        r = add_listing(input, options, err);
    for (size_t i = 0; i < options->paths_len && r == 0; i++)
        r = load_path(&input->load, options->paths[i], err);
    end_progress(options);
    if (r == 0 && options->is_strict)
        r = load_refuse_unknown(&input->load, err);
    if (r < 0)
        return r;
    load_warn(&input->load);
    r = check_any(input, err);
    if (r == 0)
        r = templates_read(&input->templates, options->templates, options->templates_len, options->is_strict,
                           &input->load, err);
    end_progress(options);
    if (r < 0)
        return r;
    incomplete_add_namespaces(&input->load);
    return complete(input, &options->changes, err);
}

int input_fork(struct input *fork, const struct input *from, const char *config,
               const struct change_requests *changes, struct error *err)
{
    *fork = (struct input){ .registry = from->registry, .is_live = from->is_live };
    keep_options(fork, &from->options);
    if (config)
        fork->options.config = config;
    load_fork(&fork->load, &from->load, &from->read);
    int r = load_config(fork, &fork->options, err);
    return r < 0 ? r : complete(fork, changes, err);
}

void input_release(struct input *input)
{
    policies_release(&input->policies);
    policy_set_unref(input->policy_set);
    if (input->cluster_ready)
        cluster_release(&input->cluster);
    if (input->expansion_ready)
        expansion_release(&input->expansion);
    if (input->config_ready)
        config_release(&input->config);
    changes_release(&input->changes);
    arena_release(&input->config_arena);
    load_state_release(&input->read);
    templates_release(&input->templates);
    load_release(&input->load);
}

void input_apply_claims(struct input *input)
{
    struct pod_factory *factory = &input->expansion.factory;
    vec_for(&factory->claims, claim)
        cluster_set_object(&input->cluster, claim->kind, claim->meta, claim->meta);
    vec_clear(&factory->claims);
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
    /* what has no time has not been created yet */
    return COMPARE(t->set, s->set) ?: COMPARE(s->seconds, t->seconds) ?: COMPARE(s->nanos, t->nanos)
                                  ?: COMPARE(x->place, y->place);
}

struct pod **input_pending(const struct input *input, size_t *ret_len)
{
    const object_vec *pods = &input->load.objects[KIND_POD];
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

static void add_undecided(const struct input *input, const struct pod *pod, undecided_vec *ret)
{
    if (config_profile(&input->config, pod->spec.scheduler_name))
        *vec_push(ret) = pod;
}

undecided_vec input_undecided(const struct input *input, size_t *ret_there)
{
    undecided_vec all = { 0 };
    size_t len;
    struct pod **pending = input_pending(input, &len);
    for (size_t i = 0; i < len; i++)
        add_undecided(input, pending[i], &all);
    if (ret_there)
        *ret_there = all.len;
    vec_for(&input->expansion.pods, pod)
        add_undecided(input, *pod, &all);
    free(pending);
    return all;
}

void input_warn(struct input *input, const undecided_vec *pods)
{
    incomplete_warn(&input->expansion, pods, input->is_live);
}

struct str pod_full_name(const struct pod *pod, struct arena *arena)
{
    return arena_printf(arena, META_FMT, META_ARG(&pod->meta));
}
