/* admission.c: priorities, default tolerations and label keys of new pods; see admission.h. */
#include "input/admission.h"

#include "api/defaults.h"
#include "api/labels.h"

enum { SYSTEM_NODE_CRITICAL = 2000001000, SYSTEM_CLUSTER_CRITICAL = 2000000000 };

/* ---- claims ---- */

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

void admission_admit_claim(const struct admission *admission, struct pvc *claim)
{
    bool names_one = claim->spec.storage_class_name.ptr ||
                     str_map_get(&claim->meta.annotations, STR("volume.beta.kubernetes.io/storage-class"));
    if (!names_one && admission->default_class)
        claim->spec.storage_class_name = admission->default_class->meta.name;
}

/* ---- priority ---- */

/* Of several with the same name the first one counts. */
static const struct class_value *add_class(struct admission *admission, struct class_value class)
{
    struct class_value *kept = strmap_get(&admission->classes, class.name);
    if (kept)
        return kept;
    kept = arena_new(&admission->arena, struct class_value);
    *kept = class;
    strmap_put(&admission->classes, kept->name, kept);
    return kept;
}

void admission_init(struct admission *admission, const struct load *load)
{
    *admission = (struct admission){ .default_class = find_default_class(load) };
    vec_for(&load->objects[KIND_PRIORITY_CLASS], item) {
        const struct priority_class *class = (const struct priority_class *)*item;
        const struct class_value *kept = add_class(
            admission, (struct class_value){ class->meta.name, class->value, class->preemption_policy });
        if (class->global_default && (!admission->fallback || kept->value < admission->fallback->value))
            admission->fallback = kept;
    }
    add_class(admission, (struct class_value){ STR("system-node-critical"), SYSTEM_NODE_CRITICAL, { 0 } });
    add_class(admission,
              (struct class_value){ STR("system-cluster-critical"), SYSTEM_CLUSTER_CRITICAL, { 0 } });
    vec_for(&load->objects[KIND_POD], item) {
        const struct pod_spec *spec = &((const struct pod *)*item)->spec;
        if (spec->priority.set && spec->priority_class_name.len)
            add_class(admission, (struct class_value){ spec->priority_class_name, spec->priority.value,
                                                       spec->preemption_policy });
    }
}

void admission_release(struct admission *admission)
{
    strmap_release(&admission->classes);
    arena_release(&admission->arena);
}

bool admission_knows_class(const struct admission *admission, struct str name)
{
    return strmap_get(&admission->classes, name) != NULL;
}

void admission_prioritize(struct admission *admission, struct pod *pod)
{
    struct pod_spec *spec = &pod->spec;
    if (spec->priority.set)
        return;
    const struct class_value *class = admission->fallback;
    if (!str_empty(spec->priority_class_name)) {
        class = strmap_get(&admission->classes, spec->priority_class_name);
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
    struct label_selector *copy = arena_copy(arena, struct label_selector, selector, 1, 1);
    uint32_t len = selector->match_expressions.len;
    struct selector_requirement *all = arena_copy(
        arena, struct selector_requirement, selector->match_expressions.items, len, (size_t)len + keys->len);
    list_for(keys, key) {
        const struct str *value = str_map_get(labels, *key);
        if (value)
            all[len++] = (struct selector_requirement){
                .key = *key,
                .operator= in ? STR("In") : STR("NotIn"),
                .op = in ? OP_IN : OP_NOT_IN,
                .values = { arena_copy(arena, struct str, value, 1, 1), 1 },
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
    struct pod_affinity *copy = arena_copy(arena, struct pod_affinity, affinity, 1, 1);
    uint32_t required = affinity->required.len, preferred = affinity->preferred.len;
    copy->required.items =
        arena_copy(arena, struct pod_affinity_term, affinity->required.items, required, required);
    list_for(&copy->required, term)
        merge_term(term, labels, arena);
    copy->preferred.items =
        arena_copy(arena, struct weighted_pod_term, affinity->preferred.items, preferred, preferred);
    list_for(&copy->preferred, weighted)
        merge_term(&weighted->term, labels, arena);
    return copy;
}

static void merge_label_keys(struct pod *pod, struct arena *arena)
{
    struct pod_spec *spec = &pod->spec;
    const struct str_map *labels = &pod->meta.labels;
    if (spec->affinity && (spec->affinity->pod || spec->affinity->pod_anti)) {
        struct affinity *affinity = arena_copy(arena, struct affinity, spec->affinity, 1, 1);
        if (affinity->pod)
            affinity->pod = merge_terms(affinity->pod, labels, arena);
        if (affinity->pod_anti)
            affinity->pod_anti = merge_terms(affinity->pod_anti, labels, arena);
        spec->affinity = affinity;
    }
    spec->spread.items =
        arena_copy(arena, struct spread_constraint, spec->spread.items, spec->spread.len, spec->spread.len);
    list_for(&spec->spread, spread)
        if (spread->selector && spread->match_label_keys.len)
            spread->selector = with_keys(spread->selector, &spread->match_label_keys, true, labels, arena);
}

void admission_admit(struct admission *admission, struct pod *pod, struct arena *arena)
{
    pod_default(pod, arena);
    admission_prioritize(admission, pod);
    tolerate_for_a_while(&pod->spec, STR("node.kubernetes.io/not-ready"), arena);
    tolerate_for_a_while(&pod->spec, STR("node.kubernetes.io/unreachable"), arena);
    merge_label_keys(pod, arena);
}
