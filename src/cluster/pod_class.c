/* pod_class.c: finds the class of a pod by its key, compiles a new one. */
#include "cluster/pod_class.h"

#include <stdlib.h>

#include "api/labels.h"
#include "cluster/model.h"
#include "cluster/pod_key.h"
#include "config/requests.h"

/* ---- namespace and labels ---- */
static uint32_t number_take(struct number_pool *pool, uint32_t *ret_epoch)
{
    *ret_epoch = ++pool->epochs;
    return pool->free.len ? pool->free.items[--pool->free.len] : pool->next++;
}

static struct str copy_text(struct str text)
{
    char *copy = xmalloc(text.len + 1);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return (struct str){ copy, text.len };
}

static struct label_owner *owner_get(struct cluster *cluster, const struct pod *pod)
{
    strbuf_clear(&cluster->scratch);
    pod_key_labels(cluster, &cluster->scratch, pod);
    struct label_owner *owner = strmap_get(&cluster->label_owners, strbuf_slice(&cluster->scratch));
    if (owner) {
        owner->refs++;
        return owner;
    }
    owner = xcalloc(1, sizeof(*owner));
    owner->refs = 1;
    owner->key = copy_text(strbuf_slice(&cluster->scratch));
    owner->namespace = intern_get(&cluster->syms, pod->meta.namespace);
    struct str_map labels = pod_key_labels_of(cluster, pod, &cluster->scratch_arena);
    label_set_init(&owner->labels, &cluster->syms, &labels);
    arena_reset(&cluster->scratch_arena);
    owner->number = number_take(&cluster->label_numbers, &owner->epoch);
    strmap_put(&cluster->label_owners, owner->key, owner);
    match_index_add_owner(&cluster->matches, owner);
    return owner;
}

static void owner_unref(struct cluster *cluster, struct label_owner *owner)
{
    if (--owner->refs)
        return;
    strmap_remove(&cluster->label_owners, owner->key);
    match_index_remove_owner(&cluster->matches, owner);
    vec_release(&owner->placed);
    *vec_push(&cluster->label_numbers.free) = owner->number;
    intern_unref(&cluster->syms, owner->namespace);
    label_set_release(&owner->labels, &cluster->syms);
    free((char *)owner->key.ptr);
    free(owner);
}

/* ---- affinity terms ---- */
static void compile_namespaces(struct cluster *cluster, struct arena *arena, const struct pod *pod,
                               const struct pod_affinity_term *api, struct pod_term *term)
{
    bool own = !api->namespaces.len && !api->namespace_selector;
    term->namespaces_len = own ? 1 : api->namespaces.len;
    term->namespaces = arena_array(arena, sym, term->namespaces_len);
    for (uint32_t i = 0; i < term->namespaces_len; i++)
        term->namespaces[i] =
            intern_get(&cluster->syms, own ? pod->meta.namespace : api->namespaces.items[i]);
    selector_init(&term->namespace_selector, &cluster->syms, arena, api->namespace_selector);
    term->any_namespace = selector_is_empty(&term->namespace_selector);
}

static void compile_term(struct cluster *cluster, struct arena *arena, const struct pod *pod,
                         const struct pod_affinity_term *api, int32_t weight, struct pod_term *term)
{
    selector_init(&term->selector, &cluster->syms, arena, api->selector);
    compile_namespaces(cluster, arena, pod, api, term);
    term->topology_key = intern_get(&cluster->syms, api->topology_key);
    term->weight = weight;
}

static void compile_required(struct cluster *cluster, struct arena *arena, const struct pod *pod,
                             const struct pod_affinity *api, struct pod_terms *terms)
{
    terms->len = api ? api->required.len : 0;
    terms->items = arena_array(arena, struct pod_term, terms->len);
    for (uint32_t i = 0; i < terms->len; i++)
        compile_term(cluster, arena, pod, &api->required.items[i], 0, &terms->items[i]);
}

static void compile_preferred(struct cluster *cluster, struct term_owner *owner, const struct pod *pod)
{
    const struct affinity *affinity = pod->spec.affinity;
    uint32_t likes = affinity->pod ? affinity->pod->preferred.len : 0;
    uint32_t dislikes = affinity->pod_anti ? affinity->pod_anti->preferred.len : 0;
    struct pod_term *term = arena_array(&owner->arena, struct pod_term, likes + dislikes);
    owner->preferred = (struct pod_terms){ .items = term, .len = likes + dislikes };
    for (uint32_t i = 0; i < likes; i++, term++)
        compile_term(cluster, &owner->arena, pod, &affinity->pod->preferred.items[i].term,
                     affinity->pod->preferred.items[i].weight, term);
    for (uint32_t i = 0; i < dislikes; i++, term++)
        compile_term(cluster, &owner->arena, pod, &affinity->pod_anti->preferred.items[i].term,
                     -affinity->pod_anti->preferred.items[i].weight, term);
}

static struct term_owner *terms_get(struct cluster *cluster, const struct pod *pod)
{
    strbuf_clear(&cluster->scratch);
    pod_key_terms(&cluster->scratch, pod);
    struct term_owner *owner = strmap_get(&cluster->term_owners, strbuf_slice(&cluster->scratch));
    if (owner) {
        owner->refs++;
        return owner;
    }
    owner = xcalloc(1, sizeof(*owner));
    owner->refs = 1;
    owner->key = copy_text(strbuf_slice(&cluster->scratch));
    owner->number = number_take(&cluster->term_numbers, &owner->epoch);
    compile_required(cluster, &owner->arena, pod, pod->spec.affinity->pod, &owner->affinity);
    compile_required(cluster, &owner->arena, pod, pod->spec.affinity->pod_anti, &owner->anti);
    compile_preferred(cluster, owner, pod);
    strmap_put(&cluster->term_owners, owner->key, owner);
    match_index_add_terms(&cluster->matches, owner);
    return owner;
}

static void release_terms(struct cluster *cluster, struct pod_terms *terms)
{
    for (uint32_t i = 0; i < terms->len; i++) {
        struct pod_term *term = &terms->items[i];
        selector_release(&term->selector, &cluster->syms);
        selector_release(&term->namespace_selector, &cluster->syms);
        for (uint32_t n = 0; n < term->namespaces_len; n++)
            intern_unref(&cluster->syms, term->namespaces[n]);
        intern_unref(&cluster->syms, term->topology_key);
    }
}

static void terms_unref(struct cluster *cluster, struct term_owner *owner)
{
    if (!owner || --owner->refs)
        return;
    strmap_remove(&cluster->term_owners, owner->key);
    match_index_remove_terms(&cluster->matches, owner);
    vec_release(&owner->placed);
    *vec_push(&cluster->term_numbers.free) = owner->number;
    release_terms(cluster, &owner->affinity);
    release_terms(cluster, &owner->anti);
    release_terms(cluster, &owner->preferred);
    arena_release(&owner->arena);
    free((char *)owner->key.ptr);
    free(owner);
}

static bool namespace_selected(const struct cluster *cluster, const struct pod_term *term, sym namespace)
{
    const struct namespace *object =
        cluster_get(&cluster->namespaces, (struct str){ 0 }, intern_text(&cluster->syms, namespace));
    struct label_set labels = { 0 };
    if (!object)
        return selector_matches(&term->namespace_selector, &labels, &cluster->syms);
    for (uint32_t i = 0; i < term->namespace_selector.len; i++) {
        const struct requirement *req = &term->namespace_selector.items[i];
        const struct str *label = str_map_get(&object->meta.labels, intern_text(&cluster->syms, req->key));
        sym value = label ? intern_find(&cluster->syms, *label) : SYM_NONE;
        /* A value that was never interned is none of those listed. */
        bool holds = label && !value ? req->op == OP_NOT_IN || req->op == OP_EXISTS
                                     : requirement_holds(req, value, &cluster->syms);
        if (!holds)
            return false;
    }
    return !term->namespace_selector.never;
}

bool pod_term_takes_namespace(const struct cluster *cluster, const struct pod_term *term,
                              const struct label_owner *owner, bool incoming)
{
    bool namespace_ok = term->any_namespace;
    for (uint32_t i = 0; i < term->namespaces_len && !namespace_ok; i++)
        namespace_ok = term->namespaces[i] == owner->namespace;
    if (!namespace_ok && !term->namespace_selector.never) {
        static const struct label_set no_labels;
        /* For the incoming pod's terms the reference lists the namespaces that match. Some releases then still ask
         * the selector about a pod whose namespace labels they do not know: negative selectors match them all. */
        bool asks_again = incoming && !cluster->features.release->selected_namespaces_are_a_list;
        bool is_there = !incoming || cluster_get(&cluster->namespaces, (struct str){ 0 },
                                                 intern_text(&cluster->syms, owner->namespace));
        namespace_ok =
            (is_there && namespace_selected(cluster, term, owner->namespace)) ||
            (asks_again && selector_matches(&term->namespace_selector, &no_labels, &cluster->syms));
    }
    return namespace_ok;
}

bool pod_term_matches(const struct cluster *cluster, const struct pod_term *term,
                      const struct label_owner *owner, bool incoming)
{
    return pod_term_takes_namespace(cluster, term, owner, incoming) &&
           selector_matches(&term->selector, &owner->labels, &cluster->syms);
}

/* ---- ports ---- */
int host_port_cmp(const struct host_port *a, const struct host_port *b)
{
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    if (a->protocol != b->protocol)
        return a->protocol < b->protocol ? -1 : 1;
    return (a->ip > b->ip) - (a->ip < b->ip);
}

static int by_port(const void *a, const void *b)
{
    return host_port_cmp(a, b);
}

void host_ports_sort(struct host_port *ports, uint32_t len)
{
    if (len > 1)
        qsort(ports, len, sizeof(*ports), by_port);
}

/* Where the first port begins that is not before this one. */
static size_t first_from(struct port_span ports, const struct host_port *from)
{
    size_t low = 0, high = ports.len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (host_port_cmp(&ports.items[middle], from) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool host_port_is_taken(struct port_span used, const struct host_port *want, sym any_ip)
{
    /* The least address, so that the first port from here has any address; then the addresses that matter. */
    const sym ips[] = { 0, want->ip, any_ip };
    bool any = want->ip == any_ip;
    for (size_t i = any ? 0 : 1; i < (any ? 1 : ARRAY_SIZE(ips)); i++) {
        struct host_port from = { ips[i], want->protocol, want->port };
        size_t at = first_from(used, &from);
        if (at < used.len && used.items[at].port == want->port && used.items[at].protocol == want->protocol &&
            (any || used.items[at].ip == ips[i]))
            return true;
    }
    return false;
}

static void compile_ports(struct cluster *cluster, struct pod_class *cls, const struct pod *pod)
{
    const struct container_port **ports;
    uint32_t len = pod_host_ports(pod, &cls->arena, &ports);
    cls->ports = arena_array(&cls->arena, struct host_port, len);
    for (uint32_t i = 0; i < len; i++)
        cls->ports[i] = (struct host_port){ intern_get(&cluster->syms, host_port_ip(ports[i])),
                                            intern_get(&cluster->syms, host_port_protocol(ports[i])),
                                            ports[i]->host_port };
    cls->ports_len = len;
    host_ports_sort(cls->ports, len);
}

/* ---- classes ---- */
static void compile(struct cluster *cluster, struct pod_class *cls)
{
    const struct pod *pod = cls->sample->api;
    struct arena *arena = &cls->arena;
    struct resource_list fit;
    cls->labels = owner_get(cluster, pod);
    struct pod_requests_options opts = requests_options(&cluster->features);
    pod_fit_requests(pod, opts, arena, &fit);
    cls->fit = amounts_compile(cluster, arena, &fit, &cls->fit_len, &cls->fit_absent);
    usage_compile(cluster, pod, opts, arena, &cls->used);
    compile_ports(cluster, cls, pod);
    const struct affinity *affinity = pod->spec.affinity;
    if (affinity && (affinity->pod || affinity->pod_anti)) {
        cls->has_affinity_section = true;
        cls->terms = terms_get(cluster, pod);
        cls->affinity = cls->terms->affinity;
        cls->anti = cls->terms->anti;
        cls->preferred = cls->terms->preferred;
    }
    cls->has_claims = pod_has_claims(pod);
    cls->has_volumes = pod_has_volumes(pod);
    cls->has_devices = pod_has_devices(pod);
}

/* What compile() reads, and whose pods a profile schedules. Labels are in every key. */
#define CONTAINER_FIELDS(list) \
    "spec." list "[].resources", "spec." list "[].restartPolicy", "spec." list "[].ports[].hostIP", \
        "spec." list "[].ports[].hostPort", "spec." list "[].ports[].protocol"
static const char *const own_reads[] = {
    "spec.schedulerName",
    "spec.affinity",
    CONTAINER_FIELDS("containers"),
    CONTAINER_FIELDS("initContainers"),
    "spec.containers[].name",
    "spec.overhead",
    "spec.resources",
    "spec.resourceClaims",
    "spec.volumes",
    "status.allocatedResources",
    "status.conditions",
    "status.containerStatuses",
    "status.initContainerStatuses",
    "status.resize",
    "status.resources",
};

void pod_classes_init(struct cluster *cluster)
{
    for (size_t i = 0; i < ARRAY_SIZE(own_reads); i++)
        pod_key_read(cluster, own_reads[i]);
}

static bool select_terms(struct cluster *cluster, const struct pod_affinity *affinity)
{
    bool changed = false;
    if (!affinity)
        return false;
    list_for(&affinity->required, term)
        changed |= pod_key_select(cluster, term->selector);
    list_for(&affinity->preferred, item)
        changed |= pod_key_select(cluster, item->term.selector);
    return changed;
}

/* The labels that the selectors of a pod read. */
static bool select_labels(struct cluster *cluster, const struct pod *pod)
{
    const struct affinity *affinity = pod->spec.affinity;
    bool changed = affinity && select_terms(cluster, affinity->pod);
    changed |= affinity && select_terms(cluster, affinity->pod_anti);
    list_for(&pod->spec.spread, constraint) {
        changed |= pod_key_select(cluster, constraint->selector);
        list_for(&constraint->match_label_keys, key)
            changed |= pod_key_select_pairs(
                cluster, &(struct str_map){ .items = &(struct pair){ .key = *key }, .len = 1 });
    }
    return changed;
}

static struct pod_class *find_class(struct cluster *cluster, const struct pod *pod)
{
    strbuf_clear(&cluster->scratch);
    pod_key_put(cluster, &cluster->scratch, pod);
    return strmap_get(&cluster->classes, strbuf_slice(&cluster->scratch));
}

struct pod_class *pod_class_get(struct cluster *cluster, struct pod_info *pod)
{
    struct pod_class *cls = find_class(cluster, pod->api);
    if (!cls && select_labels(cluster, pod->api))
        cls = find_class(cluster, pod->api);
    if (cls) {
        cls->refs++;
        return cls;
    }
    cls = xcalloc(1, sizeof(*cls));
    cls->refs = 1;
    cls->key = copy_text(strbuf_slice(&cluster->scratch));
    cls->sample = pod;
    pod_info_ref(pod);
    strmap_put(&cluster->classes, cls->key, cls);
    compile(cluster, cls);
    return cls;
}

void pod_class_unref(struct cluster *cluster, struct pod_class *cls)
{
    if (--cls->refs)
        return;
    if (!cls->is_replaced)
        strmap_remove(&cluster->classes, cls->key);
    if (cls->index)
        cluster->index_free(cls->index);
    terms_unref(cluster, cls->terms);
    absent_release(cluster, &cls->fit_absent);
    absent_release(cluster, &cls->used.absent);
    for (uint32_t i = 0; i < cls->ports_len; i++) {
        intern_unref(&cluster->syms, cls->ports[i].ip);
        intern_unref(&cluster->syms, cls->ports[i].protocol);
    }
    owner_unref(cluster, cls->labels);
    if (cls->sample->class == cls)
        cls->sample->class = NULL;
    pod_info_unref(cluster, cls->sample);
    arena_release(&cls->arena);
    free((char *)cls->key.ptr);
    free(cls);
}

void pod_classes_renew(struct cluster *cluster)
{
    if (!cluster->pods.len)
        return;
    map_for(&cluster->classes, slot)
        ((struct pod_class *)slot->value)->is_replaced = true;
    strmap_release(&cluster->classes);
    map_for(&cluster->pods, slot) {
        struct pod_info *pod = slot->value;
        struct pod_class *old = pod->class;
        struct node_claims *claims = pod->node_claims;
        struct pod_usage used = *pod_used(pod);
        pod->class = pod_class_get(cluster, pod);
        if (claims)
            pod->node_claims = node_claims_new(cluster, pod->api, &claims->list);
        pod_labels_moved(pod, old->labels);
        pod_amounts_moved(cluster, pod, &used);
        node_claims_free(cluster, claims);
        pod_class_unref(cluster, old);
    }
}
