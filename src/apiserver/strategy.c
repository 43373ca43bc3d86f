/* strategy.c: what the API server sets and refuses by itself, per resource: a table of rules.
 *
 * Defaults that follow from the schema alone are not here. A rule may read other objects, as admission plugins do. */
#include <stdio.h>

#include "apiserver/registry_impl.h"
#include "apiserver/tree.h"

/* The status of a new object; NULL: what the client sent stays. */
static const char empty_status[] = "{}";

static int create_pod(struct change *change);
static int update_pod(struct change *change);
static int create_namespace(struct change *change);
static int create_service(struct change *change);
static int create_claim(struct change *change);
static int create_priority_class(struct change *change);
static void put_template_generation(struct change *change);
static int create_group(struct change *change);
static int create_job(struct change *change);
static int create_volume(struct change *change);
static int update_volume(struct change *change);

enum strategy_flags { GENERATION = 1, RETURNS_DELETED = 2 };

static const struct strategy {
    const char *group, *plural;
    const char *status; /* JSON of a new object's */
    uint32_t flags;
    int (*create)(struct change *change);
    int (*update)(struct change *change);
} strategies[] = {
    { "", "pods", "{\"phase\":\"Pending\"}", GENERATION | RETURNS_DELETED, create_pod, update_pod },
    { "", "namespaces", "{\"phase\":\"Active\"}", RETURNS_DELETED, create_namespace, NULL },
    { "", "nodes", NULL, 0, NULL, NULL },
    { "", "services", "{\"loadBalancer\":{}}", RETURNS_DELETED, create_service, NULL },
    { "", "persistentvolumes", "{\"phase\":\"Pending\"}", RETURNS_DELETED, create_volume, update_volume },
    { "", "persistentvolumeclaims", "{\"phase\":\"Pending\"}", RETURNS_DELETED, create_claim, NULL },
    { "", "serviceaccounts", NULL, RETURNS_DELETED, NULL, NULL },
    { "", "resourcequotas", empty_status, RETURNS_DELETED, NULL, NULL },
    { "", "podtemplates", NULL, GENERATION | RETURNS_DELETED, NULL, NULL },
    { "", "replicationcontrollers", "{\"replicas\":0}", GENERATION, NULL, NULL },
    { "apps", "deployments", empty_status, GENERATION, NULL, NULL },
    { "apps", "replicasets", "{\"replicas\":0}", GENERATION, NULL, NULL },
    { "apps", "statefulsets", "{\"replicas\":0,\"availableReplicas\":0}", GENERATION, NULL, NULL },
    { "apps", "daemonsets",
      "{\"currentNumberScheduled\":0,\"numberMisscheduled\":0,\"desiredNumberScheduled\":0,\"numberReady\":"
      "0}",
      GENERATION, NULL, NULL },
    { "batch", "jobs", empty_status, GENERATION, create_job, NULL },
    { "batch", "cronjobs", empty_status, GENERATION, NULL, NULL },
    { "policy", "poddisruptionbudgets",
      "{\"disruptionsAllowed\":0,\"currentHealthy\":0,\"desiredHealthy\":0,\"expectedPods\":0}", GENERATION,
      NULL, NULL },
    { "networking.k8s.io", "ingresses", "{\"loadBalancer\":{}}", GENERATION, NULL, NULL },
    { "networking.k8s.io", "ingressclasses", NULL, GENERATION, NULL, NULL },
    { "networking.k8s.io", "networkpolicies", NULL, GENERATION, NULL, NULL },
    { "discovery.k8s.io", "endpointslices", NULL, GENERATION, NULL, NULL },
    { "scheduling.k8s.io", "priorityclasses", NULL, GENERATION, create_priority_class, NULL },
    { "scheduling.k8s.io", "podgroups", empty_status, 0, create_group, NULL },
    { "resource.k8s.io", "resourceslices", NULL, GENERATION | RETURNS_DELETED, NULL, NULL },
    { "resource.k8s.io", "deviceclasses", NULL, GENERATION | RETURNS_DELETED, NULL, NULL },
    { "resource.k8s.io", "devicetaintrules", empty_status, GENERATION, NULL, NULL },
    { "resource.k8s.io", "resourceclaims", empty_status, RETURNS_DELETED, NULL, NULL },
    { "resource.k8s.io", "resourceclaimtemplates", NULL, RETURNS_DELETED, NULL, NULL },
    { "storage.k8s.io", "csidrivers", NULL, RETURNS_DELETED, NULL, NULL },
    { "storage.k8s.io", "csinodes", NULL, RETURNS_DELETED, NULL, NULL },
    { "storage.k8s.io", "storageclasses", NULL, RETURNS_DELETED, NULL, NULL },
    { "storage.k8s.io", "volumeattachments", "{\"attached\":false}", RETURNS_DELETED, NULL, NULL },
    { "storage.k8s.io", "volumeattributesclasses", NULL, RETURNS_DELETED, NULL, NULL },
    { "apiextensions.k8s.io", "customresourcedefinitions", empty_status, GENERATION, definition_create,
      definition_update },
};

static const struct strategy *find(const struct api_resource *resource)
{
    if (resource->is_custom)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(strategies); i++)
        if (str_is(resource->group, strategies[i].group) && str_is(resource->plural, strategies[i].plural))
            return &strategies[i];
    return NULL;
}

bool strategy_has_generation(const struct api_resource *resource)
{
    const struct strategy *strategy = find(resource);
    return resource->is_custom || (strategy && strategy->flags & GENERATION);
}

/* Annotations of a Deployment become those of its ReplicaSets. */
bool strategy_counts_metadata(const struct change *change)
{
    return !change->options->subresource && str_is(change->resource->plural, "deployments") &&
           str_is(change->resource->group, "apps") &&
           !tree_mut_equal(tree_mut_at(change->old, "metadata.annotations"),
                           yyjson_mut_obj_get(change->meta, "annotations"));
}

bool registry_returns_deleted(const struct api_resource *resource)
{
    const struct strategy *strategy = find(resource);
    return strategy && strategy->flags & RETURNS_DELETED;
}

int64_t strategy_grace_s(const struct api_resource *resource, yyjson_val *object, struct opt_int64 wanted)
{
    if (!str_empty(resource->group) || !str_is(resource->plural, "pods"))
        return 0;
    struct str phase = tree_text(object, "status.phase");
    if (!tree_text(object, "spec.nodeName").len || str_is(phase, "Failed") || str_is(phase, "Succeeded"))
        return 0;
    int64_t grace_s = wanted.set ? wanted.value : tree_int(object, "spec.terminationGracePeriodSeconds", 0);
    return grace_s < 0 ? 1 : grace_s;
}

/* Each namespace has a label with its name. */
void strategy_set_defaults(struct change *change)
{
    struct str name = tree_mut_text(change->meta, "name");
    if (change->resource == resource_named("apps", "daemonsets"))
        put_template_generation(change);
    if (!str_empty(change->resource->group) || !str_is(change->resource->plural, "namespaces") || !name.len)
        return;
    yyjson_mut_val *labels = tree_mut_make(change->doc, change->meta, "labels");
    tree_mut_put_str(change->doc, labels, "kubernetes.io/metadata.name", name);
}

int strategy_create(struct change *change)
{
    const struct strategy *strategy = find(change->resource);
    if (change->resource->is_custom)
        return custom_create(change);
    if (!strategy)
        return 0;
    bool keeps_status = change->options->is_imported && yyjson_mut_obj_get(change->object, "status");
    if (strategy->status && !keeps_status) {
        yyjson_doc *doc = yyjson_read(strategy->status, strlen(strategy->status), 0);
        tree_mut_put(change->doc, change->object, STR("status"),
                     yyjson_val_mut_copy(change->doc, yyjson_doc_get_root(doc)));
        yyjson_doc_free(doc);
    }
    return strategy->create && !change->has_history ? strategy->create(change) : 0;
}

int strategy_update(struct change *change)
{
    const struct strategy *strategy = find(change->resource);
    if (change->resource->is_custom)
        return custom_update(change);
    return strategy && strategy->update ? strategy->update(change) : 0;
}

void strategy_delete(struct change *change)
{
    if (change->resource == resource_named("apiextensions.k8s.io", "customresourcedefinitions"))
        definition_delete(change);
}

/* ---- pods ---- */
struct class_search {
    struct str wanted; /* empty: the default one */
    struct stored *found;
};

static enum store_visited look_at_class(void *user, struct stored *object)
{
    struct class_search *search = user;
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    bool is_default = tree_bool(yyjson_doc_get_root(doc), "globalDefault");
    yyjson_doc_free(doc);
    if (!is_default)
        return STORE_COUNTS;
    search->found = object;
    return STORE_STOP;
}

/* The admission plugin Priority. */
static int put_priority(struct change *change)
{
    const struct api_resource *classes = resource_named("scheduling.k8s.io", "priorityclasses");
    struct store *store = change->registry->store;
    yyjson_mut_val *spec = tree_mut_make(change->doc, change->object, "spec");
    struct class_search search = { .wanted = tree_mut_text(spec, "priorityClassName") };
    if (search.wanted.len)
        search.found = store_get(store, classes->storage, (struct str){ 0 }, search.wanted);
    else
        store_page(store, &(struct store_range){ .kind = classes->storage }, 0, look_at_class, &search);
    /* A pod of another cluster runs there, whether or not its class came along. */
    bool is_imported = change->options->is_imported;
    if (search.wanted.len && !search.found && !is_imported)
        return api_error_forbidden(change->err, change->resource, change->name,
                                   "no PriorityClass with name " STR_FMT " was found",
                                   STR_ARG(search.wanted));
    int64_t priority = 0;
    struct str policy = STR("PreemptLowerPriority");
    if (search.found) {
        yyjson_val *class = registry_parsed(change->registry, search.found);
        priority = tree_int(class, "value", 0);
        if (tree_text(class, "preemptionPolicy").len)
            policy = tree_text(class, "preemptionPolicy");
        tree_mut_put_str(change->doc, spec, "priorityClassName", search.found->name);
    }
    yyjson_mut_val *given = yyjson_mut_obj_get(spec, "priority");
    if (given && is_imported)
        priority = yyjson_mut_get_sint(given);
    if (given && yyjson_mut_get_sint(given) != priority)
        return api_error_forbidden(
            change->err, change->resource, change->name,
            "the integer value of priority (%lld) must not be provided in pod spec; priority "
            "admission controller computed %lld from the given PriorityClass name",
            (long long)yyjson_mut_get_sint(given), (long long)priority);
    tree_mut_put_int(change->doc, spec, "priority", priority);
    if (!yyjson_mut_obj_get(spec, "preemptionPolicy") && str_is(change->resource->plural, "pods"))
        tree_mut_put_str(change->doc, spec, "preemptionPolicy", policy);
    return 0;
}

static bool tolerates(yyjson_mut_val *list, const char *key)
{
    yyjson_mut_val *item;
    size_t i, max;
    if (yyjson_mut_is_arr(list))
        yyjson_mut_arr_foreach(list, i, max, item)
        {
            struct str effect = tree_mut_text(item, "effect"), of = tree_mut_text(item, "key");
            if ((!of.len || str_is(of, key)) && (!effect.len || str_is(effect, "NoExecute")))
                return true;
        }
    return false;
}

/* The admission plugin DefaultTolerationSeconds. */
static void put_tolerations(struct change *change)
{
    static const char *const keys[] = { "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable" };
    yyjson_mut_val *spec = tree_mut_make(change->doc, change->object, "spec");
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        yyjson_mut_val *list = yyjson_mut_obj_get(spec, "tolerations");
        if (tolerates(list, keys[i]))
            continue;
        if (!yyjson_mut_is_arr(list)) {
            list = yyjson_mut_arr(change->doc);
            tree_mut_put(change->doc, spec, STR("tolerations"), list);
        }
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(change->doc, list);
        yyjson_mut_obj_add_str(change->doc, item, "key", keys[i]);
        yyjson_mut_obj_add_str(change->doc, item, "operator", "Exists");
        yyjson_mut_obj_add_str(change->doc, item, "effect", "NoExecute");
        yyjson_mut_obj_add_int(change->doc, item, "tolerationSeconds", 300);
    }
}

/* Does the list of containers request, or limit, any cpu or memory? And all of it as limits? */
static void look_at_containers(yyjson_mut_val *list, bool *has_any, bool *is_guaranteed)
{
    static const char *const resources[] = { "cpu", "memory" };
    yyjson_mut_val *container;
    size_t i, max;
    if (!yyjson_mut_is_arr(list))
        return;
    yyjson_mut_arr_foreach(list, i, max, container) for (size_t j = 0; j < ARRAY_SIZE(resources); j++)
    {
        yyjson_mut_val *limit = yyjson_mut_obj_get(tree_mut_at(container, "resources.limits"), resources[j]);
        yyjson_mut_val *request =
            yyjson_mut_obj_get(tree_mut_at(container, "resources.requests"), resources[j]);
        *has_any = *has_any || limit || request;
        *is_guaranteed = *is_guaranteed && limit && (!request || tree_mut_equal(limit, request));
    }
}

static void put_quality(struct change *change)
{
    bool has_any = false, is_guaranteed = true;
    look_at_containers(tree_mut_at(change->object, "spec.containers"), &has_any, &is_guaranteed);
    look_at_containers(tree_mut_at(change->object, "spec.initContainers"), &has_any, &is_guaranteed);
    tree_mut_put_str(change->doc, tree_mut_make(change->doc, change->object, "status"), "qosClass",
                     !has_any        ? STR("BestEffort")
                     : is_guaranteed ? STR("Guaranteed")
                                     : STR("Burstable"));
}

static int create_pod(struct change *change)
{
    if (!yyjson_mut_arr_size(tree_mut_at(change->object, "spec.containers")))
        api_error_field(change->err, FIELD_REQUIRED, "spec.containers", (struct str){ 0 }, "");
    int r = put_priority(change);
    if (r < 0)
        return r;
    put_tolerations(change);
    put_quality(change);
    if (yyjson_mut_arr_size(tree_mut_at(change->object, "spec.schedulingGates")))
        registry_set_condition(change->doc, change->object, "PodScheduled", "False", "SchedulingGated",
                               "Scheduling is blocked due to non-empty scheduling gates");
    return 0;
}

/* The node of a pod does not change by an update; what the kubelet runs neither. */
static int update_pod(struct change *change)
{
    if (change->options->subresource == SUB_STATUS)
        return 0;
    yyjson_mut_val *was = tree_mut_at(change->old, "spec.nodeName"),
                   *is = tree_mut_at(change->object, "spec.nodeName");
    if (!tree_mut_equal(was, is))
        api_error_field(
            change->err, FIELD_FORBIDDEN, "spec", (struct str){ 0 },
            "pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
            "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
            "to 1 if it was previously negative)");
    return 0;
}

/* ---- others ---- */
static int create_namespace(struct change *change)
{
    yyjson_mut_val *spec = tree_mut_make(change->doc, change->object, "spec");
    yyjson_mut_val *list = yyjson_mut_arr(change->doc);
    yyjson_mut_arr_add_str(change->doc, list, "kubernetes");
    tree_mut_put(change->doc, spec, STR("finalizers"), list);
    return 0;
}

/* No network: an address of the usual range, which no other service got from this process. */
static int create_service(struct change *change)
{
    yyjson_mut_val *spec = tree_mut_make(change->doc, change->object, "spec");
    if (str_is(tree_mut_text(spec, "type"), "ExternalName"))
        return 0;
    if (!tree_mut_text(spec, "clusterIP").len) {
        char address[32];
        uint32_t number = ++change->registry->next_address;
        snprintf(address, sizeof(address), "10.%u.%u.%u", 96 + (number >> 16) % 16, (number >> 8) & 255,
                 number & 255);
        tree_mut_put_str(change->doc, spec, "clusterIP", str_from(address));
    }
    yyjson_mut_val *list = yyjson_mut_arr(change->doc);
    yyjson_mut_arr_append(list, tree_mut_new_str(change->doc, tree_mut_text(spec, "clusterIP")));
    tree_mut_put(change->doc, spec, STR("clusterIPs"), list);
    yyjson_mut_val *families = yyjson_mut_arr(change->doc);
    yyjson_mut_arr_add_str(change->doc, families, "IPv4");
    tree_mut_put(change->doc, spec, STR("ipFamilies"), families);
    tree_mut_put_str(change->doc, spec, "ipFamilyPolicy", STR("SingleStack"));
    return 0;
}

static enum store_visited look_at_storage(void *user, struct stored *object)
{
    struct class_search *search = user;
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *annotations = tree_at(yyjson_doc_get_root(doc), "metadata.annotations");
    bool is_default =
        str_is(doc_text(yyjson_obj_get(annotations, "storageclass.kubernetes.io/is-default-class")), "true");
    yyjson_doc_free(doc);
    if (is_default)
        search->found = object;
    return STORE_COUNTS;
}

/* The admission plugin DefaultStorageClass. */
static int create_claim(struct change *change)
{
    yyjson_mut_val *spec = tree_mut_make(change->doc, change->object, "spec");
    struct class_search search = { 0 };
    if (yyjson_mut_obj_get(spec, "storageClassName"))
        return 0;
    const struct api_resource *classes = resource_named("storage.k8s.io", "storageclasses");
    store_page(change->registry->store, &(struct store_range){ .kind = classes->storage }, 0, look_at_storage,
               &search);
    if (search.found)
        tree_mut_put_str(change->doc, spec, "storageClassName", search.found->name);
    return 0;
}

static int create_priority_class(struct change *change)
{
    bool is_system = str_starts_with(change->name, STR("system-"));
    if (is_system && tree_mut_int(change->object, "value", 0) < 2000000000)
        return api_error_forbidden(
            change->err, change->resource, change->name,
            "priority class names with 'system-' prefix are reserved for system use only");
    return 0;
}

/* How often the template of a DaemonSet has changed: a field of versions before v1, which has it as an annotation. */
static void put_template_generation(struct change *change)
{
    static const char key[] = "deprecated.daemonset.template.generation";
    char number[32];
    int64_t generation = 0;
    str_to_int64(tree_mut_str(yyjson_mut_obj_get(tree_mut_at(change->old, "metadata.annotations"), key)),
                 &generation);
    bool is_same =
        change->options->subresource || tree_mut_equal(tree_mut_at(change->old, "spec.template"),
                                                       tree_mut_at(change->object, "spec.template"));
    snprintf(number, sizeof(number), "%lld", (long long)(is_same ? generation : generation + 1));
    tree_mut_put_str(change->doc, tree_mut_make(change->doc, change->meta, "annotations"), key,
                     str_from(number));
}

/* The admission plugin Priority. */
static int create_group(struct change *change)
{
    return put_priority(change);
}

/* The pods of a Job have its uid as a label, by which it selects them. */
static int create_job(struct change *change)
{
    static const struct {
        const char *key;
        bool is_uid;
    } labels[] = { { "batch.kubernetes.io/controller-uid", true },
                   { "batch.kubernetes.io/job-name", false },
                   { "controller-uid", true },
                   { "job-name", false } };
    yyjson_mut_val *spec = tree_mut_make(change->doc, change->object, "spec");
    struct str uid = tree_mut_text(change->meta, "uid");
    if (yyjson_mut_is_true(yyjson_mut_obj_get(spec, "manualSelector")))
        return 0;
    yyjson_mut_val *of_pods = tree_mut_make(change->doc, spec, "template.metadata.labels");
    for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
        tree_mut_put_str(change->doc, of_pods, labels[i].key, labels[i].is_uid ? uid : change->name);
    tree_mut_put_str(change->doc, tree_mut_make(change->doc, spec, "selector.matchLabels"), labels[0].key,
                     uid);
    return 0;
}

static void put_phase_time(struct change *change)
{
    registry_put_now(change->doc, tree_mut_make(change->doc, change->object, "status"),
                     "lastPhaseTransitionTime", 0);
}

static int create_volume(struct change *change)
{
    put_phase_time(change);
    return 0;
}

static int update_volume(struct change *change)
{
    bool is_same =
        str_eq(tree_mut_text(change->old, "status.phase"), tree_mut_text(change->object, "status.phase"));
    if (change->options->subresource == SUB_STATUS && !is_same)
        put_phase_time(change);
    return 0;
}
