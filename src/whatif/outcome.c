/* outcome.c: see outcome.h. */
#include "whatif/outcome.h"

#include "base/term.h"

enum { NAMES_SHOWN = 5 };

const char *const move_result_words[MOVE_RESULT_COUNT] = {
#define X(name, word) #word,
    MOVE_RESULTS(X)
#undef X
};

const char *const budget_verdict_words[BUDGET_VERDICT_COUNT] = {
#define X(name, word) #word,
    BUDGET_VERDICTS(X)
#undef X
};

/* What happens without the changes. */
struct baseline {
    struct arena arena;
    struct strmap waiting;  /* "namespace/name" of pods of the input, or of pods that were made */
    struct idmap preempted; /* addresses of pods of the input */
};

/* ---- moves ---- */

static void follow(const struct facts *facts, const struct idmap *waiting, struct move *move)
{
    const struct pod *successor = expansion_successor(&facts->simulation->input->expansion, move->pod);
    const struct sim_record *last = successor ? idmap_get(&facts->last, (uintptr_t)successor) : NULL;
    move->successor = successor;
    move->row = ROW_NONE;
    if (!successor)
        return;
    if (last && fact_is_placed(facts, last)) {
        move->result = MOVE_PLACED;
        move->row = last->row;
        return;
    }
    const struct sim_waiting *waits = idmap_get(waiting, (uintptr_t)successor);
    move->result = MOVE_PENDING;
    move->message = waits ? waits->message : STR("it is left to another scheduler");
}

static void add_moves(struct outcome *outcome, const struct facts *facts, const struct baseline *baseline)
{
    const struct simulation *simulation = facts->simulation;
    _cleanup_(idmap_release) struct idmap waiting = { 0 };
    vec_for(&simulation->waiting, item)
        idmap_put(&waiting, (uintptr_t)item->pod, item);
    vec_for(&simulation->input->changes.departures, departure) {
        struct move move = { .pod = departure->pod, .cause = change_words[departure->cause] };
        if (departure->fate == FATE_WITH_NODE)
            continue;
        move.result = departure->fate == FATE_LOST ? MOVE_LOST : MOVE_GONE;
        follow(facts, &waiting, &move);
        *vec_push(&outcome->moves) = move;
    }
    vec_for(&simulation->victims, victim) {
        struct move move = { .pod = *victim, .cause = "preempted", .result = MOVE_LOST };
        if (str_empty((*victim)->spec.node_name) || idmap_get(&baseline->preempted, (uintptr_t)*victim))
            continue;
        follow(facts, &waiting, &move);
        *vec_push(&outcome->moves) = move;
    }
    vec_for(&outcome->moves, move)
        outcome->results[move->result]++;
}

/* ---- the cluster without the changes ---- */

/* For each pod that waits: the pod of the input in whose place it was made, or itself. Objects of the input are the
 * same in both runs; pods that were made have the same names. */
static void trace_back(const struct simulation *simulation, struct idmap *ret)
{
    map_for(&simulation->input->expansion.successors, slot)
        idmap_put(ret, (uintptr_t)slot->value, (void *)(uintptr_t)slot->key);
}

static const struct pod *origin_of(const struct idmap *back, const struct pod *pod)
{
    for (const struct pod *before; (before = idmap_get(back, (uintptr_t)pod));)
        pod = before;
    return pod;
}

static struct str origin_name(const struct idmap *back, const struct pod *pod, struct arena *arena)
{
    return pod_full_name(origin_of(back, pod), arena);
}

/* Only what is not explained by the changes themselves makes the second run worth its time. */
static bool needs_baseline(const struct facts *facts)
{
    const struct simulation *simulation = facts->simulation;
    const struct changes *changes = &simulation->input->changes;
    _cleanup_(idmap_release) struct idmap back = { 0 }, left = { 0 };
    if (simulation->victims.len)
        return true;
    trace_back(simulation, &back);
    vec_for(&changes->departures, departure)
        idmap_put(&left, (uintptr_t)departure->pod, (void *)departure->pod);
    vec_for(&simulation->waiting, waiting)
        if (!idmap_get(&left, (uintptr_t)origin_of(&back, waiting->pod)))
            return true;
    return false;
}

static int run_baseline(struct baseline *baseline, const struct facts *facts,
                        const struct sim_options *options, struct error *err)
{
    _cleanup_(input_release) struct input input = { 0 };
    _cleanup_(simulation_release) struct simulation simulation = { 0 };
    _cleanup_(idmap_release) struct idmap back = { 0 };
    int r = input_fork(&input, facts->simulation->input, NULL, &(struct change_requests){ 0 }, err);
    if (r == 0)
        r = simulate(&simulation, &input, options, err);
    if (r < 0)
        return r;
    trace_back(&simulation, &back);
    vec_for(&simulation.waiting, waiting) {
        struct str name = origin_name(&back, waiting->pod, &baseline->arena);
        strmap_put(&baseline->waiting, name, (void *)name.ptr);
    }
    vec_for(&simulation.victims, victim)
        idmap_put(&baseline->preempted, (uintptr_t)*victim, baseline);
    return 0;
}

static void baseline_release(struct baseline *baseline)
{
    strmap_release(&baseline->waiting);
    idmap_release(&baseline->preempted);
    arena_release(&baseline->arena);
}

static void collect_waiting(struct outcome *outcome, const struct facts *facts,
                            const struct baseline *baseline)
{
    const struct simulation *simulation = facts->simulation;
    _cleanup_(idmap_release) struct idmap back = { 0 };
    trace_back(simulation, &back);
    vec_for(&simulation->waiting, waiting)
        if (!strmap_get(&baseline->waiting, origin_name(&back, waiting->pod, &outcome->arena)))
            *vec_push(&outcome->waiting) = waiting->pod;
}

/* ---- budgets ---- */

/* Pods go some at a time. It ends where as many as that have no place: none of them becomes available again. */
static enum budget_verdict judge(const struct budget_use *use, const struct idmap *pending)
{
    int64_t evicted = (int64_t)use->pods.len, waiting = 0;
    if (budget_use_blocks(use))
        return BUDGET_BLOCKS;
    if (evicted <= use->allowed)
        return BUDGET_ALLOWS;
    vec_for(&use->pods, pod)
        waiting += idmap_get(pending, (uintptr_t)*pod) != NULL;
    return waiting >= use->allowed ? BUDGET_BLOCKS : BUDGET_IN_STEPS;
}

static void judge_budgets(struct outcome *outcome, const struct changes *changes)
{
    _cleanup_(idmap_release) struct idmap pending = { 0 };
    vec_for(&outcome->moves, move)
        if (move->result == MOVE_PENDING)
            idmap_put(&pending, (uintptr_t)move->pod, move);
    vec_for(&changes->budgets.items, use)
        *vec_push(&outcome->verdicts) = judge(use, &pending);
}

/* ---- the answer ---- */

/* "a, b and 3 more". */
struct names {
    struct strbuf text;
    size_t count;
};

static void add_name(struct names *names, struct str namespace, struct str name)
{
    if (names->count++ >= NAMES_SHOWN)
        return;
    strbuf_printf(&names->text, "%s" STR_FMT "%s" STR_FMT, names->count > 1 ? ", " : "", STR_ARG(namespace),
                  namespace.len ? "/" : "", STR_ARG(name));
}

/* Behind the name of what they are, which the caller has written. */
static void put_names(struct strbuf *out, struct names *names)
{
    strbuf_str(out, strbuf_slice(&names->text));
    if (names->count > NAMES_SHOWN)
        strbuf_printf(out, " and %s more", grouped((int64_t)(names->count - NAMES_SHOWN)));
    strbuf_release(&names->text);
}

static void put_waiting(struct strbuf *out, const struct outcome *outcome)
{
    struct names names = { 0 };
    vec_for(&outcome->waiting, pod)
        add_name(&names, (*pod)->meta.namespace, (*pod)->meta.name);
    if (!names.count)
        return;
    strbuf_printf(out, " %s would wait: ", counted(names.count, "pod"));
    put_names(out, &names);
    strbuf_putc(out, '.');
}

static void put_blocking(struct strbuf *out, const struct outcome *outcome, const struct changes *changes)
{
    struct names names = { 0 };
    for (size_t i = 0; i < outcome->verdicts.len; i++) {
        const struct meta *meta = &changes->budgets.items.items[i].budget->meta;
        if (outcome->verdicts.items[i] == BUDGET_BLOCKS)
            add_name(&names, meta->namespace, meta->name);
    }
    if (!names.count)
        return;
    strbuf_printf(out, " %s would not let %s pods go: ",
                  names.count == 1 ? "A PodDisruptionBudget" : "PodDisruptionBudgets",
                  names.count == 1 ? "its" : "their");
    put_names(out, &names);
    strbuf_putc(out, '.');
}

static void put_unmanaged(struct strbuf *out, const struct changes *changes)
{
    struct names names = { 0 };
    if (!changes->unmanaged.len)
        return;
    vec_for(&changes->unmanaged, pod)
        add_name(&names, (*pod)->meta.namespace, (*pod)->meta.name);
    strbuf_printf(out, " %s without a controller %s: ", counted(names.count, "pod"),
                  changes->force ? "would be lost (--force)" : "would stay; --force would lose them");
    put_names(out, &names);
    strbuf_putc(out, '.');
}

static void put_steps(struct strbuf *out, const struct outcome *outcome, const struct changes *changes)
{
    struct names names = { 0 };
    for (size_t i = 0; i < outcome->verdicts.len; i++) {
        const struct meta *meta = &changes->budgets.items.items[i].budget->meta;
        if (outcome->verdicts.items[i] == BUDGET_IN_STEPS)
            add_name(&names, meta->namespace, meta->name);
    }
    if (!names.count)
        return;
    strbuf_printf(out, " In steps, because of the budget%s ", names.count == 1 ? "" : "s");
    put_names(out, &names);
    strbuf_putc(out, '.');
}

static void answer(struct outcome *outcome, const struct changes *changes)
{
    struct names names = { 0 };
    bool drains = false, removes = false, blocked = false;
    vec_for(&changes->list, change) {
        bool counts = change->kind == CHANGE_DRAIN || change->kind == CHANGE_REMOVE;
        drains |= change->kind == CHANGE_DRAIN;
        removes |= change->kind == CHANGE_REMOVE;
        if (counts && changes_of_node(changes, change->object->name) == change->kind)
            add_name(&names, (struct str){ 0 }, change->object->name);
    }
    if (!drains && !removes)
        return;
    vec_for(&outcome->verdicts, verdict)
        blocked |= *verdict == BUDGET_BLOCKS;
    outcome->has_answer = true;
    outcome->is_possible = !outcome->waiting.len && !blocked && (changes->force || !changes->unmanaged.len);
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    strbuf_printf(&out, "%s: ", outcome->is_possible ? "Yes" : "No");
    put_names(&out, &names);
    strbuf_printf(&out, " %s be %s.", outcome->is_possible ? "can" : "cannot",
                  drains && removes ? "drained and removed"
                  : drains          ? "drained"
                                    : "removed without pods that wait");
    if (outcome->is_possible && outcome->results[MOVE_PLACED])
        strbuf_printf(&out, " %s %s another node.", counted(outcome->results[MOVE_PLACED], "pod"),
                      outcome->results[MOVE_PLACED] == 1 ? "finds" : "find");
    put_waiting(&out, outcome);
    put_blocking(&out, outcome, changes);
    put_steps(&out, outcome, changes);
    put_unmanaged(&out, changes);
    outcome->answer = arena_str(&outcome->arena, strbuf_slice(&out));
}

int outcome_collect(struct outcome *outcome, const struct facts *facts, const struct sim_options *options,
                    struct error *err)
{
    const struct changes *changes = &facts->simulation->input->changes;
    _cleanup_(baseline_release) struct baseline baseline = { 0 };
    *outcome = (struct outcome){ 0 };
    if (!input_is_changed(facts->simulation->input))
        return 0;
    int r = needs_baseline(facts) ? run_baseline(&baseline, facts, options, err) : 0;
    if (r < 0)
        return r;
    add_moves(outcome, facts, &baseline);
    collect_waiting(outcome, facts, &baseline);
    judge_budgets(outcome, changes);
    answer(outcome, changes);
    return 0;
}

void outcome_release(struct outcome *outcome)
{
    vec_release(&outcome->moves);
    vec_release(&outcome->waiting);
    vec_release(&outcome->verdicts);
    arena_release(&outcome->arena);
}
