/* cluster.c: rows, columns, the log, and the stores of named objects. Pods are in pods.c, classes in pod_class.c. */
#include "cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "api/fields.h"
#include "api/labels.h"
#include "api/names.h"
#include "cluster/devices.h"
#include "cluster/model.h"
#include "cluster/node_samples.h"
#include "cluster/volumes.h"

void cluster_init(struct cluster *cluster)
{
    *cluster = (struct cluster){ 0 };
    features_default(&cluster->features, NULL, 0);
    static const struct str fixed[] = { STR("cpu"), STR("memory"), STR("ephemeral-storage"), STR("pods") };
    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
        resource_add(cluster, fixed[i]);
    *vec_push(&cluster->taint_lists) = xcalloc(1, sizeof(struct taint_list));
    cluster->taint_lists.items[0]->refs = 1;
    pod_classes_init(cluster);
    cluster->any_ip = intern_get(&cluster->syms, STR("0.0.0.0"));
}

/* ---- resources ---- */
bool resource_is_scalar(struct str name)
{
    return name_is_extended_resource(name) || str_starts_with(name, STR("hugepages-")) ||
           str_contains(name, STR("kubernetes.io/")) || str_starts_with(name, STR("attachable-volumes-"));
}

uint32_t resource_add(struct cluster *cluster, struct str name)
{
    struct columns *col = &cluster->col;
    uint32_t number = col->resources++;
    col->alloc = xreallocarray(col->alloc, col->resources, sizeof(*col->alloc));
    col->used = xreallocarray(col->used, col->resources, sizeof(*col->used));
    col->bits = xreallocarray(col->bits, col->resources, sizeof(*col->bits));
    col->lacking = xreallocarray(col->lacking, col->resources, sizeof(*col->lacking));
    col->pinned = xreallocarray(col->pinned, col->resources, sizeof(*col->pinned));
    col->bits[number] = 0;
    col->lacking[number] = cluster->live_nodes;
    col->pinned[number] = 0;
    col->alloc[number] = xcalloc(cluster->rows_cap, sizeof(int64_t));
    col->used[number] = xcalloc(cluster->rows_cap, sizeof(int64_t));
    struct str kept = str_dup(name);
    *vec_push(&cluster->resource_names) = kept;
    strmap_put(&cluster->resource_numbers, kept, (void *)(uintptr_t)(number + 1));
    struct absent_resource *absent = strmap_get(&cluster->absent_resources, name);
    if (absent) {
        absent->column = number + 1;
        cluster->resources_moved = true;
    }
    return number;
}

/* A column gets another resource. What pods on nodes took of the old one leaves it when classes are compiled anew. */
static void column_reuse(struct cluster *cluster, uint32_t number, struct str name)
{
    struct str *kept = &cluster->resource_names.items[number];
    strmap_remove(&cluster->resource_numbers, *kept);
    free((char *)kept->ptr);
    *kept = str_dup(name);
    strmap_put(&cluster->resource_numbers, *kept, (void *)(uintptr_t)(number + 1));
    cluster->resources_moved = true;
}

bool cluster_resource_find(const struct cluster *cluster, struct str name, uint32_t *ret)
{
    uintptr_t known = (uintptr_t)strmap_get(&cluster->resource_numbers, name);
    *ret = (uint32_t)known - 1;
    return known;
}

bool cluster_resource(struct cluster *cluster, struct str name, uint32_t *ret)
{
    if (!cluster_resource_find(cluster, name, ret)) {
        if (!resource_is_scalar(name))
            return false;
        *ret = resource_add(cluster, name);
    }
    cluster->col.pinned[*ret] = 1;
    return true;
}

void cluster_settle_resources(struct cluster *cluster)
{
    if (!cluster->resources_moved)
        return;
    pod_classes_renew(cluster);
    cluster->resources_moved = false;
}

/* ---- rows ---- */
#define COLUMN_LIST(X) X(nonzero_cpu) X(nonzero_memory) X(taints) X(live) X(unschedulable)

static void *grow_column(void *column, uint32_t old, uint32_t cap, size_t size)
{
    char *wider = xreallocarray(column, cap, size);
    memset(wider + (size_t)old * size, 0, (size_t)(cap - old) * size);
    return wider;
}

static void grow_rows(struct cluster *cluster)
{
    /* Large ones grow by a quarter only: every table has columns of this size. */
    uint32_t old = cluster->rows_cap, cap = old < 1024 ? MAX(old * 2, 64u) : old + old / 4;
    struct columns *col = &cluster->col;
    for (uint32_t r = 0; r < col->resources; r++) {
        col->alloc[r] = grow_column(col->alloc[r], old, cap, sizeof(int64_t));
        col->used[r] = grow_column(col->used[r], old, cap, sizeof(int64_t));
    }
#define X(name) col->name = grow_column(col->name, old, cap, sizeof(*col->name));
    COLUMN_LIST(X)
#undef X
    cluster->no_domains = grow_column(cluster->no_domains, old, cap, sizeof(*cluster->no_domains));
    vec_for(&cluster->topologies, topo)
        topology_reserve(*topo, cap, cluster->no_domains);
    cluster->rows_cap = cap;
}

static uint32_t row_new(struct cluster *cluster)
{
    if (cluster->free_rows.len)
        return cluster->free_rows.items[--cluster->free_rows.len];
    if (cluster->nodes.len == cluster->rows_cap)
        grow_rows(cluster);
    *vec_push(&cluster->nodes) = (struct node_entry){ 0 };
    return (uint32_t)cluster->nodes.len - 1;
}

uint32_t row_by_name(const struct cluster *cluster, struct str name)
{
    return (uint32_t)(uintptr_t)strmap_get(&cluster->rows_by_name, name) - 1;
}

uint32_t row_for_name(struct cluster *cluster, struct str name)
{
    uint32_t row = row_by_name(cluster, name);
    if (row != ROW_NONE)
        return row;
    row = row_new(cluster);
    cluster->nodes.items[row] = (struct node_entry){ .name = intern_get(&cluster->syms, name),
                                                     .sample = node_samples_find(cluster, name) };
    strmap_put(&cluster->rows_by_name, intern_text(&cluster->syms, cluster->nodes.items[row].name),
               (void *)(uintptr_t)(row + 1));
    row_changed(cluster, row); /* tables learn of a new row, also of one that nothing occupies yet */
    return row;
}

/* A row without object, pods and nominations is free again. */
void row_release_if_empty(struct cluster *cluster, uint32_t row)
{
    struct node_entry *node = &cluster->nodes.items[row];
    if (node->api || node->pods.len || node->nominated.len || node->holds)
        return;
    strmap_remove(&cluster->rows_by_name, intern_text(&cluster->syms, node->name));
    intern_unref(&cluster->syms, node->name);
    vec_release(&node->pods);
    vec_release(&node->with_affinity);
    vec_release(&node->with_anti);
    vec_release(&node->nominated);
    vec_release(&node->ports);
    vec_release(&node->images);
    *node = (struct node_entry){ .changed_seq = node->changed_seq, .nominated_seq = node->nominated_seq };
    *vec_push(&cluster->free_rows) = row;
}

void cluster_hold_row(struct cluster *cluster, uint32_t row)
{
    cluster->nodes.items[row].holds++;
}

void cluster_unhold_row(struct cluster *cluster, uint32_t row)
{
    cluster->nodes.items[row].holds--;
    row_release_if_empty(cluster, row);
}

uint32_t cluster_row(const struct cluster *cluster, struct str name)
{
    uint32_t row = row_by_name(cluster, name);
    return row != ROW_NONE && cluster->nodes.items[row].api ? row : ROW_NONE;
}

/* The log keeps at least the last 2 * rows changes; a reader that is further behind starts over. */
void row_changed(struct cluster *cluster, uint32_t row)
{
    size_t keep = MAX((size_t)cluster->rows_cap * 2, (size_t)4096);
    if (cluster->log.len >= keep * 2) {
        size_t drop = cluster->log.len - keep;
        memmove(cluster->log.items, cluster->log.items + drop, keep * sizeof(*cluster->log.items));
        cluster->log.len = keep;
        cluster->log_base += drop;
    }
    cluster->nodes.items[row].changed_seq = cluster_seq(cluster);
    *vec_push(&cluster->log) = row;
}

/* ---- taint lists ---- */
static uint32_t taints_number(struct cluster *cluster, const struct node *node)
{
    if (!node->spec.taints.len)
        return 0;
    struct strbuf *key = &cluster->scratch;
    strbuf_clear(key);
    const struct record_member taints = record_member(api_kinds[KIND_NODE].type, STR("spec.taints"));
    record_member_put_key(key, taints, node);
    uint32_t number = (uint32_t)(uintptr_t)strmap_get(&cluster->taint_numbers, strbuf_slice(key));
    if (number) {
        cluster->taint_lists.items[number]->refs++;
        return number;
    }
    struct taint_list *list = xcalloc(1, sizeof(*list));
    struct record_list copy = { (char *)node->spec.taints.items, node->spec.taints.len };
    taints.field->kind->ops->copy(taints.field->kind, &list->arena, taints.field, &copy);
    list->refs = 1;
    list->items = (const struct taint *)(void *)copy.items;
    list->len = copy.len;
    list->key = arena_str(&list->arena, strbuf_slice(key));
    for (number = 1; number < cluster->taint_lists.len && cluster->taint_lists.items[number]; number++)
        ;
    if (number == cluster->taint_lists.len)
        (void)vec_push(&cluster->taint_lists);
    cluster->taint_lists.items[number] = list;
    cluster->taint_lists_made++;
    strmap_put(&cluster->taint_numbers, list->key, (void *)(uintptr_t)number);
    return number;
}

static void taints_unref(struct cluster *cluster, uint32_t number)
{
    struct taint_list *list = cluster->taint_lists.items[number];
    if (!number || --list->refs)
        return;
    strmap_remove(&cluster->taint_numbers, list->key);
    arena_release(&list->arena);
    free(list);
    cluster->taint_lists.items[number] = NULL;
}

/* ---- nodes ---- */
static int64_t amount_of(uint32_t number, struct quantity amount)
{
    return number == RES_CPU ? quantity_milli_value(amount) : quantity_value(amount);
}

/* From `from` on, a column whose resource no node has any more and whose number nothing keeps; or the end. The node of
 * the row is being set and not counted. */
static uint32_t unused_column(const struct cluster *cluster, uint32_t row, uint32_t from)
{
    const struct columns *col = &cluster->col;
    while (from < col->resources &&
           (col->pinned[from] || col->lacking[from] < cluster->live_nodes || col->alloc[from][row]))
        from++;
    return from;
}

/* Names that are new to the cluster, after the others: their columns may be ones that the node has left. */
static void set_new_resources(struct cluster *cluster, uint32_t row, const struct resource_list *list)
{
    uint32_t number, column = RES_SCALAR_FIRST;
    for (uint32_t i = 0; i < list->len; i++) {
        struct str name = list->items[i].name;
        int64_t amount = quantity_value(list->items[i].amount);
        if (!amount || !resource_is_scalar(name) || cluster_resource_find(cluster, name, &number))
            continue;
        column = unused_column(cluster, row, column);
        if (column < cluster->col.resources)
            column_reuse(cluster, column, name);
        else
            resource_add(cluster, name);
        cluster->col.alloc[column][row] = amount;
    }
}

static void set_allocatable(struct cluster *cluster, uint32_t row, const struct resource_list *list)
{
    struct columns *col = &cluster->col;
    for (uint32_t r = 0; r < col->resources; r++)
        col->alloc[r][row] = 0;
    if (!list)
        return;
    bool all = true;
    for (uint32_t i = 0; i < list->len; i++) {
        uint32_t number;
        if (cluster_resource_find(cluster, list->items[i].name, &number))
            col->alloc[number][row] = amount_of(number, list->items[i].amount);
        else
            all = false;
    }
    if (!all)
        set_new_resources(cluster, row, list);
}

static struct str label_of(const struct node *node, struct str beta, struct str stable)
{
    const struct str *found = str_map_get(&node->meta.labels, beta);
    if (!found)
        found = str_map_get(&node->meta.labels, stable);
    return found ? *found : (struct str){ 0 };
}

static sym zone_of(struct cluster *cluster, const struct node *node)
{
    struct str zone =
        label_of(node, STR("failure-domain.beta.kubernetes.io/zone"), STR("topology.kubernetes.io/zone"));
    struct str region =
        label_of(node, STR("failure-domain.beta.kubernetes.io/region"), STR("topology.kubernetes.io/region"));
    strbuf_clear(&cluster->scratch);
    if (zone.len || region.len) {
        strbuf_str(&cluster->scratch, region);
        strbuf_add(&cluster->scratch, ":\0:", 3);
        strbuf_str(&cluster->scratch, zone);
    }
    return intern_get(&cluster->syms, strbuf_slice(&cluster->scratch));
}

/* A zone keeps its turn as long as a node is in it. */
struct zone_turn {
    uint64_t turn;
    uint32_t nodes;
};

static void zone_enter(struct cluster *cluster, sym zone)
{
    struct zone_turn *entry = idmap_get(&cluster->zones, zone);
    if (!entry) {
        entry = xcalloc(1, sizeof(*entry));
        entry->turn = cluster->arrivals;
        idmap_put(&cluster->zones, zone, entry);
    }
    entry->nodes++;
}

static void zone_leave(struct cluster *cluster, sym zone)
{
    struct zone_turn *entry = idmap_get(&cluster->zones, zone);
    if (--entry->nodes == 0)
        free(idmap_remove(&cluster->zones, zone));
}

static void count_flags(struct cluster *cluster, uint32_t row, int sign)
{
    cluster->live_nodes += (uint32_t)sign;
    if (cluster->nodes.items[row].taints)
        cluster->tainted_nodes += (uint32_t)sign;
    if (cluster->col.unschedulable[row])
        cluster->unschedulable_nodes += (uint32_t)sign;
    for (uint32_t r = 0; r < cluster->col.resources; r++) {
        cluster->col.lacking[r] += cluster->col.alloc[r][row] ? 0 : (uint32_t)sign;
        cluster->col.bits[r] |= (uint64_t)cluster->col.alloc[r][row];
    }
    cluster->pods_with_affinity += (size_t)sign * cluster->nodes.items[row].with_affinity.len;
    cluster->pods_with_anti += (size_t)sign * cluster->nodes.items[row].with_anti.len;
}

/* Takes the object's own data off the row; pods stay. */
static void node_clear(struct cluster *cluster, uint32_t row)
{
    struct node_entry *node = &cluster->nodes.items[row];
    count_flags(cluster, row, -1);
    taints_unref(cluster, node->taints);
    intern_unref(&cluster->syms, node->zone);
    node->api = NULL;
    node->taints = 0;
    cluster->col.taints[row] = 0;
    cluster->col.live[row] = 0;
    cluster->col.unschedulable[row] = 0;
}

void cluster_set_node(struct cluster *cluster, const struct node *api)
{
    uint32_t row = row_for_name(cluster, api->meta.name);
    bool was_live = cluster->nodes.items[row].api;
    bool other_images = !was_live || !images_stay(cluster, row, api);
    struct label_set old_labels = cluster->nodes.items[row].labels;
    sym old_zone = cluster->nodes.items[row].zone;
    sym zone = zone_of(cluster, api);
    if (was_live)
        node_clear(cluster, row);
    if (was_live && other_images)
        images_remove(cluster, row);
    struct node_entry *node = &cluster->nodes.items[row];
    node->api = api;
    node->zone = zone;
    if (!was_live || zone != old_zone) {
        node->order_key = ++cluster->arrivals;
        if (was_live)
            zone_leave(cluster, old_zone);
        zone_enter(cluster, zone);
        cluster->order_valid = false;
    }
    label_set_init(&node->labels, &cluster->syms, &api->meta.labels);
    vec_for(&cluster->topologies, topo)
        topology_assign(*topo, row, label_set_get(&node->labels, (*topo)->key));
    label_set_release(&old_labels, &cluster->syms);
    node->taints = taints_number(cluster, api);
    cluster->col.taints[row] = node->taints;
    cluster->col.live[row] = 1;
    cluster->col.unschedulable[row] = api->spec.unschedulable;
    set_allocatable(cluster, row, &api->status.allocatable);
    count_flags(cluster, row, +1);
    if (!was_live)
        pods_count_claims(cluster, row, +1);
    if (other_images)
        images_add(cluster, row);
    row_changed(cluster, row);
    cluster_settle_resources(cluster);
}

void cluster_remove_node(struct cluster *cluster, struct str name)
{
    uint32_t row = cluster_row(cluster, name);
    if (row == ROW_NONE)
        return;
    pods_count_claims(cluster, row, -1);
    zone_leave(cluster, cluster->nodes.items[row].zone);
    node_clear(cluster, row);
    images_remove(cluster, row);
    struct node_entry *node = &cluster->nodes.items[row];
    vec_for(&cluster->topologies, topo)
        topology_assign(*topo, row, SYM_NONE);
    label_set_release(&node->labels, &cluster->syms);
    set_allocatable(cluster, row, NULL);
    cluster->order_valid = false;
    row_changed(cluster, row);
    row_release_if_empty(cluster, row);
}

/* ---- order ---- */
struct zone_rows {
    uint64_t turn;
    VEC(uint32_t) rows;
};

static int by_turn(const void *a, const void *b)
{
    uint64_t x = ((const struct zone_rows *)a)->turn, y = ((const struct zone_rows *)b)->turn;
    return (x > y) - (x < y);
}

static int by_arrival(const void *a, const void *b, void *context)
{
    const struct node_entry *nodes = context;
    uint64_t x = nodes[*(const uint32_t *)a].order_key, y = nodes[*(const uint32_t *)b].order_key;
    return (x > y) - (x < y);
}

/* One node of each zone in turn; zones and the nodes in them in the order in which they came. */
static void interleave_zones(struct cluster *cluster)
{
    VEC(struct zone_rows) zones = { 0 };
    struct idmap index = { 0 };
    vec_for(&cluster->order, row) {
        sym zone = cluster->nodes.items[*row].zone;
        size_t at = (size_t)(uintptr_t)idmap_get(&index, zone);
        if (!at) {
            const struct zone_turn *entry = idmap_get(&cluster->zones, zone);
            *vec_push(&zones) = (struct zone_rows){ .turn = entry->turn };
            at = zones.len;
            idmap_put(&index, zone, (void *)(uintptr_t)at);
        }
        *vec_push(&zones.items[at - 1].rows) = *row;
    }
    if (zones.len)
        qsort(zones.items, zones.len, sizeof(*zones.items), by_turn);
    size_t out = 0;
    for (size_t i = 0; out < cluster->order.len; i++)
        vec_for(&zones, zone)
            if (i < zone->rows.len)
                cluster->order.items[out++] = zone->rows.items[i];
    vec_for(&zones, zone)
        vec_release(&zone->rows);
    vec_release(&zones);
    idmap_release(&index);
}

static void number_places(struct cluster *cluster)
{
    cluster->order_is_rows = true;
    vec_clear(&cluster->places);
    for (size_t row = 0; row < cluster->nodes.len; row++)
        *vec_push(&cluster->places) = 0;
    for (uint32_t place = 0; place < cluster->order.len; place++) {
        cluster->places.items[cluster->order.items[place]] = place;
        cluster->order_is_rows &= cluster->order.items[place] == place;
    }
    cluster->order_number++;
}

const uint32_t *cluster_order(struct cluster *cluster, uint32_t *ret_len)
{
    if (!cluster->order_valid) {
        vec_clear(&cluster->order);
        for (uint32_t row = 0; row < cluster->nodes.len; row++)
            if (cluster->nodes.items[row].api)
                *vec_push(&cluster->order) = row;
        if (cluster->order.len)
            qsort_r(cluster->order.items, cluster->order.len, sizeof(uint32_t), by_arrival,
                    cluster->nodes.items);
        interleave_zones(cluster);
        number_places(cluster);
        cluster->order_valid = true;
    }
    *ret_len = (uint32_t)cluster->order.len;
    return cluster->order.items;
}

const uint32_t *cluster_places(struct cluster *cluster, uint64_t *ret_number)
{
    uint32_t len;
    (void)cluster_order(cluster, &len);
    *ret_number = cluster->order_number;
    return cluster->places.items;
}

/* ---- label columns ---- */
/* Columns that no table uses are freed only when there are many: pods come and go with keys of their own. */
enum { TOPOLOGIES_MANY = 256 };

void cluster_trim_topologies(struct cluster *cluster)
{
    if (cluster->topologies.len < TOPOLOGIES_MANY)
        return;
    for (size_t i = cluster->topologies.len; i-- > 0;) {
        struct topology *topo = cluster->topologies.items[i];
        if (topo->users)
            continue;
        idmap_remove(&cluster->topology_by_key, topo->key);
        intern_unref(&cluster->syms, topo->key);
        topology_release(topo);
        free(topo);
        vec_swap_remove(&cluster->topologies, i);
    }
    /* Not at each key that comes: one pod may use many. */
    cluster->topologies_many = MAX(TOPOLOGIES_MANY, 2 * cluster->topologies.len);
}

struct topology *cluster_topology_find(const struct cluster *cluster, sym key)
{
    return idmap_get(&cluster->topology_by_key, key);
}

struct topology *cluster_topology(struct cluster *cluster, sym key)
{
    struct topology *known = cluster_topology_find(cluster, key);
    if (known)
        return known;
    if (cluster->topologies.len >= MAX(TOPOLOGIES_MANY, cluster->topologies_many))
        cluster_trim_topologies(cluster);
    struct topology *topo = xmalloc(sizeof(*topo));
    topology_init(topo, key);
    intern_ref(&cluster->syms, key);
    topology_reserve(topo, cluster->rows_cap, cluster->no_domains);
    for (uint32_t row = 0; row < cluster->nodes.len; row++)
        if (cluster->nodes.items[row].api)
            topology_assign(topo, row, label_set_get(&cluster->nodes.items[row].labels, key));
    *vec_push(&cluster->topologies) = topo;
    idmap_put(&cluster->topology_by_key, key, topo);
    return topo;
}

/* ---- named objects ---- */
struct stored {
    struct str key;
    const void *object;
};

const struct strmap *cluster_store(const struct cluster *cluster, enum api_kind kind)
{
    switch (kind) {
#define X(name, type, field) \
    case KIND_##name: \
        return &cluster->field;
        CLUSTER_STORES(X)
#undef X
    default:
        return kind_is_extra(kind) ? &cluster->extras[kind - KIND_EXTRA_FIRST] : NULL;
    }
}

/* The labels of pods that an object's selector reads. */
static void store_selects(struct cluster *cluster, enum api_kind kind, const void *object)
{
    switch (kind) {
    case KIND_SERVICE:
        pod_key_select_pairs(cluster, &((const struct service *)object)->selector);
        break;
    case KIND_REPLICATION_CONTROLLER:
        pod_key_select_pairs(cluster, &((const struct replication_controller *)object)->selector);
        break;
    case KIND_REPLICA_SET:
    case KIND_STATEFUL_SET:
        pod_key_select(cluster, ((const struct workload *)object)->spec.selector);
        break;
    case KIND_PDB:
        pod_key_select(cluster, ((const struct pdb *)object)->selector);
        break;
    default:
        break;
    }
}

/* Caches of answers that depend on these objects compare versions. */
static void store_touched(struct cluster *cluster, enum api_kind kind)
{
    cluster->other_changes++;
    if (kind_is_extra(kind)) {
        cluster->extra_versions[kind - KIND_EXTRA_FIRST]++;
        cluster->extra_version++;
        return;
    }
    cluster->slices_version += kind == KIND_RESOURCE_SLICE || kind == KIND_DEVICE_TAINT_RULE;
    switch (kind) {
    case KIND_NAMESPACE:
        cluster->namespaces_version++;
        break;
    case KIND_SERVICE:
    case KIND_REPLICATION_CONTROLLER:
    case KIND_REPLICA_SET:
    case KIND_STATEFUL_SET:
        cluster->controllers_version++;
        break;
    case KIND_NODE_METRICS:
    case KIND_POD_METRICS:
        break; /* rows change: node_samples_changed() */
    case KIND_CONFIG_MAP:
        break; /* no plugin sees one */
    default:
        cluster->storage_version++;
    }
}

bool cluster_set_object(struct cluster *cluster, enum api_kind kind, const void *object,
                        const struct meta *meta)
{
    struct strmap *store = (struct strmap *)cluster_store(cluster, kind);
    if (!store)
        return false;
    struct str key = object_key(&cluster->scratch, meta->namespace, meta->name);
    struct stored *entry = strmap_make(store, key, sizeof(*entry));
    const void *before = entry->object;
    entry->object = object;
    if (kind == KIND_RESOURCE_CLAIM)
        devices_claim_changed(cluster, before, object);
    if (kind == KIND_NODE_METRICS)
        node_samples_changed(cluster, meta->name, object);
    if (kind == KIND_POD_METRICS)
        node_samples_pod_changed(cluster, meta->namespace, meta->name);
    store_selects(cluster, kind, object);
    store_touched(cluster, kind);
    return true;
}

void cluster_remove_object(struct cluster *cluster, enum api_kind kind, struct str namespace, struct str name)
{
    struct strmap *store = (struct strmap *)cluster_store(cluster, kind);
    if (!store)
        return;
    struct stored *entry = strmap_remove(store, object_key(&cluster->scratch, namespace, name));
    if (entry && kind == KIND_RESOURCE_CLAIM)
        devices_claim_changed(cluster, entry->object, NULL);
    if (entry && kind == KIND_NODE_METRICS)
        node_samples_changed(cluster, name, NULL);
    if (entry && kind == KIND_POD_METRICS)
        node_samples_pod_changed(cluster, namespace, name);
    free(entry);
    store_touched(cluster, kind);
}

const void *cluster_get_by_key(const struct strmap *store, struct str key)
{
    const struct stored *entry = strmap_get(store, key);
    return entry ? entry->object : NULL;
}

const void *cluster_get(const struct strmap *store, struct str namespace, struct str name)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    return cluster_get_by_key(store, object_key(&key, namespace, name));
}

const void *cluster_find(const struct cluster *cluster, enum api_kind kind, struct str namespace,
                         struct str name)
{
    if (kind == KIND_POD) {
        const struct pod_info *pod = cluster_find_pod(cluster, namespace, name);
        return pod ? pod->api : NULL;
    }
    if (kind == KIND_NODE) {
        uint32_t row = cluster_row(cluster, name);
        return row == ROW_NONE ? NULL : cluster_node(cluster, row)->api;
    }
    const struct strmap *store = cluster_store(cluster, kind);
    return store ? cluster_get(store, namespace, name) : NULL;
}

const void *stored_object(const struct map_slot *slot)
{
    return ((const struct stored *)slot->value)->object;
}

void cluster_release(struct cluster *cluster)
{
    pods_release(cluster);
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        if (cluster->nodes.items[row].api)
            cluster_remove_node(cluster, cluster_node_name(cluster, row));
    }
    vec_release(&cluster->key_paths);
    vec_release(&cluster->nodes);
    strmap_release(&cluster->rows_by_name);
    vec_release(&cluster->free_rows);
    for (uint32_t r = 0; r < cluster->col.resources; r++) {
        free(cluster->col.alloc[r]);
        free(cluster->col.used[r]);
        free((char *)cluster->resource_names.items[r].ptr);
    }
    free(cluster->col.bits);
    free(cluster->col.lacking);
    free(cluster->col.pinned);
    free(cluster->col.alloc);
    free(cluster->col.used);
#define X(name) free(cluster->col.name);
    COLUMN_LIST(X)
#undef X
    node_samples_release(cluster);
    strmap_release(&cluster->resource_numbers);
    strmap_release(&cluster->absent_resources);
    vec_release(&cluster->resource_names);
    vec_release(&cluster->order);
    vec_release(&cluster->places);
    idmap_release(&cluster->zones);
    vec_release(&cluster->log);
    vec_for(&cluster->topologies, topo) {
        topology_release(*topo);
        free(*topo);
    }
    vec_release(&cluster->topologies);
    free(cluster->no_domains);
    idmap_release(&cluster->topology_by_key);
    free(cluster->taint_lists.items[0]);
    vec_release(&cluster->taint_lists);
    strmap_release(&cluster->taint_numbers);
    idmap_release(&cluster->images);
    for (int i = 0; i < EXTRA_KINDS_MAX; i++) {
        map_for(&cluster->extras[i], slot)
            free(slot->value);
        strmap_release(&cluster->extras[i]);
    }
#define X(kind, type, field) \
    map_for(&cluster->field, slot) \
        free(slot->value); \
    strmap_release(&cluster->field);
    CLUSTER_STORES(X)
#undef X
    volumes_free(cluster->volumes);
    devices_free(cluster->devices);
    strbuf_release(&cluster->scratch);
    arena_release(&cluster->scratch_arena);
    intern_release(&cluster->syms);
}
