/* simulate_changes.c: what changes come to, as JSON and as a part of the table. */
#include "api/fields.h"
#include "api/output.h"
#include "cmd/simulate_print.h"

enum { OBJECTS_SHOWN = 3 };

/* ---- JSON ---- */

static void put_row(struct json_writer *json, const struct cluster *cluster, const char *key, uint32_t row)
{
    output_member_text(json, key, row == ROW_NONE ? (struct str){ 0 } : cluster_node_name(cluster, row));
}

static void put_change(struct json_writer *json, const struct change *change)
{
    json_begin_line(json);
    json_member_str(json, "change", str_from(change_words[change->kind]));
    json_member_str(json, "kind", api_kinds[change->object_kind].kind);
    output_member_text(json, "namespace", change->object->namespace);
    json_member_str(json, "name", change->object->name);
    if (change->kind == CHANGE_ADD)
        json_member_str(json, "of", change->of);
    if (change->kind == CHANGE_SCALE) {
        json_member_int(json, "before", change->before);
        json_member_int(json, "after", change->after);
    }
    json_end_line(json);
}

static void put_move(struct json_writer *json, const struct cluster *cluster, const struct move *move)
{
    json_begin_line(json);
    output_member_name(json, "pod", &move->pod->meta);
    json_member_str(json, "cause", str_from(move->cause));
    json_member_str(json, "from", move->pod->spec.node_name);
    put_row(json, cluster, "to", move->row);
    json_member_str(json, "result", str_from(move_result_words[move->result]));
    output_member_text(json, "as", move->successor ? move->successor->meta.name : (struct str){ 0 });
    output_member_text(json, "message", move->message);
    json_end_line(json);
}

static void put_budget(struct json_writer *json, const struct budget_use *use, enum budget_verdict verdict)
{
    json_begin_line(json);
    output_name_members(json, &use->budget->meta);
    json_member_int(json, "allowed", use->allowed);
    json_member_str(json, "verdict", str_from(budget_verdict_words[verdict]));
    json_member_array(json, "pods");
    vec_for(&use->pods, pod)
        output_name(json, &(*pod)->meta);
    json_end_array(json);
    json_end_line(json);
}

void simulate_json_changes(const struct facts *facts, const struct outcome *outcome, struct json_writer *json)
{
    const struct input *input = facts->simulation->input;
    const struct changes *changes = &input->changes;
    if (outcome->has_answer) {
        json_key(json, STR("answer"));
        json_begin_line(json);
        json_member_bool(json, "possible", outcome->is_possible);
        json_member_str(json, "text", outcome->answer);
        json_end_line(json);
    } else {
        output_member_null(json, "answer");
    }
    json_member_array(json, "changes");
    vec_for(&changes->list, change)
        put_change(json, change);
    json_end_array(json);
    json_member_array(json, "moved");
    vec_for(&outcome->moves, move)
        put_move(json, &input->cluster, move);
    json_end_array(json);
    json_member_array(json, "budgets");
    for (size_t i = 0; i < outcome->verdicts.len; i++)
        put_budget(json, &changes->budgets.items.items[i], outcome->verdicts.items[i]);
    json_end_array(json);
    json_member_array(json, "unmanaged");
    vec_for(&changes->unmanaged, pod)
        output_name(json, &(*pod)->meta);
    json_end_array(json);
}

/* ---- the table ---- */

static void put_object(struct strbuf *out, const struct change *change)
{
    if (change->kind == CHANGE_SCALE)
        strbuf_printf(out, STR_FMT " " META_FMT " from %lld to %lld",
                      STR_ARG(api_kinds[change->object_kind].kind), META_ARG(change->object),
                      (long long)change->before, (long long)change->after);
    else
        strbuf_str(out, change->object->name);
}

/* "drain n1, n2, n3 and 3 more". */
static void print_kind(const struct changes *changes, enum change_kind kind, struct strbuf *out)
{
    size_t count = 0;
    vec_for(&changes->list, change) {
        if (change->kind != kind || count++ >= OBJECTS_SHOWN)
            continue;
        if (count > 1)
            strbuf_puts(out, ", ");
        else
            strbuf_printf(out, "%s%s ", out->len ? "; " : "", change_words[kind]);
        put_object(out, change);
    }
    if (count > OBJECTS_SHOWN)
        strbuf_printf(out, " and %s more", grouped((int64_t)(count - OBJECTS_SHOWN)));
}

static void print_moves(const struct facts *facts, const struct simulate_view *view, struct term *term)
{
    static const char *const results[] = {
        [MOVE_PENDING] = "(pending)", [MOVE_LOST] = "(lost)", [MOVE_GONE] = "(not wanted any more)"
    };
    const struct outcome *outcome = view->outcome;
    const struct cluster *cluster = &facts->simulation->input->cluster;
    _cleanup_(grid_release) struct grid grid = { 0 };
    size_t shown = MIN(outcome->moves.len, (size_t)view->top);
    if (!shown)
        return;
    strbuf_putc(term->out, '\n');
    grid_columns(&grid, "POD THAT LEAVES|BECAUSE OF|FROM|TO");
    for (size_t i = 0; i < shown; i++) {
        const struct move *move = &outcome->moves.items[i];
        grid_cell(&grid, PAINT_NONE, META_FMT, META_ARG(&move->pod->meta));
        grid_cell(&grid, PAINT_NONE, "%s", move->cause);
        grid_str(&grid, PAINT_NONE, move->pod->spec.node_name);
        if (move->result == MOVE_PLACED)
            grid_str(&grid, PAINT_NONE, cluster_node_name(cluster, move->row));
        else
            grid_cell(&grid, move->result == MOVE_GONE ? PAINT_NONE : PAINT_BAD, "%s", results[move->result]);
    }
    grid_print(&grid, term, 2);
    if (outcome->moves.len > shown)
        term_paint(term, PAINT_DIM, "  and %s more pods; --top shows more of them\n",
                   grouped((int64_t)(outcome->moves.len - shown)));
}

static void print_budgets(const struct facts *facts, const struct outcome *outcome, struct term *term)
{
    static const struct {
        const char *text;
        enum paint paint;
    } words[BUDGET_VERDICT_COUNT] = {
        [BUDGET_ALLOWS] = { "all at once", PAINT_NONE },
        [BUDGET_IN_STEPS] = { "in steps", PAINT_WARN },
        [BUDGET_BLOCKS] = { "blocks the drain", PAINT_BAD },
    };
    const struct changes *changes = &facts->simulation->input->changes;
    _cleanup_(grid_release) struct grid grid = { 0 };
    if (!outcome->verdicts.len)
        return;
    strbuf_putc(term->out, '\n');
    grid_columns(&grid, "BUDGET|>EVICTED|>ALLOWED|VERDICT");
    for (size_t i = 0; i < outcome->verdicts.len; i++) {
        const struct budget_use *use = &changes->budgets.items.items[i];
        enum budget_verdict verdict = outcome->verdicts.items[i];
        grid_cell(&grid, PAINT_NONE, META_FMT, META_ARG(&use->budget->meta));
        grid_count(&grid, use->pods.len);
        grid_count(&grid, (size_t)use->allowed);
        grid_cell(&grid, words[verdict].paint, "%s%s", words[verdict].text,
                  use->is_double ? " (a pod has two budgets)" : "");
    }
    grid_print(&grid, term, 2);
}

void simulate_print_changes(const struct facts *facts, const struct simulate_view *view, struct term *term)
{
    const struct outcome *outcome = view->outcome;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (int kind = 0; kind < CHANGE_KIND_COUNT; kind++)
        print_kind(&facts->simulation->input->changes, (enum change_kind)kind, &text);
    strbuf_putc(term->out, '\n');
    term_paint(term, PAINT_BOLD, "Changed:\n");
    term_wrap(term, 2, strbuf_slice(&text));
    if (outcome->has_answer) {
        strbuf_putc(term->out, '\n');
        term_wrap(term, 0, outcome->answer);
    }
    print_moves(facts, view, term);
    print_budgets(facts, outcome, term);
}
