/* policy_set.c: see policy_set.h. */
#include "policy/policy_set.h"

#include <stdlib.h>

#include "api/labels.h"

enum { TEXT_BYTES_MAX = 1 << 20, POLICIES_MAX = 1000 };

/* ---- reading ---- */
struct reading {
    const struct config_map *map;
    const struct registry *registry;
    struct arena *arena;
    struct strmap places; /* of names: "path:line" */
    VEC(struct policy) policies;
};

/* What sentences begin with. */
static const char *path_of(const struct reading *reading, struct str key)
{
    const struct meta *meta = &reading->map->meta;
    struct str path =
        meta->namespace.len
            ? arena_printf(reading->arena, "ConfigMap " META_FMT ": " STR_FMT, META_ARG(meta), STR_ARG(key))
            : arena_printf(reading->arena, STR_FMT "/" STR_FMT, STR_ARG(meta->name), STR_ARG(key));
    return path.ptr;
}

static int add(struct reading *reading, const struct doc *doc, struct error *err)
{
    struct policy policy;
    size_t line, column;
    int r = policy_read(doc, reading->registry, reading->arena, &policy, err);
    if (r < 0)
        return r;
    const char *before = strmap_get(&reading->places, policy.shown.name);
    if (before)
        return doc_error(doc, doc->root, -EINVAL, err,
                         "metadata.name: \"" STR_FMT "\" is the name of another policy, at %s",
                         STR_ARG(policy.shown.name), before);
    if (reading->policies.len == POLICIES_MAX)
        return doc_error(doc, doc->root, -E2BIG, err, "more than %d policies", POLICIES_MAX);
    doc_where(doc, doc->root, &line, &column);
    strmap_put(&reading->places, policy.shown.name,
               (void *)arena_printf(reading->arena, "%s:%zu", doc->stream->path, line).ptr);
    *vec_push(&reading->policies) = policy;
    return 0;
}

static int read_text(struct reading *reading, const struct pair *entry, struct error *err)
{
    const char *path = path_of(reading, entry->key);
    struct doc_stream stream;
    struct doc doc;
    int r;
    if (entry->value.len > TEXT_BYTES_MAX)
        return error_at(err, -EFBIG, path, 0, 0, "is longer than %d bytes", TEXT_BYTES_MAX);
    char *text = xcalloc(1, (size_t)entry->value.len + YYJSON_PADDING_SIZE);
    if (entry->value.len)
        memcpy(text, entry->value.ptr, entry->value.len);
    doc_stream_init(&stream, path, text, entry->value.len);
    while ((r = doc_stream_next(&stream, &doc, err)) > 0) {
        r = add(reading, &doc, err);
        doc_release(&doc);
        if (r < 0)
            break;
    }
    doc_stream_release(&stream);
    return r;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct policy *)a)->shown.name, ((const struct policy *)b)->shown.name);
}

int policy_set_read(const struct config_map *map, const struct registry *registry, struct policy_set **ret,
                    struct error *err)
{
    struct policy_set *set = xcalloc(1, sizeof(*set));
    struct reading reading = { .map = map, .registry = registry, .arena = &set->arena };
    int r = 0;
    set->refs = 1;
    for (uint32_t i = 0; i < map->data.len && r == 0; i++)
        r = read_text(&reading, &map->data.items[i], err);
    if (r == 0) {
        vec_sort(&reading.policies, by_name);
        set->len = (uint32_t)reading.policies.len;
        set->items =
            arena_copy(&set->arena, struct policy, reading.policies.items, reading.policies.len, set->len);
        for (uint32_t i = 0; i < set->len; i++)
            set->weighing += set->items[i].shown.weighs;
    }
    strmap_release(&reading.places);
    vec_release(&reading.policies);
    if (r < 0)
        policy_set_unref(set);
    else
        *ret = set;
    return r;
}

struct policy_set *policy_set_ref(struct policy_set *set)
{
    set->refs++;
    return set;
}

void policy_set_unref(struct policy_set *set)
{
    if (!set || --set->refs)
        return;
    arena_release(&set->arena);
    free(set);
}

bool policy_set_equal(const struct policy_set *a, const struct policy_set *b)
{
    uint32_t len = a ? a->len : 0;
    bool equal = len == (b ? b->len : 0);
    for (uint32_t i = 0; i < len && equal; i++)
        equal = str_eq(a->items[i].shown.name, b->items[i].shown.name) &&
                str_eq(a->items[i].key, b->items[i].key);
    return equal;
}

/* ---- choosing ---- */
const struct policy *policy_set_find(const struct policy_set *set, struct str name)
{
    uint32_t low = 0, high = set->len;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = str_cmp(set->items[middle].shown.name, name);
        if (order == 0)
            return &set->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool has_selector(const struct policy *policy)
{
    return policy->spec.pod_selector || policy->spec.namespace_selector;
}

static bool is_for(const struct policy *policy, const struct namespace *namespace)
{
    static const struct str_map no_labels;
    const struct label_selector *selector = policy->spec.namespace_selector;
    return !selector || label_selector_matches(selector, namespace ? &namespace->meta.labels : &no_labels);
}

static bool selects(const struct policy *policy, const struct pod *pod, const struct namespace *namespace)
{
    const struct label_selector *selector = policy->spec.pod_selector;
    return has_selector(policy) && (!selector || label_selector_matches(selector, &pod->meta.labels)) &&
           is_for(policy, namespace);
}

/* True: the label decides. */
static bool look_at_label(const struct policy_set *set, const struct meta *meta,
                          const struct namespace *namespace, const struct policy **ret)
{
    const struct str *value = meta ? str_map_get(&meta->labels, STR(POLICY_LABEL)) : NULL;
    if (!value)
        return false;
    const struct policy *found = value->len ? policy_set_find(set, *value) : NULL;
    *ret = found && is_for(found, namespace) ? found : NULL;
    return !value->len || *ret;
}

bool policy_set_passes_over(const struct policy_set *set, const struct meta *meta,
                            const struct namespace *namespace)
{
    const struct policy *found;
    return str_map_get(&meta->labels, STR(POLICY_LABEL)) && !look_at_label(set, meta, namespace, &found);
}

const struct policy *policy_set_choose(const struct policy_set *set, const struct cluster *cluster,
                                       const struct pod *pod, enum policy_source *ret_by)
{
    const struct policy *found = NULL;
    const struct namespace *namespace =
        cluster_get(&cluster->namespaces, (struct str){ 0 }, pod->meta.namespace);
    *ret_by = POLICY_BY_POD_LABEL;
    if (look_at_label(set, &pod->meta, namespace, &found))
        return found;
    *ret_by = POLICY_BY_NAMESPACE_LABEL;
    if (look_at_label(set, namespace ? &namespace->meta : NULL, namespace, &found))
        return found;
    *ret_by = POLICY_BY_SELECTOR;
    for (uint32_t i = 0; i < set->len; i++)
        if (selects(&set->items[i], pod, namespace))
            return &set->items[i];
    *ret_by = POLICY_BY_DEFAULT;
    found = policy_set_find(set, STR(POLICY_DEFAULT));
    return found && !has_selector(found) ? found : NULL;
}
