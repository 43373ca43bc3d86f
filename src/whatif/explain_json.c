/* explain_json.c: an explanation as JSON: preFilter, nodes, best, message and preemption as docs/CLI.md names them. */
#include "codec/json_writer.h"
#include "framework/weights.h"
#include "policy/policies.h"
#include "whatif/explain_print.h"

static void put_status(struct json_writer *json, struct status status)
{
    json_member_str(json, "status", str_from(status_code_name(status.code)));
    if (status_ok(status))
        return;
    if (status.plugin)
        json_member_str(json, "plugin", str_from(status.plugin->name));
    if (status.len)
        json_member_strs(json, "reasons", status.reasons, status.len);
}

static void put_pre_filter(struct json_writer *json, const struct evaluation *evaluation)
{
    json_key(json, STR("preFilter"));
    json_begin_line(json);
    put_status(json, evaluation->pre_filter);
    if (status_ok(evaluation->pre_filter) && !evaluation->names.all)
        json_member_strs(json, "nodeNames", evaluation->names.items, evaluation->names.len);
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
    json_member_int(json, "total", node->total);
}

static void put_node(struct json_writer *json, const struct explanation *explanation,
                     const struct score_view *view, uint32_t row)
{
    uint32_t place = explanation->places[row];
    json_key(json, cluster_node_name(explanation->cluster, row));
    json_begin_line(json);
    if (explain_is_unexamined(explanation, row)) {
        json_member_bool(json, "asked", false);
        json_end_line(json);
        return;
    }
    json_member_bool(json, "feasible", place > 0);
    if (place)
        scored_node_members(view, &view->nodes[place - 1], json);
    else
        put_status(json, diagnosis_get(&explanation->evaluation.diagnosis, row));
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

static void put_preemption(struct json_writer *json, const struct explanation *explanation)
{
    const struct preemption *found = &explanation->preemption;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    json_member_object(json, "preemption");
    json_member_str(json, "status", str_from(status_code_name(found->status.code)));
    if (!str_empty(found->message))
        json_member_str(json, "message", found->message);
    put_rows(json, explanation, "nominated", found->top, found->top_len);
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
    json_end_object(json);
}

/* Those that a plugin has moved. */
static void put_weights(struct json_writer *json, const struct explanation *explanation)
{
    const struct score_weights *weights = explanation->cycle.weights;
    if (!weights || !weights->set)
        return;
    json_member_object(json, "weights");
    for (uint32_t i = 0; i < explanation->profile->plugins_len; i++) {
        const struct plugin_instance *instance = &explanation->profile->plugins[i];
        if (!(weights->set >> i & 1))
            continue;
        json_key(json, str_from(instance->plugin->name));
        json_begin_line(json);
        json_member_int(json, "weight", weights->of[i]);
        json_member_int(json, "configured", instance->weight);
        json_member_str(json, "by", str_from(weights->reasons[i].by->name));
        json_member_str(json, "reason", weights->reasons[i].text);
        json_end_line(json);
    }
    json_end_object(json);
}

void explain_members(const struct explanation *explanation, struct json_writer *json)
{
    const struct pod *pod = explanation->cycle.pod;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    json_member_str(json, "pod", pod_full_name(pod, &scratch));
    json_member_str(json, "schedulerName", explanation->profile->scheduler_name);
    json_member_int(json, "priority", explanation->cycle.info->priority);
    if (pod->policy) {
        json_member_str(json, "policy", pod->policy->name);
        json_member_str(json, "policyBy", str_from(policy_source_names[pod->policy_by]));
    }
    if (!status_ok(explanation->pre_enqueue)) {
        json_member_object(json, "preEnqueue");
        put_status(json, explanation->pre_enqueue);
        json_end_object(json);
    }
    put_pre_filter(json, &explanation->evaluation);
    struct score_view view = explain_scores(explanation, &scratch);
    json_member_object(json, "nodes");
    for (uint32_t i = 0; i < explanation->rows_len && status_ok(explanation->evaluation.pre_filter); i++)
        put_node(json, explanation, &view, explanation->rows[i]);
    json_end_object(json);
    put_weights(json, explanation);
    put_rows(json, explanation, "best", explanation->best, explanation->best_len);
    if (!str_empty(explanation->message))
        json_member_str(json, "message", explanation->message);
    if (explanation->preempts)
        put_preemption(json, explanation);
    if (explanation->skipped_plugin)
        json_member_str(json, "notAsked", str_from(explanation->skipped_plugin));
    explain_cost_member(explanation, json);
}

void explain_json(const struct explanation *explanation, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    json_begin_object(&json);
    explain_members(explanation, &json);
    json_end_object(&json);
    strbuf_putc(out, '\n');
}
