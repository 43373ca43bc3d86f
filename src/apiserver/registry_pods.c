/* registry_pods.c: subresources that are verbs: binding and eviction of pods, the scale of workloads. */
#include <stdio.h>

#include "apiserver/registry_impl.h"
#include "apiserver/selection.h"
#include "apiserver/tree.h"
#include "codec/json_writer.h"

/* ---- binding ---- */
struct binding {
    struct str name;
    yyjson_val *object;
};

static int bind_conflict(const struct binding *binding, struct api_error *err, const char *format,
                         struct str node)
{
    struct str detail = arena_printf(&err->arena, format, STR_ARG(binding->name), STR_ARG(node));
    err->has_details = true;
    err->name = arena_str(&err->arena, binding->name);
    err->kind = STR("pods/binding");
    return api_error_set(err, 409, "Conflict",
                         "Operation cannot be fulfilled on pods/binding \"" STR_FMT "\": " STR_FMT,
                         STR_ARG(binding->name), STR_ARG(detail));
}

static void merge_pairs(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *path, yyjson_val *from)
{
    yyjson_val *key, *val;
    size_t i, max;
    if (!yyjson_is_obj(from) || !yyjson_obj_size(from))
        return;
    yyjson_mut_val *to = tree_mut_make(doc, object, path);
    yyjson_obj_foreach(from, i, max, key, val)
        tree_mut_put(doc, to, doc_text(key), yyjson_val_mut_copy(doc, val));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static int bind(void *user, yyjson_mut_doc *doc, struct api_error *err)
{
    const struct binding *binding = user;
    yyjson_mut_val *pod = yyjson_mut_doc_get_root(doc);
    struct str node = tree_mut_text(pod, "spec.nodeName");
    if (tree_mut_at(pod, "metadata.deletionTimestamp"))
        return bind_conflict(binding, err, "pod " STR_FMT " is being deleted, cannot be assigned to a host",
                             (struct str){ 0 });
    if (node.len)
        return bind_conflict(binding, err, "pod " STR_FMT " is already assigned to node \"" STR_FMT "\"",
                             node);
    if (yyjson_mut_arr_size(tree_mut_at(pod, "spec.schedulingGates")))
        return bind_conflict(binding, err, "pod " STR_FMT " has non-empty .spec.schedulingGates",
                             (struct str){ 0 });
    tree_mut_put_str(doc, tree_mut_make(doc, pod, "spec"), "nodeName",
                     tree_text(binding->object, "target.name"));
    merge_pairs(doc, pod, "metadata.annotations", tree_at(binding->object, "metadata.annotations"));
    merge_pairs(doc, pod, "metadata.labels", tree_at(binding->object, "metadata.labels"));
    tree_mut_remove(tree_mut_make(doc, pod, "status"), "nominatedNodeName");
    registry_set_condition(doc, pod, "PodScheduled", "True", NULL, NULL);
    return 0;
}
#pragma GCC diagnostic pop

/* The pod changes as a whole, status included. */
static int change_pod(struct registry *registry, struct str ns, struct str name, registry_change change,
                      void *user, bool dry_run, struct api_error *err)
{
    const struct api_resource *pods = resource_named("", "pods");
    struct stored *old;
    int r = registry_get(registry, pods, ns, name, &old, err);
    if (r < 0)
        return r;
    old = stored_ref(old);
    struct write_options options = { .dry_run = dry_run };
    struct registry_result result = { 0 };
    struct change write = { .registry = registry,
                            .resource = pods,
                            .ns = ns,
                            .name = name,
                            .options = &options,
                            .doc = registry_copy(old),
                            .err = err };
    write.object = yyjson_mut_doc_get_root(write.doc);
    write.meta = tree_mut_make(write.doc, write.object, "metadata");
    write.old = yyjson_mut_val_mut_copy(write.doc, write.object);
    r = change(user, write.doc, err);
    if (r == 0)
        r = registry_commit(&write, old, &result);
    registry_result_release(&result);
    yyjson_mut_doc_free(write.doc);
    stored_unref(old);
    return r;
}

/* A Binding may name the pod and its version that it is for. */
static int check_binding(struct registry *registry, struct str ns, struct binding *binding,
                         struct api_error *err)
{
    const struct api_resource *pods = resource_named("", "pods");
    struct str named = tree_text(binding->object, "metadata.name"),
               kind = tree_text(binding->object, "target.kind");
    struct str uid = tree_text(binding->object, "metadata.uid");
    struct stored *pod;
    if (named.len && !str_eq(named, binding->name))
        return api_error_bad_request(err, "name in URL does not match name in Binding object");
    if (kind.len && !str_is(kind, "Node"))
        return api_error_set(err, 500, NULL,
                             "target.kind: Unsupported value: \"" STR_FMT
                             "\": supported values: \"Node\", \"<empty>\"",
                             STR_ARG(kind));
    if (!tree_text(binding->object, "target.name").len)
        return api_error_set(err, 500, NULL, "target.name: Required value");
    int r = registry_get(registry, pods, ns, binding->name, &pod, err);
    if (r == 0 && uid.len && !str_eq(uid, pod->uid))
        r = api_error_conflict(err, pods, binding->name,
                               "Precondition failed: UID in precondition: " STR_FMT
                               ", UID in object meta: " STR_FMT,
                               STR_ARG(uid), STR_ARG(pod->uid));
    return r;
}

int registry_bind(struct registry *registry, struct str ns, struct str name, yyjson_val *object, bool dry_run,
                  struct api_error *err)
{
    struct binding binding = { name, object };
    int r = check_binding(registry, ns, &binding, err);
    return r < 0 ? r : change_pod(registry, ns, name, bind, &binding, dry_run, err);
}

/* ---- eviction ---- */
struct budget_search {
    struct registry *registry;
    yyjson_val *pod;
    struct stored *found;
    size_t count;
};

static bool expression_matches(yyjson_val *expression, yyjson_val *labels)
{
    struct str key = tree_text(expression, "key"), op = tree_text(expression, "operator");
    yyjson_val *label = yyjson_obj_getn(labels, key.ptr, key.len), *value;
    yyjson_val *values = tree_at(expression, "values");
    bool is_listed = false;
    size_t i, max;
    if (yyjson_is_arr(values))
        yyjson_arr_foreach(values, i, max, value)
            is_listed = is_listed || (label && str_eq(doc_text(value), doc_text(label)));
    if (str_is(op, "In"))
        return label && is_listed;
    if (str_is(op, "NotIn"))
        return !label || !is_listed;
    return str_is(op, "Exists") ? label != NULL : str_is(op, "DoesNotExist") && !label;
}

bool selection_of_json_matches(yyjson_val *selector, yyjson_val *labels)
{
    yyjson_val *pairs = tree_at(selector, "matchLabels"), *list = tree_at(selector, "matchExpressions");
    yyjson_val *key, *val;
    size_t i, max;
    if (!selector)
        return false;
    if (yyjson_is_obj(pairs))
        yyjson_obj_foreach(pairs, i, max, key, val) {
            yyjson_val *label = yyjson_obj_getn(labels, yyjson_get_str(key), yyjson_get_len(key));
            if (!label || !str_eq(doc_text(label), doc_text(val)))
                return false;
        }
    if (yyjson_is_arr(list))
        yyjson_arr_foreach(list, i, max, val) {
            if (!expression_matches(val, labels))
                return false;
        }
    return true;
}

static enum store_visited look_at_budget(void *user, struct stored *budget)
{
    struct budget_search *search = user;
    yyjson_doc *doc = yyjson_read(budget->json.ptr, budget->json.len, 0);
    if (selection_of_json_matches(tree_at(yyjson_doc_get_root(doc), "spec.selector"),
                                  tree_at(search->pod, "metadata.labels"))) {
        search->found = budget;
        search->count++;
    }
    yyjson_doc_free(doc);
    return STORE_COUNTS;
}

static int no_disruption(yyjson_val *budget, struct str name, struct api_error *err)
{
    int r = api_error_set(err, 429, "TooManyRequests",
                          "Cannot evict pod as it would violate the pod's disruption budget.");
    int64_t want = tree_int(budget, "status.desiredHealthy", 0),
            have = tree_int(budget, "status.currentHealthy", 0);
    struct str text =
        arena_printf(&err->arena, "The disruption budget " STR_FMT " does not allow evicting pods currently",
                     STR_ARG(name));
    if (tree_int(budget, "status.observedGeneration", 0) < tree_int(budget, "metadata.generation", 0)) {
        text = arena_printf(&err->arena,
                            "The disruption budget " STR_FMT " is still being processed by the server.",
                            STR_ARG(name));
        err->retry_after_s = 10;
    } else if (have <= want) {
        text = arena_printf(
            &err->arena, "The disruption budget " STR_FMT " needs %lld healthy pods and has %lld currently",
            STR_ARG(name), (long long)want, (long long)have);
    }
    *vec_push(&err->causes) = (struct api_cause){ .reason = "DisruptionBudget", .message = text };
    return r;
}

static bool is_ready(yyjson_val *pod)
{
    yyjson_val *list = tree_at(pod, "status.conditions"), *condition;
    size_t i, max;
    if (yyjson_is_arr(list))
        yyjson_arr_foreach(list, i, max, condition) {
            if (str_is(tree_text(condition, "type"), "Ready"))
                return str_is(tree_text(condition, "status"), "True");
        }
    return false;
}

/* Takes one of the disruptions that the budget allows. */
static int take_disruption(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *budget = yyjson_mut_doc_get_root(doc), *status = tree_mut_make(doc, budget, "status");
    int64_t allowed = tree_mut_int(status, "disruptionsAllowed", 0);
    const struct str *pod = user;
    tree_mut_put_int(doc, status, "disruptionsAllowed", allowed - 1);
    yyjson_mut_val *pods = tree_mut_make(doc, status, "disruptedPods");
    registry_put_now(doc, pods, "", 0);
    yyjson_mut_val *now = yyjson_mut_obj_get(pods, "");
    yyjson_mut_val *at = tree_mut_new_str(doc, tree_mut_str(now));
    tree_mut_remove(pods, "");
    tree_mut_put(doc, pods, *pod, at);
    return 0;
}

static int ask_budget(struct registry *registry, yyjson_val *pod, struct str ns, struct str name,
                      bool dry_run, struct api_error *err)
{
    const struct api_resource *budgets = resource_named("policy", "poddisruptionbudgets");
    struct budget_search search = { .registry = registry, .pod = pod };
    store_page(registry->store, &(struct store_range){ .kind = budgets->storage, .ns = ns }, 0,
               look_at_budget, &search);
    if (search.count > 1)
        return api_error_set(err, 500, NULL,
                             "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                             "does not support.");
    if (!search.found)
        return 0;
    yyjson_val *budget = registry_parsed(registry, search.found);
    int64_t healthy = tree_int(budget, "status.currentHealthy", 0),
            wanted = tree_int(budget, "status.desiredHealthy", 0);
    if (!is_ready(pod) && (str_is(tree_text(budget, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow") ||
                           (healthy >= wanted && wanted > 0)))
        return 0;
    if (tree_int(budget, "status.observedGeneration", 0) < tree_int(budget, "metadata.generation", 0) ||
        tree_int(budget, "status.disruptionsAllowed", 0) <= 0)
        return no_disruption(budget, search.found->name, err);
    if (dry_run)
        return 0;
    struct registry_result result = { 0 };
    _cleanup_(freep) const char *copy = str_dup(search.found->name).ptr;
    int r = registry_modify(registry, budgets, ns, str_from(copy),
                            &(struct write_options){ .subresource = SUB_STATUS }, take_disruption, &name,
                            &result, err);
    registry_result_release(&result);
    return r;
}

static int mark_evicted(void *user _unused_, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    registry_set_condition(doc, yyjson_mut_doc_get_root(doc), "DisruptionTarget", "True",
                           "EvictionByEvictionAPI", "Eviction API: evicting");
    return 0;
}

static bool needs_no_budget(yyjson_val *pod)
{
    struct str phase = tree_text(pod, "status.phase");
    return str_is(phase, "Succeeded") || str_is(phase, "Failed") || str_is(phase, "Pending") ||
           tree_at(pod, "metadata.deletionTimestamp");
}

int registry_evict(struct registry *registry, struct str ns, struct str name, yyjson_val *eviction,
                   bool dry_run, struct api_error *err)
{
    struct str named = tree_text(eviction, "metadata.name");
    struct stored *object;
    if (!str_eq(named, name))
        return api_error_bad_request(err, "name in URL does not match name in Eviction object");
    int r = registry_get(registry, resource_named("", "pods"), ns, name, &object, err);
    if (r < 0)
        return r;
    object = stored_ref(object);
    yyjson_doc *pod = yyjson_read(object->json.ptr, object->json.len, 0);
    if (!needs_no_budget(yyjson_doc_get_root(pod)))
        r = ask_budget(registry, yyjson_doc_get_root(pod), ns, name, dry_run, err);
    yyjson_doc_free(pod);
    stored_unref(object);
    if (r == 0 && !dry_run)
        r = change_pod(registry, ns, name, mark_evicted, NULL, false, err);
    if (r < 0)
        return r;
    yyjson_val *grace = tree_at(eviction, "deleteOptions.gracePeriodSeconds");
    struct delete_options options = {
        .grace_s = { .set = yyjson_is_int(grace), .value = yyjson_get_sint(grace) },
        .uid = tree_text(eviction, "deleteOptions.preconditions.uid"),
        .dry_run = dry_run || yyjson_arr_size(tree_at(eviction, "deleteOptions.dryRun")) > 0,
    };
    struct registry_result result = { 0 };
    r = registry_delete(registry, resource_named("", "pods"), ns, name, &options, &result, err);
    registry_result_release(&result);
    return r;
}

/* ---- scale ---- */
static void write_selector(yyjson_val *selector, struct strbuf *out)
{
    yyjson_val *pairs = yyjson_obj_get(selector, "matchLabels"), *key, *val;
    size_t i, max;
    if (!pairs)
        pairs = yyjson_obj_get(selector, "matchExpressions") ? NULL : selector;
    if (yyjson_is_obj(pairs))
        yyjson_obj_foreach(pairs, i, max, key, val)
            strbuf_printf(out, "%s%s=%s", i ? "," : "", yyjson_get_str(key), yyjson_get_str(val));
}

/* Where replicas and the selector are: a path of the definition, or where workloads have it. */
static const char *scale_path(const struct api_resource *resource, const char *name, const char *otherwise)
{
    if (!resource->is_custom)
        return otherwise;
    struct str path = tree_text(tree_at(resource->definition, "subresources.scale"), name);
    return path.len && path.ptr[0] == '.' ? path.ptr + 1 : ""; /* terminated, as JSON strings of yyjson are */
}

void registry_scale_of(const struct api_resource *resource, const struct stored *object, struct strbuf *out)
{
    static const char *const copied[] = { "name", "namespace", "uid", "resourceVersion",
                                          "creationTimestamp" };
    _cleanup_(strbuf_release) struct strbuf selector = { 0 };
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *meta = tree_at(root, "metadata");
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("Scale"));
    json_member_str(&json, "apiVersion", STR("autoscaling/v1"));
    json_member_object(&json, "metadata");
    for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
        json_member_str(&json, copied[i], tree_text(meta, copied[i]));
    json_end_object(&json);
    json_member_object(&json, "spec");
    json_member_int(&json, "replicas",
                    tree_int(root, scale_path(resource, "specReplicasPath", "spec.replicas"),
                             resource->is_custom ? 0 : 1));
    json_end_object(&json);
    json_member_object(&json, "status");
    json_member_int(&json, "replicas",
                    tree_int(root, scale_path(resource, "statusReplicasPath", "status.replicas"), 0));
    if (resource->is_custom)
        strbuf_str(&selector, tree_text(root, scale_path(resource, "labelSelectorPath", "")));
    else
        write_selector(tree_at(root, "spec.selector"), &selector);
    if (selector.len)
        json_member_str(&json, "selector", strbuf_slice(&selector));
    json_end_object(&json);
    json_end_object(&json);
    yyjson_doc_free(doc);
}

struct scaling {
    const struct api_resource *resource;
    struct str name;
    yyjson_val *scale;
};

static int put_replicas(void *user, yyjson_mut_doc *doc, struct api_error *err)
{
    const struct scaling *scaling = user;
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
    struct str version = tree_text(scaling->scale, "metadata.resourceVersion");
    int64_t replicas = tree_int(scaling->scale, "spec.replicas", 0);
    if (version.len && !str_eq(version, tree_mut_text(object, "metadata.resourceVersion")))
        return api_error_conflict(err, scaling->resource, scaling->name, API_ERROR_MODIFIED);
    if (replicas < 0) {
        char value[32];
        snprintf(value, sizeof(value), "%lld", (long long)replicas);
        api_error_field(err, FIELD_INVALID, "spec.replicas", str_from(value),
                        "must be greater than or equal to 0");
        return api_error_invalid(err, STR("autoscaling"), STR("Scale"), scaling->name);
    }
    const char *path = scale_path(scaling->resource, "specReplicasPath", "spec.replicas");
    const char *last = strrchr(path, '.');
    _cleanup_(strbuf_release) struct strbuf parent = { 0 };
    strbuf_add(&parent, path, last ? (size_t)(last - path) : 0);
    tree_mut_put_int(doc, last ? tree_mut_make(doc, object, strbuf_slice(&parent).ptr) : object,
                     last ? last + 1 : path, replicas);
    return 0;
}

int registry_set_scale(struct registry *registry, const struct api_resource *resource, struct str ns,
                       struct str name, yyjson_val *scale, bool dry_run, struct registry_result *ret,
                       struct api_error *err)
{
    struct scaling scaling = { resource, name, scale };
    return registry_modify(registry, resource, ns, name, &(struct write_options){ .dry_run = dry_run },
                           put_replicas, &scaling, ret, err);
}
