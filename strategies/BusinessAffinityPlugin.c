/* BusinessAffinityPlugin.c: business rules about where workloads may run, and where they prefer to run.
 *
 *     rules        pod label has one of podValues  ->  node label must (Require) or must not (Forbid) be in nodeValues
 *     preferences  pod label = node label          ->  match, else otherwise; the mean if several apply
 *     together     pods with the same value        ->  100 x pods in the node's domain / pods in the fullest domain
 *
 * Rules and preferences whose label a pod does not have do not apply to it: a pod without any is decided without this
 * plugin. The arguments corePool and forbidden are rules and `together` in an older form. */
#include <berth/plugin.h>

#include "at_once.h"
#include "node_value.h"
#include "row_cache.h"

enum { RULES_MAX = 64, PREFERENCES_MAX = 8, DOMAINS_MAX = 256 };

/* ---- arguments ---- */
struct rule_args {
    struct berth_str pod_label, effect, node_label;
    struct berth_strs pod_values, node_values;
};
struct preference_args {
    struct berth_str pod_label, node_label;
    int64_t match, otherwise;
};
struct together_args {
    struct berth_str pod_label, node_label;
};
struct args {
    struct berth_list rules, preferences;
    struct together_args together;
    struct berth_str core_pool;
    struct berth_pairs forbidden; /* the kind of workload, and the pool where it must not run */
};

static const struct berth_field rule_fields[] = {
    BERTH_FIELD("podLabel", BERTH_STRING, struct rule_args, pod_label),
    BERTH_FIELD("podValues", BERTH_STRINGS, struct rule_args, pod_values),
    BERTH_FIELD("effect", BERTH_STRING, struct rule_args, effect),
    BERTH_FIELD("nodeLabel", BERTH_STRING, struct rule_args, node_label),
    BERTH_FIELD("nodeValues", BERTH_STRINGS, struct rule_args, node_values),
    { 0 },
};
/* A struct in a list has no defaults: scores that are not given are known by their sum. */
static const struct berth_field preference_fields[] = {
    BERTH_FIELD("podLabel", BERTH_STRING, struct preference_args, pod_label),
    BERTH_FIELD("nodeLabel", BERTH_STRING, struct preference_args, node_label),
    BERTH_FIELD("match", BERTH_INT, struct preference_args, match),
    BERTH_FIELD("otherwise", BERTH_INT, struct preference_args, otherwise),
    { 0 },
};
static const struct berth_field together_fields[] = {
    BERTH_FIELD("podLabel", BERTH_STRING, struct together_args, pod_label),
    BERTH_FIELD("nodeLabel", BERTH_STRING, struct together_args, node_label),
    { 0 },
};
static const struct berth_field fields[] = {
    BERTH_NESTED("rules", BERTH_LIST, struct args, rules, rule_fields, struct rule_args),
    BERTH_NESTED("preferences", BERTH_LIST, struct args, preferences, preference_fields,
                 struct preference_args),
    BERTH_NESTED("together", BERTH_STRUCT, struct args, together, together_fields, struct together_args),
    BERTH_FIELD("corePool", BERTH_STRING, struct args, core_pool),
    BERTH_FIELD("forbidden", BERTH_MAP, struct args, forbidden),
    { 0 },
};

static const struct berth_str core = TEXT("core"), edge = TEXT("edge"), database = TEXT("database");
static const struct rule_args default_rules[] = {
    { TEXT("business-level"), TEXT("Require"), TEXT("node-level"), { &core, 1 }, { &core, 1 } },
    { TEXT("business-type"), TEXT("Forbid"), TEXT("zone"), { &database, 1 }, { &edge, 1 } },
};
static const struct preference_args default_preferences[] = { { TEXT("preferred-zone"), TEXT("zone"), 100,
                                                                20 } };
static const struct args defaults = { .rules = { default_rules, 2 },
                                      .preferences = { default_preferences, 1 } };

struct rule {
    struct rule_args args;
    bool forbids;
    struct berth_status rejection;
};
struct self {
    struct rule *rules;
    const struct preference_args *preferences;
    struct together_args together;
    uint32_t rules_len, preferences_len;
    struct row_cache nodes;
};

/* What is kept about a node: the rules that it satisfies, and its values for preferences, which are in its object. */
struct node_facts {
    struct row_entry entry;
    uint64_t satisfied;
    struct berth_str values[PREFERENCES_MAX]; /* only the first preferences_len are there */
};

/* ---- init ---- */
static void put_values(char *text, size_t size, struct berth_str label, struct berth_strs values)
{
    size_t len = (size_t)snprintf(text, size, BERTH_FMT "%s", BERTH_ARG(label), values.len ? "=" : "");
    for (uint32_t i = 0; i < values.len && len < size; i++)
        len += (size_t)snprintf(text + len, size - len, "%s" BERTH_FMT, i ? "," : "",
                                BERTH_ARG(values.items[i]));
}

static int add_rule(struct self *self, const struct rule_args *args, uint32_t number,
                    struct berth_arena *arena, struct berth_error *err)
{
    struct rule *rule = &self->rules[self->rules_len++];
    char pod[200], node[200], reason[512];
    if (!args->pod_label.len || !args->node_label.len)
        return berth_fail(err, "rules[%u]: expected a podLabel and a nodeLabel", number);
    rule->args = *args;
    rule->forbids = berth_is(args->effect, "Forbid");
    if (!rule->forbids && !berth_is(args->effect, "Require"))
        return berth_fail(err, "rules[%u].effect: expected Require or Forbid, got \"" BERTH_FMT "\"", number,
                          BERTH_ARG(args->effect));
    put_values(pod, sizeof(pod), args->pod_label, args->pod_values);
    put_values(node, sizeof(node), args->node_label, args->node_values);
    snprintf(reason, sizeof(reason),
             rule->forbids ? "node(s) were %s, where no pod with %s may run"
                           : "node(s) were not %s, which %s requires",
             node, pod);
    rule->rejection = berth_reason(arena, BERTH_UNRESOLVABLE, berth_text(reason));
    return 0;
}

static struct berth_strs one(struct berth_arena *arena, struct berth_str text)
{
    struct berth_str *copy = berth_alloc(arena, sizeof(*copy));
    *copy = text;
    return (struct berth_strs){ copy, 1 };
}

/* The rules of corePool and forbidden, with the labels that they have always had. */
static int add_older_rules(struct self *self, const struct args *args, struct berth_arena *arena,
                           struct berth_error *err)
{
    static const struct berth_str pool = TEXT("business/pool");
    struct berth_str wanted = args->core_pool.len ? args->core_pool : core;
    const struct rule_args tier = {
        TEXT("business/tier"), TEXT("Require"), pool, { &core, 1 }, one(arena, wanted)
    };
    int r = add_rule(self, &tier, 0, arena, err);
    const struct berth_pair databases = { database, edge };
    struct berth_pairs pairs = args->forbidden.len ? args->forbidden : (struct berth_pairs){ &databases, 1 };
    for (uint32_t i = 0; i < pairs.len && r == 0; i++) {
        const struct rule_args kind = { TEXT("business/kind"), TEXT("Forbid"), pool,
                                        one(arena, pairs.items[i].key), one(arena, pairs.items[i].value) };
        r = add_rule(self, &kind, i + 1, arena, err);
    }
    self->together = (struct together_args){ TEXT("business/service"), TEXT("topology.kubernetes.io/zone") };
    return r;
}

static int init_rules(struct self *self, const struct args *args, struct berth_arena *arena,
                      struct berth_error *err)
{
    const struct rule_args *rules = args->rules.items;
    bool older = args->core_pool.len || args->forbidden.len;
    if (older && rules != default_rules)
        return berth_fail(err, "rules: expected either rules, or corePool and forbidden, not both");
    uint32_t len = older ? args->forbidden.len + 2 : args->rules.len;
    if (len > RULES_MAX)
        return berth_fail(err, "rules: expected at most %d rules, got %u", RULES_MAX, len);
    self->rules = berth_alloc(arena, (len + 1) * sizeof(*self->rules));
    if (older)
        return add_older_rules(self, args, arena, err);
    int r = 0;
    for (uint32_t i = 0; i < len && r == 0; i++)
        r = add_rule(self, &rules[i], i, arena, err);
    return r;
}

static int init_preferences(struct self *self, const struct berth_list *list, struct berth_arena *arena,
                            struct berth_error *err)
{
    const struct preference_args *given = list->items;
    struct preference_args *own = berth_alloc(arena, (list->len + 1) * sizeof(*own));
    if (list->len > PREFERENCES_MAX)
        return berth_fail(err, "preferences: expected at most %d, got %u", PREFERENCES_MAX, list->len);
    for (uint32_t i = 0; i < list->len; i++) {
        own[i] = given[i];
        if (!own[i].pod_label.len || !own[i].node_label.len)
            return berth_fail(err, "preferences[%u]: expected a podLabel and a nodeLabel", i);
        if (own[i].match < 0 || own[i].match > 100 || own[i].otherwise < 0 || own[i].otherwise > 100)
            return berth_fail(err, "preferences[%u]: expected match and otherwise from 0 to 100", i);
        if (!own[i].match && !own[i].otherwise)
            own[i].match = default_preferences[0].match, own[i].otherwise = default_preferences[0].otherwise;
    }
    self->preferences = own;
    self->preferences_len = list->len;
    return 0;
}

static void fill_node(const void *context, const void *node, struct row_entry *ret)
{
    const struct self *self = context;
    struct node_facts *facts = (struct node_facts *)(void *)ret;
    facts->satisfied = 0;
    for (uint32_t i = 0; i < self->rules_len; i++) {
        const struct rule *rule = &self->rules[i];
        struct berth_str value = berth_object_label(node, rule->args.node_label.ptr);
        bool has = value.ptr && (!rule->args.node_values.len || value_is_any(value, rule->args.node_values));
        facts->satisfied |= (uint64_t)(has != rule->forbids) << i;
    }
    for (uint32_t i = 0; i < self->preferences_len; i++)
        facts->values[i] = berth_object_label(node, self->preferences[i].node_label.ptr);
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    self->together = args->together;
    if (!args->together.pod_label.len != !args->together.node_label.len)
        return berth_fail(err, "together: expected a podLabel and a nodeLabel");
    int r = init_rules(self, args, env->arena, err);
    if (r == 0)
        r = init_preferences(self, &args->preferences, env->arena, err);
    size_t size = offsetof(struct node_facts, values) + self->preferences_len * sizeof(struct berth_str);
    self->nodes = (struct row_cache){ .size = size, .fill = fill_node };
    *ret_self = self;
    return r;
}

static void release(void *data)
{
    struct self *self = data;
    row_cache_release(&self->nodes);
}

/* ---- the pod ---- */
/* The number of pods per topology domain, by the value of a node label. */
struct domains {
    struct berth_str names[DOMAINS_MAX];
    int64_t pods[DOMAINS_MAX], most;
    uint32_t len;
};
struct pod_facts {
    struct self *self;
    uint64_t rules; /* that apply to it */
    struct berth_str wanted[PREFERENCES_MAX];
    uint32_t wanted_len; /* of those that it has */
    struct berth_str together;
    struct domains *domains; /* NULL: not counted yet */
};

static uint64_t rules_of(const struct self *self, const void *pod)
{
    uint64_t rules = 0;
    for (uint32_t i = 0; i < self->rules_len; i++) {
        const struct rule_args *args = &self->rules[i].args;
        struct berth_str value = berth_object_label(pod, args->pod_label.ptr);
        rules |= (uint64_t)(value.ptr && (!args->pod_values.len || value_is_any(value, args->pod_values)))
                 << i;
    }
    return rules;
}

static __attribute__((noinline)) struct pod_facts *read_pod(struct berth_cycle *cycle)
{
    struct self *self = berth_cycle_self(cycle);
    const struct berth_pod *pod = berth_cycle_pod(cycle);
    struct pod_facts *facts = berth_alloc(berth_cycle_arena(cycle), sizeof(*facts));
    row_cache_begin(&self->nodes, berth_cycle_cluster(cycle));
    facts->self = self;
    facts->rules = rules_of(self, pod);
    for (uint32_t i = 0; i < self->preferences_len; i++) {
        facts->wanted[i] = berth_object_label(pod, self->preferences[i].pod_label.ptr);
        facts->wanted_len += facts->wanted[i].ptr != NULL;
    }
    if (self->together.pod_label.len)
        facts->together = berth_object_label(pod, self->together.pod_label.ptr);
    return facts;
}

/* PreFilter and PreScore need not be enabled, so each slot may be the first one. */
static struct pod_facts *facts_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state)
        *state = read_pod(cycle);
    return *state;
}

/* ---- Filter ---- */
static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    (void)narrow;
    return facts_of(cycle)->rules ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

AT_ONCE struct berth_status judge(const struct pod_facts *pod, struct berth_node_view node)
{
    if (!pod->rules)
        return BERTH_OK;
    const struct node_facts *facts = row_cache_get(&pod->self->nodes, pod->self, node);
    uint64_t broken = pod->rules & ~facts->satisfied;
    return broken ? pod->self->rules[__builtin_ctzll(broken)].rejection : BERTH_OK;
}

FILTER_SLOTS(facts_of, judge)

/* ---- Score ---- */
static int64_t *domain_pods(struct domains *domains, struct berth_str name)
{
    uint32_t i = 0;
    while (i < domains->len && !berth_eq(domains->names[i], name))
        i++;
    if (i == domains->len && i < DOMAINS_MAX)
        domains->names[domains->len++] = name;
    return i < DOMAINS_MAX ? &domains->pods[i] : NULL;
}

static void count_domains(struct berth_cycle *cycle, const struct self *self, struct pod_facts *facts)
{
    const struct berth_cluster *cluster = berth_cycle_cluster(cycle);
    struct domains *domains = berth_alloc(berth_cycle_arena(cycle), sizeof(*domains));
    struct berth_rows rows = berth_nodes(cluster);
    domains->most = 1;
    for (uint32_t i = 0; i < rows.len; i++) {
        struct berth_node_view node = berth_node(cluster, rows.items[i]);
        struct berth_pod_infos pods = berth_node_pods(node);
        struct berth_str name = berth_node_label(node, self->together.node_label.ptr);
        int64_t *count = pods.len && name.ptr ? domain_pods(domains, name) : NULL;
        for (size_t p = 0; count && p < pods.len; p++) {
            struct berth_str value =
                berth_object_label(berth_info_pod(pods.items[p]), self->together.pod_label.ptr);
            *count += value.ptr && berth_eq(value, facts->together);
        }
        if (count && *count > domains->most)
            domains->most = *count;
    }
    facts->domains = domains;
}

static int64_t together_score(const struct self *self, struct pod_facts *facts, struct berth_node_view node)
{
    struct berth_str name = berth_node_label(node, self->together.node_label.ptr);
    const int64_t *count = name.ptr ? domain_pods(facts->domains, name) : NULL;
    return count ? *count * BERTH_SCORE_MAX / facts->domains->most : 0;
}

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    const struct pod_facts *facts = facts_of(cycle);
    return facts->wanted_len || facts->together.ptr ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

/* With what is counted for the first node. */
static struct pod_facts *counted_facts(struct berth_cycle *cycle)
{
    struct pod_facts *facts = facts_of(cycle);
    if (facts->together.ptr && !facts->domains)
        count_domains(cycle, facts->self, facts);
    return facts;
}

AT_ONCE int64_t node_score(struct pod_facts *facts, struct berth_node_view node)
{
    struct self *self = facts->self;
    int64_t sum = 0, parts = facts->wanted_len;
    if (parts) {
        const struct node_facts *there = row_cache_get(&self->nodes, self, node);
        for (uint32_t i = 0; i < self->preferences_len; i++)
            if (facts->wanted[i].ptr)
                sum += there->values[i].ptr && berth_eq(there->values[i], facts->wanted[i])
                           ? self->preferences[i].match
                           : self->preferences[i].otherwise;
    }
    if (facts->together.ptr) {
        sum += together_score(self, facts, node);
        parts++;
    }
    return parts ? sum / parts : 0;
}

SCORE_SLOTS(counted_facts, node_score)

/* ---- waking ---- */
static bool satisfies(const struct self *self, uint64_t rules, const void *node)
{
    struct node_facts facts;
    fill_node(self, node, &facts.entry);
    return !(rules & ~facts.satisfied);
}

/* A rejected pod may run on a node that this plugin accepts, and did not accept before. */
static enum berth_hint_answer node_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                           const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    uint64_t rules = rules_of(self, pod);
    const void *before = berth_event_before(event);
    bool helps =
        satisfies(self, rules, berth_event_after(event)) && !(before && satisfies(self, rules, before));
    return helps ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

/* So may a pod to which a rule no longer applies. */
static enum berth_hint_answer pod_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                          const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    const void *before = berth_event_before(event), *after = berth_event_after(event);
    if (!berth_same_pod(pod, after))
        return BERTH_HINT_SKIP;
    return rules_of(self, before) & ~rules_of(self, after) ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_LABEL, node_changed },
    { BERTH_EVENT_TARGET_POD, BERTH_POD_LABEL, pod_changed },
    { 0 },
};

static const char *const reads[] = { "metadata.labels", NULL };

#define DESCRIPTOR(name_) \
    { \
        .name = (name_), \
        .doc = "Keeps workloads on the nodes that business rules allow, and near what they prefer.", \
        .args = fields, \
        .args_size = sizeof(struct args), \
        .args_defaults = &defaults, \
        .init = init, \
        .release = release, \
        .pre_filter = pre_filter, \
        .filter = filter, \
        .filter_nodes = filter_nodes, \
        .pre_score = pre_score, \
        .score = score, \
        .score_nodes = score_nodes, \
        .events = events, \
        .reads = reads, \
    }
static const struct berth_plugin business_affinity = DESCRIPTOR("BusinessAffinityPlugin");
static const struct berth_plugin alias = DESCRIPTOR("BusinessAffinity");

BERTH_PLUGINS(&business_affinity, &alias)
