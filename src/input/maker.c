/* maker.c: pods, names and claims as controllers make them; see maker.h. */
#include "input/maker.h"

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

void maker_init(struct maker *maker, struct load *load)
{
    *maker = (struct maker){ .load = load };
    admission_init(&maker->admission, load);
    maker->default_class = find_default_class(load);
}

void maker_release(struct maker *maker)
{
    admission_release(&maker->admission);
    strmap_release(&maker->taken);
    vec_release(&maker->claims);
    strbuf_release(&maker->scratch);
    arena_release(&maker->arena);
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

struct pod maker_pod(struct maker *maker, const struct pod_template *template, enum api_kind kind,
                     const struct meta *controller)
{
    struct owner_ref *ref = arena_new(&maker->arena, struct owner_ref);
    *ref = (struct owner_ref){
        .api_version = api_kinds[kind].api_version,
        .kind = api_kinds[kind].kind,
        .name = controller->name,
        .uid = controller->uid,
        .controller = { true, true },
    };
    struct pod pod = { .spec = template->spec, .status = { .phase = STR("Pending") } };
    pod.meta.namespace = controller->namespace;
    pod.meta.labels = template->meta.labels;
    pod.meta.annotations = template->meta.annotations;
    pod.meta.owners.items = ref;
    pod.meta.owners.len = 1;
    return pod;
}

/* ---- names ---- */

struct str maker_letters(struct arena *arena, uint64_t hash, size_t len)
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

static struct str full_name(struct maker *maker, struct str namespace, struct str name)
{
    strbuf_clear(&maker->scratch);
    strbuf_str(&maker->scratch, namespace);
    strbuf_putc(&maker->scratch, '/');
    strbuf_str(&maker->scratch, name);
    return strbuf_slice(&maker->scratch);
}

static bool name_is_free(struct maker *maker, struct str namespace, struct str name)
{
    struct str full = full_name(maker, namespace, name);
    return !strmap_get(&maker->taken, full) && !strmap_get(&maker->load->by_name[KIND_POD], full);
}

struct str maker_name(struct maker *maker, struct str namespace, struct str prefix, struct owner *owner)
{
    uint32_t room = MIN(prefix.len, (uint32_t)(NAME_LEN_MAX - SUFFIX_LEN));
    for (;;) {
        uint64_t hash = hash_bytes(&owner->names, sizeof(owner->names), str_hash(owner->key));
        owner->names++;
        struct str suffix = maker_letters(&maker->arena, hash, SUFFIX_LEN);
        struct str name = arena_printf(&maker->arena, "%.*s" STR_FMT, (int)room, prefix.ptr, STR_ARG(suffix));
        if (name_is_free(maker, namespace, name))
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

void maker_claim(struct maker *maker, const struct pvc_template *template, struct str namespace,
                 struct str name, const struct str_map *labels, const struct pod *owner)
{
    if (load_find(maker->load, KIND_PVC, namespace, name))
        return;
    struct pvc *claim = arena_new(&maker->arena, struct pvc);
    claim->meta.name = name;
    claim->meta.namespace = namespace;
    claim->meta.uid = make_uid(&maker->arena, full_name(maker, namespace, name));
    claim->meta.labels = template->meta.labels;
    claim->meta.annotations = template->meta.annotations;
    for (uint32_t i = 0; labels && i < labels->len; i++)
        claim->meta.labels =
            str_map_with(&claim->meta.labels, labels->items[i].key, labels->items[i].value, &maker->arena);
    if (template->spec)
        claim->spec = *template->spec;
    if (!claim->spec.storage_class_name.ptr && maker->default_class)
        claim->spec.storage_class_name = maker->default_class->meta.name;
    claim->status.phase = STR("Pending");
    if (owner) {
        struct owner_ref *ref = arena_new(&maker->arena, struct owner_ref);
        *ref = (struct owner_ref){ STR("v1"), STR("Pod"), owner->meta.name, owner->meta.uid, { true, true } };
        claim->meta.owners.items = ref;
        claim->meta.owners.len = 1;
    }
    load_add(maker->load, KIND_PVC, &claim->meta);
    *vec_push(&maker->claims) = claim;
}

struct pod *maker_finish(struct maker *maker, const struct pod *pod, struct str name)
{
    struct pod *made = arena_new(&maker->arena, struct pod);
    *made = *pod;
    made->meta.name = name;
    struct str full = arena_str(&maker->arena, full_name(maker, pod->meta.namespace, name));
    made->meta.uid = make_uid(&maker->arena, full);
    strmap_put(&maker->taken, full, made);
    list_for(&made->spec.volumes, volume) {
        if (!volume->ephemeral || !volume->ephemeral->template)
            continue;
        struct str claim =
            arena_printf(&maker->arena, STR_FMT "-" STR_FMT, STR_ARG(name), STR_ARG(volume->name));
        maker_claim(maker, volume->ephemeral->template, made->meta.namespace, claim, NULL, made);
    }
    return made;
}
