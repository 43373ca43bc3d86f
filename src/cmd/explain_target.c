/* explain_target.c: see explain_target.h. */
#include "cmd/explain_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/fields.h"
#include "api/labels.h"
#include "cmd/options.h"
#include "input/pod_kinds.h"
#include "whatif/facts.h"

/* ---- reading ---- */
int target_parse(const char *text, const char *namespace, struct target *ret, struct error *err)
{
    struct str parts[3], rest = str_from(text);
    size_t len = 0;
    while (rest.len && len < ARRAY_SIZE(parts))
        parts[len++] = str_cut(&rest, '/');
    enum api_kind kind = len > 1 ? pod_kind_named(parts[0]) : KIND_POD;
    if (!len || rest.len || (len == 3 && kind == KIND_UNKNOWN) || str_empty(parts[len - 1]))
        return error_set(
            err, -EINVAL,
            "%s: expected POD, NAMESPACE/POD, KIND/NAME or KIND/NAMESPACE/NAME, where KIND is pod, "
            "deploy, sts, ds, rs, rc or job",
            text);
    *ret = (struct target){ .kind = kind == KIND_UNKNOWN ? KIND_POD : kind, .name = parts[len - 1] };
    if (len == 3 || (len == 2 && kind == KIND_UNKNOWN))
        ret->namespace = parts[len - 2];
    if (namespace && ret->namespace.len && !str_is(ret->namespace, namespace))
        return error_set(err, -EINVAL, "%s is not in the namespace of -n, %s", text, namespace);
    if (namespace)
        ret->namespace = str_from(namespace);
    return 0;
}

/* ---- objects of that name ---- */
typedef VEC(const struct meta *) candidate_vec;

static void add_made(const struct input *input, const struct target *target, candidate_vec *ret)
{
    vec_for(&input->expansion.pods, pod)
        if (str_eq((*pod)->meta.name, target->name))
            *vec_push(ret) = &(*pod)->meta;
}

static void add_read(const struct input *input, const struct target *target, candidate_vec *ret)
{
    vec_for(&input->load.objects[target->kind], object)
        if (str_eq((*object)->name, target->name))
            *vec_push(ret) = *object;
}

/* The one in the namespace that was given, or in the usual one, or in the only other one; NULL: none. */
static const struct meta *choose(const candidate_vec *found, const struct target *target, struct error *err)
{
    struct str namespace = target_namespace(target);
    _cleanup_(strbuf_release) struct strbuf names = { 0 };
    vec_for(found, object)
        if (str_eq((*object)->namespace, namespace))
            return *object;
    if (target->namespace.len || !found->len)
        return NULL;
    if (found->len == 1) {
        fprintf(stderr, "berth: note: %s/" STR_FMT " is in namespace " STR_FMT "\n",
                pod_kind_word(target->kind), STR_ARG(target->name), STR_ARG(found->items[0]->namespace));
        return found->items[0];
    }
    vec_for(found, object)
        strbuf_printf(&names, "%s" STR_FMT, names.len ? ", " : "", STR_ARG((*object)->namespace));
    error_set(err, -EEXIST, "%s/" STR_FMT " is in several namespaces (%s); -n says which",
              pod_kind_word(target->kind), STR_ARG(target->name), names.text);
    return NULL;
}

/* ---- there is none ---- */
/* A workload of that name, of which the user may mean the template. */
static enum api_kind workload_named(const struct input *input, struct str namespace, struct str name)
{
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        if (kind != KIND_POD && kind_has_pods((enum api_kind)kind) &&
            load_find(&input->load, (enum api_kind)kind, namespace, name))
            return (enum api_kind)kind;
    return KIND_UNKNOWN;
}

static void put_names(const struct input *input, const struct target *target, struct arena *arena,
                      const char ***ret, size_t *ret_len)
{
    const object_vec *plain = &input->load.objects[target->kind];
    size_t made = target->kind == KIND_POD ? input->expansion.pods.len : 0;
    *ret = xcalloc(plain->len + made + 1, sizeof(**ret));
    vec_for(plain, item)
        (*ret)[(*ret_len)++] = arena_printf(arena, META_FMT, META_ARG(*item)).ptr;
    for (size_t i = 0; i < made; i++)
        (*ret)[(*ret_len)++] =
            arena_printf(arena, META_FMT, META_ARG(&input->expansion.pods.items[i]->meta)).ptr;
}

/* "there is no pod default/wbe in the input; did you mean default/web?" */
static void not_found(const struct input *input, const struct target *target, struct error *err)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    struct str namespace = target_namespace(target);
    struct str full = arena_printf(&scratch, STR_FMT "/" STR_FMT, STR_ARG(namespace), STR_ARG(target->name));
    enum api_kind workload =
        target->kind == KIND_POD ? workload_named(input, namespace, target->name) : KIND_UNKNOWN;
    const char **names = NULL, *near;
    size_t len = 0;
    put_names(input, target, &scratch, &names, &len);
    near = nearest_name(full.ptr, names, len);
    if (workload != KIND_UNKNOWN)
        near = arena_printf(&scratch, "%s/" STR_FMT, pod_kind_word(workload), STR_ARG(target->name)).ptr;
    error_set(err, -ENOENT, "there is no %s " STR_FMT " in the %s%s%s%s",
              target->kind == KIND_POD ? "pod" : api_kinds[target->kind].kind.ptr, STR_ARG(full),
              input->is_live ? "cluster" : "input", near ? "; did you mean " : "", near ? near : "",
              near ? "?" : "");
    free(names);
}

/* ---- a pod ---- */
/* Pods of workloads are made only when no pod of the input has that name: what they bring along (claims) must not
 * change the answer about a pod that exists. */
static const struct meta *find_pod(struct input *input, const struct target *target, struct error *err)
{
    candidate_vec found = { 0 };
    add_read(input, target, &found);
    const struct meta *pod = choose(&found, target, err);
    if (!pod && !*err->text && expansion_run(&input->expansion, err) == 0) {
        input_apply_claims(input);
        found.len = 0;
        add_made(input, target, &found);
        pod = choose(&found, target, err);
    }
    vec_release(&found);
    return pod;
}

/* ---- a workload ---- */
/* The first pod that the workload would still make. */
static struct pod *pod_to_make(const struct input *input, enum api_kind kind, const struct meta *workload)
{
    vec_for(&input->expansion.pods, pod) {
        const struct owner_ref *owner = controller_of(&(*pod)->meta);
        struct fact_workload of = fact_workload_of(&input->load, &(*pod)->meta);
        if (!str_eq((*pod)->meta.namespace, workload->namespace))
            continue;
        if ((str_eq(of.kind, api_kinds[kind].kind) && str_eq(of.name, workload->name)) ||
            (owner && str_eq(owner->kind, api_kinds[kind].kind) && str_eq(owner->name, workload->name)))
            return *pod;
    }
    return NULL;
}

/* A Deployment that was not listed, by its ReplicaSets (a running cluster is asked for those alone): the newest one of
 * each namespace. */
static void add_sets(const struct input *input, const struct target *target, candidate_vec *ret)
{
    vec_for(&input->load.objects[KIND_REPLICA_SET], item) {
        const struct owner_ref *owner = controller_of(*item);
        size_t at = 0;
        if (!owner || !str_is(owner->kind, "Deployment") || !str_eq(owner->name, target->name))
            continue;
        while (at < ret->len && !str_eq(ret->items[at]->namespace, (*item)->namespace))
            at++;
        if (at == ret->len)
            *vec_push(ret) = *item;
        else if ((*item)->creation_time.seconds > ret->items[at]->creation_time.seconds)
            ret->items[at] = *item;
    }
}

static const struct meta *find_workload(const struct input *input, const struct target *target,
                                        enum api_kind *ret_kind, struct error *err)
{
    candidate_vec found = { 0 };
    *ret_kind = target->kind;
    add_read(input, target, &found);
    if (!found.len && target->kind == KIND_DEPLOYMENT) {
        *ret_kind = KIND_REPLICA_SET;
        add_sets(input, target, &found);
    }
    const struct meta *workload = choose(&found, target, err);
    vec_release(&found);
    return workload;
}

/* A pod that the workload would still make is such a pod in every detail. Those of a DaemonSet are tied to a node. */
static struct pod *find_of_workload(struct input *input, const struct target *target, struct error *err)
{
    enum api_kind kind;
    struct pod *pod = NULL;
    const struct meta *workload = find_workload(input, target, &kind, err);
    if (!workload)
        return NULL;
    if (kind != KIND_DAEMON_SET && expansion_run(&input->expansion, err) == 0)
        pod = pod_to_make(input, kind, workload);
    if (!pod && !*err->text)
        pod = expansion_copy(&input->expansion, kind, workload);
    input_apply_claims(input);
    if (pod)
        fprintf(stderr, "berth: note: " META_FMT " stands for a pod of %s/" STR_FMT "\n",
                META_ARG(&pod->meta), pod_kind_word(target->kind), STR_ARG(target->name));
    return pod;
}

struct pod *target_find(struct input *input, const struct target *target, struct error *err)
{
    *err = (struct error){ "" };
    struct pod *pod = target->kind == KIND_POD ? (struct pod *)(uintptr_t)find_pod(input, target, err)
                                               : find_of_workload(input, target, err);
    if (!pod && !*err->text)
        not_found(input, target, err);
    return pod;
}
