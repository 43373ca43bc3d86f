/* preempt.c: is the pod allowed to preempt, and where does it help?
 *
 * Nodes are tried one after another from an offset that the caller chooses, until there are enough candidates: a
 * cluster of thousands of nodes needs no perfect answer. Candidates that break a disruption budget do not end the
 * search by themselves. A node where eviction did not help an earlier pod of the class is tried again only when it has
 * changed (framework/row_memo.h). */
#include "preempt/preempt.h"

#include <stdlib.h>

#include "base/log.h"
#include "framework/row_memo.h"
#include "preempt/dry_run.h"

static struct log_value pod_ref(const struct cycle *cycle)
{
    return log_ref("pod", cycle->pod->meta.namespace, cycle->pod->meta.name);
}

/* ---- may it? ---- */
/* A pod whose deletion was sent here leaves, though a watch that lags does not show it yet. */
static bool leaves_for_preemption(const struct pod_info *pod)
{
    if (pod->eviction != EVICTION_NONE)
        return true;
    if (!pod->terminating)
        return false;
    list_for(&pod->api->status.conditions, condition) {
        if (str_is(condition->type, "DisruptionTarget"))
            return str_is(condition->status, "True") && str_is(condition->reason, "PreemptionByScheduler");
    }
    return false;
}

/* A pod that has preempted before waits for its victims, unless its node has become unresolvable. The nomination is the
 * model's: where it was made here, it is known before the pod shows it. */
static bool waits_for_victims(const struct cycle *cycle, const struct diagnosis *diagnosis)
{
    uint32_t row = cycle->info->nominated_row;
    if (row == ROW_NONE || !cycle->cluster->nodes.items[row].api ||
        diagnosis_get(diagnosis, row).code == STATUS_UNRESOLVABLE)
        return false;
    vec_for(&cluster_node(cycle->cluster, row)->pods, pod)
        if ((*pod)->priority < cycle->info->priority && leaves_for_preemption(*pod))
            return true;
    return false;
}

static struct status eligible(const struct cycle *cycle, const struct diagnosis *diagnosis)
{
    if (str_is(cycle->pod->spec.preemption_policy, "Never"))
        return reject(STATUS_UNSCHEDULABLE, "not eligible due to preemptionPolicy=Never.");
    if (waits_for_victims(cycle, diagnosis))
        return reject(STATUS_UNSCHEDULABLE, "not eligible due to a terminating pod on the nominated node.");
    return STATUS_OK;
}

/* ---- where? ---- */
struct search {
    struct cycle *cycle;
    struct preempt_options options;
    struct lowest_priority *lowest;
    struct dry_run run;
    struct row_list potential; /* rows that eviction may help, in node order */
    uint32_t enough;
    struct preempt_candidate *clean, *violating; /* at most `enough` each */
    uint32_t clean_len, violating_len;
    struct diagnosis rejections; /* of nodes that do not help */
    struct row_memo_use useless; /* likewise, from earlier searches */
    VEC(struct str) errors;
};

static struct row_list potential_rows(struct cycle *cycle, const struct diagnosis *diagnosis)
{
    uint32_t len, found = 0;
    const uint32_t *order = cluster_order(cycle->cluster, &len);
    uint32_t *rows = arena_array(cycle->arena, uint32_t, len);
    for (uint32_t i = 0; i < len; i++)
        if (diagnosis_get(diagnosis, order[i]).code == STATUS_UNSCHEDULABLE)
            rows[found++] = order[i];
    return (struct row_list){ rows, found };
}

static uint32_t enough_candidates(const struct preempt_options *options, uint32_t nodes)
{
    if (options->all_candidates)
        return nodes;
    int64_t count = (int64_t)nodes * options->min_percentage / 100;
    count = MAX(count, (int64_t)options->min_absolute);
    return (uint32_t)MAX(MIN(count, (int64_t)nodes), 0);
}

static void search_init(struct search *search, struct cycle *cycle, const struct diagnosis *diagnosis,
                        struct preempt_options options)
{
    *search = (struct search){ .cycle = cycle, .options = options, .run = { .cycle = cycle } };
    search->potential = potential_rows(cycle, diagnosis);
    search->enough = enough_candidates(&options, search->potential.len);
    search->clean = arena_array(cycle->arena, struct preempt_candidate, search->enough);
    search->violating = arena_array(cycle->arena, struct preempt_candidate, search->enough);
    search->lowest = options.lowest;
    if (!search->lowest) {
        search->lowest = arena_new(cycle->arena, struct lowest_priority);
        search->lowest->arena = cycle->arena;
    }
    lowest_priority_update(search->lowest, cycle->cluster);
    diagnosis_init(&search->rejections, cycle->cluster, cycle->arena);
    search->useless = row_memo_begin(cycle->useless, cycle, &search->rejections);
    search->rejections.absent = reject(STATUS_UNRESOLVABLE, "Preemption is not helpful for scheduling");
}

static void search_release(struct search *search)
{
    dry_run_release(&search->run);
    diagnosis_release(&search->rejections);
    vec_release(&search->errors);
}

/* True: enough candidates. */
static bool add_candidate(struct search *search, uint32_t row, struct victims victims)
{
    struct preempt_candidate candidate = { row, victims.items, victims.len, victims.pdb_violations };
    if (victims.pdb_violations == 0 && search->clean_len < search->enough)
        search->clean[search->clean_len++] = candidate;
    else if (victims.pdb_violations != 0 && search->violating_len < search->enough)
        search->violating[search->violating_len++] = candidate;
    return search->clean_len > 0 && search->clean_len + search->violating_len >= search->enough;
}

static void add_error(struct search *search, struct str message)
{
    for (size_t i = 0; i < search->errors.len; i++)
        if (str_eq(search->errors.items[i], message))
            return;
    *vec_push(&search->errors) = message;
}

static void search_nodes(struct search *search)
{
    uint32_t len = search->potential.len, start = len ? search->options.offset % len : 0, no_victims = 0;
    for (uint32_t i = 0; i < len; i++) {
        uint32_t row = search->potential.items[(start + i) % len];
        log_info(5, "Check the potential node for preemption", pod_ref(search->cycle),
                 log_str("node", cluster_node_name(search->cycle->cluster, row)));
        if (no_victims && search->lowest->priority[row] >= search->cycle->info->priority) {
            diagnosis_assign(&search->rejections, row, no_victims);
            continue;
        }
        if (row_memo_repeat(&search->useless, row))
            continue;
        struct victims victims;
        struct status status = dry_run_node(&search->run, row, &victims);
        if (status_ok(status)) {
            if (add_candidate(search, row, victims))
                return;
            continue;
        }
        if (status.code == STATUS_ERROR)
            add_error(search, status_message(status, search->cycle->arena));
        row_memo_keep(&search->useless, row, status);
        uint32_t number = diagnosis_number(&search->rejections, status);
        diagnosis_assign(&search->rejections, row, number);
        if (search->lowest->priority[row] >= search->cycle->info->priority)
            no_victims = number;
    }
}

/* ---- the answer ---- */
/* One sentence as it is, several in brackets. */
static struct str joined_errors(const struct search *search)
{
    if (search->errors.len == 1)
        return search->errors.items[0];
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (size_t i = 0; i < search->errors.len; i++) {
        strbuf_puts(&text, i ? ", " : "[");
        strbuf_str(&text, search->errors.items[i]);
    }
    strbuf_putc(&text, ']');
    return arena_str(search->cycle->arena, strbuf_slice(&text));
}

static void say(struct preemption *ret, struct arena *arena, enum status_code code, struct str message)
{
    ret->message = arena_printf(arena, "preemption: " STR_FMT, STR_ARG(message));
    struct str *reason = arena_new(arena, struct str);
    *reason = ret->message;
    ret->status = (struct status){ .code = code, .len = 1, .reasons = reason };
}

static void say_where(const struct cluster *cluster, struct arena *arena, struct preemption *ret)
{
    const struct preempt_candidate *best = preempt_candidate_of(ret, ret->chosen);
    if (best && cluster->features.release->preemption_names_its_node)
        say(ret, arena, STATUS_SUCCESS,
            arena_printf(arena,
                         "found a potential placement for pod on node " STR_FMT ", preempting %u victims",
                         STR_ARG(cluster_node_name(cluster, best->row)), best->victims_len));
}

static void conclude(struct search *search, struct preemption *ret)
{
    struct arena *arena = search->cycle->arena;
    uint32_t len = search->clean_len + search->violating_len;
    if (!search->potential.len)
        log_info(3, "Preemption will not help schedule pod on any node", pod_ref(search->cycle));
    if (!len && search->errors.len) {
        say(ret, arena, STATUS_ERROR, joined_errors(search));
        return;
    }
    if (!len) {
        ret->clear_nomination = true;
        say(ret, arena, STATUS_UNSCHEDULABLE,
            diagnosis_message(&search->rejections, search->cycle->cluster->live_nodes));
        return;
    }
    ret->candidates = arena_array(arena, struct preempt_candidate, len);
    for (uint32_t i = 0; i < len; i++)
        ret->candidates[i] =
            i < search->clean_len ? search->clean[i] : search->violating[i - search->clean_len];
    ret->candidates_len = len;
    ret->status = preempt_call_extenders(search->cycle, &ret->candidates, &ret->candidates_len);
    if (!status_ok(ret->status))
        ret->candidates_len = 0;
    if (ret->candidates_len) {
        preempt_rank(search->cycle->cluster, arena, ret);
        say_where(search->cycle->cluster, arena, ret);
        return;
    }
    say(ret, arena, status_ok(ret->status) ? STATUS_UNSCHEDULABLE : STATUS_ERROR,
        status_ok(ret->status) ? STR("no candidate node for preemption") : ret->status.reasons[0]);
}

void preempt_find(struct cycle *cycle, const struct diagnosis *diagnosis, struct preempt_options options,
                  struct preemption *ret)
{
    *ret = (struct preemption){ .chosen = ROW_NONE };
    struct status status = eligible(cycle, diagnosis);
    if (!status_ok(status)) {
        log_info(5, "Pod is not eligible for preemption", pod_ref(cycle),
                 log_str("reason", status.reasons[0]));
        say(ret, cycle->arena, status.code, status.reasons[0]);
        return;
    }
    if (!cycle->cluster->live_nodes) {
        say(ret, cycle->arena, STATUS_ERROR, STR("no nodes available"));
        return;
    }
    struct search search;
    search_init(&search, cycle, diagnosis, options);
    search_nodes(&search);
    conclude(&search, ret);
    search_release(&search);
}

const struct preempt_candidate *preempt_candidate_of(const struct preemption *preemption, uint32_t row)
{
    for (uint32_t i = 0; i < preemption->candidates_len; i++)
        if (preemption->candidates[i].row == row)
            return &preemption->candidates[i];
    return NULL;
}
