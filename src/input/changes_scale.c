/* changes_scale.c: workloads with another number of replicas.
 *
 * What is missing is made when the workloads are expanded. Of pods that are too many those go that the ReplicaSet
 * controller would delete: without a node, not running yet, not ready, of lower deletion cost, beside others of theirs
 * on the same node, the youngest. A StatefulSet gives up its highest ordinals. */
#include "api/fields.h"
#include "api/labels.h"
#include "base/spelling.h"
#include "input/changes.h"
#include "input/owners.h"

#define COST_ANNOTATION "controller.kubernetes.io/pod-deletion-cost"
enum { REPLICAS_MAX = 1000000 };

struct target {
    enum api_kind kind;
    struct str namespace, name;
    int64_t replicas;
    const struct meta *object;
};

struct candidate {
    struct pod *pod;
    int64_t ordinal, cost;
    size_t beside; /* others on its node */
    bool leaves;
};
typedef VEC(struct candidate) candidate_vec;

/* ---- which one ---- */

static const struct {
    const char *word;
    enum api_kind kind;
} kind_words[] = {
    { "deploy", KIND_DEPLOYMENT },
    { "deployment", KIND_DEPLOYMENT },
    { "deployments", KIND_DEPLOYMENT },
    { "rs", KIND_REPLICA_SET },
    { "replicaset", KIND_REPLICA_SET },
    { "replicasets", KIND_REPLICA_SET },
    { "sts", KIND_STATEFUL_SET },
    { "statefulset", KIND_STATEFUL_SET },
    { "statefulsets", KIND_STATEFUL_SET },
    { "rc", KIND_REPLICATION_CONTROLLER },
    { "replicationcontroller", KIND_REPLICATION_CONTROLLER },
    { "replicationcontrollers", KIND_REPLICATION_CONTROLLER },
};

static enum api_kind kind_of_word(struct str word)
{
    for (size_t i = 0; i < ARRAY_SIZE(kind_words); i++)
        if (str_eq_fold(word, str_from(kind_words[i].word)))
            return kind_words[i].kind;
    return KIND_UNKNOWN;
}

static int parse(struct str word, struct target *ret, struct error *err)
{
    struct str number = word, path = str_cut(&number, '='), rest = path;
    ret->kind = kind_of_word(str_cut(&rest, '/'));
    ret->namespace = STR("default");
    ret->name = rest;
    if (str_find(rest, '/') >= 0)
        ret->namespace = str_cut(&ret->name, '/');
    if (path.len == word.len || !str_to_int64(number, &ret->replicas) || ret->replicas < 0 ||
        ret->replicas > REPLICAS_MAX || ret->kind == KIND_UNKNOWN || str_empty(ret->name))
        return error_set(err, -EINVAL,
                         "--scale: expected KIND/NAMESPACE/NAME=REPLICAS such as deploy/shop/web=50 (kinds: "
                         "deploy, sts, rs, rc), got \"" STR_FMT "\"",
                         STR_ARG(word));
    return 0;
}

static int no_workload(const struct load *load, const struct target *target, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    const object_vec *all = &load->objects[target->kind];
    const char **names = arena_array(&arena, const char *, all->len + 1);
    for (size_t i = 0; i < all->len; i++)
        names[i] = arena_printf(&arena, META_FMT, META_ARG(all->items[i])).ptr;
    struct str full = arena_printf(&arena, META_FMT, META_ARG(target));
    const char *near = nearest_name(full.ptr, names, all->len);
    for (size_t i = 0; i < all->len; i++)
        if (str_eq(all->items[i]->name, target->name)) /* in another namespace */
            near = names[i];
    return error_set(err, -ENOENT, "--scale: there is no " STR_FMT " " STR_FMT "%s%s%s",
                     STR_ARG(api_kinds[target->kind].kind), STR_ARG(full), near ? "; did you mean " : "",
                     near ? near : "", near ? "?" : "");
}

/* ---- pods that are too many ---- */

static int phase_rank(const struct pod *pod)
{
    return str_is(pod->status.phase, "Pending") ? 0 : str_is(pod->status.phase, "Unknown") ? 1 : 2;
}

static bool is_ready(const struct pod *pod)
{
    list_for(&pod->status.conditions, condition)
        if (str_is(condition->type, "Ready"))
            return str_is(condition->status, "True");
    return false;
}

static int goes_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    const struct opt_time *s = &x->pod->meta.creation_time, *t = &y->pod->meta.creation_time;
    return COMPARE(y->ordinal, x->ordinal) ?:
           COMPARE(x->pod->spec.node_name.len > 0, y->pod->spec.node_name.len > 0) ?:
           COMPARE(phase_rank(x->pod), phase_rank(y->pod)) ?: COMPARE(is_ready(x->pod), is_ready(y->pod)) ?:
           COMPARE(x->cost, y->cost) ?: COMPARE(y->beside, x->beside) ?: COMPARE(t->seconds, s->seconds) ?:
           str_cmp(y->pod->meta.name, x->pod->meta.name);
}

static bool is_of(const struct load *load, const struct pod *pod, const struct target *target)
{
    const struct owner_ref *owner = controller_of(&pod->meta);
    struct str kind, name;
    if (!owner || pod->meta.deletion_time.set || !str_eq(pod->meta.namespace, target->namespace))
        return false;
    if (target->kind == KIND_DEPLOYMENT)
        owners_workload(load, &pod->meta, &kind, &name);
    else
        kind = owner->kind, name = owner->name;
    return str_eq(kind, api_kinds[target->kind].kind) && str_eq(name, target->name);
}

static void collect(const struct load *load, const struct target *target, candidate_vec *ret)
{
    _cleanup_(strmap_release) struct strmap on_node = { 0 };
    vec_for(&load->objects[KIND_POD], item) {
        struct pod *pod = (struct pod *)*item;
        if (!is_of(load, pod, target))
            continue;
        struct candidate *candidate = vec_push(ret);
        *candidate = (struct candidate){ .pod = pod };
        const struct str *cost = str_map_get(&pod->meta.annotations, STR(COST_ANNOTATION));
        ptrdiff_t dash = str_rfind(pod->meta.name, '-');
        if (cost)
            str_to_int64(*cost, &candidate->cost);
        if (target->kind == KIND_STATEFUL_SET && dash >= 0)
            str_to_int64(str_slice(pod->meta.name, (size_t)dash + 1, pod->meta.name.len),
                         &candidate->ordinal);
        size_t count = (size_t)strmap_get(&on_node, pod->spec.node_name) + 1;
        if (pod->spec.node_name.len)
            strmap_put(&on_node, pod->spec.node_name, (void *)count);
    }
    vec_for(ret, candidate)
        candidate->beside = (size_t)strmap_get(&on_node, candidate->pod->spec.node_name);
    vec_sort(ret, goes_first);
}

static bool is_kept(void *user, const struct meta *pod)
{
    return !idmap_get(user, (uintptr_t)pod);
}

static void drop(struct changes *changes, struct load *load, candidate_vec *candidates, size_t count)
{
    _cleanup_(idmap_release) struct idmap gone = { 0 };
    for (size_t i = 0; i < count; i++) {
        struct candidate *candidate = &candidates->items[i];
        candidate->leaves = true;
        idmap_put(&gone, (uintptr_t)candidate->pod, candidate->pod);
        if (candidate->pod->spec.node_name.len)
            *vec_push(&changes->departures) = (struct departure){ candidate->pod, CHANGE_SCALE, FATE_ENDS };
    }
    load_retain(load, KIND_POD, is_kept, &gone);
}

/* ---- replicas ---- */

/* Copies the object with another number; returns what it was. */
static int64_t set_replicas(struct changes *changes, struct load *load, enum api_kind kind,
                            const struct meta *object, int64_t replicas, const struct meta **ret)
{
    struct opt_int32 *at, before;
    struct meta *copy;
    if (kind == KIND_REPLICATION_CONTROLLER) {
        struct replication_controller *rc = arena_copy(&changes->arena, struct replication_controller,
                                                       (const struct replication_controller *)object, 1, 1);
        copy = &rc->meta;
        at = &rc->replicas;
    } else {
        struct workload *workload =
            arena_copy(&changes->arena, struct workload, (const struct workload *)object, 1, 1);
        copy = &workload->meta;
        at = &workload->spec.replicas;
    }
    before = *at;
    *at = (struct opt_int32){ true, (int32_t)replicas };
    load_put(load, kind, copy);
    *ret = copy;
    return before.set ? before.value : 1;
}

/* The ReplicaSets of a Deployment keep what their pods are now. */
static void settle_sets(struct changes *changes, struct load *load, const struct target *target,
                        const candidate_vec *candidates)
{
    for (size_t i = 0; i < load->objects[KIND_REPLICA_SET].len; i++) {
        const struct meta *set = load->objects[KIND_REPLICA_SET].items[i];
        const struct owner_ref *above = controller_of(set);
        int64_t left = 0;
        if (!above || !str_is(above->kind, "Deployment") || !str_eq(above->name, target->name) ||
            !str_eq(set->namespace, target->namespace))
            continue;
        vec_for(candidates, candidate)
            left += !candidate->leaves && str_eq(controller_of(&candidate->pod->meta)->name, set->name);
        set_replicas(changes, load, KIND_REPLICA_SET, set, left, &set);
    }
}

int changes_scale(struct changes *changes, struct load *load, struct str word, struct error *err)
{
    struct target target = { 0 };
    int r = parse(word, &target, err);
    if (r < 0)
        return r;
    const struct meta *object = load_find(load, target.kind, target.namespace, target.name);
    if (!object)
        return no_workload(load, &target, err);
    const struct owner_ref *above = controller_of(object);
    if (above)
        return error_set(err, -EINVAL,
                         "--scale: " STR_FMT " " META_FMT " belongs to " STR_FMT " " STR_FMT ": scale that",
                         STR_ARG(api_kinds[target.kind].kind), META_ARG(object), STR_ARG(above->kind),
                         STR_ARG(above->name));
    candidate_vec candidates = { 0 };
    collect(load, &target, &candidates);
    int64_t before = set_replicas(changes, load, target.kind, object, target.replicas, &object);
    struct change *change = changes_note(changes, CHANGE_SCALE, target.kind, object);
    change->before = before;
    change->after = target.replicas;
    if ((int64_t)candidates.len > target.replicas) {
        drop(changes, load, &candidates, candidates.len - (size_t)target.replicas);
        if (target.kind == KIND_DEPLOYMENT)
            settle_sets(changes, load, &target, &candidates);
    }
    vec_release(&candidates);
    return 0;
}
