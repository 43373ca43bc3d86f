/* usage.c: what nodes and pods use; see usage.h. Nodes use what their pods use. As from a real metrics-server, there is
 * nothing of pods that do not run and of nodes that do not answer. */
#include "apiserver/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/quantity.h"
#include "apiserver/fake_kubelet.h"
#include "apiserver/list.h"
#include "apiserver/table_cells.h"
#include "apiserver/tree.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/timestamp.h"

#define USAGE_WINDOW "15s"

enum { CPU_PERCENT = 50, MEMORY_PERCENT = 75 };
/* Of a container that requests nothing. */
enum { CPU_IDLE_MILLI = 1, MEMORY_IDLE_BYTES = 8 << 20 };

struct usage {
    int64_t cpu_nano, memory_bytes;
};

/* ---- amounts ---- */
/* Cores, so that billionths fit. */
#define CPU_MAX (INT64_MAX / 2000000000)

static bool read_quantity(yyjson_val *val, struct quantity *ret, int64_t max)
{
    return doc_text(val).len && quantity_parse(doc_text(val), ret) == 0 && ret->units >= 0 &&
           ret->units < max;
}

static int64_t nanos_of(struct quantity quantity)
{
    return quantity.units * 1000000000 + quantity.nano;
}

static struct usage usage_of_container(yyjson_val *container)
{
    yyjson_val *requests = tree_at(container, "resources.requests");
    struct usage usage = { CPU_IDLE_MILLI * INT64_C(1000000), MEMORY_IDLE_BYTES };
    struct quantity quantity;
    if (read_quantity(yyjson_obj_get(requests, "cpu"), &quantity, CPU_MAX))
        usage.cpu_nano = nanos_of(quantity) / 100 * CPU_PERCENT;
    if (read_quantity(yyjson_obj_get(requests, "memory"), &quantity, INT64_MAX))
        usage.memory_bytes = quantity_value(quantity) / 100 * MEMORY_PERCENT;
    return usage;
}

/* What the pod's annotations say, for one of so many containers. */
static void apply_annotations(yyjson_val *pod, size_t containers, bool is_first, struct usage *usage)
{
    yyjson_val *annotations = tree_at(pod, "metadata.annotations");
    struct quantity quantity;
    int64_t count = (int64_t)containers;
    if (read_quantity(yyjson_obj_get(annotations, CPU_ANNOTATION), &quantity, CPU_MAX)) {
        int64_t all = nanos_of(quantity);
        usage->cpu_nano = all / count + (is_first ? all % count : 0);
    }
    if (read_quantity(yyjson_obj_get(annotations, MEMORY_ANNOTATION), &quantity, INT64_MAX)) {
        int64_t all = quantity_value(quantity);
        usage->memory_bytes = all / count + (is_first ? all % count : 0);
    }
}

static void add(struct usage *sum, struct usage one)
{
    if (__builtin_add_overflow(sum->cpu_nano, one.cpu_nano, &sum->cpu_nano))
        sum->cpu_nano = INT64_MAX;
    if (__builtin_add_overflow(sum->memory_bytes, one.memory_bytes, &sum->memory_bytes))
        sum->memory_bytes = INT64_MAX;
}

/* ---- containers ---- */
typedef void container_visit(void *user, yyjson_val *container, struct usage usage);

static bool is_sidecar(yyjson_val *container)
{
    return str_is(tree_text(container, "restartPolicy"), "Always");
}

static size_t visit_containers(yyjson_val *pod, size_t total, container_visit *visit, void *user)
{
    static const char *const lists[] = { "spec.containers", "spec.initContainers" };
    size_t count = 0, i, max;
    for (size_t list = 0; list < ARRAY_SIZE(lists); list++) {
        yyjson_val *containers = tree_at(pod, lists[list]), *container;
        if (!yyjson_is_arr(containers))
            continue;
        yyjson_arr_foreach(containers, i, max, container) {
            if (list == 1 && !is_sidecar(container))
                continue;
            struct usage usage = usage_of_container(container);
            if (visit) {
                apply_annotations(pod, total, count == 0, &usage);
                visit(user, container, usage);
            }
            count++;
        }
    }
    return count;
}

/* Those that run as long as the pod. */
static void each_container(yyjson_val *pod, container_visit *visit, void *user)
{
    size_t total = visit_containers(pod, 0, NULL, NULL);
    if (total)
        visit_containers(pod, total, visit, user);
}

static void sum_container(void *user, yyjson_val *container _unused_, struct usage usage)
{
    add(user, usage);
}

static bool is_measured(struct registry *registry, struct str node);

static bool pod_runs(struct registry *registry, yyjson_val *pod)
{
    return str_is(tree_text(pod, "status.phase"), "Running") &&
           is_measured(registry, tree_text(pod, "spec.nodeName"));
}

/* ---- objects ---- */
static void write_usage(struct json_writer *json, struct usage usage)
{
    char text[QUANTITY_LEN_MAX];
    struct quantity cpu = { .units = usage.cpu_nano / 1000000000, .nano = usage.cpu_nano % 1000000000 };
    struct quantity memory = { .units = usage.memory_bytes & ~INT64_C(1023), .binary = true };
    json_member_object(json, "usage");
    json_member_str(json, "cpu", quantity_format(cpu, text));
    json_member_str(json, "memory", quantity_format(memory, text));
    json_end_object(json);
}

static void write_labels(struct json_writer *json, yyjson_val *object)
{
    yyjson_val *labels = tree_at(object, "metadata.labels"), *key, *val;
    size_t i, max;
    if (!yyjson_is_obj(labels) || !yyjson_obj_size(labels))
        return;
    json_member_object(json, "labels");
    yyjson_obj_foreach(labels, i, max, key, val) {
        json_key(json, doc_text(key));
        json_str(json, doc_text(val));
    }
    json_end_object(json);
}

static void begin_object(struct json_writer *json, const struct api_resource *resource, yyjson_val *of)
{
    char now[TIMESTAMP_LEN + 1];
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    resource_write_version(resource, &version);
    timestamp_format(clock_now_ns(CLOCK_REALTIME) / NS_PER_S, now);
    json_begin_object(json);
    json_member_str(json, "kind", resource->kind);
    json_member_str(json, "apiVersion", strbuf_slice(&version));
    json_member_object(json, "metadata");
    json_member_str(json, "name", tree_text(of, "metadata.name"));
    if (resource->namespaced)
        json_member_str(json, "namespace", tree_text(of, "metadata.namespace"));
    json_member_str(json, "creationTimestamp", str_from(now));
    write_labels(json, of);
    json_end_object(json);
    json_member_str(json, "timestamp", str_from(now));
    json_member_str(json, "window", STR(USAGE_WINDOW));
}

static void write_container(void *user, yyjson_val *container, struct usage usage)
{
    struct json_writer *json = user;
    json_begin_object(json);
    json_member_str(json, "name", tree_text(container, "name"));
    write_usage(json, usage);
    json_end_object(json);
}

static void write_pod(const struct api_resource *resource, yyjson_val *pod, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    begin_object(&json, resource, pod);
    json_member_array(&json, "containers");
    each_container(pod, write_container, &json);
    json_end_array(&json);
    json_end_object(&json);
}

static void write_node(const struct api_resource *resource, yyjson_val *node, struct usage usage,
                       struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    begin_object(&json, resource, node);
    write_usage(&json, usage);
    json_end_object(&json);
}

/* ---- sums by node ---- */
struct node_usage {
    struct str name; /* of the map, which it is an entry of */
    struct usage usage;
};

static enum store_visited sum_pod(void *user, struct stored *object)
{
    struct strmap *nodes = user;
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *pod = yyjson_doc_get_root(doc);
    struct str node = tree_text(pod, "spec.nodeName");
    if (node.len && str_is(tree_text(pod, "status.phase"), "Running")) {
        struct node_usage *sum = strmap_make(nodes, node, sizeof(*sum));
        each_container(pod, sum_container, &sum->usage);
    }
    yyjson_doc_free(doc);
    return STORE_COUNTS;
}

static void sum_nodes(struct registry *registry, struct strmap *ret)
{
    store_page(registry_store(registry), &(struct store_range){ .kind = resource_named("", "pods")->storage },
               0, sum_pod, ret);
}

static struct usage usage_of_node(const struct strmap *sums, struct str name)
{
    const struct node_usage *sum = strmap_get(sums, name);
    return sum ? sum->usage : (struct usage){ 0 };
}

static void release_sums(struct strmap *sums)
{
    map_for(sums, slot)
        free(slot->value);
    strmap_release(sums);
}

/* Does its kubelet answer? A pod may be on a node that is no object. */
static bool is_measured(struct registry *registry, struct str node)
{
    struct stored *object =
        node.len ? store_get(registry_store(registry), resource_named("", "nodes")->storage, STR(""), node)
                 : NULL;
    if (!object)
        return node.len > 0;
    yyjson_val *annotations = tree_at(registry_parsed(registry, object), "metadata.annotations");
    return !str_is(doc_text(yyjson_obj_get(annotations, FAIL_ANNOTATION)), FAIL_UNREACHABLE);
}

/* ---- requests ---- */
static bool is_of_nodes(const struct api_resource *resource)
{
    return str_is(resource->plural, "nodes");
}

/* Pods, or nodes. */
static const struct api_resource *measured_resource(const struct api_resource *resource)
{
    return resource_named("", is_of_nodes(resource) ? "nodes" : "pods");
}

bool usage_is_one(const struct api_resource *resource)
{
    return str_is(resource->group, "metrics.k8s.io");
}

struct usage_state {
    struct registry *registry;
    const struct api_resource *resource;
    const struct selection *selector;
    struct strmap sums;
    struct output_list list;
};

/* The object's metrics, appended; false: there are none. */
static bool write_metrics(struct usage_state *state, yyjson_val *object, struct strbuf *out)
{
    struct str name = tree_text(object, "metadata.name");
    bool is_node = is_of_nodes(state->resource);
    if (is_node ? !is_measured(state->registry, name) : !pod_runs(state->registry, object))
        return false;
    if (is_node)
        write_node(state->resource, object, usage_of_node(&state->sums, name), out);
    else
        write_pod(state->resource, object, out);
    return true;
}

int usage_get(struct registry *registry, const struct api_request *request, struct output *output,
              struct strbuf *out, struct api_error *err)
{
    struct usage_state state = { .registry = registry, .resource = request->resource };
    const struct api_resource *resource = measured_resource(request->resource);
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    const struct stored *object =
        store_get(registry_store(registry), resource->storage, request->namespace, request->name);
    if (is_of_nodes(resource))
        sum_nodes(registry, &state.sums);
    yyjson_doc *doc = object ? yyjson_read(object->json.ptr, object->json.len, 0) : NULL;
    bool is_found = doc && write_metrics(&state, yyjson_doc_get_root(doc), &json);
    if (is_found)
        output_object(output, strbuf_slice(&json), out);
    yyjson_doc_free(doc);
    release_sums(&state.sums);
    return is_found ? 0 : api_error_not_found(err, request->resource, request->name);
}

static enum store_visited visit(void *user, struct stored *object)
{
    struct usage_state *state = user;
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (selection_matches(state->selector, root) && write_metrics(state, root, &json))
        output_list_item(&state->list, strbuf_slice(&json));
    yyjson_doc_free(doc);
    return STORE_COUNTS;
}

int usage_list(struct registry *registry, const struct api_request *request, struct output *output,
               struct strbuf *out, struct api_error *err)
{
    const struct api_resource *resource = measured_resource(request->resource);
    struct usage_state state = { .registry = registry, .resource = request->resource };
    struct selection *selector;
    char revision[32];
    int r = selection_parse(resource, request->options.label_selector, request->options.field_selector,
                            &selector, err);
    if (r < 0)
        return r;
    state.selector = selector;
    if (is_of_nodes(resource))
        sum_nodes(registry, &state.sums);
    snprintf(revision, sizeof(revision), "%" PRIu64, store_revision(registry_store(registry)));
    output_list_begin(&state.list, output, (struct str){ 0 }, out);
    store_page(registry_store(registry),
               &(struct store_range){ .kind = resource->storage, .ns = request->namespace }, 0, visit,
               &state);
    output_list_end(&state.list, str_from(revision), (struct str){ 0 }, 0);
    release_sums(&state.sums);
    selection_free(selector);
    return 0;
}

/* ---- tables ---- */
/* The sum of its containers, or what the node uses. */
void cell_usage(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *containers = yyjson_obj_get(cell->object, "containers"), *container;
    struct quantity sum = { 0 }, one;
    char text[QUANTITY_LEN_MAX];
    size_t i, max;
    if (quantity_parse(doc_text(yyjson_obj_get(tree_at(cell->object, "usage"), cell->argument)), &one) == 0)
        sum = one;
    if (yyjson_is_arr(containers))
        yyjson_arr_foreach(containers, i, max, container) {
            yyjson_val *used = yyjson_obj_get(tree_at(container, "usage"), cell->argument);
            if (quantity_parse(doc_text(used), &one) == 0)
                sum = i ? quantity_add(sum, one) : one;
        }
    strbuf_str(out, quantity_format(sum, text));
}
