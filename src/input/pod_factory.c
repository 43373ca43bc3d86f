/* pod_factory.c: pods, names and claims as controllers make them; see pod_factory.h. */
#include "input/pod_factory.h"

#include "api/fields.h"
#include "api/labels.h"

enum { NAME_LEN_MAX = 63, SUFFIX_LEN = 5 };

/* The newest class that is marked as the default; of equally old ones the first by name. */
static const struct storage_class *find_default_class(const struct load *load)
{
    static const char *const marks[] = { "storageclass.kubernetes.io/is-default-class",
                                         "storageclass.beta.kubernetes.io/is-default-class" };
    const struct storage_class *best = NULL;
    vec_for(&load->objects[KIND_STORAGE_CLASS], item) {
        const struct storage_class *class = (const struct storage_class *)*item;
        bool marked = false;
        for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
            const struct str *value = str_map_get(&class->meta.annotations, str_from(marks[i]));
            marked |= value && str_is(*value, "true");
        }
        if (!marked)
            continue;
        int64_t age = best ? class->meta.creation_time.seconds - best->meta.creation_time.seconds : 1;
        if (age > 0 || (age == 0 && str_cmp(class->meta.name, best->meta.name) < 0))
            best = class;
    }
    return best;
}

void factory_init(struct pod_factory *factory, struct load *load)
{
    *factory = (struct pod_factory){ .load = load };
    admission_init(&factory->admission, load);
    factory->default_class = find_default_class(load);
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
    if (!claim->spec.storage_class_name.ptr && factory->default_class)
        claim->spec.storage_class_name = factory->default_class->meta.name;
    claim->status.phase = STR("Pending");
    if (owner)
        set_controller(&claim->meta, KIND_POD, &owner->meta, &factory->arena);
    load_add(factory->load, KIND_PVC, &claim->meta);
    *vec_push(&factory->claims) = claim;
}

struct pod *factory_finish(struct pod_factory *factory, const struct pod *pod, struct str name)
{
    struct pod *made = arena_new(&factory->arena, struct pod);
    *made = *pod;
    made->meta.name = name;
    struct str full = arena_str(&factory->arena, full_name(&factory->scratch, pod->meta.namespace, name));
    made->meta.uid = make_uid(&factory->arena, full);
    strmap_put(&factory->taken, full, made);
    list_for(&made->spec.volumes, volume) {
        if (!volume->ephemeral || !volume->ephemeral->template)
            continue;
        struct str claim =
            arena_printf(&factory->arena, STR_FMT "-" STR_FMT, STR_ARG(name), STR_ARG(volume->name));
        factory_claim(factory, volume->ephemeral->template, made->meta.namespace, claim, NULL, made);
    }
    return made;
}
