/* owners.c: the index from controllers to pods; see owners.h. */
#include "input/owners.h"

#include "api/fields.h"
#include "api/labels.h"

#define HASH_LABEL "pod-template-hash"

/* The kinds that make pods or ReplicaSets. */
static const enum api_kind controller_kinds[] = { KIND_REPLICA_SET, KIND_STATEFUL_SET,
                                                  KIND_DAEMON_SET,  KIND_JOB,
                                                  KIND_DEPLOYMENT,  KIND_REPLICATION_CONTROLLER };

/* Any version of a group will do: the part before the slash counts. */
static struct str group_of(struct str version)
{
    ptrdiff_t slash = str_find(version, '/');
    return str_slice(version, 0, slash < 0 ? 0 : (size_t)slash);
}

/* KIND_UNKNOWN: of no kind that makes pods or ReplicaSets. */
static enum api_kind kind_of(const struct owner_ref *ref)
{
    for (size_t i = 0; i < ARRAY_SIZE(controller_kinds); i++) {
        const struct kind_info *info = &api_kinds[controller_kinds[i]];
        if (str_eq(ref->kind, info->kind) && str_eq(group_of(ref->api_version), group_of(info->api_version)))
            return controller_kinds[i];
    }
    return KIND_UNKNOWN;
}

struct owner *owners_get(struct owners *owners, enum api_kind kind, struct str namespace, struct str name)
{
    strbuf_clear(&owners->scratch);
    strbuf_printf(&owners->scratch, "%d/" STR_FMT "/" STR_FMT, (int)kind, STR_ARG(namespace), STR_ARG(name));
    struct owner *owner = strmap_get(&owners->by_key, strbuf_slice(&owners->scratch));
    if (owner)
        return owner;
    owner = arena_new(&owners->arena, struct owner);
    owner->key = arena_str(&owners->arena, strbuf_slice(&owners->scratch));
    owner->kind = kind;
    owner->desired = -1;
    strmap_put(&owners->by_key, owner->key, owner);
    return owner;
}

static bool same_uid(const struct owner *owner, const struct owner_ref *ref)
{
    return !owner->object || str_empty(owner->object->uid) || str_empty(ref->uid) ||
           str_eq(owner->object->uid, ref->uid);
}

struct owner *owners_of(struct owners *owners, const struct meta *meta)
{
    const struct owner_ref *ref = controller_of(meta);
    enum api_kind kind = ref ? kind_of(ref) : KIND_UNKNOWN;
    if (kind == KIND_UNKNOWN)
        return NULL;
    struct owner *owner = owners_get(owners, kind, meta->namespace, ref->name);
    return same_uid(owner, ref) ? owner : NULL;
}

void owners_init(struct owners *owners, const struct load *load)
{
    *owners = (struct owners){ 0 };
    for (size_t i = 0; i < ARRAY_SIZE(controller_kinds); i++)
        vec_for(&load->objects[controller_kinds[i]], item)
            owners_get(owners, controller_kinds[i], (*item)->namespace, (*item)->name)->object = *item;
    vec_for(&load->objects[KIND_REPLICA_SET], item) {
        struct owner *owner = owners_of(owners, *item);
        if (owner && owner->kind == KIND_DEPLOYMENT)
            *vec_push(&owner->sets) = (struct workload *)*item;
    }
    vec_for(&load->objects[KIND_POD], item) {
        struct owner *owner = owners_of(owners, *item);
        if (!owner)
            continue;
        if ((*item)->deletion_time.set) {
            *vec_push(&owner->leaving) = (struct pod *)*item;
            continue;
        }
        *vec_push(&owner->pods) = (struct pod *)*item;
        owner->active++;
    }
    vec_for(&load->finished, item) {
        struct owner *owner = owners_of(owners, &(*item)->meta);
        if (owner)
            *vec_push(&owner->finished) = *item;
    }
}

void owners_release(struct owners *owners)
{
    map_for(&owners->by_key, slot) {
        struct owner *owner = slot->value;
        vec_release(&owner->pods);
        vec_release(&owner->leaving);
        vec_release(&owner->finished);
        vec_release(&owner->sets);
    }
    strmap_release(&owners->by_key);
    strbuf_release(&owners->scratch);
    arena_release(&owners->arena);
}

/* ---- as people know them ---- */

/* The name of the Deployment whose ReplicaSet is not in the input: NAME-HASH, HASH being a label of the pod. */
static bool deployment_of(const struct load *load, const struct meta *pod, const struct owner_ref *set,
                          struct str *ret)
{
    const struct workload *known = load_find(load, KIND_REPLICA_SET, pod->namespace, set->name);
    const struct owner_ref *above = known ? controller_of(&known->meta) : NULL;
    const struct str *hash = str_map_get(&pod->labels, STR(HASH_LABEL));
    if (above) {
        *ret = above->name;
        return str_is(above->kind, "Deployment");
    }
    if (!hash || hash->len + 1 >= set->name.len || !str_ends_with(set->name, *hash))
        return false;
    *ret = str_slice(set->name, 0, set->name.len - hash->len - 1);
    return true;
}

void owners_workload(const struct load *load, const struct meta *pod, struct str *ret_kind,
                     struct str *ret_name)
{
    const struct owner_ref *owner = controller_of(pod);
    *ret_kind = owner ? owner->kind : STR("Pod");
    *ret_name = owner ? owner->name : (struct str){ 0 };
    if (owner && str_is(owner->kind, "ReplicaSet") && deployment_of(load, pod, owner, ret_name))
        *ret_kind = STR("Deployment");
}
