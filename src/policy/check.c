/* check.c: the values of a SchedulingPolicy, in the sentences of Kubernetes where it has the same fields. */
#include <stdio.h>

#include "api/labels.h"
#include "api/names.h"
#include "config/strategies.h"
#include "policy/document.h"

enum { WEIGHT_MAX = 100 };

/* A pod names its policy by a label, so the name is one that a label can have. */
static void check_name(const struct policy *policy, struct problems *problems)
{
    const struct path *at = PATH_FIELD(PATH_FIELD(NULL, "metadata"), "name");
    struct name_faults faults = name_check_label_value(policy->shown.name);
    if (!policy->shown.name.len)
        problem_required(problems, at, "pods name their policy by it");
    for (size_t i = 0; i < faults.len; i++)
        problem_text(problems, at, policy->shown.name, faults.items[i]);
}

static void check_weights(const struct weight_map *weights, int64_t least, const struct path *at,
                          struct problems *problems)
{
    list_for(weights, weight) {
        char range[64];
        if (weight->weight >= least && weight->weight <= WEIGHT_MAX)
            continue;
        snprintf(range, sizeof(range), "must be between %lld and %d, inclusive", (long long)least,
                 WEIGHT_MAX);
        problem_int(problems, PATH_KEY(at, weight->name), weight->weight, range);
    }
}

/* As the API server has it for the resources of nodes; a name of another kind is a slip. */
static bool is_resource(struct str name)
{
    static const char *const standard[] = { "cpu", "memory", "ephemeral-storage", "storage", "pods" };
    for (size_t i = 0; i < ARRAY_SIZE(standard); i++)
        if (str_is(name, standard[i]))
            return true;
    return memchr(name.ptr, '/', name.len) || str_starts_with(name, STR("hugepages-")) ||
           str_starts_with(name, STR("attachable-volumes-"));
}

static void check_resources(const struct weight_map *weights, const struct path *at,
                            struct problems *problems)
{
    bool storage = false, ephemeral = false;
    check_weights(weights, 1, at, problems);
    list_for(weights, weight) {
        problem_label_key(problems, PATH_KEY(at, weight->name), weight->name);
        if (!is_resource(weight->name))
            problem_text(problems, PATH_KEY(at, weight->name), weight->name,
                         "must be a standard resource type or fully qualified");
        storage |= str_is(weight->name, "storage");
        ephemeral |= str_is(weight->name, "ephemeral-storage");
    }
    if (storage && ephemeral)
        problem_forbidden(problems, PATH_KEY(at, STR("storage")),
                          "means ephemeral-storage, which has a weight of its own");
}

static bool scores(const struct registry *registry, struct str name)
{
    for (uint32_t i = 0; i < registry->len; i++)
        if (str_is(name, registry->items[i]->name))
            return plugin_points(registry->items[i]) & POINT_BIT(POINT_SCORE);
    return false;
}

static void check_plugins(const struct weight_map *weights, const struct registry *registry,
                          const struct path *at, struct problems *problems)
{
    check_weights(weights, 0, at, problems);
    list_for(weights, weight)
        if (registry && !scores(registry, weight->name) && !strategy_scores(weight->name))
            problem_text(problems, PATH_KEY(at, weight->name), weight->name,
                         "no plugin of this name scores nodes");
}

static void check_affinity(const struct node_affinity *affinity, const struct path *at,
                           struct problems *problems)
{
    const struct path *terms =
        PATH_FIELD(PATH_FIELD(at, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
    const struct path *preferred = PATH_FIELD(at, "preferredDuringSchedulingIgnoredDuringExecution");
    if (affinity->required && !affinity->required->terms.len)
        problem_required(problems, terms, "must have at least one node selector term");
    for (uint32_t i = 0; affinity->required && i < affinity->required->terms.len; i++)
        node_selector_term_problems(&affinity->required->terms.items[i], PATH_INDEX(terms, i), problems);
    for (uint32_t i = 0; i < affinity->preferred.len; i++) {
        const struct preferred_node_term *term = &affinity->preferred.items[i];
        const struct path *here = PATH_INDEX(preferred, i);
        if (term->weight < 1 || term->weight > WEIGHT_MAX)
            problem_int(problems, PATH_FIELD(here, "weight"), term->weight, "must be in the range 1-100");
        node_selector_term_problems(&term->preference, PATH_FIELD(here, "preference"), problems);
    }
}

static bool is_one_of(struct str text, const char *const *words, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (str_is(text, words[i]))
            return true;
    return false;
}

/* Empty is the default, where there is one. */
static void check_word(struct str text, const char *const *words, size_t len, bool has_default,
                       const struct path *at, struct problems *problems)
{
    if (!(has_default && !text.len) && !is_one_of(text, words, len))
        problem_unsupported(problems, at, text, words, len);
}

static void check_toleration(const struct toleration *toleration, const struct path *at,
                             struct problems *problems)
{
    static const char *const operators[] = { "Equal", "Exists", "Gt", "Lt" };
    static const char *const effects[] = { "NoExecute", "NoSchedule", "PreferNoSchedule" };
    bool exists = str_is(toleration->operator, "Exists");
    check_word(toleration->operator, operators, ARRAY_SIZE(operators), true, PATH_FIELD(at, "operator"),
               problems);
    check_word(toleration->effect, effects, ARRAY_SIZE(effects), true, PATH_FIELD(at, "effect"), problems);
    if (!toleration->key.len && !exists)
        problem_text(
            problems, PATH_FIELD(at, "operator"), toleration->operator,
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (exists && toleration->value.len)
        problem_text(problems, PATH_FIELD(at, "value"), toleration->value,
                     "value must be empty when `operator` is 'Exists'");
}

static void check_spread(const struct spread_constraint *constraint, const struct path *at,
                         struct problems *problems)
{
    static const char *const actions[] = { "DoNotSchedule", "ScheduleAnyway" };
    static const char *const inclusions[] = { "Honor", "Ignore" };
    struct error why;
    if (constraint->max_skew < 1)
        problem_int(problems, PATH_FIELD(at, "maxSkew"), constraint->max_skew, "must be greater than 0");
    if (!constraint->topology_key.len)
        problem_required(problems, PATH_FIELD(at, "topologyKey"), "can not be empty");
    check_word(constraint->when_unsatisfiable, actions, ARRAY_SIZE(actions), false,
               PATH_FIELD(at, "whenUnsatisfiable"), problems);
    if (constraint->min_domains.set && constraint->min_domains.value < 1)
        problem_int(problems, PATH_FIELD(at, "minDomains"), constraint->min_domains.value,
                    "must be greater than 0");
    if (constraint->min_domains.set && str_is(constraint->when_unsatisfiable, "ScheduleAnyway"))
        problem_int(problems, PATH_FIELD(at, "minDomains"), constraint->min_domains.value,
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule");
    check_word(constraint->node_affinity_policy, inclusions, ARRAY_SIZE(inclusions), true,
               PATH_FIELD(at, "nodeAffinityPolicy"), problems);
    check_word(constraint->node_taints_policy, inclusions, ARRAY_SIZE(inclusions), true,
               PATH_FIELD(at, "nodeTaintsPolicy"), problems);
    if (!constraint->selector)
        problem_required(problems, PATH_FIELD(at, "labelSelector"),
                         "a constraint without one counts no pods; {} counts all pods of the namespace");
    else if (label_selector_check(constraint->selector, &why) < 0)
        problem_forbidden(problems, PATH_FIELD(at, "labelSelector"), why.text);
}

static void check_selector(const struct label_selector *selector, const struct path *at,
                           struct problems *problems)
{
    struct error why;
    if (label_selector_check(selector, &why) < 0)
        problem_forbidden(problems, at, why.text);
}

void policy_check(const struct policy *policy, const struct registry *registry, struct problems *problems)
{
    const struct policy_spec *spec = &policy->spec;
    const struct path *at = PATH_FIELD(NULL, "spec");
    check_name(policy, problems);
    check_resources(&spec->resource_weights, PATH_FIELD(at, "resourceWeights"), problems);
    check_plugins(&spec->plugin_weights, registry, PATH_FIELD(at, "pluginWeights"), problems);
    if (spec->node_affinity)
        check_affinity(spec->node_affinity, PATH_FIELD(at, "nodeAffinity"), problems);
    for (uint32_t i = 0; i < spec->tolerations.len; i++)
        check_toleration(&spec->tolerations.items[i], PATH_INDEX(PATH_FIELD(at, "tolerations"), i), problems);
    for (uint32_t i = 0; i < spec->spread.len; i++)
        check_spread(&spec->spread.items[i], PATH_INDEX(PATH_FIELD(at, "topologySpreadConstraints"), i),
                     problems);
    check_selector(spec->pod_selector, PATH_FIELD(at, "podSelector"), problems);
    check_selector(spec->namespace_selector, PATH_FIELD(at, "namespaceSelector"), problems);
}
