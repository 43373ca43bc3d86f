/* incomplete.c: follows the references of pods; see incomplete.h. */
#include "input/incomplete.h"

#include <stdio.h>

#include "api/defaults.h"
#include "api/fields.h"
#include "api/labels.h"
#include "api/object.h"
#include "input/kubectl.h"

#define NAMESPACE_NAME_LABEL "kubernetes.io/metadata.name"

/* ---- namespaces ---- */

static void need_namespace(struct load *load, struct str name)
{
    if (load_find(load, KIND_NAMESPACE, (struct str){ 0 }, name))
        return;
    struct namespace *made = arena_new(&load->arena, struct namespace);
    made->meta.name = name;
    made->meta.kind = KIND_NAMESPACE;
    struct object object = { .kind = KIND_NAMESPACE, .ptr = made, .meta = &made->meta };
    object_default(&object, &load->arena);
    load_add(load, KIND_NAMESPACE, &made->meta);
    *vec_push(&load->implied) = &made->meta;
}

void incomplete_add_namespaces(struct load *load)
{
    static const enum api_kind kinds[] = { KIND_POD,          KIND_DEPLOYMENT, KIND_REPLICA_SET,
                                           KIND_STATEFUL_SET, KIND_DAEMON_SET, KIND_REPLICATION_CONTROLLER,
                                           KIND_JOB };
    bool has_any = load->objects[KIND_NAMESPACE].len;
    struct str last = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        vec_for(&load->objects[kinds[i]], item) {
            if (has_any && (*item)->uid.len)
                continue; /* from an API server, and so are the Namespaces: this one is gone */
            if (!str_eq((*item)->namespace, last))
                need_namespace(load, (*item)->namespace);
            last = (*item)->namespace;
        }
    }
}

static bool needs_labels(const struct label_selector *selector)
{
    if (!selector)
        return false;
    list_for(&selector->match_labels, pair)
        if (!str_is(pair->key, NAMESPACE_NAME_LABEL))
            return true;
    list_for(&selector->match_expressions, requirement)
        if (!str_is(requirement->key, NAMESPACE_NAME_LABEL))
            return true;
    return false;
}

static bool terms_need_labels(const struct pod_affinity *affinity)
{
    if (!affinity)
        return false;
    list_for(&affinity->required, term)
        if (needs_labels(term->namespace_selector))
            return true;
    list_for(&affinity->preferred, weighted)
        if (needs_labels(weighted->term.namespace_selector))
            return true;
    return false;
}

static bool selects_namespaces(const struct pod *pod)
{
    const struct affinity *affinity = pod->spec.affinity;
    return affinity && (terms_need_labels(affinity->pod) || terms_need_labels(affinity->pod_anti));
}

/* ---- what is missing ---- */

/* In the order of the warnings. */
enum gap {
    GAP_CONTROLLER,
    GAP_NAMESPACE,
    GAP_PRIORITY_CLASS,
    GAP_PVC,
    GAP_PV,
    GAP_STORAGE_CLASS,
    GAP_CLAIM,
    GAP_CLAIM_TEMPLATE,
    GAP_DEVICE_CLASS,
    GAP_COUNT
};

static const struct {
    enum api_kind kind; /* of what is missing; KIND_UNKNOWN: several */
    const char *verb;   /* what the pod does with it */
    const char *effect;
    bool live; /* also where a cluster was listed: its scheduler does not read the kind */
} gaps[GAP_COUNT] = {
    [GAP_CONTROLLER] = { KIND_UNKNOWN, "belongs to",
                         "the pod may not be spread over nodes and zones as it would be by default", false },
    [GAP_NAMESPACE] = { KIND_NAMESPACE, "has a namespaceSelector, which may select",
                        "only the label " NAMESPACE_NAME_LABEL " of it is known", false },
    [GAP_PRIORITY_CLASS] = { KIND_PRIORITY_CLASS, "names",
                             "its priority is taken as 0, in the queue and for preemption", true },
    [GAP_PVC] = { KIND_PVC, "uses", "no node can take the pod", false },
    [GAP_PV] = { KIND_PV, "uses", "no node can take the pod", false },
    [GAP_STORAGE_CLASS] = { KIND_STORAGE_CLASS, "has a claim of",
                            "no volume is provisioned for the claim, and the pod waits for one", false },
    [GAP_CLAIM] = { KIND_RESOURCE_CLAIM, "uses", "no node can take the pod", false },
    [GAP_CLAIM_TEMPLATE] = { KIND_CLAIM_TEMPLATE, "names", "no claim is made, and no node can take the pod",
                             false },
    [GAP_DEVICE_CLASS] = { KIND_DEVICE_CLASS, "has a claim of", "no node can take the pod", false },
};

struct found {
    size_t pods;
    const struct pod *pod; /* the first one, and what it lacks */
    enum api_kind kind;
    struct str namespace, name;
    const struct pod *last;
};

struct search {
    struct expansion *expansion;
    const struct load *load;
    struct found found[GAP_COUNT];
};

/* A pod that lacks two objects of a kind counts once. */
static void lacks(struct search *search, enum gap gap, const struct pod *pod, enum api_kind kind,
                  struct str namespace, struct str name)
{
    struct found *found = &search->found[gap];
    if (found->pods == 0)
        *found = (struct found){ .pod = pod, .kind = kind, .namespace = namespace, .name = name };
    found->pods += found->last != pod;
    found->last = pod;
}

/* Looks up what a pod names; counts it where it is not there. */
static const void *look_up(struct search *search, enum gap gap, const struct pod *pod, struct str name)
{
    enum api_kind kind = gaps[gap].kind;
    struct str namespace = api_kinds[kind].namespaced ? pod->meta.namespace : (struct str){ 0 };
    const void *object = load_find(search->load, kind, namespace, name);
    if (!object)
        lacks(search, gap, pod, kind, namespace, name);
    return object;
}

/* Only these spread pods that have no constraints of their own. */
static void check_controller(struct search *search, const struct pod *pod)
{
    const struct owner *owner =
        pod->spec.spread.len ? NULL : owners_of(&search->expansion->owners, &pod->meta);
    if (owner && !owner->object &&
        (owner->kind == KIND_REPLICA_SET || owner->kind == KIND_STATEFUL_SET ||
         owner->kind == KIND_REPLICATION_CONTROLLER))
        lacks(search, GAP_CONTROLLER, pod, owner->kind, pod->meta.namespace, controller_of(&pod->meta)->name);
}

static void check_pvc(struct search *search, const struct pod *pod, struct str name)
{
    const struct pvc *claim = look_up(search, GAP_PVC, pod, name);
    if (claim && !str_empty(claim->spec.volume_name))
        look_up(search, GAP_PV, pod, claim->spec.volume_name);
    else if (claim && !str_empty(claim->spec.storage_class_name))
        look_up(search, GAP_STORAGE_CLASS, pod, claim->spec.storage_class_name);
}

static void check_volumes(struct search *search, const struct pod *pod)
{
    list_for(&pod->spec.volumes, volume) {
        if (volume->pvc) {
            check_pvc(search, pod, volume->pvc->claim_name);
        } else if (volume->ephemeral) {
            struct arena *arena = &search->expansion->factory.arena;
            check_pvc(
                search, pod,
                arena_printf(arena, STR_FMT "-" STR_FMT, STR_ARG(pod->meta.name), STR_ARG(volume->name)));
        }
    }
}

static void check_claim(struct search *search, const struct pod *pod, struct str name)
{
    const struct resource_claim *claim = look_up(search, GAP_CLAIM, pod, name);
    if (!claim || claim->status.allocation)
        return;
    list_for(&claim->spec.requests, request) {
        if (request->exactly)
            look_up(search, GAP_DEVICE_CLASS, pod, request->exactly->device_class_name);
        list_for(&request->first_available, subrequest)
            look_up(search, GAP_DEVICE_CLASS, pod, subrequest->device_class_name);
    }
}

static void check_claims(struct search *search, const struct pod *pod)
{
    list_for(&pod->spec.resource_claims, claim)
        if (!str_empty(claim->resource_claim_name))
            check_claim(search, pod, claim->resource_claim_name);
        else if (!pod->status.claim_statuses.len)
            look_up(search, GAP_CLAIM_TEMPLATE, pod, claim->resource_claim_template_name);
    list_for(&pod->status.claim_statuses, status)
        if (!str_empty(status->resource_claim_name))
            check_claim(search, pod, status->resource_claim_name);
}

static void check_pod(struct search *search, const struct pod *pod)
{
    struct str class = pod->spec.priority_class_name;
    if (!str_empty(class) && !admission_knows_class(&search->expansion->factory.admission, class))
        lacks(search, GAP_PRIORITY_CLASS, pod, KIND_PRIORITY_CLASS, (struct str){ 0 }, class);
    check_controller(search, pod);
    check_volumes(search, pod);
    check_claims(search, pod);
}

/* Terms of pods that run count as well. */
static void check_namespaces(struct search *search, const undecided_vec *pods)
{
    if (!search->load->implied.len)
        return;
    struct str missing = search->load->implied.items[0]->name;
    vec_for(pods, pod)
        if (selects_namespaces(*pod))
            lacks(search, GAP_NAMESPACE, *pod, KIND_NAMESPACE, (struct str){ 0 }, missing);
    vec_for(&search->load->objects[KIND_POD], item) {
        const struct pod *pod = (const struct pod *)*item;
        if (!str_empty(pod->spec.node_name) && selects_namespaces(pod))
            lacks(search, GAP_NAMESPACE, pod, KIND_NAMESPACE, (struct str){ 0 }, missing);
    }
}

static void print(enum gap gap, const struct found *found)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_printf(&text, "pod " META_FMT, META_ARG(&found->pod->meta));
    if (found->pods > 1)
        strbuf_printf(&text, " (and %zu more)", found->pods - 1);
    strbuf_printf(&text, " %s " STR_FMT " ", gaps[gap].verb, STR_ARG(api_kinds[found->kind].kind));
    if (found->namespace.len)
        strbuf_printf(&text, STR_FMT "/", STR_ARG(found->namespace));
    const char *scope = api_kinds[found->kind].namespaced ? " -A" : "";
    strbuf_printf(&text, STR_FMT ", which is not in the input: %s; `kubectl get %s%s -o json` prints it",
                  STR_ARG(found->name), gaps[gap].effect, kubectl_resource(found->kind), scope);
    load_print_warning(&text);
}

void incomplete_warn(struct expansion *expansion, const undecided_vec *pods, bool is_live)
{
    struct search search = { .expansion = expansion, .load = expansion->load };
    vec_for(pods, pod)
        check_pod(&search, *pod);
    check_namespaces(&search, pods);
    for (enum gap gap = 0; gap < GAP_COUNT; gap++)
        if (search.found[gap].pods && (!is_live || gaps[gap].live))
            print(gap, &search.found[gap]);
}
