/* admission.c: priorities, default tolerations and label keys of new pods; see admission.h. */
#include "input/admission.h"

#include "api/defaults.h"
#include "api/labels.h"

enum { SYSTEM_NODE_CRITICAL = 2000001000, SYSTEM_CLUSTER_CRITICAL = 2000000000 };

/* ---- priority ---- */

static int compare_classes(const void *a, const void *b)
{
    return str_cmp(((const struct class_value *)a)->name, ((const struct class_value *)b)->name);
}

static const struct class_value *find_class(const struct admission *admission, struct str name)
{
    const struct class_value key = { .name = name };
    if (!admission->classes.len)
        return NULL;
    return bsearch(&key, admission->classes.items, admission->classes.len, sizeof(key), compare_classes);
}

/* Values that pods of the input carry for classes that are not in the input. */
static void learn_from_pods(struct admission *admission, const struct load *load)
{
    struct strmap known = { 0 };
    vec_for(&admission->classes, class)
        strmap_put(&known, class->name, admission);
    vec_for(&load->objects[KIND_POD], item) {
        const struct pod_spec *spec = &((const struct pod *)*item)->spec;
        if (!spec->priority.set || str_empty(spec->priority_class_name))
            continue;
        if (strmap_get(&known, spec->priority_class_name))
            continue;
        strmap_put(&known, spec->priority_class_name, admission);
        *vec_push(&admission->classes) = (struct class_value){
            .name = spec->priority_class_name,
            .value = spec->priority.value,
            .preemption_policy = spec->preemption_policy,
        };
    }
    strmap_release(&known);
}

void admission_init(struct admission *admission, const struct load *load)
{
    static const struct class_value built_in[] = {
        { .name = STR("system-node-critical"), .value = SYSTEM_NODE_CRITICAL },
        { .name = STR("system-cluster-critical"), .value = SYSTEM_CLUSTER_CRITICAL },
    };
    *admission = (struct admission){ 0 };
    struct str fallback = { 0 };
    int32_t lowest = INT32_MAX;
    vec_for(&load->objects[KIND_PRIORITY_CLASS], item) {
        const struct priority_class *class = (const struct priority_class *)*item;
        *vec_push(&admission->classes) = (struct class_value){
            .name = class->meta.name,
            .value = class->value,
            .preemption_policy = class->preemption_policy,
        };
        if (class->global_default && (str_empty(fallback) || class->value < lowest)) {
            fallback = class->meta.name;
            lowest = class->value;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
        if (!load_find(load, KIND_PRIORITY_CLASS, (struct str){ 0 }, built_in[i].name))
            *vec_push(&admission->classes) = built_in[i];
    learn_from_pods(admission, load);
    qsort(admission->classes.items, admission->classes.len, sizeof(struct class_value), compare_classes);
    if (!str_empty(fallback))
        admission->fallback = find_class(admission, fallback);
}

void admission_release(struct admission *admission)
{
    vec_release(&admission->classes);
}

void admission_prioritize(struct admission *admission, struct pod *pod)
{
    struct pod_spec *spec = &pod->spec;
    if (spec->priority.set)
        return;
    const struct class_value *class = admission->fallback;
    if (!str_empty(spec->priority_class_name)) {
        class = find_class(admission, spec->priority_class_name);
        if (!class && !admission->unknown++)
            admission->unknown_name = spec->priority_class_name;
    } else if (class) {
        spec->priority_class_name = class->name;
    }
    spec->priority = (struct opt_int32){ true, class ? class->value : 0 };
    if (class && !str_empty(class->preemption_policy) && str_empty(spec->preemption_policy))
        spec->preemption_policy = class->preemption_policy;
}

/* ---- tolerations ---- */

void tolerations_set(struct pod_spec *spec, const struct toleration *toleration, struct arena *arena)
{
    struct toleration *copy = arena_array(arena, struct toleration, spec->tolerations.len + 1);
    uint32_t len = 0;
    bool replaced = false;
    list_for(&spec->tolerations, old) {
        bool same = str_eq(old->key, toleration->key) && str_eq(old->effect, toleration->effect) &&
                    str_eq(old->operator, toleration->operator) && str_eq(old->value, toleration->value);
        copy[len++] = same ? *toleration : *old;
        replaced |= same;
    }
    if (!replaced)
        copy[len++] = *toleration;
    spec->tolerations.items = copy;
    spec->tolerations.len = len;
}

/* Unless something tolerates that condition already. */
static void tolerate_for_a_while(struct pod_spec *spec, struct str key, struct arena *arena)
{
    enum { SECONDS = 300 };
    list_for(&spec->tolerations, old) {
        bool this_key = str_eq(old->key, key) || str_empty(old->key);
        bool this_effect = str_is(old->effect, "NoExecute") || str_empty(old->effect);
        if (this_key && this_effect)
            return;
    }
    const struct toleration toleration = {
        .key = key,
        .operator= STR("Exists"),
        .effect = STR("NoExecute"),
        .toleration_seconds = { true, SECONDS },
    };
    tolerations_set(spec, &toleration, arena);
}

/* ---- label keys ---- */

/* A copy of the selector with "key in (value)" or "key notin (value)" for each key that the pod has. */
static struct label_selector *with_keys(const struct label_selector *selector, const struct str_list *keys,
                                        bool in, const struct str_map *labels, struct arena *arena)
{
    struct label_selector *copy = arena_new(arena, struct label_selector);
    *copy = *selector;
    uint32_t len = selector->match_expressions.len;
    struct selector_requirement *all =
        arena_array(arena, struct selector_requirement, (size_t)len + keys->len);
    if (len)
        memcpy(all, selector->match_expressions.items, len * sizeof(*all));
    for (uint32_t i = 0; i < keys->len; i++) {
        const struct str *value = str_map_get(labels, keys->items[i]);
        if (!value)
            continue;
        struct str *values = arena_new(arena, struct str);
        *values = *value;
        all[len++] = (struct selector_requirement){
            .key = keys->items[i],
            .operator= in ? STR("In") : STR("NotIn"),
            .op = in ? OP_IN : OP_NOT_IN,
            .values = { values, 1 },
        };
    }
    copy->match_expressions.items = all;
    copy->match_expressions.len = len;
    return copy;
}

static void merge_term(struct pod_affinity_term *term, const struct str_map *labels, struct arena *arena)
{
    if (!term->selector)
        return;
    if (term->match_label_keys.len)
        term->selector = with_keys(term->selector, &term->match_label_keys, true, labels, arena);
    if (term->mismatch_label_keys.len)
        term->selector = with_keys(term->selector, &term->mismatch_label_keys, false, labels, arena);
}

static struct pod_affinity *merge_terms(const struct pod_affinity *affinity, const struct str_map *labels,
                                        struct arena *arena)
{
    struct pod_affinity *copy = arena_new(arena, struct pod_affinity);
    *copy = *affinity;
    copy->required.items = arena_array(arena, struct pod_affinity_term, affinity->required.len);
    for (uint32_t i = 0; i < affinity->required.len; i++) {
        copy->required.items[i] = affinity->required.items[i];
        merge_term(&copy->required.items[i], labels, arena);
    }
    copy->preferred.items = arena_array(arena, struct weighted_pod_term, affinity->preferred.len);
    for (uint32_t i = 0; i < affinity->preferred.len; i++) {
        copy->preferred.items[i] = affinity->preferred.items[i];
        merge_term(&copy->preferred.items[i].term, labels, arena);
    }
    return copy;
}

static void merge_label_keys(struct pod *pod, struct arena *arena)
{
    struct pod_spec *spec = &pod->spec;
    const struct str_map *labels = &pod->meta.labels;
    if (spec->affinity && (spec->affinity->pod || spec->affinity->pod_anti)) {
        struct affinity *affinity = arena_new(arena, struct affinity);
        *affinity = *spec->affinity;
        if (affinity->pod)
            affinity->pod = merge_terms(affinity->pod, labels, arena);
        if (affinity->pod_anti)
            affinity->pod_anti = merge_terms(affinity->pod_anti, labels, arena);
        spec->affinity = affinity;
    }
    if (!spec->spread.len)
        return;
    struct spread_constraint *spread = arena_array(arena, struct spread_constraint, spec->spread.len);
    for (uint32_t i = 0; i < spec->spread.len; i++) {
        spread[i] = spec->spread.items[i];
        if (spread[i].selector && spread[i].match_label_keys.len)
            spread[i].selector =
                with_keys(spread[i].selector, &spread[i].match_label_keys, true, labels, arena);
    }
    spec->spread.items = spread;
}

void admission_admit(struct admission *admission, struct pod *pod, struct arena *arena)
{
    pod_default(pod, arena);
    admission_prioritize(admission, pod);
    tolerate_for_a_while(&pod->spec, STR("node.kubernetes.io/not-ready"), arena);
    tolerate_for_a_while(&pod->spec, STR("node.kubernetes.io/unreachable"), arena);
    merge_label_keys(pod, arena);
}
