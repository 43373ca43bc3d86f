/* fast.c: a decision from the groups of a table.
 *
 * Each group is judged once, as if it were one node: filters that look beyond the node, raw scores, normalisation over
 * the groups that are feasible. The best total over the groups wins; its rows are the best buckets of the groups that
 * reach it. Plugins without row forms are called for the rows that the other filters pass (per_node.h); if they score,
 * each row has a total of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "engine/class_cache.h"
#include "engine/decide.h"
#include "engine/per_node.h"
#include "engine/refusal.h"
#include "engine/rivals.h"
#include "engine/window.h"
#include "framework/probe.h"

/* The groups of one decision. */
struct candidates {
    struct class_table *source;
    uint32_t *numbers; /* of the groups */
    struct group_view *views;
    int32_t *best;         /* local score of the group's best rows that take part */
    uint32_t *best_rows;   /* how many */
    const uint64_t **bits; /* of the bucket that has them, where groups are ranked */
    int64_t *totals;
    int64_t *scores; /* scorer by scorer, of each group: normalised, not weighted */
    uint32_t len;
    uint32_t feasible; /* rows */
    /* Which rows take part, if not all: bits by row; or the places that were looked at. */
    uint64_t *taken;
    const struct window *window;
};

/* Does the pod need the plain path, whatever its class? */
static bool needs_plain(const struct engine *engine, const struct pod_info *pod)
{
    return pod->class->has_devices || pod->api->spec.node_name.len || !engine->cluster->live_nodes;
}

/* The part that refuses a group, or NULL. */
static struct table_part *group_refused_by(struct table *table, const uint32_t *inputs, uint32_t *ret_detail)
{
    table_parts_for(table, table->filtering_groups, part)
    {
        *ret_detail = part->forms->group_filter(table, part, inputs);
        if (*ret_detail)
            return part;
    }
    return NULL;
}

static void candidates_init(struct candidates *candidates, struct class_table *source, struct arena *arena)
{
    size_t most = source->groups.items.len;
    *candidates = (struct candidates){ .source = source };
    candidates->numbers = arena_alloc(arena, arena_bytes(most, sizeof(*candidates->numbers)));
    candidates->views = arena_alloc(arena, arena_bytes(most, sizeof(*candidates->views)));
    candidates->best = arena_alloc(arena, arena_bytes(most, sizeof(*candidates->best)));
    candidates->best_rows = arena_alloc(arena, arena_bytes(most, sizeof(*candidates->best_rows)));
    candidates->bits = arena_alloc(arena, arena_bytes(most, sizeof(*candidates->bits)));
    candidates->totals = arena_alloc(arena, arena_bytes(most, sizeof(*candidates->totals)));
}

static void candidates_add(struct candidates *candidates, uint32_t number, uint32_t rows, int32_t best,
                           uint32_t best_rows, const uint64_t *bits)
{
    uint32_t at = candidates->len++;
    candidates->numbers[at] = number;
    candidates->views[at] = (struct group_view){ group_inputs(&candidates->source->groups, number), rows };
    candidates->best[at] = best;
    candidates->best_rows[at] = best_rows;
    candidates->bits[at] = bits;
    candidates->feasible += rows;
}

/* All feasible groups with all their rows. */
static void candidates_all(struct candidates *candidates, struct class_table *source)
{
    uint32_t detail;
    for (uint32_t i = 1; i < source->groups.items.len; i++) {
        const struct group *group = &source->groups.items.items[i];
        if (group->rows && !group_refused_by(&source->table, group_inputs(&source->groups, i), &detail))
            candidates_add(candidates, i, group->rows, group->best, group->best_rows,
                           source->groups.ranked ? group->buckets.items[0].bits : NULL);
    }
}

/* ---- place by place, in words: where the search stops at enough feasible nodes ---- */
enum { WINDOW_GROUPS_MAX = 128 }; /* with more it is quicker to go row by row */

/* The rows of a group that the search looked at. */
static void candidates_add_seen(struct candidates *candidates, uint32_t number)
{
    const struct group *group = &candidates->source->groups.items.items[number];
    uint32_t rows = window_count(candidates->window, group->members);
    if (!rows)
        return;
    const struct bucket *bucket = group->buckets.items;
    uint32_t best_rows;
    while (!(best_rows = window_count(candidates->window, bucket->bits)))
        bucket++;
    candidates_add(candidates, number, rows, bucket->local, best_rows, bucket->bits);
}

static void candidates_window(struct candidates *candidates, struct cycle *cycle, uint32_t start,
                              uint32_t enough, uint32_t *ret_examined)
{
    const struct groups *groups = &candidates->source->groups;
    struct window *window = arena_new(cycle->arena, struct window);
    bool *refused = arena_array(cycle->arena, bool, groups->items.len);
    struct window_bits bits = { .passing = groups->passing };
    uint32_t all = cycle->cluster->live_nodes, detail;
    bits.refused = arena_alloc(cycle->arena, arena_bytes(groups->items.len, sizeof(*bits.refused)));
    for (uint32_t i = 1; i < groups->items.len; i++) {
        const struct group *group = &groups->items.items[i];
        refused[i] =
            !group->rows || group_refused_by(&candidates->source->table, group_inputs(groups, i), &detail);
        if (refused[i] && group->rows)
            bits.refused[bits.refused_len++] = group->members;
    }
    window_search(window, &bits, start % all, all, enough);
    candidates->window = window;
    for (uint32_t i = 1; i < groups->items.len; i++)
        if (!refused[i])
            candidates_add_seen(candidates, i);
    *ret_examined = window->examined;
}

/* ---- row by row: where the search stops at enough feasible nodes, or per-node plugins filter ---- */
struct group_count {
    uint32_t rows, best_rows;
    int32_t best;
    uint32_t place; /* of the filter that refuses the group; PLACE_LAST: none does */
};

static struct group_count *count_groups(const struct class_table *source, struct arena *arena)
{
    const struct groups *groups = &source->groups;
    struct group_count *counts = arena_array(arena, struct group_count, groups->items.len);
    for (uint32_t i = 1; i < groups->items.len; i++) {
        uint32_t detail;
        struct table_part *part =
            groups->items.items[i].rows
                ? group_refused_by((struct table *)&source->table, group_inputs(groups, i), &detail)
                : NULL;
        counts[i].place = part ? per_node_place(&source->table, part) : PLACE_LAST;
    }
    return counts;
}

/* The place of the filter that rejects a row without a group: per-node filters before it run first. A row that was
 * taken out for its nominated pods has been through all filters. */
static uint32_t row_place(const struct table *table, uint32_t row)
{
    uint32_t number = table->rejection[row];
    return number && number != REJECTION_ABSENT ? per_node_place(table, table->rejections.items[number].part)
                                                : 0;
}

/* The rows of a search, in its order. */
struct search {
    const struct class_table *source;
    struct cycle *cycle;
    const struct per_node *per_node;
    struct group_count *counts;
    uint64_t *taken;
    uint32_t start, enough, found, examined;
};

static inline void take_row(struct search *search, uint32_t row, struct group_count *count)
{
    int32_t local = search->source->table.local[row];
    search->found++;
    bitmap_set(search->taken, row);
    if (!count->rows++ || local > count->best) {
        count->best = local;
        count->best_rows = 0;
    }
    count->best_rows += local == count->best;
}

/* The only per-node filter comes behind all others, and judges many nodes at once. No part has more rows than are still
 * wanted: so the search ends at the same node. */
static void search_by_parts(struct search *search)
{
    enum { PART_ROWS = 256 };
    const uint32_t *group_of = search->source->groups.group_of;
    const struct plugin_instance *filter = search->per_node->filters[0].instance;
    uint32_t rows[PART_ROWS], len;
    bool fits[PART_ROWS];
    const uint32_t *order = cluster_order(search->cycle->cluster, &len);
    search->cycle->current = filter;
    for (uint32_t at = search->start % len; search->examined < len && search->found < search->enough;) {
        uint32_t most = MIN((uint32_t)PART_ROWS, search->enough - search->found), part = 0;
        for (; search->examined < len && part < most; search->examined++, at = at + 1 < len ? at + 1 : 0) {
            uint32_t number = group_of[order[at]];
            rows[part] = order[at];
            part += number && search->counts[number].place == PLACE_LAST;
        }
        filter->plugin->filter_nodes(search->cycle, (struct row_list){ rows, part }, fits);
        for (uint32_t i = 0; i < part; i++)
            if (fits[i])
                take_row(search, rows[i], &search->counts[group_of[rows[i]]]);
    }
}

/* False: a per-node plugin failed. */
static bool search_by_rows(struct search *search)
{
    const struct per_node *per_node = search->per_node;
    uint32_t len;
    const uint32_t *order = cluster_order(search->cycle->cluster, &len);
    for (uint32_t at = search->start % len; search->examined < len && search->found < search->enough;
         search->examined++, at = at + 1 < len ? at + 1 : 0) {
        uint32_t row = order[at], number = search->source->groups.group_of[row];
        struct group_count *count = &search->counts[number];
        uint32_t place = number ? count->place : 0;
        if (place != PLACE_LAST && per_node->filters_last)
            continue;
        if (per_node->filters_len) {
            struct status status = per_node_filter(per_node, search->cycle, row,
                                                   number ? place : row_place(&search->source->table, row));
            if (!status_ok(status) && !status_rejected(status))
                return false;
            if (!status_ok(status))
                continue;
        }
        if (place == PLACE_LAST)
            take_row(search, row, count);
    }
    return true;
}

/* False: a per-node plugin failed. */
static bool candidates_rows(struct candidates *candidates, struct class_table *source, struct cycle *cycle,
                            const struct per_node *per_node, uint32_t start, uint32_t enough,
                            uint32_t *ret_examined)
{
    candidates->taken = arena_array(cycle->arena, uint64_t, bitmap_words(source->table.rows_cap));
    struct search search = { .source = source,
                             .cycle = cycle,
                             .per_node = per_node,
                             .counts = count_groups(source, cycle->arena),
                             .taken = candidates->taken,
                             .start = start,
                             .enough = enough };
    if (per_node->filters_len == 1 && per_node->filters_last &&
        per_node->filters[0].instance->plugin->filter_nodes)
        search_by_parts(&search);
    else if (!search_by_rows(&search))
        return false;
    for (uint32_t i = 1; i < source->groups.items.len; i++)
        if (search.counts[i].rows)
            candidates_add(candidates, i, search.counts[i].rows, search.counts[i].best,
                           search.counts[i].best_rows, NULL);
    *ret_examined = search.examined;
    return true;
}

/* ---- scores ---- */
static void add_scores(struct candidates *candidates, struct cycle *cycle, struct table_part *part,
                       int64_t *scores)
{
    struct table *table = &candidates->source->table;
    if (part->forms->group_begin)
        part->forms->group_begin(table, part, candidates->views, candidates->len);
    for (uint32_t i = 0; i < candidates->len; i++)
        scores[i] = part->forms->group_score(table, part, candidates->views[i].inputs);
    cycle->current = part->instance;
    if (part->instance->plugin->normalize)
        part->instance->plugin->normalize(cycle, scores, candidates->len);
    for (uint32_t i = 0; i < candidates->len; i++)
        candidates->totals[i] += scores[i] * part->weight;
}

static void candidates_score(struct candidates *candidates, struct cycle *cycle)
{
    struct table *table = &candidates->source->table;
    size_t cells = (size_t)table->scores.len * candidates->len;
    candidates->scores = arena_alloc(cycle->arena, arena_bytes(cells, sizeof(*candidates->scores)));
    for (uint32_t i = 0; i < candidates->len; i++)
        candidates->totals[i] = candidates->best[i];
    for (uint32_t i = 0; i < table->scores.len; i++)
        if (table->parts[table->scores.items[i]].scores_groups)
            add_scores(candidates, cycle, &table->parts[table->scores.items[i]],
                       candidates->scores + (size_t)i * candidates->len);
}

/* ---- the n-th of the best rows, in row order ---- */
/* The word of bits of the best rows. */
static uint64_t best_word(const struct candidates *candidates, int64_t best, uint32_t word)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < candidates->len; i++)
        if (candidates->totals[i] == best)
            bits |= candidates->bits[i][word];
    return bits;
}

static uint32_t nth_by_buckets(const struct candidates *candidates, int64_t best, uint32_t skip)
{
    for (uint32_t word = 0; word < candidates->source->groups.words; word++) {
        uint64_t bits = best_word(candidates, best, word);
        uint32_t ones = (uint32_t)__builtin_popcountll(bits);
        if (skip < ones)
            return word * 64 + word_select(bits, skip);
        skip -= ones;
    }
    return ROW_NONE;
}

/* Places rise as rows do, or the rows are put in order first. */
static uint32_t nth_by_window(const struct candidates *candidates, struct cycle *cycle, int64_t best,
                              uint32_t skip)
{
    const struct groups *groups = &candidates->source->groups;
    uint32_t len;
    const uint32_t *order = cluster_order(cycle->cluster, &len);
    bool sorted = cycle->cluster->order_is_rows;
    uint64_t *rows = sorted ? NULL : arena_array(cycle->arena, uint64_t, groups->words);
    window_for_words(candidates->window, word, mask)
    {
        uint64_t bits = best_word(candidates, best, word) & mask;
        uint32_t ones = (uint32_t)__builtin_popcountll(bits);
        if (sorted && skip < ones)
            return order[word * 64 + word_select(bits, skip)];
        skip -= sorted ? ones : 0;
        bitmap_for_word(sorted ? 0 : bits, bit)
            bitmap_set(rows, order[word * 64 + bit]);
    }
    const uint64_t *all = rows; /* as of one group */
    const struct candidates found = { .source = candidates->source, .len = 1, .totals = &best, .bits = &all };
    return sorted ? ROW_NONE : nth_by_buckets(&found, best, skip);
}

static uint32_t nth_by_rows(const struct candidates *candidates, struct arena *arena, int64_t best,
                            uint32_t skip)
{
    const struct groups *groups = &candidates->source->groups;
    const struct table *table = &candidates->source->table;
    int32_t *wanted = arena_alloc(arena, arena_bytes(groups->items.len, sizeof(*wanted)));
    for (uint32_t i = 0; i < groups->items.len; i++)
        wanted[i] = INT32_MIN; /* no local score is that low */
    for (uint32_t i = 0; i < candidates->len; i++)
        if (candidates->totals[i] == best)
            wanted[candidates->numbers[i]] = candidates->best[i];
    for (uint32_t row = 0; row < table->rows; row++) {
        if (candidates->taken && !candidates->taken[row / 64]) {
            row |= 63; /* none of these 64 */
            continue;
        }
        if (table->local[row] != wanted[groups->group_of[row]] ||
            (candidates->taken && !bitmap_get(candidates->taken, row)))
            continue;
        if (skip-- == 0)
            return row;
    }
    return ROW_NONE;
}

static void choose(struct engine *engine, struct cycle *cycle, struct candidates *candidates,
                   struct choice *ret)
{
    ret->total = INT64_MIN;
    for (uint32_t i = 0; i < candidates->len; i++) {
        if (candidates->totals[i] > ret->total) {
            ret->total = candidates->totals[i];
            ret->ties = 0;
        }
        if (candidates->totals[i] == ret->total)
            ret->ties += candidates->best_rows[i];
    }
    uint32_t skip = draw(engine, ret->ties);
    if (candidates->window)
        ret->row = nth_by_window(candidates, cycle, ret->total, skip);
    else if (candidates->source->groups.ranked && !candidates->taken)
        ret->row = nth_by_buckets(candidates, ret->total, skip);
    else
        ret->row = nth_by_rows(candidates, cycle->arena, ret->total, skip);
}

/* ---- totals of single rows, where a per-node plugin scores ---- */
struct candidate_lister {
    struct row_lister lister;
    const struct candidates *candidates;
    struct cycle *cycle;
};

/* The rows of a bitmap. */
static struct row_list list_taken(const struct candidate_lister *own, const uint64_t *taken)
{
    struct arena *arena = own->cycle->arena;
    uint32_t *rows = arena_alloc(arena, arena_bytes(own->candidates->feasible, sizeof(*rows))), len = 0;
    for (uint32_t word = 0; word < bitmap_words(own->candidates->source->table.rows); word++)
        bitmap_for_word(taken[word], bit)
            rows[len++] = word * 64 + (uint32_t)bit;
    return (struct row_list){ rows, len };
}

static struct row_list list_window(const struct candidate_lister *own)
{
    const struct groups *groups = &own->candidates->source->groups;
    uint64_t *taken = arena_array(own->cycle->arena, uint64_t, groups->words);
    uint32_t len;
    const uint32_t *order = cluster_order(own->cycle->cluster, &len);
    for (uint32_t i = 0; i < own->candidates->len; i++) {
        const uint64_t *members = groups->items.items[own->candidates->numbers[i]].members;
        window_for_words(own->candidates->window, word, mask) bitmap_for_word(members[word] & mask, bit)
            bitmap_set(taken, order[word * 64 + bit]);
    }
    return list_taken(own, taken);
}

static struct row_list list_feasible(struct row_lister *lister)
{
    const struct candidate_lister *own = container_of(lister, struct candidate_lister, lister);
    const struct groups *groups = &own->candidates->source->groups;
    struct arena *arena = own->cycle->arena;
    if (own->candidates->window)
        return list_window(own);
    if (own->candidates->taken)
        return list_taken(own, own->candidates->taken);
    bool *takes_part = arena_array(arena, bool, groups->items.len);
    uint32_t *rows = arena_alloc(arena, arena_bytes(own->candidates->feasible, sizeof(*rows))), len = 0;
    for (uint32_t i = 0; i < own->candidates->len; i++)
        takes_part[own->candidates->numbers[i]] = true;
    for (uint32_t row = 0; row < own->candidates->source->table.rows; row++)
        if (takes_part[groups->group_of[row]])
            rows[len++] = row;
    return (struct row_list){ rows, len };
}

/* What a row's group gives it, and its own local score. */
static int64_t *row_totals(const struct candidates *candidates, struct row_list rows, struct arena *arena)
{
    const struct groups *groups = &candidates->source->groups;
    int64_t *totals = arena_alloc(arena, arena_bytes(rows.len, sizeof(*totals)));
    int64_t *by_group = arena_alloc(arena, arena_bytes(groups->items.len, sizeof(*by_group)));
    for (uint32_t i = 0; i < candidates->len; i++)
        by_group[candidates->numbers[i]] = candidates->totals[i] - candidates->best[i];
    for (uint32_t i = 0; i < rows.len; i++)
        totals[i] =
            by_group[groups->group_of[rows.items[i]]] + candidates->source->table.local[rows.items[i]];
    return totals;
}

/* ---- which nodes were the best, and why ---- */
/* Bits are rows: the first ones are all that can have a place. */
static void rank_buckets(const struct candidates *candidates, struct ranking *ranking)
{
    const struct groups *groups = &candidates->source->groups;
    for (uint32_t i = 0; i < candidates->len; i++) {
        const struct group *group = &groups->items.items[candidates->numbers[i]];
        for (size_t b = 0; b < group->buckets.len; b++) {
            const struct bucket *bucket = &group->buckets.items[b];
            int64_t total = candidates->totals[i] - candidates->best[i] + bucket->local;
            if (!ranking_takes(ranking, total))
                break;
            for (uint32_t word = 0, seen = 0; word < groups->words && seen < RANKING_MAX; word++)
                bitmap_for_word(bucket->bits[word], bit)
                    if (seen++ < RANKING_MAX)
                        ranking_offer(ranking, word * 64 + (uint32_t)bit, total);
        }
    }
}

/* Node-local scores are kept as one sum: each scorer runs again for these few rows. */
static void rank_local(struct table *table, struct ranking *ranking)
{
    const struct row_span span = { ranking->rows, ranking->len };
    int32_t kept[RANKING_MAX];
    for (uint32_t k = 0; k < ranking->len; k++)
        kept[k] = table->local[ranking->rows[k]];
    for (uint32_t i = 0; i < table->scores.len; i++) {
        struct table_part *part = &table->parts[table->scores.items[i]];
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

static void rank_scores(const struct candidates *candidates, struct ranking *ranking)
{
    struct table *table = &candidates->source->table;
    rank_local(table, ranking);
    for (uint32_t k = 0; k < ranking->len; k++) {
        uint32_t at = 0;
        while (candidates->numbers[at] != candidates->source->groups.group_of[ranking->rows[k]])
            at++;
        for (uint32_t i = 0; i < table->scores.len; i++) {
            const struct table_part *part = &table->parts[table->scores.items[i]];
            if (part->scores_groups)
                ranking->scores[k][i] += candidates->scores[(size_t)i * candidates->len + at] * part->weight;
        }
    }
}

/* False: a per-node plugin failed. */
static bool choose_row(struct engine *engine, struct cycle *cycle, const struct candidates *candidates,
                       struct choice *ret)
{
    struct row_list rows = cycle_feasible(cycle);
    struct score_table scores = { .rows = rows,
                                  .plugins = cycle->profile->points[POINT_SCORE].len,
                                  .at_once = true };
    scores.totals = row_totals(candidates, rows, cycle->arena);
    if (engine->ranking)
        scores.scores = arena_array(cycle->arena, int64_t, (size_t)rows.len *scores.plugins);
    if (!status_ok(run_scorers(cycle, &scores)))
        return false;
    choose_best(engine, &scores, ret);
    if (engine->ranking) {
        ranking_fill(engine->ranking, cycle->profile, ret->row, ret->total, &scores);
        rank_scores(candidates, engine->ranking);
    }
    return true;
}

static void rank(struct ranking *ranking, struct cycle *cycle, const struct candidates *candidates,
                 const struct choice *choice)
{
    if (candidates->source->groups.ranked && !candidates->taken && !candidates->window) {
        ranking_begin(ranking, cycle->profile, choice->row, choice->total);
        rank_buckets(candidates, ranking);
    } else {
        struct candidate_lister lister = { { list_feasible }, candidates, cycle };
        struct score_table table = { .rows = list_feasible(&lister.lister) };
        table.totals = row_totals(candidates, table.rows, cycle->arena);
        ranking_fill(ranking, cycle->profile, choice->row, choice->total, &table);
    }
    rank_scores(candidates, ranking);
}

/* ---- no node is feasible ---- */
/* Rows are judged before groups. Where a profile has it the other way round, the first to refuse is not known here. */
static bool rows_come_first(const struct table *table)
{
    bool groups = false;
    for (uint32_t i = 0; i < table->filters.len; i++) {
        const struct table_part *part = &table->parts[table->filters.items[i]];
        if (part->filters && groups)
            return false;
        groups |= part->filters_groups;
    }
    return true;
}

/* The status that forms give a row, as a number; found once for all rows that are refused alike. */
static uint32_t status_of_forms(struct class_table *source, struct cycle *cycle, uint32_t row,
                                uint32_t *known, struct diagnosis *diagnosis)
{
    struct table *table = &source->table;
    uint32_t number = table->rejection[row], detail;
    if (*known)
        return *known;
    struct table_part *part =
        number
            ? table->rejections.items[number].part
            : group_refused_by(table, group_inputs(&source->groups, source->groups.group_of[row]), &detail);
    detail = number ? table->rejections.items[number].detail : detail;
    struct status status = part->forms->explain(table, part, cycle, row, detail);
    status.plugin = part->instance->plugin;
    diagnosis_blame(diagnosis, cycle->profile, status);
    *known = diagnosis_number(diagnosis, status);
    return *known;
}

static void diagnose(struct engine *engine, struct class_table *source, struct cycle *cycle,
                     struct per_node *per_node, struct diagnosis *diagnosis)
{
    struct table *table = &source->table;
    const uint32_t *group_of = source->groups.group_of;
    uint32_t *numbers = arena_array(cycle->arena, uint32_t, table->rejections.len + source->groups.items.len);
    uint32_t *by_group = numbers + table->rejections.len;
    diagnosis_init(diagnosis, cycle->cluster, cycle->arena);
    if (rivals_diagnose(engine, cycle, source, diagnosis))
        (void)per_node_begin(per_node, table, cycle);
    struct group_count *counts = per_node->filters_len ? count_groups(source, cycle->arena) : NULL;
    for (uint32_t row = 0; row < table->rows; row++) {
        uint32_t number = table->rejection[row];
        if (number == REJECTION_ABSENT || diagnosis->status_of[row])
            continue;
        if (counts) {
            struct status status = per_node_filter(
                per_node, cycle, row, number ? row_place(table, row) : counts[group_of[row]].place);
            if (!status_ok(status)) {
                diagnosis_blame(diagnosis, cycle->profile, status);
                diagnosis_set(diagnosis, row, status);
                continue;
            }
        }
        uint32_t *known = number ? &numbers[number] : &by_group[group_of[row]];
        diagnosis_assign(diagnosis, row, status_of_forms(source, cycle, row, known, diagnosis));
    }
}

/* ---- the decision ---- */
/* The node that the pod is nominated to was tried before. Did the search end without it? */
static bool is_examined_besides(struct engine *engine, const struct choice *choice)
{
    uint32_t len;
    const uint32_t *order = cluster_order(engine->cluster, &len);
    for (uint32_t i = 0; choice->nomination != ROW_NONE && i < choice->examined; i++)
        if (order[(engine->next_start + i) % len] == choice->nomination)
            return false;
    return choice->nomination != ROW_NONE;
}

enum outcome { OUTCOME_FOUND, OUTCOME_NONE, OUTCOME_PLAIN };

static enum outcome evaluate(struct engine *engine, struct cycle *cycle, struct class_table *source,
                             struct per_node *per_node, struct choice *ret)
{
    uint32_t all = engine->cluster->live_nodes;
    uint32_t enough = enough_nodes(cycle->profile, all, engine_percentage(engine, cycle->profile));
    struct candidates candidates;
    candidates_init(&candidates, source, cycle->arena);
    ret->examined = all;
    if (enough >= all && !per_node->filters_len && !source->groups.places)
        candidates_all(&candidates, source);
    else if (source->groups.places && !per_node->filters_len && source->groups.items.len <= WINDOW_GROUPS_MAX)
        candidates_window(&candidates, cycle, engine->next_start, enough, &ret->examined);
    else if (!candidates_rows(&candidates, source, cycle, per_node, engine->next_start, enough,
                              &ret->examined))
        return OUTCOME_PLAIN;
    if (candidates.window || candidates.taken)
        ret->examined += is_examined_besides(engine, ret);
    ret->feasible = candidates.feasible;
    engine->next_start = (engine->next_start + ret->examined) % all;
    engine->stats.groups_seen += candidates.len;
    engine->stats.windows += candidates.window != NULL;
    ret->filtered_ns = probe_now(engine->probe);
    if (!candidates.len)
        return OUTCOME_NONE;
    candidates.totals[0] = 0;
    if (candidates.feasible > 1) { /* a single node is taken unseen */
        struct candidate_lister lister = { { list_feasible }, &candidates, cycle };
        candidates_score(&candidates, cycle);
        cycle->feasible = (struct row_list){ 0 };
        cycle->lister = &lister.lister;
        if (per_node_scores(cycle) && !status_ok(run_pre_score(cycle)))
            return OUTCOME_PLAIN;
        per_node_skip_zeros(cycle);
        if (per_node_scores(cycle))
            return choose_row(engine, cycle, &candidates, ret) ? OUTCOME_FOUND : OUTCOME_PLAIN;
    }
    choose(engine, cycle, &candidates, ret);
    if (engine->ranking && candidates.feasible > 1)
        rank(engine->ranking, cycle, &candidates, ret);
    return OUTCOME_FOUND;
}

/* PreFilter of per-node plugins runs, and again if nominated pods were tried in between: that resets the cycle. */
static enum outcome evaluate_class(struct engine *engine, struct cycle *cycle, struct class_table *source,
                                   struct per_node *per_node, struct choice *ret)
{
    struct excluded excluded;
    if (!per_node_begin(per_node, &source->table, cycle))
        return OUTCOME_PLAIN;
    rivals_exclude(engine, cycle, source, &excluded);
    enum outcome result = OUTCOME_PLAIN;
    if (!excluded.failed && (!excluded.ran || per_node_begin(per_node, &source->table, cycle)))
        result = evaluate(engine, cycle, source, per_node, ret);
    cycle->lister = NULL; /* what it lists is gone */
    rivals_include_again(source, &excluded);
    /* Rows and groups are judged in an order of their own: where the profile has another, the plain path says why. */
    return result == OUTCOME_NONE && !rows_come_first(&source->table) ? OUTCOME_PLAIN : result;
}

bool decide_fast(struct engine *engine, struct cycle *cycle, struct choice *ret)
{
    uint32_t start = engine->next_start;
    struct per_node per_node;
    *ret = (struct choice){ .row = ROW_NONE, .error = STATUS_OK, .nomination = ROW_NONE };
    if (needs_plain(engine, cycle->info) || cycle->profile->wide_scores ||
        !own_nomination_fails(engine, cycle, ret))
        return false;
    /* Rows can leave and join ranked groups only. */
    enum table_kind kind = engine->cluster->nominations   ? TABLE_RANKED
                           : engine->slowest == PATH_SCAN ? TABLE_SCANNED
                                                          : TABLE_EITHER;
    uint32_t all = engine->cluster->live_nodes;
    bool ordered = enough_nodes(cycle->profile, all, engine_percentage(engine, cycle->profile)) < all;
    struct class_table *source =
        class_cache_get(engine->classes, cycle->profile, cycle->info, cycle->weights, kind, ordered);
    if (!source)
        return false;
    ret->path = source->groups.ranked ? PATH_INDEX : PATH_SCAN;
    ret->table = &source->table;
    ret->source = source;
    ret->refusal = engine->slowest == PATH_INDEX ? refusal_find(source, cycle) : NULL;
    if (ret->refusal) {
        engine->stats.refusals_repeated++;
        ret->examined = engine->cluster->live_nodes;
        engine->next_start = (engine->next_start + ret->examined) % ret->examined;
        ret->filtered_ns = probe_now(engine->probe);
        return true;
    }
    enum outcome result = evaluate_class(engine, cycle, source, &per_node, ret);
    if (result == OUTCOME_PLAIN) {
        engine->next_start = start;
        return false;
    }
    if (result == OUTCOME_NONE) {
        ret->diagnosis = arena_new(cycle->arena, struct diagnosis);
        diagnose(engine, source, cycle, &per_node, ret->diagnosis);
    }
    return true;
}
