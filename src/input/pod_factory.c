/* pod_factory.c: pods, names and claims as controllers make them; see pod_factory.h. */
#include "input/pod_factory.h"

#include "api/fields.h"
#include "api/labels.h"

enum { NAME_LEN_MAX = 63, SUFFIX_LEN = 5 };

void factory_init(struct pod_factory *factory, struct load *load)
{
    *factory = (struct pod_factory){ .load = load };
    admission_init(&factory->admission, load);
}

void factory_release(struct pod_factory *factory)
{
    admission_release(&factory->admission);
    strmap_release(&factory->taken);
    vec_release(&factory->claims);
    strbuf_release(&factory->scratch);
    arena_release(&factory->arena);
}

struct str_map str_map_with(const struct str_map *map, struct str key, struct str value, struct arena *arena)
{
    struct pair *items = arena_array(arena, struct pair, (size_t)map->len + 1);
    uint32_t len = 0, at = 0;
    while (at < map->len && str_cmp(map->items[at].key, key) < 0)
        items[len++] = map->items[at++];
    items[len++] = (struct pair){ key, value };
    if (at < map->len && str_eq(map->items[at].key, key))
        at++;
    while (at < map->len)
        items[len++] = map->items[at++];
    return (struct str_map){ items, len };
}

static void set_controller(struct meta *meta, enum api_kind kind, const struct meta *controller,
                           struct arena *arena)
{
    meta->owners.items = arena_new(arena, struct owner_ref);
    meta->owners.len = 1;
    meta->owners.items[0] = (struct owner_ref){
        api_kinds[kind].api_version, api_kinds[kind].kind, controller->name, controller->uid, { true, true }
    };
}

struct pod factory_pod(struct pod_factory *factory, const struct pod_template *template, enum api_kind kind,
                       const struct meta *controller)
{
    struct pod pod = { .spec = template->spec, .status = { .phase = STR("Pending") } };
    pod.meta.namespace = controller->namespace;
    pod.meta.labels = template->meta.labels;
    pod.meta.annotations = template->meta.annotations;
    set_controller(&pod.meta, kind, controller, &factory->arena);
    return pod;
}

/* ---- names ---- */

struct str factory_letters(struct arena *arena, uint64_t hash, size_t len)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char *text = arena_alloc(arena, len + 1);
    for (size_t i = 0; i < len; i++) {
        text[i] = letters[hash % (sizeof(letters) - 1)];
        hash /= sizeof(letters) - 1;
    }
    text[len] = '\0';
    return (struct str){ text, (uint32_t)len };
}

static bool name_is_free(struct pod_factory *factory, struct str namespace, struct str name)
{
    struct str full = full_name(&factory->scratch, namespace, name);
    return !strmap_get(&factory->taken, full) && !strmap_get(&factory->load->by_name[KIND_POD], full);
}

struct str factory_name(struct pod_factory *factory, struct str namespace, struct str prefix,
                        struct owner *owner)
{
    uint32_t len = MIN(prefix.len, (uint32_t)(NAME_LEN_MAX - SUFFIX_LEN));
    for (;;) {
        uint64_t hash = hash_bytes(&owner->names, sizeof(owner->names), str_hash(owner->key));
        owner->names++;
        struct str suffix = factory_letters(&factory->arena, hash, SUFFIX_LEN);
        struct str name =
            arena_printf(&factory->arena, "%.*s" STR_FMT, (int)len, prefix.ptr, STR_ARG(suffix));
        if (name_is_free(factory, namespace, name))
            return name;
    }
}

static struct str make_uid(struct arena *arena, struct str full)
{
    uint64_t a = str_hash(full), b = hash_bytes(full.ptr, full.len, a);
    return arena_printf(arena, "%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(a >> 32),
                        (unsigned)(a >> 16 & 0xffff), (unsigned)(a >> 4 & 0xfff), (unsigned)(b >> 48 & 0xfff),
                        (unsigned long long)(b & 0xffffffffffff));
}

/* ---- finished pods and their claims ---- */

void factory_claim(struct pod_factory *factory, const struct pvc_template *template, struct str namespace,
                   struct str name, const struct str_map *labels, const struct pod *owner)
{
    if (load_find(factory->load, KIND_PVC, namespace, name))
        return;
    struct pvc *claim = arena_new(&factory->arena, struct pvc);
    claim->meta.name = name;
    claim->meta.namespace = namespace;
    claim->meta.uid = make_uid(&factory->arena, full_name(&factory->scratch, namespace, name));
    claim->meta.labels = template->meta.labels;
    claim->meta.annotations = template->meta.annotations;
    for (uint32_t i = 0; labels && i < labels->len; i++)
        claim->meta.labels =
            str_map_with(&claim->meta.labels, labels->items[i].key, labels->items[i].value, &factory->arena);
    if (template->spec)
        claim->spec = *template->spec;
    admission_admit_claim(&factory->admission, claim);
    claim->status.phase = STR("Pending");
    if (owner)
        set_controller(&claim->meta, KIND_POD, &owner->meta, &factory->arena);
    load_add(factory->load, KIND_PVC, &claim->meta);
    *vec_push(&factory->claims) = (struct made_claim){ KIND_PVC, &claim->meta };
}

/* Claims of ephemeral volumes have the name of the pod and of the volume. */
static void make_volume_claims(struct pod_factory *factory, const struct pod *pod)
{
    list_for(&pod->spec.volumes, volume) {
        if (!volume->ephemeral || !volume->ephemeral->template)
            continue;
        struct str claim = arena_printf(&factory->arena, STR_FMT "-" STR_FMT, STR_ARG(pod->meta.name),
                                        STR_ARG(volume->name));
        factory_claim(factory, volume->ephemeral->template, pod->meta.namespace, claim, NULL, pod);
    }
}

/* POD-CLAIM-x7k2p; of long names the same share is left. */
static struct str device_claim_name(struct pod_factory *factory, const struct pod *pod, struct str entry)
{
    const size_t most = NAME_LEN_MAX - SUFFIX_LEN - 1;
    size_t pod_len = pod->meta.name.len, entry_len = entry.len, len = pod_len + entry_len + 2;
    if (len > most) {
        pod_len = pod_len * most / len;
        entry_len = entry_len * most / len;
    }
    uint64_t hash = hash_bytes(entry.ptr, entry.len, str_hash(pod->meta.uid));
    for (;; hash++) {
        struct str suffix = factory_letters(&factory->arena, hash, SUFFIX_LEN);
        struct str name =
            arena_printf(&factory->arena, "%.*s-%.*s%s" STR_FMT, (int)pod_len, pod->meta.name.ptr,
                         (int)entry_len, entry.ptr, len > most ? "" : "-", STR_ARG(suffix));
        if (!load_find(factory->load, KIND_RESOURCE_CLAIM, pod->meta.namespace, name))
            return name;
    }
}

static struct str make_device_claim(struct pod_factory *factory, const struct pod *pod,
                                    const struct resource_claim_template *template, struct str entry)
{
    struct resource_claim *claim = arena_new(&factory->arena, struct resource_claim);
    *claim = template->claim;
    struct meta *meta = &claim->meta;
    *meta = (struct meta){ .name = device_claim_name(factory, pod, entry),
                           .namespace = pod->meta.namespace,
                           .labels = template->claim.meta.labels };
    meta->annotations = str_map_with(&template->claim.meta.annotations,
                                     STR("resource.kubernetes.io/pod-claim-name"), entry, &factory->arena);
    meta->uid = make_uid(&factory->arena, full_name(&factory->scratch, meta->namespace, meta->name));
    set_controller(meta, KIND_POD, &pod->meta, &factory->arena);
    load_add(factory->load, KIND_RESOURCE_CLAIM, meta);
    *vec_push(&factory->claims) = (struct made_claim){ KIND_RESOURCE_CLAIM, meta };
    return meta->name;
}

static bool has_device_claim(const struct pod *pod, struct str entry)
{
    list_for(&pod->status.claim_statuses, status)
        if (str_eq(status->name, entry))
            return true;
    return false;
}

/* A claim for each entry that names a template; without the template there is none. */
static void make_device_claims(struct pod_factory *factory, struct pod *pod)
{
    uint32_t len = pod->status.claim_statuses.len;
    struct pod_claim_status *statuses =
        arena_copy(&factory->arena, struct pod_claim_status, pod->status.claim_statuses.items, len,
                   (size_t)len + pod->spec.resource_claims.len);
    list_for(&pod->spec.resource_claims, entry) {
        const struct resource_claim_template *template =
            entry->resource_claim_template_name.len && !has_device_claim(pod, entry->name)
                ? load_find(factory->load, KIND_CLAIM_TEMPLATE, pod->meta.namespace,
                            entry->resource_claim_template_name)
                : NULL;
        if (template)
            statuses[len++] =
                (struct pod_claim_status){ entry->name,
                                           make_device_claim(factory, pod, template, entry->name) };
    }
    pod->status.claim_statuses.items = statuses;
    pod->status.claim_statuses.len = len;
}

void factory_claims(struct pod_factory *factory, struct pod *pod)
{
    make_volume_claims(factory, pod);
    if (pod->spec.resource_claims.len)
        make_device_claims(factory, pod);
}

struct pod *factory_finish(struct pod_factory *factory, const struct pod *pod, struct str name)
{
    struct pod *made = arena_new(&factory->arena, struct pod);
    *made = *pod;
    made->meta.name = name;
    struct str full = arena_str(&factory->arena, full_name(&factory->scratch, pod->meta.namespace, name));
    made->meta.uid = make_uid(&factory->arena, full);
    strmap_put(&factory->taken, full, made);
    factory_claims(factory, made);
    return made;
}
