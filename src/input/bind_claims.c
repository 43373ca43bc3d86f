/* bind_claims.c: see bind_claims.h. */
#include "input/bind_claims.h"

#include "api/labels.h"
#include "cluster/volumes.h"
#include "input/pod_factory.h"

/* The available volumes of a class. */
struct class_volumes {
    VEC(struct pv *) items; /* smallest first, then by name */
    size_t free;            /* those before are bound by now */
};

struct claim_binding {
    struct load *load;
    struct arena *arena;
    VEC(struct class_volumes *) classes;
    struct strmap by_class; /* the same, by name */
    struct strmap reserved; /* by the full name of the claim: struct pv */
};

static bool is_filesystem(struct str mode)
{
    return str_empty(mode) || str_is(mode, "Filesystem");
}

static bool has_modes(const struct pv *pv, const struct pvc *claim)
{
    list_for(&claim->spec.access_modes, mode)
        if (!str_list_has(&pv->spec.access_modes, *mode))
            return false;
    return true;
}

/* What also a volume must have that was chosen by name. */
static bool satisfies(const struct pv *pv, const struct pvc *claim)
{
    struct quantity size = storage_amount(&pv->spec.capacity, NULL);
    return !pv->meta.deletion_time.set &&
           (!pv->spec.claim_ref || claim_ref_matches(pv->spec.claim_ref, claim)) &&
           quantity_cmp(size, storage_amount(&claim->spec.resources.requests, NULL)) >= 0 &&
           str_eq(pv->spec.storage_class_name, pvc_class_name(claim)) &&
           is_filesystem(pv->spec.volume_mode) == is_filesystem(claim->spec.volume_mode);
}

static bool waits_for_pod(const struct load *load, const struct pvc *claim)
{
    const struct storage_class *class =
        load_find(load, KIND_STORAGE_CLASS, (struct str){ 0 }, pvc_class_name(claim));
    return class && str_is(class->binding_mode, "WaitForFirstConsumer");
}

static int smaller_first(const void *a, const void *b)
{
    const struct pv *x = *(struct pv *const *)a, *y = *(struct pv *const *)b;
    return quantity_cmp(storage_amount(&x->spec.capacity, NULL), storage_amount(&y->spec.capacity, NULL))
               ?: str_cmp(x->meta.name, y->meta.name);
}

static void add_volume(struct claim_binding *binding, struct pv *pv)
{
    const struct object_ref *ref = pv->spec.claim_ref;
    struct class_volumes *class = strmap_get(&binding->by_class, pv->spec.storage_class_name);
    if (ref) {
        struct str full = full_name(&binding->load->key, ref->namespace, ref->name);
        strmap_put(&binding->reserved, arena_str(binding->arena, full), pv);
        return;
    }
    if (!class) {
        class = arena_new(binding->arena, struct class_volumes);
        *class = (struct class_volumes){ 0 };
        strmap_put(&binding->by_class, pv->spec.storage_class_name, class);
        *vec_push(&binding->classes) = class;
    }
    *vec_push(&class->items) = pv;
}

static void find_volumes(struct claim_binding *binding)
{
    vec_for(&binding->load->objects[KIND_PV], item)
        if (str_is(((const struct pv *)*item)->phase, "Available"))
            add_volume(binding, (struct pv *)*item);
    vec_for(&binding->classes, class)
        vec_sort(&(*class)->items, smaller_first);
}

/* NULL: none. */
static struct pv *choose(const struct claim_binding *binding, const struct pvc *claim)
{
    struct str full = full_name(&binding->load->key, claim->meta.namespace, claim->meta.name);
    struct pv *pv = strmap_get(&binding->reserved, full);
    struct class_volumes *class = strmap_get(&binding->by_class, pvc_class_name(claim));
    if (pv || !class || waits_for_pod(binding->load, claim))
        return pv && satisfies(pv, claim) ? pv : NULL;
    while (class->free < class->items.len && class->items.items[class->free]->spec.claim_ref)
        class->free++;
    for (size_t i = class->free; i < class->items.len; i++) {
        pv = class->items.items[i];
        if (satisfies(pv, claim) && has_modes(pv, claim) &&
            (!claim->spec.selector || label_selector_matches(claim->spec.selector, &pv->meta.labels)))
            return pv;
    }
    return NULL;
}

static struct pv *named(const struct load *load, const struct pvc *claim)
{
    struct pv *pv = load_find(load, KIND_PV, (struct str){ 0 }, claim->spec.volume_name);
    return pv && str_is(pv->phase, "Available") && satisfies(pv, claim) ? pv : NULL;
}

static void bind(struct pv *pv, struct pvc *claim, struct arena *arena)
{
    struct object_ref *ref = arena_new(arena, struct object_ref);
    *ref = (struct object_ref){ .namespace = claim->meta.namespace, .name = claim->meta.name };
    pv->spec.claim_ref = ref;
    pv->phase = STR("Bound");
    claim->spec.volume_name = pv->meta.name;
    claim->status.phase = STR("Bound");
    claim->meta.annotations =
        str_map_with(&claim->meta.annotations, STR(ANNOTATION_BIND_COMPLETED), STR("yes"), arena);
}

static void binding_release(struct claim_binding *binding)
{
    vec_for(&binding->classes, class)
        vec_release(&(*class)->items);
    vec_release(&binding->classes);
    strmap_release(&binding->by_class);
    strmap_release(&binding->reserved);
}

/* One that a later object of the same name has replaced does not count. */
static bool counts(const struct load *load, const struct meta *object, enum api_kind kind)
{
    return object->kind == kind && load_find(load, kind, object->namespace, object->name) == object;
}

void bind_written_claims(struct load *load, struct arena *arena)
{
    struct claim_binding binding = { .load = load, .arena = arena };
    vec_for(&load->written, item) {
        struct pv *pv = (struct pv *)*item;
        if (counts(load, *item, KIND_PV) && str_is(pv->phase, "Pending"))
            pv->phase = STR("Available");
    }
    find_volumes(&binding);
    vec_for(&load->written, item) {
        struct pvc *claim = (struct pvc *)*item;
        if (!counts(load, *item, KIND_PVC) || pvc_fully_bound(claim))
            continue;
        struct pv *pv = str_empty(claim->spec.volume_name) ? choose(&binding, claim) : named(load, claim);
        if (pv)
            bind(pv, claim, arena);
    }
    binding_release(&binding);
}
