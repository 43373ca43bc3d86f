/* new_node.c: see new_node.h. */
#include "whatif/new_node.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/labels.h"
#include "api/taints.h"
#include "input/daemon.h"
#include "whatif/facts.h"

/* ---- types ---- */
static struct str label_of(const struct node *node, const char *key, const char *older)
{
    const struct str *value = str_map_get(&node->meta.labels, str_from(key));
    if (!value)
        value = str_map_get(&node->meta.labels, str_from(older));
    return value ? *value : (struct str){ 0 };
}

static struct node_type type_of(const struct node *node)
{
    return (struct node_type){
        .name = label_of(node, "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
        .zone = label_of(node, "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
        .of = node,
        .nodes = 1,
    };
}

static void put_key(struct strbuf *key, const struct node_type *type)
{
    const struct node *node = type->of;
    strbuf_printf(key, STR_FMT "/" STR_FMT, STR_ARG(type->name), STR_ARG(type->zone));
    list_for(&node->spec.taints, taint)
        if (!taint_is_trouble(taint))
            strbuf_printf(key, "\n" TAINT_FMT, TAINT_ARG(taint));
    if (!str_empty(type->name))
        return;
    list_for(&node->meta.labels, label)
        if (!str_eq(label->value, node->meta.name))
            strbuf_printf(key, "\n" STR_FMT "=" STR_FMT, STR_ARG(label->key), STR_ARG(label->value));
    list_for(&node->status.allocatable, amount)
        strbuf_printf(key, "\n" STR_FMT " %lld", STR_ARG(amount->name),
                      (long long)quantity_milli_value(amount->amount));
}

struct str_list node_type_taints(const struct node_type *type, struct arena *arena)
{
    const struct node *node = type->of;
    struct str_list texts = { arena_array(arena, struct str, node->spec.taints.len), 0 };
    list_for(&node->spec.taints, taint)
        if (!taint_is_trouble(taint))
            texts.items[texts.len++] = arena_printf(arena, TAINT_FMT, TAINT_ARG(taint));
    return texts;
}

static int most_nodes(const void *a, const void *b)
{
    const struct node_type *x = a, *y = b;
    return COMPARE(y->nodes, x->nodes) ?: str_cmp(x->of->meta.name, y->of->meta.name);
}

void node_types_find(const struct input *input, node_type_vec *ret)
{
    _cleanup_(strmap_release) struct strmap places = { 0 };
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct meta **nodes = load_sorted(&input->load, KIND_NODE);
    for (size_t i = 0; i < input->load.objects[KIND_NODE].len; i++) {
        struct node_type type = type_of((const struct node *)nodes[i]);
        strbuf_clear(&key);
        put_key(&key, &type);
        size_t place = (size_t)strmap_get(&places, strbuf_slice(&key));
        if (place) {
            ret->items[place - 1].nodes++;
            continue;
        }
        *vec_push(ret) = type;
        strmap_put(&places, arena_str(&arena, strbuf_slice(&key)), (void *)ret->len);
    }
    vec_sort(ret, most_nodes);
    free(nodes);
}

int node_types_named(const struct input *input, const char *word, struct load *files, node_type_vec *ret,
                     struct error *err)
{
    const struct node *node = load_find(&input->load, KIND_NODE, (struct str){ 0 }, str_from(word));
    if (node) {
        *vec_push(ret) = type_of(node);
        return 0;
    }
    if (access(word, F_OK) < 0)
        return error_set(err, -ENOENT, "--with-node %s: there is no such node in the input, and no such file",
                         word);
    size_t before = files->objects[KIND_NODE].len;
    int r = load_path(files, word, err);
    if (r < 0)
        return r;
    for (size_t i = before; i < files->objects[KIND_NODE].len; i++) {
        *vec_push(ret) = type_of((const struct node *)files->objects[KIND_NODE].items[i]);
        ret->items[ret->len - 1].nodes = 0;
    }
    return files->objects[KIND_NODE].len > before ? 0 : error_at(err, -EINVAL, word, 0, 0, "has no Node");
}

/* ---- a node ---- */
static void add_pod(struct new_node *new, const struct pod *original)
{
    struct str node = new->copy.node->meta.name;
    struct pod *pod = arena_copy(&new->arena, struct pod, original, 1, 1);
    pod->meta.name =
        arena_printf(&new->arena, STR_FMT "-" STR_FMT, STR_ARG(original->meta.name), STR_ARG(node));
    pod->meta.uid = pod->meta.name;
    pod->spec.node_name = node;
    *vec_push(&new->pods) = cluster_add_pod(&new->input->cluster, pod);
}

static void add_daemons(struct new_node *new)
{
    struct load *load = &new->input->load;
    vec_for(&load->objects[KIND_DAEMON_SET], set) {
        if ((*set)->deletion_time.set)
            continue;
        const struct pod *pod = expansion_copy(&new->input->expansion, KIND_DAEMON_SET, *set);
        if (daemon_wants_node(&pod->spec, new->copy.node))
            add_pod(new, pod);
    }
}

/* What comes with the original, apart from pods of DaemonSets that have been asked. */
static void copy_daemons(struct new_node *new, const struct node *of)
{
    const struct load *load = &new->input->load;
    uint32_t row = cluster_row(&new->input->cluster, of->meta.name);
    if (row == ROW_NONE)
        return;
    const struct node_entry *entry = cluster_node(&new->input->cluster, row);
    for (size_t i = 0; i < entry->pods.len; i++) {
        const struct pod *pod = pod_info_object(entry->pods.items[i]);
        const struct owner_ref *owner = controller_of(&pod->meta);
        bool is_known = owner && str_is(owner->kind, "DaemonSet") &&
                        load_find(load, KIND_DAEMON_SET, pod->meta.namespace, owner->name);
        if (pod_stays_with_node(pod) && !is_known)
            add_pod(new, pod);
    }
}

void new_node_join(struct new_node *new, struct input *input, const struct node *of)
{
    struct cluster *cluster = &input->cluster;
    *new = (struct new_node){ .input = input };
    struct str name = arena_printf(&new->arena, STR_FMT "-new", STR_ARG(of->meta.name));
    while (cluster_row(cluster, name) != ROW_NONE)
        name = arena_printf(&new->arena, STR_FMT "-new", STR_ARG(name));
    node_copy_make(&new->copy, &input->load, of, name, &new->arena);
    vec_for(&new->copy.companions, companion)
        cluster_set_object(cluster, companion->kind, companion->object, companion->object);
    cluster_set_node(cluster, new->copy.node);
    add_daemons(new);
    copy_daemons(new, of);
}

void new_node_leave(struct new_node *new)
{
    struct cluster *cluster = &new->input->cluster;
    vec_for(&new->pods, pod)
        cluster_remove_pod(cluster, *pod);
    cluster_remove_node(cluster, new->copy.node->meta.name);
    vec_for(&new->copy.companions, companion)
        cluster_remove_object(cluster, companion->kind, companion->object->namespace,
                              companion->object->name);
    node_copy_release(&new->copy);
    vec_release(&new->pods);
    arena_release(&new->arena);
}
