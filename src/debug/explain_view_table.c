/* explain_view_table.c: what is known about a pod as text: where it is, what was tried, what would be decided now. */
#include "debug/explain_facts.h"
#include "debug/views.h"
#include "engine/binding.h"

static const char *age(int64_t ns)
{
    return aged(ns / NS_PER_S);
}

/* ---- where it is ---- */

/* The events that each plugin has rules for, a line for each plugin. */
static void print_wakes(const struct explain_facts *facts, struct term *term)
{
    const struct queued_pod *entry = facts->entry;
    uint64_t rejecting = entry->unschedulable | entry->pending;
    if (entry->place != QUEUE_UNSCHEDULABLE && !rejecting)
        return;
    _cleanup_(strbuf_release) struct strbuf line = { 0 };
    wake_vec wakes = views_wakes(&facts->engine->profiles[entry->profile],
                                 facts->engine->cluster->features.release, rejecting, facts->arena);
    strbuf_puts(term->out, "What may wake it:\n");
    for (size_t i = 0; i < wakes.len; i++) {
        const struct wake *wake = &wakes.items[i];
        strbuf_printf(&line, "%s" STR_FMT, line.len ? ", " : "", STR_ARG(wake->event));
        if (i + 1 < wakes.len && str_eq(wake->plugin, wake[1].plugin))
            continue;
        strbuf_printf(&line, " (" STR_FMT ")", STR_ARG(wake->plugin));
        term_wrap(term, 2, strbuf_slice(&line));
        strbuf_clear(&line);
    }
    vec_release(&wakes);
}

static void print_queue(const struct explain_facts *facts, struct term *term)
{
    const struct queued_pod *entry = facts->entry;
    const struct profile *profile = &facts->engine->profiles[entry->profile];
    int64_t limit_ns = facts->engine->queue.options.unschedulable_max_ns;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    term_paint(term, PAINT_WARN, "It waits in the queue: %s", queue_place_names[entry->place]);
    strbuf_printf(term->out, " for %s, after %s", age(facts->now_ns - entry->since_ns),
                  counted(entry->attempts, "attempt"));
    if (entry->gate != GATE_NONE)
        strbuf_printf(term->out, ", held back by %s", profile->plugins[entry->gate].plugin->name);
    struct str names = profile_plugin_names(profile, entry->unschedulable | entry->pending, &scratch);
    if (names.len)
        strbuf_printf(term->out, ", rejected by " STR_FMT, STR_ARG(names));
    strbuf_puts(term->out, ".\n");
    if (entry->place == QUEUE_BACKOFF || entry->place == QUEUE_ERROR_BACKOFF)
        strbuf_printf(term->out, "It is tried again in %s.\n", age(entry->backoff_until_ns - facts->now_ns));
    if (entry->place == QUEUE_UNSCHEDULABLE && limit_ns)
        strbuf_printf(term->out, "It is tried again when it has waited %s, whatever happens.\n",
                      age(limit_ns));
    print_wakes(facts, term);
}

static void print_binding(const struct explain_facts *facts, struct term *term)
{
    const struct pod_binding *binding = facts->binding;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    term_paint(term, PAINT_GOOD, "It goes to " STR_FMT, STR_ARG(binding->node));
    strbuf_printf(term->out, ": %s for %s", binding_stage_names[binding->stage],
                  age(facts->now_ns - binding->started_ns));
    if (binding->waits_for)
        strbuf_printf(term->out, " (" STR_FMT ")",
                      STR_ARG(profile_plugin_names(binding->cycle.profile, binding->waits_for, &scratch)));
    strbuf_puts(term->out, ".\n");
}

static void print_place(const struct explain_facts *facts, struct term *term)
{
    switch (facts->state) {
    case POD_QUEUED:
        print_queue(facts, term);
        break;
    case POD_BINDING:
        print_binding(facts, term);
        break;
    case POD_BOUND:
        term_paint(term, PAINT_GOOD, "It is on " STR_FMT,
                   STR_ARG(cluster_node_name(facts->engine->cluster, facts->pod->row)));
        strbuf_puts(term->out, ".\n");
        break;
    case POD_FOREIGN:
        strbuf_printf(term->out,
                      "It belongs to the scheduler \"" STR_FMT "\", for which there is no profile here.\n",
                      STR_ARG(facts->pod->api->spec.scheduler_name));
        break;
    case POD_GONE:
        strbuf_puts(term->out, "It is gone.\n");
        break;
    case POD_UNTRIED:
    case POD_STATE_COUNT:
        strbuf_puts(term->out, "It waits in no queue.\n");
    }
}

/* ---- what was tried ---- */
static void outcome_cells(const struct explain_facts *facts, const struct attempt *attempt, struct grid *grid)
{
    bool good = attempt->outcome <= ATTEMPT_BOUND;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    grid_cell(grid, good ? PAINT_GOOD : PAINT_BAD, "%s", attempt_outcome_names[attempt->outcome]);
    grid_cell(grid, PAINT_NONE, "%s of %s", grouped(attempt->feasible), grouped(attempt->examined));
    grid_cell(grid, PAINT_DIM, "%s", decision_path_names[attempt->path]);
    if (attempt->outcome > ATTEMPT_BINDING_FAILED) {
        strbuf_str(&text, attempt->rejected_by);
        if (attempt->nominated.len)
            strbuf_printf(&text, "%snominated to " STR_FMT ", to leave: " STR_FMT, text.len ? "; " : "",
                          STR_ARG(attempt->nominated), STR_ARG(attempt->victims));
    } else {
        struct str name = facts_node(facts, attempt, attempt->row);
        strbuf_str(&text, name.len ? name : STR("a node that is gone"));
        if (attempt->feasible > 1)
            strbuf_printf(&text, ", total %lld, one of %u", (long long)attempt->total, attempt->ties);
        if (attempt->bound_ns)
            strbuf_printf(&text, ", answered after %lld ms", (long long)(attempt->bound_ns / 1000000));
    }
    grid_cell(grid, PAINT_NONE, "%s", text.len ? text.text : "-");
}

static void print_attempts(const struct explain_facts *facts, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    if (!facts->attempts_len) {
        strbuf_puts(term->out, "\nNo attempt of it is remembered.\n");
        return;
    }
    strbuf_puts(term->out, "\nIts last attempts:\n");
    grid_columns(&grid, ">AGO|>TOOK µs|OUTCOME|>FEASIBLE|PATH|WHERE, OR REJECTED BY");
    for (size_t i = 0; i < facts->attempts_len; i++) {
        const struct attempt *attempt = &facts->attempts[i];
        grid_cell(&grid, PAINT_NONE, "%s", age(facts->now_ns - attempt->time_ns));
        grid_cell(&grid, PAINT_NONE, attempt->took_ns ? "%.1f" : "-", (double)attempt->took_ns / 1000);
        outcome_cells(facts, attempt, &grid);
    }
    grid_print(&grid, term, 2);
}

/* The first status is that of nodes without one of their own. */
static struct str rejected_by(const struct attempt *attempt, uint32_t number)
{
    struct str plugin = attempt->statuses[number].plugin;
    return plugin.len ? plugin : number ? STR("an extender") : STR("PreFilter");
}

/* The statuses of the nodes, in groups. */
static void print_rejections(const struct explain_facts *facts, const struct attempt *attempt,
                             struct term *term)
{
    const struct cluster *cluster = facts->engine->cluster;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    rejection_vec rejections = { 0 };
    for (uint32_t v = 0; v < attempt->statuses_len; v++) {
        const struct attempt_status *answer = &attempt->statuses[v];
        const struct status status = { .len = answer->reasons_len, .reasons = answer->reasons };
        if (!answer->nodes || (!v && answer->code == STATUS_SUCCESS))
            continue;
        struct rejection rejection = { rejected_by(attempt, v),
                                       answer->is_cut ? STR("(words that were not kept)")
                                                      : status_message(status, &scratch),
                                       answer->nodes, STR("") };
        for (uint32_t i = 0; i < facts->rows_len && !rejection.example.len; i++) {
            uint32_t row = facts->rows[i];
            if (attempt_node_is_same(attempt, cluster, row) && row < attempt->rows &&
                attempt->status_of[row] == v)
                rejection.example = cluster_node_name(cluster, row);
        }
        *vec_push(&rejections) = rejection;
    }
    rejections_print(&rejections, term, facts->request->top);
    uint32_t gone = facts_nodes_gone(facts, attempt);
    if (attempt->statuses_len && gone)
        strbuf_printf(term->out, "  %s of these nodes %s gone since.\n", grouped(gone),
                      gone == 1 ? "is" : "are");
    vec_release(&rejections);
}

/* Why the newest attempt that found a node chose that one. Scorers that gave nothing to any are left out. */
static void print_best(const struct explain_facts *facts, struct term *term)
{
    const struct attempt *attempt = facts->attempts;
    const struct attempt *end = attempt + facts->attempts_len;
    while (attempt < end && !attempt->best.len)
        attempt++;
    if (attempt == end)
        return;
    struct score_view view = facts_best(facts, attempt);
    score_view_hide_zeros(&view);
    strbuf_printf(term->out, "The scores %s ago, of the node that was chosen and the best others:\n",
                  age(facts->now_ns - attempt->time_ns));
    score_view_print(&view, term, view.len);
}

/* The newest attempt with words. Its nodes only where they would not be judged the same now, which comes next. */
static void print_words(const struct explain_facts *facts, struct term *term)
{
    const struct attempt *attempt = facts->attempts_len ? &facts->attempts[0] : NULL;
    if (!attempt || !(attempt->message.len || attempt->words_gone))
        return;
    if (attempt->words_gone) {
        strbuf_puts(term->out, "What the last one said is no longer remembered.\n");
        return;
    }
    strbuf_puts(term->out, "The last one said:\n");
    term_wrap(term, 2, attempt->message);
    bool same =
        facts->now && facts->now->message.len && str_starts_with(attempt->message, facts->now->message);
    if (!same)
        print_rejections(facts, attempt, term);
}

/* ---- all of it ---- */
static void print_now(const struct explain_facts *facts, struct term *term)
{
    if (!facts->now) {
        strbuf_printf(term->out, "\nWhat would be decided now was not asked: " STR_FMT ".\n",
                      STR_ARG(facts->not_now));
        return;
    }
    strbuf_putc(term->out, '\n');
    term_paint(term, PAINT_BOLD, "Now");
    strbuf_printf(term->out, ", %severy plugin asked about %s:\n",
                  facts->now->as_if_pending ? "as if it had no node yet and with " : "with ",
                  facts->now->options.percentage.set ? "as many nodes as for a decision" : "every node");
    explain_table_answer(facts->now, term, facts->request->top);
    if (facts->now->options.timing)
        explain_table_cost(facts->now, term, facts->request->top);
}

void explain_view_table(const struct explain_facts *facts, struct term *term)
{
    term_paint(term, PAINT_BOLD, META_FMT, META_ARG(facts->request));
    if (facts->pod)
        strbuf_printf(term->out, "  priority %d, scheduler " STR_FMT, facts->pod->priority,
                      STR_ARG(facts->pod->api->spec.scheduler_name));
    strbuf_puts(term->out, "\n\n");
    print_place(facts, term);
    print_attempts(facts, term);
    print_best(facts, term);
    print_words(facts, term);
    print_now(facts, term);
}
