/* policies.c: see policies.h. */
#include "policy/policies.h"

#include "api/labels.h"

const char *const policy_source_names[POLICY_SOURCE_COUNT] = {
#define X(name, text) [POLICY_BY_##name] = text,
    POLICY_SOURCES(X)
#undef X
};

/* NULL: the pod is decided as it is. */
static const struct policy *choose(const struct policies *policies, const struct pod *object,
                                   enum policy_source *ret_by)
{
    if (!policies || !policies->set || !policies->set->len || !policies->config ||
        !config_profile(policies->config, object->spec.scheduler_name))
        return NULL;
    const struct policy *policy = policy_set_choose(policies->set, policies->cluster, object, ret_by);
    return policy && !policy->is_empty ? policy : NULL;
}

static const struct pod *derive(void *context, const struct pod *object)
{
    const struct policies *policies = context;
    enum policy_source by;
    const struct policy *policy = choose(policies, object, &by);
    if (!policy)
        return object;
    struct policy_priority priority = policy_priority(policies->cluster, policy);
    return policy_derive(policies->set, policy, by, &priority, object);
}

static const struct pod_deriver deriver = { derive, policy_release_derived };

void policies_init(struct policies *policies, struct cluster *cluster, const struct scheduler_config *config)
{
    *policies = (struct policies){ .cluster = cluster, .config = config };
    cluster->deriver = &deriver;
    cluster->deriver_context = policies;
}

void policies_release(struct policies *policies)
{
    if (policies->cluster)
        policies->cluster->deriver_context = NULL;
    policy_set_unref(policies->set);
    *policies = (struct policies){ 0 };
}

void policies_use(struct policies *policies, struct policy_set *set)
{
    struct policy_set *old = policies->set;
    policies->set = set ? policy_set_ref(set) : NULL;
    policy_set_unref(old);
    if (set && set->weighing)
        pod_key_read(policies->cluster, POD_KEY_POLICY);
}

static bool same_priority(const struct policies *policies, const struct policy *policy,
                          const struct pod_info *pod)
{
    struct policy_priority priority = policy_priority(policies->cluster, policy);
    const struct pod *object = pod_info_object(pod), *derived = pod->api;
    if (!priority.known)
        return derived->spec.priority.value == object->spec.priority.value &&
               str_eq(derived->spec.preemption_policy, object->spec.preemption_policy);
    return derived->spec.priority.value == priority.value &&
           str_eq(derived->spec.preemption_policy, priority.preemption_policy);
}

bool policies_is_current(const struct policies *policies, const struct pod_info *pod)
{
    enum policy_source by;
    const struct policy *now = choose(policies, pod_info_object(pod), &by), *then = policy_of(pod->api);
    if (!now || !then)
        return now == then;
    return by == pod->api->policy_by && str_eq(now->shown.name, then->shown.name) &&
           str_eq(now->key, then->key) && same_priority(policies, now, pod);
}

struct profile_variant policy_variant(const struct policy *policy)
{
    return (struct profile_variant){ policy->shown.name, policy->spec.plugin_weights,
                                     policy->spec.resource_weights };
}

/* ---- words ---- */
static void add_weights(struct strbuf *out, const char *what, const struct weight_map *weights)
{
    for (uint32_t i = 0; i < weights->len; i++)
        strbuf_printf(out, "%s" STR_FMT " %lld%s", i ? ", " : what, STR_ARG(weights->items[i].name),
                      (long long)weights->items[i].weight, i + 1 == weights->len ? "; " : "");
}

void policy_describe(const struct policy *policy, struct strbuf *out)
{
    const struct policy_spec *spec = &policy->spec;
    const struct node_affinity *affinity = spec->node_affinity;
    const struct {
        bool applies;
        const char *words;
    } parts[] = {
        { affinity && affinity->required, "required node affinity; " },
        { affinity && affinity->preferred.len, "preferred node affinity; " },
        { spec->tolerations.len, "tolerations; " },
        { spec->spread.len, "topology spread constraints; " },
    };
    add_weights(out, "resource weights ", &spec->resource_weights);
    add_weights(out, "plugin weights ", &spec->plugin_weights);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (parts[i].applies)
            strbuf_puts(out, parts[i].words);
    if (spec->priority_class.len)
        strbuf_printf(out, "priority class " STR_FMT "; ", STR_ARG(spec->priority_class));
    out->text[out->len -= 2] = '\0'; /* a policy that says nothing is no pod's */
}

static void describe_label(const struct policy_set *set, const struct meta *meta, enum policy_source source,
                           struct strbuf *out)
{
    const struct str *name = str_map_get(&meta->labels, STR(POLICY_LABEL));
    strbuf_printf(
        out, "The %s names the policy " STR_FMT ", %s. ", policy_source_names[source], STR_ARG(*name),
        policy_set_find(set, *name) ? "whose namespaceSelector does not match" : "which is not there");
}

static void describe_labels(const struct policies *policies, const struct pod *pod, struct strbuf *out)
{
    const struct policy_set *set = policies->set;
    const struct namespace *namespace =
        cluster_get(&policies->cluster->namespaces, (struct str){ 0 }, pod->meta.namespace);
    if (policy_set_passes_over(set, &pod->meta, namespace))
        describe_label(set, &pod->meta, POLICY_BY_POD_LABEL, out);
    else if (str_map_get(&pod->meta.labels, STR(POLICY_LABEL)))
        return;
    if (namespace && policy_set_passes_over(set, &namespace->meta, namespace))
        describe_label(set, &namespace->meta, POLICY_BY_NAMESPACE_LABEL, out);
}

void policies_describe_missing(const struct cluster *cluster, const struct pod *pod, struct strbuf *out)
{
    const struct policies *policies = cluster->deriver == &deriver ? cluster->deriver_context : NULL;
    const struct policy *policy = policy_of(pod);
    if (policies && policies->set)
        describe_labels(policies, pod, out);
    if (policy && policy->spec.priority_class.len && !policy_priority(cluster, policy).known)
        strbuf_printf(out, "There is no PriorityClass " STR_FMT ", so the pod keeps its own priority. ",
                      STR_ARG(policy->spec.priority_class));
    if (out->len)
        out->text[--out->len] = '\0';
}
