/* explain_json.c: an explanation as JSON, as docs/OUTPUT.md describes it. */
#include "api/output.h"
#include "framework/weights.h"
#include "input/input.h"
#include "policy/policies.h"
#include "whatif/explain_print.h"

void status_members(struct json_writer *json, struct status status)
{
    json_member_str(json, "status", str_from(status_code_name(status.code)));
    output_member_text(json, "plugin", str_from(status.plugin ? status.plugin->name : ""));
    uint32_t len = MIN(status.len, (uint32_t)SHORTFALLS_MAX);
    json_member_array(json, "reasons");
    for (uint32_t i = 0; i < len; i++)
        json_str(json, status.reasons[i]);
    if (len < status.len) {
        char more[32];
        snprintf(more, sizeof(more), "%u more", status.len - len);
        json_str(json, str_from(more));
    }
    json_end_array(json);
}

static void put_pre_enqueue(struct json_writer *json, struct status status)
{
    json_key(json, STR("preEnqueue"));
    if (status_ok(status)) {
        json_null(json);
        return;
    }
    json_begin_line(json);
    status_members(json, status);
    json_end_line(json);
}

static void put_pre_filter(struct json_writer *json, const struct evaluation *evaluation,
                           const struct row_why *why)
{
    json_key(json, STR("preFilter"));
    json_begin_line(json);
    status_members(json, evaluation->pre_filter);
    if (status_ok(evaluation->pre_filter) && !evaluation->names.all)
        json_member_strs(json, "nodeNames", evaluation->names.items, evaluation->names.len);
    else
        output_member_null(json, "nodeNames");
    why_member(json, why);
    json_end_line(json);
}

void scored_node_members(const struct score_view *view, const struct scored_node *node,
                         struct json_writer *json)
{
    json_member_object(json, "scores");
    for (uint32_t p = 0; p < view->plugins_len; p++)
        if (!(view->hidden >> p & 1))
            json_member_int(json, view->plugins[p], node->scores[p]);
    json_end_object(json);
    if (view->has_extenders)
        json_member_int(json, "extenders", node->extenders);
    else
        output_member_null(json, "extenders");
    json_member_int(json, "total", node->total);
}

/* One thing that a node lacks; members that do not apply are left out. */
static void put_lack(struct json_writer *json, const struct shortfall *lack, struct arena *scratch)
{
    json_begin_object(json);
    output_member_text(json, "plugin", str_from(lack->plugin ? lack->plugin->name : ""));
    output_member_text(json, "reason", str_from(lack->reason ?: ""));
    json_member_str(json, "sentence", shortfall_sentence(lack, 1, scratch));
    if (lack->resource.len) {
        json_member_str(json, "resource", lack->resource);
        json_member_int(json, "needs", lack->needs);
        json_member_int(json, "free", lack->free);
        json_member_int(json, "allocatable", lack->allocatable);
    }
    if (lack->key.len) {
        json_member_str(json, "key", lack->key);
        output_member_text(json, "wants", lack->wants);
        output_member_text(json, "has", lack->has);
    }
    if (lack->pod)
        output_member_name(json, "pod", lack->pod);
    if (lack->skew.set) {
        json_member_int(json, "skew", lack->skew.value);
        json_member_int(json, "maxSkew", lack->max_skew);
    }
    json_end_object(json);
}

void why_member(struct json_writer *json, const struct row_why *why)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    json_member_array(json, "why");
    for (uint32_t i = 0; i < why->len; i++)
        put_lack(json, &why->items[i], &scratch);
    json_end_array(json);
}

static void put_rejections(struct json_writer *json, const struct explanation *explanation)
{
    const struct rejected_groups *groups = &explanation->rejections;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    json_member_array(json, "rejections");
    for (uint32_t i = 0; i < groups->len; i++) {
        const struct rejected_group *group = &groups->items[i];
        json_begin_line(json);
        status_members(json, group->status);
        json_member_int(json, "nodes", group->nodes);
        json_member_str(json, "sentence", rejected_group_sentence(explanation->cluster, group, &scratch));
        json_member_str(json, "closest", cluster_node_name(explanation->cluster, group->closest));
        why_member(json, &group->why);
        json_end_line(json);
    }
    json_end_array(json);
}

static void put_node(struct json_writer *json, const struct explanation *explanation,
                     const struct score_view *view, uint32_t row)
{
    uint32_t place = explanation->places[row];
    json_begin_line(json);
    json_member_str(json, "name", cluster_node_name(explanation->cluster, row));
    if (explain_is_unexamined(explanation, row)) {
        output_member_null(json, "feasible");
        json_end_line(json);
        return;
    }
    json_member_bool(json, "feasible", place > 0);
    if (place) {
        scored_node_members(view, &view->nodes[place - 1], json);
    } else {
        status_members(json, diagnosis_get(&explanation->evaluation.diagnosis, row));
        why_member(json, &explanation->why_of[row]);
    }
    json_end_line(json);
}

static void put_rows(struct json_writer *json, const struct explanation *explanation, const char *key,
                     const uint32_t *rows, uint32_t len)
{
    json_member_array(json, key);
    for (uint32_t i = 0; i < len; i++)
        json_str(json, cluster_node_name(explanation->cluster, rows[i]));
    json_end_array(json);
}

/* By node, with the names of pods as texts: the form of the recorded cases that this member is compared with. */
static void put_candidates(struct json_writer *json, const struct explanation *explanation)
{
    const struct preemption *found = &explanation->preemption;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    json_member_object(json, "candidates");
    for (uint32_t i = 0; i < found->candidates_len; i++) {
        const struct preempt_candidate *candidate = &found->candidates[i];
        json_key(json, cluster_node_name(explanation->cluster, candidate->row));
        json_begin_line(json);
        json_member_array(json, "victims");
        for (uint32_t v = 0; v < candidate->victims_len; v++)
            json_str(json, pod_full_name(candidate->victims[v]->api, &scratch));
        json_end_array(json);
        json_member_int(json, "pdbViolations", candidate->pdb_violations);
        json_end_line(json);
    }
    json_end_object(json);
}

static void put_preemption(struct json_writer *json, const struct explanation *explanation)
{
    const struct preemption *found = &explanation->preemption;
    if (!explanation->preempts) {
        output_member_null(json, "preemption");
        return;
    }
    json_member_object(json, "preemption");
    json_member_str(json, "status", str_from(status_code_name(found->status.code)));
    output_member_text(json, "message", found->message);
    put_rows(json, explanation, "nominated", found->top, found->top_len);
    put_candidates(json, explanation);
    json_end_object(json);
}

/* Those that a plugin has moved. */
static void put_weights(struct json_writer *json, const struct explanation *explanation)
{
    const struct score_weights *weights = explanation->cycle.weights;
    json_member_array(json, "weights");
    for (uint32_t i = 0; weights && i < explanation->profile->plugins_len; i++) {
        const struct plugin_instance *instance = &explanation->profile->plugins[i];
        if (!(weights->set >> i & 1))
            continue;
        json_begin_line(json);
        json_member_str(json, "plugin", str_from(instance->plugin->name));
        json_member_int(json, "weight", weights->of[i]);
        json_member_int(json, "configured", instance->weight);
        json_member_str(json, "by", str_from(weights->reasons[i].by->name));
        json_member_str(json, "reason", weights->reasons[i].text);
        json_end_line(json);
    }
    json_end_array(json);
}

static void put_policy(struct json_writer *json, const struct pod *pod)
{
    if (!pod->policy) {
        output_member_null(json, "policy");
        return;
    }
    json_member_object(json, "policy");
    json_member_str(json, "name", pod->policy->name);
    json_member_str(json, "by", str_from(policy_source_names[pod->policy_by]));
    json_end_object(json);
}

/* The best node beside the next one. */
static void put_decided(struct json_writer *json, const struct explanation *explanation,
                        const struct score_view *view)
{
    const struct scored_node *best, *next;
    json_key(json, STR("decided"));
    if (!explain_runner_up(explanation, view, &best, &next)) {
        json_null(json);
        return;
    }
    struct comparison found = scores_compare(view, best, next);
    json_begin_line(json);
    json_member_str(json, "node", best->name);
    json_member_str(json, "next", next->name);
    json_member_int(json, "lead", found.lead);
    json_member_str(json, "plugin", str_from(found.plugin));
    json_member_int(json, "difference", found.by);
    json_end_line(json);
}

static void put_nodes(struct json_writer *json, const struct explanation *explanation)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    struct score_view view = explain_scores(explanation, &scratch);
    json_member_array(json, "nodes");
    for (uint32_t i = 0; i < explanation->rows_len && status_ok(explanation->evaluation.pre_filter); i++)
        put_node(json, explanation, &view, explanation->rows[i]);
    json_end_array(json);
    put_decided(json, explanation, &view);
}

/* The plugins that are asked about a node, in this order; the first that rejects it ends that. */
static void put_filters(struct json_writer *json, const struct explanation *explanation)
{
    const struct plugin_order *order = &explanation->profile->points[POINT_FILTER];
    json_member_array(json, "filters");
    for (uint32_t i = 0; i < order->len; i++)
        if (!(explanation->cycle.skip_filter >> order->items[i]->index & 1))
            json_str(json, str_from(order->items[i]->plugin->name));
    json_end_array(json);
}

void explain_members(const struct explanation *explanation, struct json_writer *json)
{
    const struct pod *pod = explanation->cycle.pod;
    output_member_name(json, "pod", &pod->meta);
    json_member_str(json, "schedulerName", explanation->profile->scheduler_name);
    json_member_int(json, "priority", explanation->cycle.info->priority);
    output_member_text(json, "presentNode",
                       explanation->present_row == ROW_NONE
                           ? (struct str){ 0 }
                           : cluster_node_name(explanation->cluster, explanation->present_row));
    put_policy(json, pod);
    put_pre_enqueue(json, explanation->pre_enqueue);
    put_pre_filter(json, &explanation->evaluation, &explanation->pod_why);
    put_filters(json, explanation);
    put_nodes(json, explanation);
    put_rejections(json, explanation);
    explain_node_member(explanation, json);
    put_weights(json, explanation);
    put_rows(json, explanation, "best", explanation->best, explanation->best_len);
    output_member_text(json, "message", explanation->message);
    output_member_text(json, "failedBy", explanation->failed_by);
    if (explanation->options.pods_before.set)
        json_member_int(json, "podsBefore", explanation->options.pods_before.value);
    else
        output_member_null(json, "podsBefore");
    put_preemption(json, explanation);
    output_member_text(json, "notAsked", str_from(explanation->skipped_plugin ?: ""));
    if (explanation->options.timing)
        explain_cost_member(explanation, json);
    else
        output_member_null(json, "cost");
}

void explain_json(const struct explanation *explanation, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    output_begin(&json, "Explanation");
    explain_members(explanation, &json);
    output_end(&json);
}
