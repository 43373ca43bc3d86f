/* topology_counts.c: see topology_counts.h.
 *
 * What one pod adds depends only on its labels (for terms of the incoming pod) and on its terms (against labels of the
 * incoming pod). Many pods share both, so each distinct one is matched once and remembered.
 *
 * Which keys the terms of other pods have becomes known while rows are counted. A key that turns up when rows are
 * counted again has no sums of the other rows: all must be counted anew. */
#include "index/topology_counts.h"

#include <string.h>

#include "index/match.h"

/* A memo that has seen too many labels and terms come and go starts over. */
enum { MEMO_MAX = 1 << 16 };
enum { COUNTERS_SCANNED = 8 }; /* so few counters are searched from the beginning */
enum { COUNTERS_MANY = 64 };   /* the columns of so many leave with the pod */

void topology_counts_init(struct topology_counts *counts, struct cluster *cluster, const struct pod_info *pod,
                          struct arena *arena, bool keeps_rows)
{
    *counts =
        (struct topology_counts){ .cluster = cluster, .pod = pod, .arena = arena, .keeps_rows = keeps_rows };
}

void topology_counts_release(struct topology_counts *counts)
{
    if (!counts->cluster)
        return;
    struct intern *syms = &counts->cluster->syms;
    vec_for(&counts->counters, item) {
        item->sums.topo->users--;
        intern_unref(syms, item->key);
    }
    if (counts->counters.len > COUNTERS_MANY)
        cluster_trim_topologies(counts->cluster);
    vec_for(&counts->terms, item)
        if (item->owns_selector)
            selector_release((struct selector *)&item->term->selector, syms);
    row_selector_release(&counts->wanted, counts->cluster);
    vec_release(&counts->counters);
    idmap_release(&counts->places);
    vec_release(&counts->terms);
    vec_release(&counts->by_labels.lists);
    vec_release(&counts->by_labels.pool);
    vec_release(&counts->by_terms.lists);
    vec_release(&counts->by_terms.pool);
    vec_release(&counts->row_inputs);
    counts->cluster = NULL;
}

/* ---- terms ---- */
static uint64_t counter_place(uint32_t purpose, sym key)
{
    return (uint64_t)key << 32 | purpose;
}

static struct topology_counter *find_counter(struct topology_counts *counts, uint32_t purpose, sym key)
{
    if (counts->places.len) {
        uintptr_t place = (uintptr_t)idmap_get(&counts->places, counter_place(purpose, key));
        return place ? &counts->counters.items[place - 1] : NULL;
    }
    vec_for(&counts->counters, item)
        if (item->key == key && item->purpose == purpose)
            return item;
    return NULL;
}

struct topology_counter *topology_counter_get(struct topology_counts *counts, uint32_t purpose, sym key)
{
    struct cluster *cluster = counts->cluster;
    struct topology_counter *known = find_counter(counts, purpose, key);
    if (known)
        return known;
    struct topology_counter *item = vec_push(&counts->counters);
    *item = (struct topology_counter){ .purpose = purpose, .key = key };
    size_t first = counts->places.len; /* all, once they are too many to be scanned */
    for (size_t i = first; counts->counters.len > COUNTERS_SCANNED && i < counts->counters.len; i++)
        idmap_put(&counts->places,
                  counter_place(counts->counters.items[i].purpose, counts->counters.items[i].key),
                  (void *)(i + 1));
    intern_ref(&cluster->syms, key);
    struct topology *topo = cluster_topology(cluster, key);
    topo->users++;
    domain_counter_init(&item->sums, topo, counts->keeps_rows ? cluster->rows_cap : 0, counts->arena);
    return item;
}

void topology_counts_honor_affinity(struct topology_counts *counts)
{
    const struct pod_spec *spec = &counts->pod->api->spec;
    const struct node_selector *required =
        spec->affinity && spec->affinity->node ? spec->affinity->node->required : NULL;
    if (counts->has_wanted || (!spec->node_selector.len && !required))
        return;
    row_selector_init(&counts->wanted, counts->cluster, counts->arena, &spec->node_selector, required);
    counts->has_wanted = true;
}

void topology_counts_add(struct topology_counts *counts, struct counted_term term)
{
    *vec_push(&counts->terms) = term;
}

void topology_counts_add_selector(struct topology_counts *counts, const struct label_selector *selector,
                                  uint32_t purpose, sym key)
{
    struct pod_term *term = arena_new(counts->arena, struct pod_term);
    selector_init(&term->selector, &counts->cluster->syms, counts->arena, selector);
    term->namespaces = &counts->pod->class->labels->namespace;
    term->namespaces_len = 1;
    term->namespace_selector.never = true;
    term->topology_key = key;
    topology_counts_add(counts, (struct counted_term){
                                    .term = term, .purpose = purpose, .weight = 1, .owns_selector = true });
}

void topology_counts_add_selecting(struct topology_counts *counts, struct selecting_terms terms)
{
    counts->selecting_anti = terms.list == offsetof(struct term_owner, anti);
    counts->selecting[counts->selecting_len++] = terms;
}

bool pod_terms_all_match(const struct cluster *cluster, const struct pod_terms *terms,
                         const struct label_owner *owner)
{
    for (uint32_t i = 0; i < terms->len; i++)
        if (!pod_term_matches(cluster, &terms->items[i], owner, true))
            return false;
    return true;
}

/* ---- what one pod adds ---- */
static void add(struct topology_counts *counts, struct addition_memo *memo, uint32_t purpose, sym key,
                int32_t value)
{
    const struct topology_counter *counter = topology_counter_get(counts, purpose, key);
    *vec_push(&memo->pool) = (struct addition){ (uint32_t)(counter - counts->counters.items), value };
}

static void learn_labels(struct topology_counts *counts, const void *owner)
{
    const struct pod_terms *all = NULL;
    bool all_match = false;
    vec_for(&counts->terms, item) {
        if (item->all && item->all != all)
            all_match = pod_terms_all_match(counts->cluster, item->all, owner);
        all = item->all ? item->all : all;
        if (item->all ? all_match : pod_term_matches(counts->cluster, item->term, owner, true))
            add(counts, &counts->by_labels, item->purpose, item->term->topology_key, item->weight);
    }
}

static void learn_terms(struct topology_counts *counts, const void *owner)
{
    for (uint32_t s = 0; s < counts->selecting_len; s++) {
        const struct selecting_terms *item = &counts->selecting[s];
        const struct pod_terms *terms = (const void *)((const char *)owner + item->list);
        for (uint32_t i = 0; i < terms->len; i++) {
            const struct pod_term *term = &terms->items[i];
            if (pod_term_matches(counts->cluster, term, counts->pod->class->labels, false))
                add(counts, &counts->by_terms, item->purpose, term->topology_key,
                    item->weight ? item->weight : term->weight);
        }
    }
}

/* Where rows are counted once, nothing is remembered. */
static struct addition_list learn(struct topology_counts *counts, struct addition_memo *memo,
                                  const void *owner, uint32_t number, uint32_t epoch)
{
    if (!counts->keeps_rows)
        vec_clear(&memo->pool);
    struct addition_list list = { .epoch = epoch, .first = (uint32_t)memo->pool.len };
    (memo == &counts->by_labels ? learn_labels : learn_terms)(counts, owner);
    list.len = (uint32_t)memo->pool.len - list.first;
    if (!counts->keeps_rows)
        return list;
    while (memo->lists.len <= number)
        *vec_push(&memo->lists) = (struct addition_list){ 0 };
    return memo->lists.items[number] = list;
}

/* What a pod with these labels, or these terms, adds. */
#define additions(counts, memo, owner) \
    ((owner)->number < (memo)->lists.len && (memo)->lists.items[(owner)->number].epoch == (owner)->epoch \
         ? (memo)->lists.items[(owner)->number] \
         : learn((counts), (memo), (owner), (owner)->number, (owner)->epoch))

/* ---- which nodes count ---- */
static inline bool counts_some(const struct topology_counts *counts, const struct topology_counter *item)
{
    return !item->per_node &&
           ((counts->all_keys && counts->counters.len > 1) || (item->honor_affinity && counts->has_wanted) ||
            (item->honor_taints && counts->cluster->tainted_nodes) || item->sums.missing);
}

/* What counters can require of a node. */
enum { NODE_IS_LIVE = 1, NODE_HAS_KEYS = 2, NODE_IS_WANTED = 4, NODE_IS_TOLERATED = 8 };

static unsigned required_of_node(const struct topology_counts *counts, const struct topology_counter *item)
{
    return NODE_IS_LIVE | (counts->all_keys ? NODE_HAS_KEYS : 0) |
           (item->honor_affinity && counts->has_wanted ? NODE_IS_WANTED : 0) |
           (item->honor_taints && counts->cluster->tainted_nodes ? NODE_IS_TOLERATED : 0);
}

/* By position in the span: what the node fulfils of what some counter requires. A pod may have many constraints, so
 * this is found out once for all of them. */
static void look_at_rows(const struct topology_counts *counts, struct row_span span, uint8_t *fulfilled,
                         struct arena *scratch)
{
    struct cluster *cluster = counts->cluster;
    unsigned required = 0;
    vec_for(&counts->counters, item)
        required |= counts_some(counts, item) ? required_of_node(counts, item) : 0;
    memset(fulfilled, 1, span.len);
    if ((required & NODE_IS_WANTED) && !span.rows)
        row_selector_match_all(&counts->wanted, cluster, scratch, span.len, fulfilled);
    else if (required & NODE_IS_WANTED)
        for (uint32_t i = 0; i < span.len; i++)
            fulfilled[i] = row_selector_matches(&counts->wanted, cluster, span.rows[i]);
    const bool compare = cluster->features.enabled[FEATURE_TaintTolerationComparisonOperators];
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span_row(span, i);
        bool live = cluster->col.live[row], tolerated = live;
        if (live && (required & NODE_IS_TOLERATED) && cluster->col.taints[row])
            tolerated = !node_repels_pod(cluster->nodes.items[row].api, counts->pod->api, compare);
        fulfilled[i] = live ? (uint8_t)(NODE_IS_LIVE | NODE_HAS_KEYS | (fulfilled[i] ? NODE_IS_WANTED : 0) |
                                        (tolerated ? NODE_IS_TOLERATED : 0))
                            : 0;
    }
    if (required & NODE_HAS_KEYS)
        vec_for(&counts->counters, item)
            for (uint32_t i = 0; i < span.len; i++)
                if (!item->sums.topo->domain_of[span_row(span, i)])
                    fulfilled[i] &= (uint8_t)~NODE_HAS_KEYS;
}

static inline bool node_counts(unsigned required, uint8_t fulfilled)
{
    return (fulfilled & required) == required;
}

/* ---- a row ---- */
static int32_t saturate(int64_t value)
{
    return (int32_t)MAX(MIN(value, INT32_MAX), INT32_MIN);
}

static inline void add_to_row(struct topology_counts *counts, const struct addition_memo *memo,
                              struct addition_list list, bool terminating)
{
    for (uint32_t i = 0; i < list.len; i++) {
        const struct addition *item = &memo->pool.items[list.first + i];
        struct topology_counter *counter = &counts->counters.items[item->counter];
        if (!(terminating && counter->skips_terminating) && !counter->counts_none)
            counter->row_value += item->value;
    }
}

/* The pods on the node that may have terms that count. */
static inline const pod_vec *selecting_pods(const struct topology_counts *counts,
                                            const struct node_entry *node)
{
    return counts->selecting_anti ? &node->with_anti : &node->with_affinity;
}

/* False: there is no node. */
static bool count_row(struct topology_counts *counts, uint32_t row)
{
    const struct node_entry *node = &counts->cluster->nodes.items[row];
    vec_for(&counts->counters, item)
        item->row_value = 0;
    if (!node->api)
        return false;
    if (counts->terms.len)
        vec_for(&node->pods, pod)
            add_to_row(counts, &counts->by_labels,
                       additions(counts, &counts->by_labels, (*pod)->class->labels), (*pod)->terminating);
    if (counts->selecting_len)
        vec_for(selecting_pods(counts, node), pod)
            add_to_row(counts, &counts->by_terms, additions(counts, &counts->by_terms, (*pod)->class->terms),
                       (*pod)->terminating);
    return true;
}

static bool any_selecting(const struct topology_counts *counts)
{
    const struct cluster *cluster = counts->cluster;
    return counts->selecting_len &&
           (counts->selecting_anti ? cluster->pods_with_anti : cluster->pods_with_affinity);
}

static bool fill_rows(struct topology_counts *counts, struct row_span span)
{
    size_t known = counts->counters.len;
    if (!known && !counts->terms.len && !any_selecting(counts))
        return true;
    bool some = false;
    vec_for(&counts->counters, item)
        some |= item->counts_some = counts_some(counts, item);
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span.rows[i];
        bool live = count_row(counts, row);
        uint8_t fulfilled = 0;
        if (live && some)
            look_at_rows(counts, (struct row_span){ &row, 1 }, &fulfilled, NULL);
        vec_for(&counts->counters, item) {
            bool ok = live && (!item->counts_some || node_counts(required_of_node(counts, item), fulfilled));
            domain_counter_set(&item->sums, row, ok, saturate(item->row_value));
        }
    }
    return counts->counters.len == known &&
           counts->by_labels.pool.len + counts->by_terms.pool.len <= MEMO_MAX;
}

/* ---- all rows: pods are found by the labels that terms select, and by the terms that select the pod ---- */
static void add_placed(const struct topology_counts *counts, struct topology_counter *item,
                       const struct placed_pod *pods, size_t len, int32_t value, struct arena *scratch)
{
    if (!topology_has_domains(item->sums.topo))
        return;
    const uint32_t *domain_of = item->sums.topo->domain_of;
    int32_t by_state[] = { value, item->skips_terminating ? 0 : value };
    if (!item->values)
        item->values = arena_array(scratch, int32_t, counts->cluster->rows_cap);
    for (size_t i = 0; i < len; i++)
        item->values[pods[i].row] =
            saturate((int64_t)item->values[pods[i].row] + by_state[pods[i].terminating]);
    for (size_t i = 0; !item->is_touched && i < len; i++)
        item->is_touched = domain_of[pods[i].row] != 0;
}

static void count_owner(struct topology_counts *counts, const struct counted_term *item,
                        const struct label_owner *owner, struct arena *scratch)
{
    if (!owner->placed.len)
        return;
    struct topology_counter *counter = topology_counter_get(counts, item->purpose, item->term->topology_key);
    if (!counter->counts_none)
        add_placed(counts, counter, owner->placed.items, owner->placed.len, item->weight, scratch);
}

static void count_selected(struct topology_counts *counts, const struct counted_term *item,
                           struct arena *scratch)
{
    struct cluster *cluster = counts->cluster;
    const struct pod_term *term = item->term;
    const owner_vec *owners = match_owners(&cluster->matches, &term->selector, &cluster->syms);
    sym usual = term->namespaces_len ? term->namespaces[0] : SYM_NONE;
    vec_for(owners, owner)
        if ((*owner)->namespace == usual || pod_term_takes_namespace(cluster, term, *owner, true))
            count_owner(counts, item, *owner, scratch);
}

/* Terms of which a pod counts where all of them select it: labels are matched once for all of these terms. */
struct selected_by_all {
    const struct pod_terms *all;
    struct label_owner **owners;
    size_t len;
};

static void select_by_all(const struct topology_counts *counts, const struct counted_term *item,
                          struct selected_by_all *ret, struct arena *scratch)
{
    struct cluster *cluster = counts->cluster;
    const owner_vec *owners = match_owners(&cluster->matches, &item->term->selector, &cluster->syms);
    *ret = (struct selected_by_all){ item->all, arena_array(scratch, struct label_owner *, owners->len), 0 };
    vec_for(owners, owner)
        if ((*owner)->placed.len && pod_terms_all_match(cluster, item->all, *owner))
            ret->owners[ret->len++] = *owner;
}

static void count_terms(struct topology_counts *counts, struct arena *scratch)
{
    struct selected_by_all by_all = { 0 };
    vec_for(&counts->terms, item) {
        if (!item->all || item->all->len < 2) {
            count_selected(counts, item, scratch);
            continue;
        }
        if (by_all.all != item->all)
            select_by_all(counts, item, &by_all, scratch);
        for (size_t i = 0; i < by_all.len; i++)
            count_owner(counts, item, by_all.owners[i], scratch);
    }
}

static void count_selecting(struct topology_counts *counts, struct arena *scratch)
{
    const term_vec *owners = match_terms(&counts->cluster->matches, &counts->pod->class->labels->labels);
    vec_for(owners, owner) {
        if (!(*owner)->placed.len)
            continue;
        struct addition_list list = additions(counts, &counts->by_terms, *owner);
        for (uint32_t i = 0; i < list.len; i++) {
            struct addition item = counts->by_terms.pool.items[list.first + i];
            add_placed(counts, &counts->counters.items[item.counter], (*owner)->placed.items,
                       (*owner)->placed.len, item.value, scratch);
        }
    }
}

/* The domain of nodes without the label, where they count as the empty value. */
static uint32_t missing_domain(const struct topology_counts *counts, const struct topology_counter *item)
{
    return item->missing_is_empty
               ? topology_find(item->sums.topo, intern_find(&counts->cluster->syms, STR("")))
               : 0;
}

static void fill_all(struct topology_counts *counts, uint32_t len, struct arena *scratch)
{
    count_terms(counts, scratch);
    if (any_selecting(counts))
        count_selecting(counts, scratch);
    uint8_t *fulfilled = NULL, *ok = NULL;
    vec_for(&counts->counters, item)
        item->sums.missing = missing_domain(counts, item);
    vec_for(&counts->counters, item) {
        if (!topology_has_domains(item->sums.topo))
            continue;
        bool some = counts_some(counts, item);
        if (some && !fulfilled) {
            fulfilled = arena_alloc(scratch, len);
            ok = arena_alloc(scratch, len);
            look_at_rows(counts, (struct row_span){ .len = len }, fulfilled, scratch);
        }
        unsigned required = required_of_node(counts, item);
        for (uint32_t row = 0; some && row < len; row++)
            ok[row] = node_counts(required, fulfilled[row]);
        if (!item->values)
            item->values = arena_array(scratch, int32_t, counts->cluster->rows_cap);
        domain_counter_fill(&item->sums, some ? ok : NULL, item->values, len);
        item->values = NULL; /* scratch */
    }
}

bool topology_counts_fill(struct topology_counts *counts, struct row_span span, struct arena *scratch)
{
    if (span.rows)
        return fill_rows(counts, span);
    fill_all(counts, span.len, scratch);
    return true;
}

/* ---- what if ---- */
static void change(struct topology_counts *counts, const struct addition_memo *memo,
                   struct addition_list list, uint32_t row, int delta)
{
    uint8_t fulfilled = 0;
    bool looked = false;
    for (uint32_t i = 0; i < list.len; i++) {
        const struct addition *item = &memo->pool.items[list.first + i];
        struct topology_counter *counter = &counts->counters.items[item->counter];
        bool some = counts_some(counts, counter);
        if (some && !looked)
            look_at_rows(counts, (struct row_span){ &row, 1 }, &fulfilled, NULL);
        looked |= some;
        if (!some || node_counts(required_of_node(counts, counter), fulfilled))
            domain_counter_change(&counter->sums, counter->sums.topo->domain_of[row], delta * item->value);
    }
}

void topology_counts_change(struct topology_counts *counts, const struct pod_info *pod, uint32_t row,
                            int delta)
{
    if (!counts->cluster)
        return;
    change(counts, &counts->by_labels, additions(counts, &counts->by_labels, pod->class->labels), row, delta);
    if (counts->selecting_len && pod->class->terms)
        change(counts, &counts->by_terms, additions(counts, &counts->by_terms, pod->class->terms), row,
               delta);
}

/* ---- reading ---- */
uint64_t topology_counts_version(const struct topology_counts *counts)
{
    uint64_t version = counts->depends_on ? *counts->depends_on : 0;
    vec_for(&counts->counters, item)
        version = version * 31 + item->sums.topo->shape +
                  (item->missing_is_empty ? (uint64_t)missing_domain(counts, item) << 32 : 0);
    return version;
}

bool topology_counts_are_idle(const struct topology_counts *counts)
{
    if (counts->is_needed)
        return false;
    vec_for(&counts->counters, item)
        if (item->is_touched)
            return false;
    return true;
}

static uint32_t per_node_input(const struct topology_counter *item, uint32_t row, int64_t pods)
{
    uint32_t input = INPUT_NONE;
    if (item->sums.topo->domain_of[row])
        (void)input_from_value(pods, &input);
    return input;
}

void topology_counts_inputs(const struct topology_counts *counts, struct row_span span, uint32_t **columns)
{
    vec_for(&counts->counters, item) {
        uint32_t *column = *columns++;
        if (!item->per_node) {
            domain_counter_input(&item->sums, span, column);
            continue;
        }
        for (uint32_t i = 0; i < span.len; i++) {
            uint32_t row = span_row(span, i);
            column[row] = per_node_input(item, row, item->sums.rows ? item->sums.rows[row].value : 0);
        }
    }
}

const uint32_t *topology_counts_row(struct topology_counts *counts, uint32_t row)
{
    bool is_counted = false;
    vec_reserve(&counts->row_inputs, counts->counters.len);
    for (uint32_t i = 0; i < counts->counters.len; i++) {
        struct topology_counter *item = &counts->counters.items[i];
        if (item->per_node && !is_counted) {
            count_row(counts, row);
            is_counted = true;
        }
        counts->row_inputs.items[i] =
            item->per_node ? per_node_input(item, row, item->row_value) : item->sums.topo->domain_of[row];
    }
    return counts->row_inputs.items;
}
