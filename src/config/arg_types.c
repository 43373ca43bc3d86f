/* arg_types.c: see arg_types.h. */
#include "config/arg_types.h"

#include "api/labels.h"
#include "codec/record_rows.h"

static void requirement_finish(void *ret, yyjson_val *val _unused_)
{
    struct selector_requirement *requirement = ret;
    requirement->op = selector_op_from(requirement->operator);
}

#define T struct selector_requirement
static const struct record_field requirement_fields[] = {
    F("key", 0, STR, key, RECORD_ALWAYS),
    F("operator", 0, STR, operator, RECORD_ALWAYS),
    F("values", 0, STRS, values),
};
TYPE_SHARED_WITH(requirement, .finish = requirement_finish)
#undef T

#define T struct label_selector
static const struct record_field label_selector_fields[] = {
    F("matchLabels", 0, PAIRS, match_labels),
    F_LIST("matchExpressions", 0, match_expressions, requirement),
};
TYPE_SHARED(label_selector)
#undef T

#define T struct node_selector_term
static const struct record_field selector_term_fields[] = {
    F_LIST("matchExpressions", 0, match_expressions, requirement),
    F_LIST("matchFields", 0, match_fields, requirement),
};
TYPE(selector_term)
#undef T

#define T struct node_selector
static const struct record_field node_selector_fields[] = {
    F_LIST("nodeSelectorTerms", 0, terms, selector_term),
};
TYPE(node_selector)
#undef T

#define T struct preferred_node_term
static const struct record_field preferred_term_fields[] = {
    F("weight", 0, INT32, weight, RECORD_ALWAYS),
    F_STRUCT("preference", 0, preference, selector_term, RECORD_ALWAYS),
};
TYPE(preferred_term)
#undef T

#define T struct node_affinity
static const struct record_field node_affinity_fields[] = {
    F_PTR("requiredDuringSchedulingIgnoredDuringExecution", 0, required, node_selector),
    F_LIST("preferredDuringSchedulingIgnoredDuringExecution", 0, preferred, preferred_term),
};
TYPE_SHARED(node_affinity)
#undef T

#define T struct spread_constraint
static const struct record_field spread_constraint_fields[] = {
    F("maxSkew", 0, INT32, max_skew, RECORD_ALWAYS),
    F("topologyKey", 0, STR, topology_key, RECORD_ALWAYS),
    F("whenUnsatisfiable", 0, STR, when_unsatisfiable, RECORD_ALWAYS),
    F_PTR("labelSelector", 0, selector, label_selector),
    F("minDomains", 0, OPT_INT32, min_domains),
    F("nodeAffinityPolicy", 0, STR, node_affinity_policy),
    F("nodeTaintsPolicy", 0, STR, node_taints_policy),
    F("matchLabelKeys", 0, STRS, match_label_keys),
};
TYPE_SHARED(spread_constraint)
#undef T
