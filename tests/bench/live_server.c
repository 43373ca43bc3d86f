/* live_server.c: objects are created from templates when they are sent; of a pod only its number, stage and node are
 * stored. Names and uids are derived from the number. */
#include "bench/live_server.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "api/protobuf.h"
#include "support/amounts.h"

enum {
    PAGE_LEN = 2000,
    RING_SLACK = 4, /* numbers in use span more than the number of pods: some live long */
    PODS_PER_TEMPLATE = 100,
    UNREAD_BYTES = 1800, /* of an object: managedFields and other unread fields */
};

static const char *const pod_texts[] = {
    "", /* nothing special */
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: "
    "DoNotSchedule, labelSelector: {matchLabels: {app: web}}}],",
    "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, "
    "podAffinityTerm: "
    "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}]}},",
    "nodeSelector: {disk: none-has-it},",
};

static const char pod_text[] =
    "{apiVersion: v1, kind: Pod, metadata: {name: t, namespace: production, creationTimestamp: "
    "'2026-01-01T00:00:00Z', generateName: web-7d4b9c6f5d-, labels: {app: web, pod-template-hash: x, tier: "
    "front}, "
    "annotations: {kubernetes.io/config.seen: 'yes', prometheus.io/scrape: 'true'}, ownerReferences: "
    "[{apiVersion: "
    "apps/v1, kind: ReplicaSet, name: web-7d4b9c6f5d, uid: 6b6ff1ba-8c6b-4f4c-9df7-5a2bb1f1c0de, controller: "
    "true}]}, "
    "spec: {%s schedulerName: default-scheduler, serviceAccountName: default, restartPolicy: Always, "
    "priority: 0, "
    "terminationGracePeriodSeconds: 30, preemptionPolicy: PreemptLowerPriority, tolerations: [{key: "
    "node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: "
    "node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}], volumes: "
    "[{name: "
    "kube-api-access-x2v9q}], containers: [{name: app, image: 'registry.example.com/team/web:1.42.0', ports: "
    "[{containerPort: 8080, protocol: TCP}], resources: {requests: {cpu: 100m, memory: 128Mi}, limits: "
    "{memory: "
    "256Mi}}}, {name: proxy, image: 'registry.example.com/mesh/proxy:2.1', resources: {requests: {cpu: 10m, "
    "memory: "
    "32Mi}}}]}, status: {phase: Pending}}";

static const char node_text[] =
    "{apiVersion: v1, kind: Node, metadata: {name: t, creationTimestamp: '2026-01-01T00:00:00Z', labels: "
    "{beta.kubernetes.io/arch: amd64, beta.kubernetes.io/os: linux, kubernetes.io/arch: amd64, "
    "kubernetes.io/hostname: "
    "t, kubernetes.io/os: linux, node.kubernetes.io/instance-type: m6i.2xlarge, "
    "topology.kubernetes.io/region: west, "
    "topology.kubernetes.io/zone: a}, annotations: {node.alpha.kubernetes.io/ttl: '0', "
    "volumes.kubernetes.io/controller-managed-attach-detach: 'true'}}, spec: {providerID: "
    "'aws:///west-1a/i-0abc'}, "
    "status: {capacity: {cpu: 8, ephemeral-storage: 83873772Ki, hugepages-1Gi: 0, hugepages-2Mi: 0, memory: "
    "32498092Ki, "
    "pods: 110}, allocatable: {cpu: 7910m, ephemeral-storage: '76224326324', hugepages-1Gi: 0, "
    "hugepages-2Mi: 0, memory: "
    "31482284Ki, pods: 110}, conditions: [{type: MemoryPressure, status: 'False'}, {type: DiskPressure, "
    "status: "
    "'False'}, {type: PIDPressure, status: 'False'}, {type: Ready, status: 'True'}]}}";

static const char replica_set_text[] =
    "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: t, namespace: production}, spec: {selector: "
    "{matchLabels: {app: web, pod-template-hash: x}}}}";

/* ---- templates ---- */
static struct object decode(struct arena *arena, const char *format, const char *more)
{
    struct strbuf text = { 0 };
    struct doc_stream stream;
    struct doc doc;
    struct object object;
    struct error err;
    strbuf_printf(&text, format, more);
    text.text = xrealloc(text.text, text.len + YYJSON_PADDING_SIZE);
    memset(text.text + text.len, 0, YYJSON_PADDING_SIZE);
    doc_stream_init(&stream, "template", text.text, text.len);
    if (doc_stream_next(&stream, &doc, &err) <= 0 ||
        object_decode(&doc, doc.root, arena, &object, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    doc_release(&doc);
    doc_stream_release(&stream);
    return object;
}

void live_server_init(struct live_server *server)
{
    for (size_t i = 0; i < ARRAY_SIZE(pod_texts); i++)
        server->pod_templates[i] = decode(&server->templates, pod_text, pod_texts[i]).ptr;
    server->node_template = decode(&server->templates, "%s", node_text).ptr;
    server->replica_set = decode(&server->templates, "%s", replica_set_text);
    server->ring = xcalloc((size_t)RING_SLACK * server->pods + 1, sizeof(*server->ring));
    server->node_numbers = xcalloc(server->nodes, sizeof(*server->node_numbers));
    for (uint32_t i = 0; i < server->nodes; i++)
        server->node_numbers[i] = server->next_node++;
    server->version = 1000;
}

void live_server_release(struct live_server *server)
{
    free(server->ring);
    free(server->node_numbers);
    arena_release(&server->templates);
    arena_release(&server->scratch);
    strbuf_release(&server->object);
    strbuf_release(&server->full);
    strbuf_release(&server->frame);
}

/* ---- objects ---- */
static struct live_pod *pod_at(struct live_server *server, uint64_t number)
{
    return &server->ring[number % ((uint64_t)RING_SLACK * server->pods + 1)];
}

static struct str uid_of(struct live_server *server, uint64_t number)
{
    return arena_printf(&server->scratch, "6b6ff1ba-8c6b-4f4c-9df7-%012llx", (unsigned long long)number);
}

static struct str node_name(struct live_server *server, uint64_t number)
{
    return arena_printf(&server->scratch, "ip-10-0-%06llu.west.compute.internal", (unsigned long long)number);
}

static struct str hash_of(struct live_server *server, uint64_t template)
{
    return arena_printf(&server->scratch, "%08llx",
                        (unsigned long long)(template * 2654435761u % 0xffffffff));
}

static void set_label(struct live_server *server, struct meta *meta, struct str key, struct str value)
{
    struct pair *labels = arena_array(&server->scratch, struct pair, meta->labels.len);
    memcpy(labels, meta->labels.items, meta->labels.len * sizeof(*labels));
    meta->labels.items = labels;
    for (uint32_t i = 0; i < meta->labels.len; i++)
        if (str_eq(labels[i].key, key))
            labels[i].value = value;
}

static void set_meta(struct live_server *server, struct meta *meta, uint64_t number)
{
    meta->uid = uid_of(server, number);
    meta->resource_version = arena_printf(&server->scratch, "%llu", (unsigned long long)++server->version);
    meta->creation_time = (struct opt_time){ true, 1767225600 + (int64_t)number, 0 };
}

static bool is_urgent(uint64_t number)
{
    return number % 400 == 399;
}

static bool fits_nowhere(uint64_t number)
{
    return number % 40 == 20;
}

static void set_requests(struct live_server *server, struct pod *pod, uint64_t number)
{
    struct container *containers = arena_array(&server->scratch, struct container, pod->spec.containers.len);
    memcpy(containers, pod->spec.containers.items, pod->spec.containers.len * sizeof(*containers));
    struct resource *requests = arena_array(&server->scratch, struct resource, 2);
    memcpy(requests, containers[0].resources.requests.items, 2 * sizeof(*requests));
    int64_t milli = is_urgent(number) ? 7800 : (int64_t)(50 + number / PODS_PER_TEMPLATE % 17 * 10);
    requests[0].amount = quantity_from_milli(milli);
    containers[0].resources.requests.items = requests;
    pod->spec.containers.items = containers;
}

static struct str message_of(struct live_server *server)
{
    return arena_printf(
        &server->scratch,
        "0/%u nodes are available: %u node(s) didn't match Pod's node affinity/selector. preemption: "
        "0/%u nodes are available: %u Preemption is not helpful for scheduling.",
        server->nodes, server->nodes, server->nodes, server->nodes);
}

static void set_status(struct live_server *server, struct pod *pod, const struct live_pod *live)
{
    static const char *const types[] = { "PodScheduled", "Initialized", "ContainersReady", "Ready" };
    bool runs = live->stage >= LIVE_RUNNING;
    uint32_t count = live->stage == LIVE_BOUND || live->rejected ? 1 : runs ? ARRAY_SIZE(types) : 0;
    struct pod_condition *conditions = arena_array(&server->scratch, struct pod_condition, count);
    for (uint32_t i = 0; i < count; i++)
        conditions[i] = (struct pod_condition){ .type = str_from(types[i]),
                                                .status = live->rejected ? STR("False") : STR("True"),
                                                .reason = live->rejected ? STR("Unschedulable") : STR(""),
                                                .message = live->rejected ? message_of(server) : STR(""),
                                                .last_transition_time = { true, 1767225600, 0 } };
    pod->status.conditions.items = conditions;
    pod->status.conditions.len = count;
    pod->status.phase = runs ? STR("Running") : STR("Pending");
    pod->status.start_time = (struct opt_time){ runs, 1767225600, 0 };
}

static struct object make_pod(struct live_server *server, uint64_t number)
{
    const struct live_pod *live = pod_at(server, number);
    uint64_t template = number / PODS_PER_TEMPLATE;
    struct pod *pod = arena_new(&server->scratch, struct pod);
    *pod = *server->pod_templates[fits_nowhere(number) ? 3 : template % 3];
    struct str hash = hash_of(server, template);
    set_meta(server, &pod->meta, number);
    pod->meta.name =
        arena_printf(&server->scratch, "web-" STR_FMT "-%05llx", STR_ARG(hash), (unsigned long long)number);
    set_label(server, &pod->meta, STR("pod-template-hash"), hash);
    if (fits_nowhere(number) || is_urgent(number)) /* without a ReplicaSet */
        set_label(server, &pod->meta, STR("app"), STR("other"));
    struct owner_ref *owner = arena_new(&server->scratch, struct owner_ref);
    *owner = *pod->meta.owners.items;
    owner->name = arena_printf(&server->scratch, "web-" STR_FMT, STR_ARG(hash));
    pod->meta.owners.items = owner;
    set_requests(server, pod, number);
    pod->spec.priority = (struct opt_int32){ true, is_urgent(number) ? 1000 : 0 };
    if (live->stage >= LIVE_BOUND)
        pod->spec.node_name = node_name(server, live->node);
    if (live->stage == LIVE_LEAVING)
        pod->meta.deletion_time = (struct opt_time){ true, 1767225600 + (int64_t)number, 0 };
    set_status(server, pod, live);
    return (struct object){ KIND_POD, pod, &pod->meta, STR("v1"), STR("Pod") };
}

static void set_images(struct live_server *server, struct node *node, uint64_t number)
{
    struct node_image *images = arena_array(&server->scratch, struct node_image, server->images);
    for (uint32_t i = 0; i < server->images; i++) {
        struct str *names = arena_array(&server->scratch, struct str, 2);
        unsigned image = (unsigned)((number + i * 7) % 400);
        names[0] = arena_printf(&server->scratch,
                                "registry.example.com/team/app-%u@sha256:%08x%08x%08x%08x%08x%08x%08x%08x",
                                image, image, image, image, image, image, image, image, image);
        names[1] =
            arena_printf(&server->scratch, "registry.example.com/team/app-%u:1.%u.0", image, image % 50);
        images[i].names.items = names;
        images[i].names.len = 2;
        images[i].size_bytes = 1000000 * (int64_t)(image + 1);
    }
    node->status.images.items = images;
    node->status.images.len = server->images;
}

static struct object make_node(struct live_server *server, uint64_t number)
{
    struct node *node = arena_new(&server->scratch, struct node);
    *node = *server->node_template;
    node->meta.name = node_name(server, number);
    set_meta(server, &node->meta, (uint64_t)1 << 40 | number);
    set_label(server, &node->meta, STR("kubernetes.io/hostname"), node->meta.name);
    set_label(server, &node->meta, STR("topology.kubernetes.io/zone"),
              arena_printf(&server->scratch, "west-1%c", (char)('a' + number % 3)));
    set_images(server, node, number);
    return (struct object){ KIND_NODE, node, &node->meta, STR("v1"), STR("Node") };
}

static struct object make_replica_set(struct live_server *server, uint64_t template)
{
    struct workload *set = arena_new(&server->scratch, struct workload);
    *set = *(const struct workload *)server->replica_set.ptr;
    struct str hash = hash_of(server, template);
    set_meta(server, &set->meta, (uint64_t)1 << 41 | template);
    set->meta.name = arena_printf(&server->scratch, "web-" STR_FMT, STR_ARG(hash));
    return (struct object){ KIND_REPLICA_SET, set, &set->meta, STR("apps/v1"), STR("ReplicaSet") };
}

/* ---- bytes ---- */
/* The object without its envelope, with fields that no scheduler reads: managedFields in its metadata. */
static struct str full_bytes_of(struct live_server *server, const struct object *object)
{
    static const char unread[UNREAD_BYTES] = { 0 };
    struct protobuf_field field;
    struct str raw = { 0 };
    strbuf_clear(&server->object);
    strbuf_clear(&server->full);
    object_encode_protobuf(object, &server->object);
    struct protobuf_reader envelope =
        protobuf_reader(str_slice(strbuf_slice(&server->object), 4, server->object.len));
    while (protobuf_next(&envelope, &field) > 0)
        if (field.tag == 2)
            raw = field.bytes;
    struct protobuf_reader reader = protobuf_reader(raw);
    while (protobuf_next(&reader, &field) > 0) {
        size_t begun = protobuf_begin(&server->full, field.tag);
        strbuf_str(&server->full, field.bytes);
        if (field.tag == 1)
            protobuf_put_bytes(&server->full, 17, (struct str){ unread, sizeof(unread) });
        protobuf_end(&server->full, begun);
    }
    return strbuf_slice(&server->full);
}

static void put_envelope(struct strbuf *out, struct str api_version, struct str kind, struct str raw)
{
    strbuf_add(out, "k8s", 4);
    size_t begun = protobuf_begin(out, 1);
    protobuf_put_bytes(out, 1, api_version);
    protobuf_put_bytes(out, 2, kind);
    protobuf_end(out, begun);
    protobuf_put_bytes(out, 2, raw);
}

static void send_event(struct live_server *server, const char *type, struct object object)
{
    struct strbuf *frame = &server->frame;
    struct str raw = full_bytes_of(server, &object);
    strbuf_clear(frame);
    strbuf_add(frame, "\0\0\0", 4);
    protobuf_put_bytes(frame, 1, str_from(type));
    size_t event = protobuf_begin(frame, 2), begun = protobuf_begin(frame, 1);
    put_envelope(frame, object.api_version, object.kind_name, raw);
    protobuf_end(frame, begun);
    protobuf_end(frame, event);
    uint32_t len = htonl((uint32_t)frame->len - 4);
    memcpy(frame->text, &len, sizeof(len));
    server->send_event(server->context, object.kind, strbuf_slice(frame));
    server->events++;
    arena_reset(&server->scratch);
}

/* ---- lists ---- */
static uint64_t new_pod(struct live_server *server, enum live_stage stage)
{
    uint64_t number = server->next_pod++;
    *pod_at(server, number) = (struct live_pod){ .stage = stage };
    if (stage >= LIVE_BOUND)
        pod_at(server, number)->node = server->node_numbers[number * 7919 % server->nodes];
    server->pods_len++;
    return number;
}

static struct object listed(struct live_server *server, enum api_kind kind, uint64_t number)
{
    if (kind == KIND_NODE)
        return make_node(server, server->node_numbers[number]);
    /* Urgent pods and pods that fit nowhere do not run. */
    while (is_urgent(server->next_pod) || fits_nowhere(server->next_pod))
        pod_at(server, server->next_pod++)->stage = LIVE_GONE;
    return make_pod(server, new_pod(server, LIVE_RUNNING));
}

struct strbuf live_server_page(struct live_server *server, enum api_kind kind, uint32_t number)
{
    struct strbuf list = { 0 }, page = { 0 };
    uint64_t len = kind == KIND_NODE ? server->nodes : server->pods, from = (uint64_t)number * PAGE_LEN;
    if (from >= len)
        return page;
    size_t begun = protobuf_begin(&list, 1);
    protobuf_put_bytes(&list, 2, STR("1000"));
    protobuf_end(&list, begun);
    for (uint64_t i = from; i < MIN(len, from + PAGE_LEN); i++) {
        struct object object = listed(server, kind, i);
        protobuf_put_bytes(&list, 2, full_bytes_of(server, &object));
        arena_reset(&server->scratch);
    }
    put_envelope(&page, STR("v1"), kind == KIND_NODE ? STR("NodeList") : STR("PodList"), strbuf_slice(&list));
    strbuf_release(&list);
    return page;
}

/* ---- events ---- */
static void move_pod(struct live_server *server, uint64_t number, enum live_stage stage)
{
    pod_at(server, number)->stage = stage;
    send_event(server, "MODIFIED", make_pod(server, number));
}

static void end_pod(struct live_server *server, uint64_t number)
{
    struct live_pod *pod = pod_at(server, number);
    if (pod->stage >= LIVE_BOUND && pod->stage != LIVE_LEAVING)
        move_pod(server, number, LIVE_LEAVING);
    send_event(server, "DELETED", make_pod(server, number));
    pod->stage = LIVE_GONE;
    server->pods_len--;
}

/* The oldest pod is deleted; with the last pod of a template, its ReplicaSet is. */
static void end_oldest(struct live_server *server)
{
    while (server->first_pod < server->next_pod) {
        uint64_t number = server->first_pod++;
        bool is_last = number % PODS_PER_TEMPLATE == PODS_PER_TEMPLATE - 1,
             ends = pod_at(server, number)->stage;
        if (ends)
            end_pod(server, number);
        if (is_last)
            send_event(server, "DELETED", make_replica_set(server, number / PODS_PER_TEMPLATE));
        if (ends)
            return;
    }
}

static void begin_pod(struct live_server *server)
{
    if (server->next_pod % PODS_PER_TEMPLATE == 0)
        send_event(server, "ADDED", make_replica_set(server, server->next_pod / PODS_PER_TEMPLATE));
    send_event(server, "ADDED", make_pod(server, new_pod(server, LIVE_PENDING)));
}

static void replace_node(struct live_server *server, uint64_t place)
{
    send_event(server, "DELETED", make_node(server, server->node_numbers[place]));
    server->node_numbers[place] = server->next_node++;
    send_event(server, "ADDED", make_node(server, server->node_numbers[place]));
}

void live_server_step(struct live_server *server)
{
    uint64_t step = server->steps++;
    if (server->pods_len >= server->pods)
        end_oldest(server);
    begin_pod(server);
    if (server->pods_len < server->pods)
        begin_pod(server); /* others were deleted on request */
    if (step % 2 == 0)
        send_event(server, "MODIFIED", make_node(server, server->node_numbers[step / 2 % server->nodes]));
    if (step % 50 == 0)
        replace_node(server, step * 31 % server->nodes);
}

/* ---- requests ---- */
static uint64_t number_from(struct str text, uint32_t from, int base)
{
    char digits[32];
    snprintf(digits, sizeof(digits), STR_FMT, STR_ARG(str_slice(text, from, MIN(text.len, from + 12))));
    return strtoull(digits, NULL, base);
}

void live_server_write(struct live_server *server, enum effect_kind kind, struct str uid, struct str node)
{
    uint64_t number = number_from(uid, 24, 16);
    struct live_pod *pod = pod_at(server, number);
    if (number < server->first_pod || number >= server->next_pod || pod->stage == LIVE_GONE)
        return;
    if (kind == EFFECT_BIND && pod->stage == LIVE_PENDING) {
        pod->node = number_from(node, sizeof("ip-10-0-") - 1, 10);
        pod->rejected = false;
        move_pod(server, number, LIVE_BOUND);
        move_pod(server, number, LIVE_RUNNING);
    } else if (kind == EFFECT_POD_STATUS && pod->stage == LIVE_PENDING) {
        pod->rejected = true;
        move_pod(server, number, LIVE_PENDING);
    } else if (kind == EFFECT_DELETE_POD) {
        end_pod(server, number);
    }
}
