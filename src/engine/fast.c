/* fast.c: a decision from the groups of a table.
 *
 * Each group is judged once, as if it were one node: filters that look beyond the node, raw scores, normalisation over
 * the groups that are feasible. The best total over the groups wins; its rows are the best buckets of the groups that
 * reach it. Plugins without forms are asked about the rows that the others let through (asked.h); where they score,
 * each row has a total of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "engine/asked.h"
#include "engine/class_cache.h"
#include "engine/decide.h"
#include "framework/probe.h"

/* The groups of one decision. */
struct ballot {
    struct class_table *source;
    uint32_t *numbers; /* of the groups */
    struct group_view *views;
    int32_t *best;       /* local score of the group's best rows that take part */
    uint32_t *best_rows; /* how many */
    int64_t *totals;
    int64_t *scores; /* scorer by scorer, of each group: normalised, not weighted */
    uint32_t len;
    uint32_t feasible; /* rows */
};

/* Does the pod's situation, apart from its class, ask for the plain path? */
static bool needs_plain(const struct engine *engine, const struct pod_info *pod)
{
    return pod->class->has_devices || pod->nominated_row != ROW_NONE ||
           pod->api->status.nominated_node_name.len || pod->api->spec.node_name.len ||
           !engine->cluster->live_nodes;
}

/* The part that refuses a group, or NULL. */
static struct table_part *group_refused_by(struct table *table, const uint32_t *inputs, uint32_t *ret_detail)
{
    for (uint32_t i = 0; i < table->filter_len; i++) {
        struct table_part *part = &table->parts[table->filter_order[i]];
        if (!part->filters_groups)
            continue;
        *ret_detail = part->forms->group_filter(table, part, inputs);
        if (*ret_detail)
            return part;
    }
    return NULL;
}

static void ballot_init(struct ballot *ballot, struct class_table *source, struct arena *arena)
{
    size_t most = source->groups.items.len;
    *ballot = (struct ballot){ .source = source };
    ballot->numbers = arena_alloc(arena, arena_bytes(most, sizeof(*ballot->numbers)));
    ballot->views = arena_alloc(arena, arena_bytes(most, sizeof(*ballot->views)));
    ballot->best = arena_alloc(arena, arena_bytes(most, sizeof(*ballot->best)));
    ballot->best_rows = arena_alloc(arena, arena_bytes(most, sizeof(*ballot->best_rows)));
    ballot->totals = arena_alloc(arena, arena_bytes(most, sizeof(*ballot->totals)));
}

static void ballot_add(struct ballot *ballot, uint32_t number, uint32_t rows, int32_t best,
                       uint32_t best_rows)
{
    uint32_t at = ballot->len++;
    ballot->numbers[at] = number;
    ballot->views[at] = (struct group_view){ group_inputs(&ballot->source->groups, number), rows };
    ballot->best[at] = best;
    ballot->best_rows[at] = best_rows;
    ballot->feasible += rows;
}

/* All feasible groups with all their rows. */
static void ballot_all(struct ballot *ballot, struct class_table *source)
{
    uint32_t detail;
    for (uint32_t i = 1; i < source->groups.items.len; i++) {
        const struct group *group = &source->groups.items.items[i];
        if (group->rows && !group_refused_by(&source->table, group_inputs(&source->groups, i), &detail))
            ballot_add(ballot, i, group->rows, group->best, group->best_rows);
    }
}

/* ---- row by row: the search stops when it has found enough, or somebody has to be asked ---- */
struct tally {
    uint32_t rows, best_rows;
    int32_t best;
    uint32_t place; /* of the filter that refuses the group; PLACE_LAST: none does */
};

static struct tally *tally_groups(const struct class_table *source, struct arena *arena)
{
    const struct groups *groups = &source->groups;
    struct tally *tallies = arena_array(arena, struct tally, groups->items.len);
    for (uint32_t i = 1; i < groups->items.len; i++) {
        uint32_t detail;
        struct table_part *part =
            groups->items.items[i].rows
                ? group_refused_by((struct table *)&source->table, group_inputs(groups, i), &detail)
                : NULL;
        tallies[i].place = part ? asked_place(&source->table, part) : PLACE_LAST;
    }
    return tallies;
}

/* The place of the filter that refuses a row in no group: asked plugins before it come first. A row that was taken out
 * for its nominated pods was asked about with all filters. */
static uint32_t row_place(const struct table *table, uint32_t row)
{
    uint32_t number = table->verdict[row];
    return number && number != VERDICT_ABSENT ? asked_place(table, table->rejections.items[number].part) : 0;
}

/* False: an asked plugin failed. */
static bool ballot_rows(struct ballot *ballot, struct class_table *source, struct cycle *cycle,
                        const struct asked *asked, uint32_t start, uint32_t enough, uint64_t *taken,
                        uint32_t *ret_examined)
{
    const struct groups *groups = &source->groups;
    struct tally *tallies = tally_groups(source, cycle->arena);
    uint32_t len, examined = 0, found = 0;
    const uint32_t *order = cluster_order(cycle->cluster, &len);
    for (uint32_t at = start % len; examined < len && found < enough;
         examined++, at = at + 1 < len ? at + 1 : 0) {
        uint32_t row = order[at], number = groups->group_of[row];
        struct tally *tally = &tallies[number];
        uint32_t place = number ? tally->place : 0;
        if (place != PLACE_LAST && asked->filters_last)
            continue;
        if (asked->filters_len) {
            struct status status =
                asked_row(asked, cycle, row, number ? place : row_place(&source->table, row));
            if (!status_ok(status) && !status_rejected(status))
                return false;
            if (!status_ok(status))
                continue;
        }
        if (place != PLACE_LAST)
            continue;
        int32_t local = source->table.local[row];
        found++;
        bitmap_set(taken, row);
        if (!tally->rows++ || local > tally->best) {
            tally->best = local;
            tally->best_rows = 0;
        }
        tally->best_rows += local == tally->best;
    }
    for (uint32_t i = 1; i < groups->items.len; i++)
        if (tallies[i].rows)
            ballot_add(ballot, i, tallies[i].rows, tallies[i].best, tallies[i].best_rows);
    *ret_examined = examined;
    return true;
}

/* ---- scores ---- */
static void add_scores(struct ballot *ballot, struct cycle *cycle, struct table_part *part, int64_t *scores)
{
    struct table *table = &ballot->source->table;
    if (part->forms->group_begin)
        part->forms->group_begin(table, part, ballot->views, ballot->len);
    for (uint32_t i = 0; i < ballot->len; i++)
        scores[i] = part->forms->group_score(table, part, ballot->views[i].inputs);
    cycle->current = part->instance;
    if (part->instance->plugin->normalize)
        part->instance->plugin->normalize(cycle, scores, ballot->len);
    for (uint32_t i = 0; i < ballot->len; i++)
        ballot->totals[i] += scores[i] * part->instance->weight;
}

static void ballot_score(struct ballot *ballot, struct cycle *cycle)
{
    struct table *table = &ballot->source->table;
    size_t cells = (size_t)table->score_len * ballot->len;
    ballot->scores = arena_alloc(cycle->arena, arena_bytes(cells, sizeof(*ballot->scores)));
    for (uint32_t i = 0; i < ballot->len; i++)
        ballot->totals[i] = ballot->best[i];
    for (uint32_t i = 0; i < table->score_len; i++)
        if (table->parts[table->score_order[i]].scores_groups)
            add_scores(ballot, cycle, &table->parts[table->score_order[i]],
                       ballot->scores + (size_t)i * ballot->len);
}

/* ---- the n-th of the best rows, in row order ---- */
static uint32_t nth_by_buckets(const struct ballot *ballot, int64_t best, uint32_t skip)
{
    const struct groups *groups = &ballot->source->groups;
    for (uint32_t word = 0; word < groups->words; word++) {
        uint64_t bits = 0;
        for (uint32_t i = 0; i < ballot->len; i++)
            if (ballot->totals[i] == best)
                bits |= groups->items.items[ballot->numbers[i]].buckets.items[0].bits[word];
        uint32_t ones = (uint32_t)__builtin_popcountll(bits);
        if (skip < ones)
            return word * 64 + word_select(bits, skip);
        skip -= ones;
    }
    return ROW_NONE;
}

static uint32_t nth_by_rows(const struct ballot *ballot, struct arena *arena, int64_t best, uint32_t skip,
                            const uint64_t *taken)
{
    const struct groups *groups = &ballot->source->groups;
    const struct table *table = &ballot->source->table;
    int32_t *wanted = arena_alloc(arena, arena_bytes(groups->items.len, sizeof(*wanted)));
    for (uint32_t i = 0; i < groups->items.len; i++)
        wanted[i] = INT32_MIN; /* no local score is that low */
    for (uint32_t i = 0; i < ballot->len; i++)
        if (ballot->totals[i] == best)
            wanted[ballot->numbers[i]] = ballot->best[i];
    for (uint32_t row = 0; row < table->rows; row++) {
        if (table->local[row] != wanted[groups->group_of[row]] || (taken && !bitmap_get(taken, row)))
            continue;
        if (skip-- == 0)
            return row;
    }
    return ROW_NONE;
}

static void choose(struct engine *engine, struct cycle *cycle, struct ballot *ballot, const uint64_t *taken,
                   struct choice *ret)
{
    ret->total = INT64_MIN;
    for (uint32_t i = 0; i < ballot->len; i++) {
        if (ballot->totals[i] > ret->total) {
            ret->total = ballot->totals[i];
            ret->ties = 0;
        }
        if (ballot->totals[i] == ret->total)
            ret->ties += ballot->best_rows[i];
    }
    uint32_t skip = draw(engine, ret->ties);
    ret->row = ballot->source->groups.ranked && !taken
                   ? nth_by_buckets(ballot, ret->total, skip)
                   : nth_by_rows(ballot, cycle->arena, ret->total, skip, taken);
}

/* ---- totals of single rows, where somebody was asked for scores ---- */
struct ballot_lister {
    struct row_lister lister;
    const struct ballot *ballot;
    const uint64_t *taken; /* NULL: all rows of the ballot's groups */
    struct arena *arena;
};

static struct row_list list_taken(const struct ballot_lister *own)
{
    uint32_t *rows = arena_alloc(own->arena, arena_bytes(own->ballot->feasible, sizeof(*rows))), len = 0;
    for (uint32_t word = 0; word < bitmap_words(own->ballot->source->table.rows); word++)
        bitmap_for_word(own->taken[word], bit)
            rows[len++] = word * 64 + (uint32_t)bit;
    return (struct row_list){ rows, len };
}

static struct row_list list_feasible(struct row_lister *lister)
{
    const struct ballot_lister *own = container_of(lister, struct ballot_lister, lister);
    const struct groups *groups = &own->ballot->source->groups;
    if (own->taken)
        return list_taken(own);
    bool *takes_part = arena_array(own->arena, bool, groups->items.len);
    uint32_t *rows = arena_alloc(own->arena, arena_bytes(own->ballot->feasible, sizeof(*rows))), len = 0;
    for (uint32_t i = 0; i < own->ballot->len; i++)
        takes_part[own->ballot->numbers[i]] = true;
    for (uint32_t row = 0; row < own->ballot->source->table.rows; row++)
        if (takes_part[groups->group_of[row]])
            rows[len++] = row;
    return (struct row_list){ rows, len };
}

/* What a row's group gives it, and its own local score. */
static int64_t *row_totals(const struct ballot *ballot, struct row_list rows, struct arena *arena)
{
    const struct groups *groups = &ballot->source->groups;
    int64_t *totals = arena_alloc(arena, arena_bytes(rows.len, sizeof(*totals)));
    int64_t *by_group = arena_alloc(arena, arena_bytes(groups->items.len, sizeof(*by_group)));
    for (uint32_t i = 0; i < ballot->len; i++)
        by_group[ballot->numbers[i]] = ballot->totals[i] - ballot->best[i];
    for (uint32_t i = 0; i < rows.len; i++)
        totals[i] = by_group[groups->group_of[rows.items[i]]] + ballot->source->table.local[rows.items[i]];
    return totals;
}

/* ---- which nodes were the best, and why ---- */
static void rank_buckets(const struct ballot *ballot, struct ranking *ranking)
{
    const struct groups *groups = &ballot->source->groups;
    for (uint32_t i = 0; i < ballot->len; i++) {
        const struct group *group = &groups->items.items[ballot->numbers[i]];
        for (size_t b = 0; b < group->buckets.len; b++) {
            const struct bucket *bucket = &group->buckets.items[b];
            int64_t total = ballot->totals[i] - ballot->best[i] + bucket->local;
            if (!ranking_takes(ranking, total))
                break;
            for (uint32_t word = 0, seen = 0; word < groups->words && seen < RANKING_MAX; word++)
                bitmap_for_word(bucket->bits[word], bit)
                    if (seen++ < RANKING_MAX)
                        ranking_offer(ranking, word * 64 + (uint32_t)bit, total);
        }
    }
}

/* Scores of the node alone lie in one sum: each scorer is asked again, for these few rows. */
static void rank_local(struct table *table, struct ranking *ranking)
{
    const struct row_span span = { ranking->rows, ranking->len };
    int32_t kept[RANKING_MAX];
    for (uint32_t k = 0; k < ranking->len; k++)
        kept[k] = table->local[ranking->rows[k]];
    for (uint32_t i = 0; i < table->score_len; i++) {
        struct table_part *part = &table->parts[table->score_order[i]];
        if (!part->scores)
            continue;
        for (uint32_t k = 0; k < ranking->len; k++)
            table->local[ranking->rows[k]] = 0;
        part->forms->score(table, part, span);
        for (uint32_t k = 0; k < ranking->len; k++)
            ranking->scores[k][i] = table->local[ranking->rows[k]];
    }
    for (uint32_t k = 0; k < ranking->len; k++)
        table->local[ranking->rows[k]] = kept[k];
}

static void rank_scores(const struct ballot *ballot, struct ranking *ranking)
{
    struct table *table = &ballot->source->table;
    rank_local(table, ranking);
    for (uint32_t k = 0; k < ranking->len; k++) {
        uint32_t at = 0;
        while (ballot->numbers[at] != ballot->source->groups.group_of[ranking->rows[k]])
            at++;
        for (uint32_t i = 0; i < table->score_len; i++) {
            const struct table_part *part = &table->parts[table->score_order[i]];
            if (part->scores_groups)
                ranking->scores[k][i] +=
                    ballot->scores[(size_t)i * ballot->len + at] * part->instance->weight;
        }
    }
}

static void rank_asked(struct ranking *ranking, const struct profile *profile, struct row_list rows,
                       int64_t *const *given)
{
    const struct plugin_order *order = &profile->points[POINT_SCORE];
    for (uint32_t at = 0; at < rows.len; at++)
        for (uint32_t k = 0; k < ranking->len; k++)
            for (uint32_t i = 0; rows.items[at] == ranking->rows[k] && i < order->len; i++)
                if (given[i])
                    ranking->scores[k][i] = given[i][at] * order->items[i]->weight;
}

/* False: an asked plugin failed. */
static bool choose_row(struct engine *engine, struct cycle *cycle, const struct ballot *ballot,
                       const struct asked *asked, struct choice *ret)
{
    struct row_list rows = cycle_feasible(cycle);
    int64_t *totals = row_totals(ballot, rows, cycle->arena);
    int64_t *given[PLUGINS_MAX] = { 0 };
    if (!asked_scores(asked, cycle, rows, totals, engine->ranking ? given : NULL))
        return false;
    ret->total = INT64_MIN;
    for (uint32_t i = 0; i < rows.len; i++) {
        if (totals[i] > ret->total) {
            ret->total = totals[i];
            ret->ties = 0;
        }
        ret->ties += totals[i] == ret->total;
    }
    uint32_t skip = draw(engine, ret->ties), at = 0;
    while (totals[at] != ret->total || skip-- > 0)
        at++;
    ret->row = rows.items[at];
    if (engine->ranking) {
        ranking_begin(engine->ranking, cycle->profile, ret->row, ret->total);
        ranking_offer_all(engine->ranking, rows, totals);
        rank_scores(ballot, engine->ranking);
        rank_asked(engine->ranking, cycle->profile, rows, given);
    }
    return true;
}

static void rank(struct ranking *ranking, const struct cycle *cycle, const struct ballot *ballot,
                 const uint64_t *taken, const struct choice *choice)
{
    ranking_begin(ranking, cycle->profile, choice->row, choice->total);
    if (ballot->source->groups.ranked && !taken) {
        rank_buckets(ballot, ranking);
    } else {
        struct ballot_lister lister = { { list_feasible }, ballot, taken, cycle->arena };
        struct row_list rows = list_feasible(&lister.lister);
        ranking_offer_all(ranking, rows, row_totals(ballot, rows, cycle->arena));
    }
    rank_scores(ballot, ranking);
}

/* ---- nobody fits ---- */
/* Rows are judged before groups. Where a profile has it the other way round, the first to refuse is not known here. */
static bool rows_come_first(const struct table *table)
{
    bool groups = false;
    for (uint32_t i = 0; i < table->filter_len; i++) {
        const struct table_part *part = &table->parts[table->filter_order[i]];
        if (part->filters && groups)
            return false;
        groups |= part->filters_groups;
    }
    return true;
}

/* A node with nominated pods is asked with them first: what it says then is its verdict. */
static void diagnose_rivals(struct cycle *cycle, struct diagnosis *diagnosis)
{
    const struct cluster *cluster = cycle->cluster;
    struct node_names names;
    uint64_t blamed;
    cycle_reset(cycle);
    (void)run_pre_filter(cycle, &names, &blamed);
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        if (!cluster->nodes.items[row].api || !row_has_rivals(cluster, row, cycle->info))
            continue;
        struct status status = run_filters_nominated(cycle, row);
        diagnosis_blame(diagnosis, cycle->profile, status);
        diagnosis_set(diagnosis, row, status);
    }
    cycle_reset(cycle);
}

/* The status that forms give a row, as a verdict; found once for all rows that are refused alike. */
static uint32_t forms_verdict(struct class_table *source, struct cycle *cycle, uint32_t row,
                              uint32_t *verdict, struct diagnosis *diagnosis)
{
    struct table *table = &source->table;
    uint32_t number = table->verdict[row], detail;
    if (*verdict)
        return *verdict;
    struct table_part *part =
        number
            ? table->rejections.items[number].part
            : group_refused_by(table, group_inputs(&source->groups, source->groups.group_of[row]), &detail);
    detail = number ? table->rejections.items[number].detail : detail;
    struct status status = part->forms->explain(table, part, cycle, row, detail);
    status.plugin = part->instance->plugin;
    diagnosis_blame(diagnosis, cycle->profile, status);
    *verdict = diagnosis_verdict(diagnosis, status);
    return *verdict;
}

static void diagnose(struct class_table *source, struct cycle *cycle, struct asked *asked,
                     struct diagnosis *diagnosis)
{
    struct table *table = &source->table;
    const uint32_t *group_of = source->groups.group_of;
    uint32_t *verdicts =
        arena_array(cycle->arena, uint32_t, table->rejections.len + source->groups.items.len);
    uint32_t *by_group = verdicts + table->rejections.len;
    diagnosis_init(diagnosis, cycle->cluster, cycle->arena);
    if (cycle->cluster->nominations) {
        diagnose_rivals(cycle, diagnosis);
        (void)asked_begin(asked, table, cycle);
    }
    struct tally *tallies = asked->filters_len ? tally_groups(source, cycle->arena) : NULL;
    for (uint32_t row = 0; row < table->rows; row++) {
        uint32_t number = table->verdict[row];
        if (number == VERDICT_ABSENT || diagnosis->verdict_of[row])
            continue;
        if (tallies) {
            struct status status =
                asked_row(asked, cycle, row, number ? row_place(table, row) : tallies[group_of[row]].place);
            if (!status_ok(status)) {
                diagnosis_blame(diagnosis, cycle->profile, status);
                diagnosis_set(diagnosis, row, status);
                continue;
            }
        }
        uint32_t *verdict = number ? &verdicts[number] : &by_group[group_of[row]];
        diagnosis_assign(diagnosis, row, forms_verdict(source, cycle, row, verdict, diagnosis));
    }
}

/* ---- nodes with nominated pods ----
 * Such a node must also fit the pod beside them. Rows that do not are taken out for this decision. */
struct excluded {
    uint32_t *rows; /* NULL: nobody was asked */
    uint32_t len;
    bool failed; /* a plugin did */
};

static void exclude_rivals(struct engine *engine, struct cycle *cycle, struct class_table *source,
                           struct excluded *ret)
{
    struct cluster *cluster = engine->cluster;
    struct node_names names;
    uint64_t blamed;
    *ret = (struct excluded){ 0 };
    if (!cluster->nominations)
        return;
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        if (!cluster->nodes.items[row].nominated.len || !source->groups.group_of[row] ||
            !row_has_rivals(cluster, row, cycle->info))
            continue;
        if (!ret->rows) {
            ret->rows = arena_array(cycle->arena, uint32_t, cluster->nominations);
            cycle_reset(cycle);
            (void)run_pre_filter(cycle, &names, &blamed);
        }
        struct status status = run_filters_nominated(cycle, row);
        ret->failed |= status.code == STATUS_ERROR;
        if (!status_ok(status))
            ret->rows[ret->len++] = row;
    }
    if (ret->rows)
        cycle_reset(cycle);
    for (uint32_t i = 0; i < ret->len; i++)
        groups_remove(&source->groups, &source->table, ret->rows[i]);
}

static void include_again(struct class_table *source, const struct excluded *excluded)
{
    for (uint32_t i = 0; i < excluded->len; i++)
        groups_insert(&source->groups, &source->table, excluded->rows[i]);
}

/* ---- the decision ---- */
enum vote { VOTE_FOUND, VOTE_NONE, VOTE_PLAIN };

static enum vote vote(struct engine *engine, struct cycle *cycle, struct class_table *source,
                      struct asked *asked, struct choice *ret)
{
    uint32_t all = engine->cluster->live_nodes;
    uint32_t enough = enough_nodes(cycle->profile, all, engine_percentage(engine, cycle->profile));
    uint64_t *taken = NULL;
    struct ballot ballot;
    ballot_init(&ballot, source, cycle->arena);
    ret->examined = all;
    if (enough < all || asked->filters_len) {
        taken = arena_array(cycle->arena, uint64_t, bitmap_words(source->table.rows_cap));
        if (!ballot_rows(&ballot, source, cycle, asked, engine->next_start, enough, taken, &ret->examined))
            return VOTE_PLAIN;
    } else {
        ballot_all(&ballot, source);
    }
    ret->feasible = ballot.feasible;
    engine->next_start = (engine->next_start + ret->examined) % all;
    engine->stats.groups_seen += ballot.len;
    ret->filtered_ns = probe_now(engine->probe);
    if (!ballot.len)
        return VOTE_NONE;
    ballot.totals[0] = 0;
    if (ballot.feasible > 1) { /* a single node is taken unseen */
        struct ballot_lister lister = { { list_feasible }, &ballot, taken, cycle->arena };
        ballot_score(&ballot, cycle);
        if (asked->scores && !asked_pre_scores(asked, cycle, &lister.lister))
            return VOTE_PLAIN;
        if (asked->scores)
            return choose_row(engine, cycle, &ballot, asked, ret) ? VOTE_FOUND : VOTE_PLAIN;
    }
    choose(engine, cycle, &ballot, taken, ret);
    if (engine->ranking && ballot.feasible > 1)
        rank(engine->ranking, cycle, &ballot, taken, ret);
    return VOTE_FOUND;
}

/* Both ask PreFilter of those who have to be asked; who was asked about nominated pods starts over. */
static enum vote hold_vote(struct engine *engine, struct cycle *cycle, struct class_table *source,
                           struct asked *asked, struct choice *ret)
{
    struct excluded excluded;
    if (!asked_begin(asked, &source->table, cycle))
        return VOTE_PLAIN;
    exclude_rivals(engine, cycle, source, &excluded);
    enum vote result = VOTE_PLAIN;
    if (!excluded.failed && (!excluded.rows || asked_begin(asked, &source->table, cycle)))
        result = vote(engine, cycle, source, asked, ret);
    include_again(source, &excluded);
    /* Rows and groups are judged in an order of their own: where the profile has another, the plain path says why. */
    return result == VOTE_NONE && !rows_come_first(&source->table) ? VOTE_PLAIN : result;
}

bool decide_fast(struct engine *engine, struct cycle *cycle, struct choice *ret)
{
    uint32_t start = engine->next_start;
    struct asked asked;
    if (needs_plain(engine, cycle->info))
        return false;
    /* Rows can leave and join ranked groups only. */
    enum table_kind kind = engine->cluster->nominations   ? TABLE_RANKED
                           : engine->slowest == PATH_SCAN ? TABLE_SCANNED
                                                          : TABLE_EITHER;
    struct class_table *source =
        class_cache_get(engine->classes, cycle->profile, cycle->info, kind, &engine->stats);
    if (!source)
        return false;
    *ret = (struct choice){ .row = ROW_NONE, .error = STATUS_OK };
    ret->path = source->groups.ranked ? PATH_INDEX : PATH_SCAN;
    ret->table = &source->table;
    enum vote result = hold_vote(engine, cycle, source, &asked, ret);
    if (result == VOTE_PLAIN) {
        engine->next_start = start;
        return false;
    }
    if (result == VOTE_NONE) {
        ret->diagnosis = arena_new(cycle->arena, struct diagnosis);
        diagnose(source, cycle, &asked, ret->diagnosis);
        cycle_reset(cycle); /* preemption asks PreFilter of everybody */
    }
    return true;
}
