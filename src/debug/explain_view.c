/* explain_view.c: gathers what is known about a pod, and writes it as JSON; see explain_view.h. */
#include <stdlib.h>

#include "api/output.h"
#include "debug/explain_facts.h"
#include "debug/views.h"
#include "engine/binding.h"
#include "engine/decide.h"
#include "observe/observer.h"

const char *const pod_state_names[POD_STATE_COUNT] = {
#define X(name, text) [POD_##name] = text,
    POD_STATES(X)
#undef X
};

/* ---- where it is ---- */
static void find_state(struct explain_facts *facts)
{
    struct pod_info *pod = facts->pod;
    facts->state = POD_GONE;
    if (!pod)
        return;
    facts->profile = engine_profile(facts->engine, pod->api);
    facts->binding = binding_find(facts->engine, pod->api);
    facts->entry = queue_find(&facts->engine->queue, pod);
    if (facts->binding)
        facts->state = POD_BINDING;
    else if (pod->row != ROW_NONE)
        facts->state = POD_BOUND;
    else if (!facts->profile)
        facts->state = POD_FOREIGN;
    else
        facts->state = facts->entry ? POD_QUEUED : POD_UNTRIED;
}

/* ---- what would be decided now ---- */
/* Empty: nothing speaks against it. */
static struct str why_not_now(const struct explain_facts *facts)
{
    const struct pod_info *pod = facts->pod;
    if (!pod)
        return STR("it is gone");
    if (!facts->profile)
        return STR("it belongs to another scheduler");
    if (pod->terminating)
        return STR("it is being deleted");
    if (facts->binding && (pod->class->has_claims || pod->class->has_devices))
        return STR("its volumes or devices are being prepared for the node that it goes to");
    return (struct str){ 0 };
}

/* Where a look at a node may take long, no more nodes are looked at than for a decision. */
static struct opt_int32 how_many(const struct explain_facts *facts, const struct explain_source *source)
{
    bool slow = facts->pod->class->has_devices;
    for (uint32_t i = 0; i < facts->profile->plugins_len && source->file_of; i++)
        slow |= source->file_of(facts->profile->plugins[i].plugin) != NULL;
    return (struct opt_int32){ .set = slow, .value = engine_percentage(facts->engine, facts->profile) };
}

static void evaluate(struct explain_facts *facts, const struct explain_source *source)
{
    const struct http_extenders *extenders = NULL;
    if (source->extenders_of && facts->profile->extenders && facts->engine->now.owner)
        extenders = source->extenders_of(facts->engine->now.owner);
    facts->now = arena_new(facts->arena, struct explanation);
    explain_pod(facts->now, facts->profile, source->engine->cluster, facts->pod,
                &(struct explain_options){
                    .now_ns = facts->now_ns,
                    .wall_ahead_ns = facts->engine->statuses.wall_ahead_ns,
                    .live = true,
                    .timing = facts->request->timing,
                    .node = facts->request->node,
                    .is_preempting = facts->entry && queue_is_held(&facts->engine->queue, facts->entry),
                    .percentage = how_many(facts, source),
                    .file_of = source->file_of,
                    .extenders = extenders });
    for (uint32_t i = 0; i < facts->profile->plugins_len; i++)
        observer_sampled(facts->profile, i, &facts->now->costs[i].sampled_calls,
                         &facts->now->costs[i].sampled_ns);
}

/* ---- nodes of attempts ---- */
uint32_t facts_nodes_gone(const struct explain_facts *facts, const struct attempt *attempt)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < facts->rows_len; i++)
        same += attempt_node_is_same(attempt, facts->engine->cluster, facts->rows[i]);
    return attempt->live_nodes - MIN(same, attempt->live_nodes);
}

struct str facts_node(const struct explain_facts *facts, const struct attempt *attempt, uint32_t row)
{
    const struct cluster *cluster = facts->engine->cluster;
    bool same = row != ROW_NONE && attempt_node_is_same(attempt, cluster, row);
    return same ? cluster_node_name(cluster, row) : (struct str){ 0 };
}

struct score_view facts_best(const struct explain_facts *facts, const struct attempt *attempt)
{
    for (uint32_t k = 0; k < attempt->best.len; k++)
        attempt->best.nodes[k].name = facts_node(facts, attempt, attempt->best_rows[k]);
    return attempt->best;
}

/* ---- JSON ---- */
static void put_binding(struct json_writer *json, const struct explain_facts *facts)
{
    const struct pod_binding *binding = facts->binding;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    if (facts->state != POD_BINDING) {
        output_member_null(json, "binding");
        return;
    }
    json_key(json, STR("binding"));
    json_begin_line(json);
    json_member_str(json, "stage", str_from(binding_stage_names[binding->stage]));
    json_member_str(json, "node", binding->node);
    view_put_seconds(json, "seconds", facts->now_ns - binding->started_ns);
    output_member_text(json, "waitsFor",
                       profile_plugin_names(binding->cycle.profile, binding->waits_for, &scratch));
    json_end_line(json);
}

static void put_place(struct json_writer *json, const struct explain_facts *facts)
{
    json_member_str(json, "state", str_from(pod_state_names[facts->state]));
    put_binding(json, facts);
    output_member_text(json, "node",
                       facts->state == POD_BOUND ? cluster_node_name(facts->engine->cluster, facts->pod->row)
                                                 : (struct str){ 0 });
    json_key(json, STR("queue"));
    if (facts->state == POD_QUEUED)
        views_put_entry(json, facts->engine, facts->entry, true, facts->now_ns);
    else
        json_null(json);
}

static void put_words(struct json_writer *json, const char *key, struct str words)
{
    json_member_array(json, key);
    while (words.len)
        json_str(json, str_cut(&words, ' '));
    json_end_array(json);
}

static void put_statuses(struct json_writer *json, const struct attempt *attempt)
{
    json_member_array(json, "verdicts");
    for (uint32_t i = 0; i < attempt->statuses_len; i++) {
        const struct attempt_status *answer = &attempt->statuses[i];
        json_begin_line(json);
        json_member_str(json, "status", str_from(status_code_name(answer->code)));
        output_member_text(json, "plugin", answer->plugin);
        json_member_strs(json, "reasons", answer->reasons, answer->reasons_len);
        json_member_int(json, "nodes", answer->nodes);
        json_member_bool(json, "cut", answer->is_cut);
        json_end_line(json);
    }
    json_end_array(json);
}

/* Which status each node got. */
static void put_nodes(struct json_writer *json, const struct explain_facts *facts,
                      const struct attempt *attempt)
{
    const struct cluster *cluster = facts->engine->cluster;
    uint32_t gone = facts_nodes_gone(facts, attempt);
    put_statuses(json, attempt);
    json_key(json, STR("nodes"));
    json_begin_line(json);
    for (uint32_t i = 0; i < facts->rows_len && attempt->statuses_len; i++) {
        uint32_t row = facts->rows[i];
        if (!attempt_node_is_same(attempt, cluster, row))
            continue;
        json_key(json, cluster_node_name(cluster, row));
        json_int(json, row < attempt->rows ? attempt->status_of[row] : 0);
    }
    json_end_line(json);
    json_member_int(json, "nodesGone", gone);
}

static void put_int_or_null(struct json_writer *json, const char *key, bool is_set, int64_t value)
{
    if (is_set)
        json_member_int(json, key, value);
    else
        output_member_null(json, key);
}

/* The chosen node and the best others, as they were scored then. */
static void put_best(struct json_writer *json, const struct explain_facts *facts,
                     const struct attempt *attempt)
{
    struct score_view view = facts_best(facts, attempt);
    json_member_array(json, "best");
    for (uint32_t k = 0; k < view.len; k++) {
        json_begin_line(json);
        output_member_text(json, "node", view.nodes[k].name);
        view.has_extenders = view.nodes[k].extenders;
        scored_node_members(&view, &view.nodes[k], json);
        json_end_line(json);
    }
    json_end_array(json);
}

static void put_placement(struct json_writer *json, const struct explain_facts *facts,
                          const struct attempt *attempt)
{
    bool placed = attempt->outcome <= ATTEMPT_BINDING_FAILED;
    output_member_text(json, "node", placed ? facts_node(facts, attempt, attempt->row) : (struct str){ 0 });
    put_int_or_null(json, "total", placed, attempt->total);
    put_int_or_null(json, "ties", placed, attempt->ties);
    if (attempt->bound_ns)
        view_put_seconds(json, "bindingSeconds", attempt->bound_ns);
    else
        output_member_null(json, "bindingSeconds");
    put_best(json, facts, attempt);
}

static void put_attempt(struct json_writer *json, const struct explain_facts *facts,
                        const struct attempt *attempt)
{
    json_begin_object(json);
    view_put_time(json, "time", attempt->time_ns);
    view_put_seconds(json, "secondsAgo", facts->now_ns - attempt->time_ns);
    if (attempt->took_ns)
        json_member_double(json, "microseconds", (double)(attempt->took_ns / 100) / 10);
    else
        output_member_null(json, "microseconds");
    json_member_str(json, "outcome", str_from(attempt_outcome_names[attempt->outcome]));
    json_member_str(json, "path", str_from(decision_path_names[attempt->path]));
    json_member_int(json, "examined", attempt->examined);
    json_member_int(json, "feasible", attempt->feasible);
    put_placement(json, facts, attempt);
    json_member_bool(json, "wordsGone", attempt->words_gone);
    output_member_text(json, "message", attempt->message);
    put_words(json, "rejectedBy", attempt->rejected_by);
    output_member_text(json, "nominated", attempt->nominated);
    output_member_text(json, "victims", attempt->victims);
    put_nodes(json, facts, attempt);
    json_end_object(json);
}

static void put_now(struct json_writer *json, const struct explain_facts *facts)
{
    if (facts->now) {
        json_member_object(json, "now");
        json_member_bool(json, "asIfPending", facts->now->as_if_pending);
        json_member_bool(json, "limited", facts->now->options.percentage.set);
        explain_members(facts->now, json);
        json_end_object(json);
    } else {
        output_member_null(json, "now");
    }
    output_member_text(json, "notNow", facts->not_now);
}

static void write_json(const struct explain_facts *facts, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    const struct explain_request *request = facts->request;
    output_begin(&json, "LiveExplanation");
    view_put_time(&json, "time", facts->now_ns);
    json_key(&json, STR("pod"));
    json_begin_line(&json);
    json_member_str(&json, "namespace", request->namespace);
    json_member_str(&json, "name", request->name);
    json_end_line(&json);
    output_member_text(&json, "uid", facts->pod ? facts->pod->api->meta.uid : (struct str){ 0 });
    put_place(&json, facts);
    json_member_array(&json, "attempts");
    for (size_t i = 0; i < facts->attempts_len; i++)
        put_attempt(&json, facts, &facts->attempts[i]);
    json_end_array(&json);
    put_now(&json, facts);
    output_end(&json);
}

/* ---- all of it ---- */
int explain_view_write(const struct explain_source *source, const struct explain_request *request,
                       int64_t now_ns, struct strbuf *out)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct explain_facts facts = {
        .request = request, .engine = source->engine, .arena = &arena, .now_ns = now_ns
    };
    facts.pod = cluster_find_pod(source->engine->cluster, request->namespace, request->name);
    find_state(&facts);
    if (source->attempts)
        facts.attempts_len =
            attempts_of(source->attempts, request->namespace, request->name,
                        facts.pod ? facts.pod->api->meta.uid : STR(""), &arena, facts.attempts);
    if (!facts.pod && !facts.attempts_len) {
        strbuf_printf(out,
                      "the scheduler knows no pod " META_FMT
                      ": there is none, or it waits for another scheduler\n",
                      META_ARG(request));
        return -ENOENT;
    }
    if (request->node.len && cluster_row(source->engine->cluster, request->node) == ROW_NONE) {
        strbuf_printf(out, "the scheduler knows no node " STR_FMT "\n", STR_ARG(request->node));
        return -ENOENT;
    }
    facts.not_now = why_not_now(&facts);
    if (!facts.not_now.len)
        evaluate(&facts, source);
    facts.rows = facts.now ? facts.now->rows : explain_rows(source->engine->cluster, &arena, &facts.rows_len);
    if (facts.now)
        facts.rows_len = facts.now->rows_len;
    struct term term = { .out = out,
                         .width = request->width ? request->width : TERM_WIDTH_FILE,
                         .colours = request->colours,
                         .folds = request->width > 0 };
    if (request->table)
        explain_view_table(&facts, &term);
    else
        write_json(&facts, out);
    if (facts.now)
        explanation_release(facts.now);
    return 0;
}
