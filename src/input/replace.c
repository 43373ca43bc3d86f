/* replace.c: pods that controllers make in place of those that leave; see expand.h. */
#include "api/labels.h"
#include "input/daemon.h"
#include "input/expand_impl.h"

static struct pod *make_again(struct expansion *expansion, struct owner *owner, const struct pod *victim)
{
    struct pod_factory *factory = &expansion->factory;
    struct pod pod = *victim;
    pod.meta.creation_time = (struct opt_time){ 0 };
    pod.meta.deletion_time = (struct opt_time){ 0 };
    pod.spec.node_name = (struct str){ 0 };
    pod.status = (struct pod_status){ .phase = STR("Pending") };
    if (owner->kind == KIND_DAEMON_SET)
        daemon_pin(&pod.spec, daemon_node(victim), &factory->arena);
    owner->active++;
    expand_ordinal_lost(owner, victim);
    if (owner->kind == KIND_STATEFUL_SET)
        return factory_finish(factory, &pod, victim->meta.name);
    int64_t index;
    struct str stem = controller_of(&victim->meta)->name;
    struct str prefix = arena_printf(&factory->arena, STR_FMT "-", STR_ARG(stem));
    if (owner->kind == KIND_JOB && expand_parse_index(victim, &index))
        prefix = expand_index_prefix(&factory->arena, stem, index);
    return factory_finish(factory, &pod, factory_name(factory, pod.meta.namespace, prefix, owner));
}

struct pod *expansion_replace(struct expansion *expansion, const struct pod *victim)
{
    struct owner *owner = owners_of(&expansion->owners, &victim->meta);
    if (!owner || owner->kind == KIND_DEPLOYMENT)
        return NULL;
    if (!victim->meta.deletion_time.set)
        owner->active--;
    if (owner->desired >= 0 && owner->active >= owner->desired && owner->kind != KIND_DAEMON_SET)
        return NULL;
    struct pod *pod = make_again(expansion, owner, victim);
    idmap_put(&expansion->successors, (uintptr_t)victim, pod);
    return pod;
}

const struct pod *expansion_successor(const struct expansion *expansion, const struct pod *pod)
{
    const struct pod *last = NULL;
    while ((pod = idmap_get(&expansion->successors, (uintptr_t)pod)))
        last = pod;
    return last;
}

struct pod *expansion_bring_back(struct expansion *expansion, const struct pod *leaving)
{
    struct owners *owners = &expansion->owners;
    if (owners_of(owners, &leaving->meta))
        return expansion_replace(expansion, leaving);
    struct str name = controller_of(&leaving->meta)->name;
    struct owner *owner = owners_get(owners, KIND_UNKNOWN, leaving->meta.namespace, name);
    struct pod *pod = make_again(expansion, owner, leaving);
    idmap_put(&expansion->successors, (uintptr_t)leaving, pod);
    return pod;
}

void expansion_keep(struct expansion *expansion, const struct pod *pod)
{
    struct owner *owner = owners_of(&expansion->owners, &pod->meta);
    bool was_replaced = idmap_remove(&expansion->successors, (uintptr_t)pod);
    if (!owner)
        return;
    owner->active += !pod->meta.deletion_time.set;
    owner->active -= was_replaced;
}
