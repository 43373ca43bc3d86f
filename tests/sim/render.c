/* render.c: one function per kind; everything is in the object's arena. */
#include "render.h"

#include <stdio.h>

#include "cluster/volumes.h"
#include "support/amounts.h"

const enum api_kind sim_api_kinds[SIM_KIND_COUNT] = {
#define X(name, kind, prefix) [SIM_##name] = KIND_##kind,
    SIM_KINDS(X)
#undef X
};

enum { OTHER_BYTES = 1200 }; /* typical further memory of an object */
static const char *const class_names[CLASS_COUNT] = { "made", "found", "immediate" };

static struct str name_of(struct arena *arena, enum sim_kind kind, int number)
{
    return number == NONE ? (struct str){ 0 } : arena_printf(arena, "%c%d", sim_kind_prefixes[kind], number);
}

static void render_meta(struct arena *arena, const struct version *version, struct meta *meta,
                        bool namespaced)
{
    const struct facts *facts = &version->facts;
    *meta = (struct meta){
        .name = name_of(arena, version->kind, (int)facts->number),
        .namespace = namespaced ? STR(SIM_NAMESPACE) : (struct str){ 0 },
        .uid = arena_printf(arena, "u%llu", (unsigned long long)facts->uid),
        .resource_version = arena_printf(arena, "%llu", (unsigned long long)facts->version),
        .creation_time = { .set = true, .seconds = facts->created_s },
    };
}

static void put_pair(struct arena *arena, struct str_map *map, const char *key, struct str value)
{
    if (!map->items)
        map->items = arena_array(arena, struct pair, 4);
    map->items[map->len++] = (struct pair){ str_from(key), value };
}

/* ---- nodes ---- */
static struct resource_list render_amounts(struct arena *arena, const int64_t amounts[AMOUNTS], int64_t pods)
{
    struct resource_list list = { .items = arena_array(arena, struct resource, AMOUNTS + 1) };
    if (amounts[AMOUNT_CPU])
        list.items[list.len++] = (struct resource){ STR("cpu"), quantity_from_milli(amounts[AMOUNT_CPU]) };
    if (amounts[AMOUNT_GPU])
        list.items[list.len++] = (struct resource){ STR(SIM_GPU), quantity_from_int(amounts[AMOUNT_GPU]) };
    if (amounts[AMOUNT_MEMORY])
        list.items[list.len++] =
            (struct resource){ STR("memory"), quantity_from_int(amounts[AMOUNT_MEMORY]) };
    if (pods)
        list.items[list.len++] = (struct resource){ STR("pods"), quantity_from_int(pods) };
    return list;
}

static void render_node(struct arena *arena, const struct version *version, void *object)
{
    static const char *const keys[TAINTS] = { "t0", "t1" };
    const struct node_facts *facts = &version->facts.node;
    struct node *node = object;
    render_meta(arena, version, &node->meta, false);
    put_pair(arena, &node->meta.labels, "kubernetes.io/hostname", node->meta.name);
    put_pair(arena, &node->meta.labels, SIM_ZONE_KEY, arena_printf(arena, "z%d", facts->zone));
    node->spec.unschedulable = facts->cordoned;
    node->spec.taints.items = arena_array(arena, struct taint, TAINTS + 1);
    for (int i = 0; i < TAINTS; i++)
        if (facts->taints >> i & 1)
            node->spec.taints.items[node->spec.taints.len++] =
                (struct taint){ .key = str_from(keys[i]), .effect = STR("NoSchedule") };
    if (facts->cordoned)
        node->spec.taints.items[node->spec.taints.len++] =
            (struct taint){ .key = STR("node.kubernetes.io/unschedulable"), .effect = STR("NoSchedule") };
    node->status.allocatable = render_amounts(arena, facts->has, facts->pods_max);
    node->status.capacity = node->status.allocatable;
}

/* ---- pods ---- */
static struct label_selector *select_app(struct arena *arena, int app)
{
    struct label_selector *selector = arena_new(arena, struct label_selector);
    put_pair(arena, &selector->match_labels, "app", arena_printf(arena, "a%d", app));
    return selector;
}

static void render_constraints(struct arena *arena, const struct pod_facts *facts, struct pod_spec *spec)
{
    static const char *const keys[TAINTS] = { "t0", "t1" };
    if (facts->zone != NONE)
        put_pair(arena, &spec->node_selector, SIM_ZONE_KEY, arena_printf(arena, "z%d", facts->zone));
    spec->tolerations.items = arena_array(arena, struct toleration, TAINTS);
    for (int i = 0; i < TAINTS; i++)
        if (facts->tolerates >> i & 1)
            spec->tolerations.items[spec->tolerations.len++] =
                (struct toleration){ .key = str_from(keys[i]), .operator= STR("Exists") };
    if (facts->repels) {
        spec->affinity = arena_new(arena, struct affinity);
        spec->affinity->pod_anti = arena_new(arena, struct pod_affinity);
        spec->affinity->pod_anti->required.items = arena_new(arena, struct pod_affinity_term);
        spec->affinity->pod_anti->required.len = 1;
        spec->affinity->pod_anti->required.items[0] =
            (struct pod_affinity_term){ .selector = select_app(arena, facts->app),
                                        .topology_key = STR("kubernetes.io/hostname") };
    }
    if (facts->gated) {
        spec->scheduling_gates.items = arena_new(arena, struct named);
        spec->scheduling_gates.items[spec->scheduling_gates.len++].name = STR("example.com/gate");
    }
    if (facts->claim != NONE) {
        struct volume *volume = arena_new(arena, struct volume);
        volume->name = STR("data");
        volume->pvc = arena_zalloc(arena, sizeof(*volume->pvc));
        volume->pvc->claim_name = name_of(arena, SIM_CLAIMS, facts->claim);
        spec->volumes.items = volume;
        spec->volumes.len = 1;
    }
}

static void render_spec(struct arena *arena, const struct pod_facts *facts, struct pod_spec *spec)
{
    struct container *container = arena_new(arena, struct container);
    container->name = STR("c");
    container->resources.requests = render_amounts(arena, facts->requests, 0);
    if (facts->host_port) {
        container->ports.items = arena_new(arena, struct container_port);
        container->ports.items[container->ports.len++] = (struct container_port){
            .protocol = STR("TCP"), .host_port = facts->host_port, .container_port = facts->host_port
        };
    }
    spec->containers.items = container;
    spec->containers.len = 1;
    spec->node_name = name_of(arena, SIM_NODES, facts->node);
    spec->scheduler_name = facts->foreign ? STR("another") : STR(SIM_SCHEDULER);
    spec->priority = (struct opt_int32){ true, facts->priority };
    spec->preemption_policy = facts->never_preempts ? STR("Never") : STR("PreemptLowerPriority");
    spec->restart_policy = STR("Always");
    spec->termination_grace_seconds = (struct opt_int64){ true, 30 };
    render_constraints(arena, facts, spec);
}

static void render_status(struct arena *arena, const struct version *version, struct pod_status *status)
{
    const struct pod_facts *facts = &version->facts.pod;
    status->phase = facts->running ? STR("Running") : STR("Pending");
    status->nominated_node_name = name_of(arena, SIM_NODES, facts->nominated);
    status->conditions.items = arena_array(arena, struct pod_condition, 2);
    if (facts->scheduled != SCHEDULED_UNSAID)
        status->conditions.items[status->conditions.len++] = (struct pod_condition){
            .type = STR("PodScheduled"),
            .status = facts->scheduled == SCHEDULED_TRUE ? STR("True") : STR("False"),
            .reason = arena_str(arena, version->reason),
            .message = arena_str(arena, version->message),
            .last_transition_time = { .set = true, .seconds = facts->condition_since_s },
            .observed_generation = facts->condition_generation,
        };
    if (facts->disrupted)
        status->conditions.items[status->conditions.len++] = (struct pod_condition){
            .type = STR("DisruptionTarget"),
            .status = STR("True"),
            .reason = STR("PreemptionByScheduler"),
            .message = STR(SIM_SCHEDULER ": preempting to accommodate a higher priority pod"),
            .observed_generation = facts->generation
        };
}

static void render_pod(struct arena *arena, const struct version *version, void *object)
{
    const struct pod_facts *facts = &version->facts.pod;
    struct pod *pod = object;
    render_meta(arena, version, &pod->meta, true);
    put_pair(arena, &pod->meta.labels, "app", arena_printf(arena, "a%d", facts->app));
    pod->meta.generation = facts->generation;
    if (facts->terminating)
        pod->meta.deletion_time = (struct opt_time){ .set = true, .seconds = version->facts.created_s + 1 };
    render_spec(arena, facts, &pod->spec);
    render_status(arena, version, &pod->status);
}

/* ---- storage ---- */
static struct str_list access_modes(struct arena *arena)
{
    struct str_list list = { .items = arena_new(arena, struct str), .len = 1 };
    list.items[0] = STR("ReadWriteOnce");
    return list;
}

static struct resource_list storage(struct arena *arena)
{
    struct resource_list list = { .items = arena_new(arena, struct resource), .len = 1 };
    list.items[0] = (struct resource){ STR("storage"), quantity_from_int(VOLUME_BYTES) };
    return list;
}

static void render_claim(struct arena *arena, const struct version *version, void *object)
{
    const struct claim_facts *facts = &version->facts.claim;
    struct pvc *pvc = object;
    render_meta(arena, version, &pvc->meta, true);
    put_pair(arena, &pvc->meta.annotations, "example.com/kept", STR("yes"));
    if (facts->volume != NONE)
        put_pair(arena, &pvc->meta.annotations, ANNOTATION_BIND_COMPLETED, STR("yes"));
    if (facts->selected_node != NONE)
        put_pair(arena, &pvc->meta.annotations, ANNOTATION_SELECTED_NODE,
                 name_of(arena, SIM_NODES, facts->selected_node));
    pvc->spec = (struct pvc_spec){
        .access_modes = access_modes(arena),
        .resources.requests = storage(arena),
        .storage_class_name = str_from(class_names[facts->class]),
        .volume_mode = STR("Filesystem"),
        .volume_name = name_of(arena, SIM_VOLUMES, facts->volume),
    };
    pvc->status.phase = facts->volume != NONE ? STR("Bound") : STR("Pending");
}

static struct node_selector *in_zone(struct arena *arena, int zone)
{
    struct node_selector *selector = arena_new(arena, struct node_selector);
    struct selector_requirement *requirement = arena_new(arena, struct selector_requirement);
    *requirement =
        (struct selector_requirement){ .key = STR(SIM_ZONE_KEY), .operator= STR("In"), .op = OP_IN };
    requirement->values.items = arena_new(arena, struct str);
    requirement->values.items[requirement->values.len++] = arena_printf(arena, "z%d", zone);
    selector->terms.items = arena_zalloc(arena, sizeof(*selector->terms.items));
    selector->terms.len = 1;
    selector->terms.items[0].match_expressions.items = requirement;
    selector->terms.items[0].match_expressions.len = 1;
    return selector;
}

static void render_volume(struct arena *arena, const struct version *version, void *object)
{
    const struct volume_facts *facts = &version->facts.volume;
    struct pv *pv = object;
    render_meta(arena, version, &pv->meta, false);
    pv->spec.capacity = storage(arena);
    pv->spec.access_modes = access_modes(arena);
    pv->spec.storage_class_name = str_from(class_names[facts->class]);
    pv->spec.volume_mode = STR("Filesystem");
    if (facts->zone != NONE)
        pv->spec.node_affinity = in_zone(arena, facts->zone);
    if (facts->claim != NONE) {
        pv->spec.claim_ref = arena_new(arena, struct object_ref);
        *pv->spec.claim_ref = (struct object_ref){
            .kind = STR("PersistentVolumeClaim"),
            .namespace = STR(SIM_NAMESPACE),
            .name = name_of(arena, SIM_CLAIMS, facts->claim),
            .uid = arena_printf(arena, "u%llu", (unsigned long long)facts->claim_uid),
        };
    }
    pv->phase = facts->claim != NONE ? STR("Bound") : STR("Available");
}

static void render_class(struct arena *arena, const struct version *version, void *object)
{
    static const struct {
        const char *provisioner, *mode;
    } rows[CLASS_COUNT] = {
        [CLASS_MADE] = { "example.com/maker", "WaitForFirstConsumer" },
        [CLASS_FOUND] = { "kubernetes.io/no-provisioner", "WaitForFirstConsumer" },
        [CLASS_IMMEDIATE] = { "example.com/maker", "Immediate" },
    };
    struct storage_class *class = object;
    render_meta(arena, version, &class->meta, false);
    class->meta.name = str_from(class_names[version->facts.number]);
    class->provisioner = str_from(rows[version->facts.number].provisioner);
    class->binding_mode = str_from(rows[version->facts.number].mode);
}

static void render_budget(struct arena *arena, const struct version *version, void *object)
{
    struct pdb *pdb = object;
    render_meta(arena, version, &pdb->meta, true);
    pdb->selector = select_app(arena, version->facts.budget.app);
    pdb->disruptions_allowed = version->facts.budget.allowed;
}

struct live_object *render(const struct version *version)
{
    static const struct {
        void (*render)(struct arena *arena, const struct version *version, void *object);
        size_t size;
    } rows[SIM_KIND_COUNT] = {
        [SIM_NODES] = { render_node, sizeof(struct node) },
        [SIM_PODS] = { render_pod, sizeof(struct pod) },
        [SIM_CLAIMS] = { render_claim, sizeof(struct pvc) },
        [SIM_VOLUMES] = { render_volume, sizeof(struct pv) },
        [SIM_BUDGETS] = { render_budget, sizeof(struct pdb) },
        [SIM_CLASSES] = { render_class, sizeof(struct storage_class) },
    };
    struct live_object *live = live_object_new();
    arena_reserve(&live->arena, rows[version->kind].size + OTHER_BYTES);
    void *object = arena_zalloc(&live->arena, rows[version->kind].size);
    rows[version->kind].render(&live->arena, version, object);
    live->object = (struct object){ .kind = sim_api_kinds[version->kind], .ptr = object, .meta = object };
    return live;
}
