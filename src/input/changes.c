/* changes.c: nodes that are closed, drained and removed, and the pods that leave them; see changes.h. */
#include "input/changes.h"

#include "api/labels.h"
#include "api/taints.h"
#include "base/spelling.h"
#include "input/daemon.h"

const char *const change_words[CHANGE_KIND_COUNT + 1] = {
#define X(name, word) #word,
    CHANGE_KINDS(X)
#undef X
};

void changes_release(struct changes *changes)
{
    vec_for(&changes->templates, template) {
        load_release(*template);
        free(*template);
    }
    vec_release(&changes->templates);
    vec_release(&changes->list);
    vec_release(&changes->departures);
    vec_release(&changes->unmanaged);
    vec_release(&changes->removed_rows);
    strmap_release(&changes->by_node);
    budget_uses_release(&changes->budgets);
    arena_release(&changes->arena);
    *changes = (struct changes){ 0 };
}

struct change *changes_note(struct changes *changes, enum change_kind kind, enum api_kind object_kind,
                            const struct meta *object)
{
    struct change *change = vec_push(&changes->list);
    *change = (struct change){ .kind = kind, .object_kind = object_kind, .object = object };
    if (object_kind == KIND_NODE)
        strmap_put(&changes->by_node, object->name, (void *)changes->list.len);
    return change;
}

enum change_kind changes_of_node(const struct changes *changes, struct str node)
{
    size_t place = (size_t)strmap_get(&changes->by_node, node);
    return place ? changes->list.items[place - 1].kind : CHANGE_NONE;
}

/* ---- nodes by name or label ---- */

/* The nearest of the texts that the nodes have, or NULL. */
static const char *near_name(const struct load *load, struct str wanted, struct arena *arena)
{
    const object_vec *nodes = &load->objects[KIND_NODE];
    const char **names = arena_array(arena, const char *, nodes->len + 1);
    for (size_t i = 0; i < nodes->len; i++)
        names[i] = arena_str(arena, nodes->items[i]->name).ptr;
    return nearest_name(arena_str(arena, wanted).ptr, names, nodes->len);
}

/* Of the labels that nodes have: "KEY=VALUE". */
static const char *near_label(const struct load *load, struct str wanted, struct arena *arena)
{
    _cleanup_(strmap_release) struct strmap seen = { 0 };
    VEC(const char *) labels = { 0 };
    vec_for(&load->objects[KIND_NODE], node)
        list_for(&(*node)->labels, pair) {
            struct str label =
                arena_printf(arena, STR_FMT "=" STR_FMT, STR_ARG(pair->key), STR_ARG(pair->value));
            if (strmap_get(&seen, label))
                continue;
            strmap_put(&seen, label, (void *)*node);
            *vec_push(&labels) = label.ptr;
        }
    const char *near = nearest_name(arena_str(arena, wanted).ptr, labels.items, labels.len);
    vec_release(&labels);
    return near;
}

int changes_no_node(const struct load *load, enum change_kind kind, struct str name, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    bool is_label = str_find(name, '=') >= 0;
    const char *near = is_label ? near_label(load, name, &arena) : near_name(load, name, &arena);
    return error_set(err, -ENOENT, "--%s: there is no node %s" STR_FMT "%s%s%s", change_words[kind],
                     is_label ? "with the label " : "", STR_ARG(name), near ? "; did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

typedef VEC(struct node *) node_vec;

static int find_nodes(const struct load *load, enum change_kind kind, struct str word, node_vec *ret,
                      struct error *err)
{
    struct str value = word, key = str_cut(&value, '=');
    size_t before = ret->len;
    if (key.len == word.len) {
        struct node *node = load_find(load, KIND_NODE, (struct str){ 0 }, word);
        if (node)
            *vec_push(ret) = node;
    } else {
        vec_for(&load->objects[KIND_NODE], node) {
            const struct str *found = str_map_get(&(*node)->labels, key);
            if (found && str_eq(*found, value))
                *vec_push(ret) = (struct node *)*node;
        }
    }
    return ret->len > before ? 0 : changes_no_node(load, kind, word, err);
}

/* ---- closed nodes ---- */

struct node *changes_cordon(struct arena *arena, const struct node *node, bool closed)
{
    static const struct taint taint = { .key = STR(TAINT_NODE_UNSCHEDULABLE),
                                        .effect = STR(TAINT_NO_SCHEDULE) };
    struct node *copy = arena_copy(arena, struct node, node, 1, 1);
    uint32_t len = 0;
    copy->spec.unschedulable = closed;
    copy->spec.taints.items = arena_array(arena, struct taint, (size_t)node->spec.taints.len + 1);
    list_for(&node->spec.taints, other)
        if (!str_eq(other->key, taint.key))
            copy->spec.taints.items[len++] = *other;
    if (closed) /* the node lifecycle controller adds it */
        copy->spec.taints.items[len++] = taint;
    copy->spec.taints.len = len;
    return copy;
}

static int change_nodes(struct changes *changes, struct load *load, enum change_kind kind, struct str word,
                        struct error *err)
{
    node_vec nodes = { 0 };
    int r = find_nodes(load, kind, word, &nodes, err);
    vec_for(&nodes, item) {
        struct node *node = *item;
        if (changes_of_node(changes, node->meta.name) == kind)
            continue;
        if (kind != CHANGE_REMOVE) {
            node = changes_cordon(&changes->arena, node, kind != CHANGE_UNCORDON);
            load_put(load, KIND_NODE, &node->meta);
        }
        changes_note(changes, kind, KIND_NODE, &node->meta);
    }
    vec_release(&nodes);
    return r;
}

static bool stays(void *user, const struct meta *node)
{
    return changes_of_node(user, node->name) != CHANGE_REMOVE;
}

/* ---- pods that leave ---- */

static void look_at_pod(struct changes *changes, const struct pod *pod)
{
    enum change_kind cause = changes_of_node(changes, pod->spec.node_name);
    bool is_managed = controller_of(&pod->meta);
    enum fate fate = is_managed ? FATE_RETURNS : pod->meta.deletion_time.set ? FATE_ENDS : FATE_LOST;
    if (cause != CHANGE_DRAIN && cause != CHANGE_REMOVE)
        return;
    if (pod_stays_with_node(pod)) {
        if (cause == CHANGE_DRAIN)
            return;
        fate = FATE_WITH_NODE;
    }
    if (fate == FATE_LOST && cause == CHANGE_DRAIN) {
        *vec_push(&changes->unmanaged) = pod;
        if (!changes->force)
            return;
    }
    if (cause == CHANGE_DRAIN)
        budget_uses_add(&changes->budgets, pod);
    *vec_push(&changes->departures) = (struct departure){ pod, cause, fate };
}

static void look_at_pods(struct changes *changes, const struct load *load)
{
    struct meta **pods = load_sorted(load, KIND_POD);
    budget_uses_init(&changes->budgets, load);
    for (size_t i = 0; i < load->objects[KIND_POD].len; i++)
        if (!str_empty(((const struct pod *)pods[i])->spec.node_name))
            look_at_pod(changes, (const struct pod *)pods[i]);
    free(pods);
}

/* ---- all of them ---- */

static int apply_word(struct changes *changes, struct load *load, enum change_kind kind, struct str word,
                      struct error *err)
{
    if (str_empty(word))
        return error_set(err, -EINVAL, "--%s: a name is empty", change_words[kind]);
    if (kind == CHANGE_SCALE)
        return changes_scale(changes, load, word, err);
    if (kind == CHANGE_ADD)
        return changes_add_nodes(changes, load, word, err);
    return change_nodes(changes, load, kind, word, err);
}

int changes_apply(struct changes *changes, struct load *load, const struct change_requests *requests,
                  struct error *err)
{
    changes->force = requests->force;
    for (int kind = 0; kind < CHANGE_KIND_COUNT; kind++)
        for (size_t i = 0; i < requests->len; i++) {
            struct str rest = requests->items[i].text;
            bool more = requests->items[i].kind == (enum change_kind)kind;
            while (more) {
                more = str_find(rest, ',') >= 0;
                int r = apply_word(changes, load, (enum change_kind)kind, str_cut(&rest, ','), err);
                if (r < 0)
                    return r;
            }
        }
    look_at_pods(changes, load);
    load_retain(load, KIND_NODE, stays, changes);
    return 0;
}
