/* volumes.c: assumed bindings, and sorted indexes over the stores of volumes, capacities and attachments. */
#include "cluster/volumes.h"

#include <stdlib.h>

#include "api/labels.h"
#include "api/names.h"
#include "api/resource_list.h"

/* A patch over a stored volume or claim. All strings are its own: the stored object may go any time. */
struct assumption {
    struct str key;              /* of the patched object in its store */
    struct str resource_version; /* that it was made for */
    struct object_ref claim;     /* of a volume */
    struct str node_name;        /* of a claim */
    struct arena arena;
};

/* An object in an index: sorted by group, then by namespace and name. */
struct indexed {
    struct str group;
    const struct meta *object; /* objects begin with their metadata */
};

struct index {
    struct indexed *entries;
    const void **objects; /* in the same order, for spans */
    size_t len;
    uint64_t version; /* of the stores that it shows, plus 1; 0: not built */
    struct arena arena;
};

enum { INDEX_PVS, INDEX_CAPACITIES, INDEX_ATTACHMENTS, INDEX_COUNT };

struct volumes {
    struct index indexes[INDEX_COUNT];
    uint64_t pruned_version;                 /* of the stores when stale assumptions were dropped last */
    struct strmap assumed_pvs, assumed_pvcs; /* key to struct assumption */
};

/* ---- indexes ---- */
static int indexed_cmp(const void *x, const void *y)
{
    const struct indexed *a = x, *b = y;
    int order = str_cmp(a->group, b->group);
    if (!order)
        order = str_cmp(a->object->namespace, b->object->namespace);
    return order ? order : str_cmp(a->object->name, b->object->name);
}

/* The old annotation goes first. */
static struct str class_name_of(const struct meta *meta, struct str class_name)
{
    const struct str *old = str_map_get(&meta->annotations, STR(ANNOTATION_BETA_CLASS));
    return old ? *old : class_name;
}

typedef struct str (*group_fn)(const void *object);

static struct str group_of_pv(const void *object)
{
    const struct pv *pv = object;
    return class_name_of(&pv->meta, pv->spec.storage_class_name);
}

static struct str group_of_capacity(const void *object)
{
    return ((const struct csi_storage_capacity *)object)->storage_class_name;
}

static struct str group_of_attachment(const void *object)
{
    return ((const struct volume_attachment *)object)->node_name;
}

static void index_build(struct index *index, const struct strmap *store, group_fn group_of)
{
    arena_reset(&index->arena);
    index->entries = arena_array(&index->arena, struct indexed, store->len);
    index->objects = arena_array(&index->arena, const void *, store->len);
    index->len = 0;
    map_for(store, slot)
        index->entries[index->len++] = (struct indexed){ group_of(stored_object(slot)), stored_object(slot) };
    if (index->len)
        qsort(index->entries, index->len, sizeof(*index->entries), indexed_cmp);
    for (size_t i = 0; i < index->len; i++)
        index->objects[i] = index->entries[i].object;
}

/* The first entry whose group is not before (or with `after` set: is after) the given one. */
static size_t index_bound(const struct index *index, struct str group, bool after)
{
    size_t low = 0, high = index->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(index->entries[middle].group, group);
        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define index_span(type, index, group) \
    ({ \
        size_t from_ = index_bound((index), (group), false); \
        (struct type){ (const void *)((index)->objects + from_), \
                       index_bound((index), (group), true) - from_ }; \
    })

struct pv_span volumes_of_class(const struct volumes *volumes, struct str class_name)
{
    return index_span(pv_span, &volumes->indexes[INDEX_PVS], class_name);
}

struct capacity_span volumes_capacities(const struct volumes *volumes, struct str class_name)
{
    return index_span(capacity_span, &volumes->indexes[INDEX_CAPACITIES], class_name);
}

struct attachment_span volumes_attachments(const struct volumes *volumes, struct str node_name)
{
    return index_span(attachment_span, &volumes->indexes[INDEX_ATTACHMENTS], node_name);
}

/* ---- assumptions ---- */
static void assumption_free(struct assumption *assumption)
{
    if (!assumption)
        return;
    arena_release(&assumption->arena);
    free(assumption);
}

static void assumptions_release(struct strmap *map)
{
    map_for(map, slot)
        assumption_free(slot->value);
    strmap_release(map);
}

void volumes_free(struct volumes *volumes)
{
    if (!volumes)
        return;
    assumptions_release(&volumes->assumed_pvs);
    assumptions_release(&volumes->assumed_pvcs);
    for (size_t i = 0; i < INDEX_COUNT; i++)
        arena_release(&volumes->indexes[i].arena);
    free(volumes);
}

/* Drops assumptions about objects that are gone or newer, so that a long life does not collect them. */
static void assumptions_prune(struct strmap *map, const struct strmap *store)
{
    VEC(struct assumption *) stale = { 0 };
    map_for(map, slot) {
        struct assumption *assumption = slot->value;
        const struct meta *meta = cluster_get_by_key(store, assumption->key);
        if (!meta || !str_eq(meta->resource_version, assumption->resource_version))
            *vec_push(&stale) = assumption;
    }
    vec_for(&stale, assumption) {
        strmap_remove(map, (*assumption)->key);
        assumption_free(*assumption);
    }
    vec_release(&stale);
}

static_assert(offsetof(struct pv, meta) == 0 && offsetof(struct pvc, meta) == 0, "metadata comes first");

struct volumes *volumes_get(struct cluster *cluster, unsigned wanted)
{
    if (!cluster->volumes)
        cluster->volumes = xcalloc(1, sizeof(*cluster->volumes));
    struct volumes *volumes = cluster->volumes;
    const struct {
        const struct strmap *store;
        group_fn group_of;
    } sources[INDEX_COUNT] = {
        [INDEX_PVS] = { &cluster->pvs, group_of_pv },
        [INDEX_CAPACITIES] = { &cluster->csi_capacities, group_of_capacity },
        [INDEX_ATTACHMENTS] = { &cluster->attachments, group_of_attachment },
    };
    for (size_t i = 0; i < INDEX_COUNT; i++) {
        struct index *index = &volumes->indexes[i];
        if (!(wanted >> i & 1) || index->version == cluster->storage_version + 1)
            continue;
        index_build(index, sources[i].store, sources[i].group_of);
        index->version = cluster->storage_version + 1;
    }
    if (volumes->pruned_version != cluster->storage_version) {
        assumptions_prune(&volumes->assumed_pvs, &cluster->pvs);
        assumptions_prune(&volumes->assumed_pvcs, &cluster->pvcs);
        volumes->pruned_version = cluster->storage_version;
    }
    return volumes;
}

/* The assumption about an object, unless the stored object is newer. */
static const struct assumption *assumption_find(const struct strmap *map, const struct meta *meta)
{
    if (!map->len)
        return NULL;
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    const struct assumption *found = strmap_get(map, object_key(&key, meta->namespace, meta->name));
    return found && str_eq(found->resource_version, meta->resource_version) ? found : NULL;
}

static struct assumption *assumption_put(struct strmap *map, const struct meta *meta)
{
    struct assumption *assumption = xcalloc(1, sizeof(*assumption));
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    assumption->key = arena_str(&assumption->arena, object_key(&key, meta->namespace, meta->name));
    assumption->resource_version = arena_str(&assumption->arena, meta->resource_version);
    /* The key of an entry lives in its value: both are replaced. */
    assumption_free(strmap_remove(map, assumption->key));
    strmap_put(map, assumption->key, assumption);
    return assumption;
}

static bool assumption_remove(struct strmap *map, struct str namespace, struct str name,
                              struct str resource_version)
{
    _cleanup_(strbuf_release) struct strbuf buf = { 0 };
    struct str key = object_key(&buf, namespace, name);
    const struct assumption *found = strmap_get(map, key);
    if (!found || !str_eq(found->resource_version, resource_version))
        return false;
    assumption_free(strmap_remove(map, key));
    return true;
}

/* Caches that follow storage_version see a change; the indexes list stored objects only and stay valid. */
static void volumes_touched(struct cluster *cluster)
{
    struct volumes *volumes = cluster->volumes;
    uint64_t before = cluster->storage_version++;
    for (size_t i = 0; i < INDEX_COUNT; i++)
        if (volumes->indexes[i].version == before + 1)
            volumes->indexes[i].version++;
    if (volumes->pruned_version == before)
        volumes->pruned_version++;
}

const struct object_ref *volumes_claim_ref(const struct volumes *volumes, const struct pv *pv)
{
    const struct assumption *assumed = assumption_find(&volumes->assumed_pvs, &pv->meta);
    return assumed ? &assumed->claim : pv->spec.claim_ref;
}

const struct str *volumes_selected_node(const struct volumes *volumes, const struct pvc *pvc)
{
    const struct assumption *assumed = assumption_find(&volumes->assumed_pvcs, &pvc->meta);
    return assumed ? &assumed->node_name : str_map_get(&pvc->meta.annotations, STR(ANNOTATION_SELECTED_NODE));
}

void volumes_assume_pv(struct cluster *cluster, const struct pv *pv, const struct pvc *pvc)
{
    struct volumes *volumes = volumes_get(cluster, 0);
    struct assumption *assumed = assumption_put(&volumes->assumed_pvs, &pv->meta);
    assumed->claim = (struct object_ref){
        .kind = STR("PersistentVolumeClaim"),
        .api_version = STR("v1"),
        .namespace = arena_str(&assumed->arena, pvc->meta.namespace),
        .name = arena_str(&assumed->arena, pvc->meta.name),
        .uid = arena_str(&assumed->arena, pvc->meta.uid),
    };
    volumes_touched(cluster);
}

void volumes_assume_pvc(struct cluster *cluster, const struct pvc *pvc, struct str node_name)
{
    struct volumes *volumes = volumes_get(cluster, 0);
    struct assumption *assumed = assumption_put(&volumes->assumed_pvcs, &pvc->meta);
    assumed->node_name = arena_str(&assumed->arena, node_name);
    volumes_touched(cluster);
}

void volumes_restore_pv(struct cluster *cluster, struct str name, struct str resource_version)
{
    struct volumes *volumes = volumes_get(cluster, 0);
    if (assumption_remove(&volumes->assumed_pvs, (struct str){ 0 }, name, resource_version))
        volumes_touched(cluster);
}

void volumes_restore_pvc(struct cluster *cluster, struct str namespace, struct str name,
                         struct str resource_version)
{
    struct volumes *volumes = volumes_get(cluster, 0);
    if (assumption_remove(&volumes->assumed_pvcs, namespace, name, resource_version))
        volumes_touched(cluster);
}

/* ---- the objects themselves ---- */
struct str pvc_class_name(const struct pvc *pvc)
{
    return class_name_of(&pvc->meta, pvc->spec.storage_class_name);
}

const struct storage_class *pvc_class(const struct cluster *cluster, const struct pvc *pvc)
{
    struct str name = pvc_class_name(pvc);
    return name.len ? cluster_get(&cluster->storage_classes, (struct str){ 0 }, name) : NULL;
}

const struct pv *pvc_volume(const struct cluster *cluster, const struct pvc *pvc)
{
    struct str name = pvc->spec.volume_name;
    return name.len ? cluster_get(&cluster->pvs, (struct str){ 0 }, name) : NULL;
}

bool pvc_fully_bound(const struct pvc *pvc)
{
    return pvc->spec.volume_name.len && str_map_get(&pvc->meta.annotations, STR(ANNOTATION_BIND_COMPLETED));
}

bool claim_ref_matches(const struct object_ref *ref, const struct pvc *pvc)
{
    return ref && str_eq(ref->name, pvc->meta.name) && str_eq(ref->namespace, pvc->meta.namespace) &&
           (!ref->uid.len || str_eq(ref->uid, pvc->meta.uid));
}

struct quantity storage_amount(const struct resource_list *list, bool *ret_given)
{
    if (ret_given)
        *ret_given = resource_list_get(list, STR("storage"));
    return resource_list_amount(list, STR("storage"));
}
