/* row_match.c: node selectors by domain tables, or node by node. */
#include "index/row_match.h"

#include <string.h>

/* Label keys that get a column of their own; selectors on further keys are matched node by node. */
enum { MATCH_COLUMNS_MAX = 64 };

void row_term_init(struct row_term *term, struct cluster *cluster, struct arena *arena,
                   const struct node_selector_term *api)
{
    struct intern *syms = &cluster->syms;
    *term = (struct row_term){ .never = !api->match_expressions.len && !api->match_fields.len };
    selector_add(&term->labels, syms, arena, api->match_expressions.items, api->match_expressions.len);
    selector_add(&term->fields, syms, arena, api->match_fields.items, api->match_fields.len);
    term->never |= term->labels.never || term->fields.never || api->invalid;
}

void row_term_release(struct row_term *term, struct cluster *cluster)
{
    selector_release(&term->labels, &cluster->syms);
    selector_release(&term->fields, &cluster->syms);
}

void row_selector_init(struct row_selector *sel, struct cluster *cluster, struct arena *arena,
                       const struct str_map *labels, const struct node_selector *terms)
{
    *sel = (struct row_selector){ .has_terms = terms != NULL };
    if (labels)
        selector_add_pairs(&sel->all, &cluster->syms, arena, labels->items, labels->len);
    if (!terms)
        return;
    sel->terms = arena_array(arena, struct row_term, terms->terms.len);
    list_for(&terms->terms, term)
        row_term_init(&sel->terms[sel->terms_len++], cluster, arena, term);
}

void row_selector_release(struct row_selector *sel, struct cluster *cluster)
{
    selector_release(&sel->all, &cluster->syms);
    for (uint32_t i = 0; i < sel->terms_len; i++)
        row_term_release(&sel->terms[i], cluster);
}

/* A node has one field, its name; any other is "", which may be listed as well. */
static bool fields_match(const struct selector *fields, const struct cluster *cluster, uint32_t row)
{
    for (uint32_t i = 0; i < fields->len; i++) {
        bool is_name = str_is(intern_text(&cluster->syms, fields->items[i].key), "metadata.name");
        sym value = is_name ? cluster->nodes.items[row].name : intern_find(&cluster->syms, STR(""));
        if (!requirement_holds(&fields->items[i], value, &cluster->syms))
            return false;
    }
    return true;
}

bool row_term_matches(const struct row_term *term, const struct cluster *cluster, uint32_t row)
{
    return !term->never &&
           selector_matches(&term->labels, &cluster->nodes.items[row].labels, &cluster->syms) &&
           fields_match(&term->fields, cluster, row);
}

bool row_selector_matches(const struct row_selector *sel, const struct cluster *cluster, uint32_t row)
{
    if (!selector_matches(&sel->all, &cluster->nodes.items[row].labels, &cluster->syms))
        return false;
    for (uint32_t i = 0; i < sel->terms_len; i++)
        if (row_term_matches(&sel->terms[i], cluster, row))
            return true;
    return !sel->has_terms;
}

/* ---- all rows ---- */
static const uint8_t *domain_table(const struct requirement *req, const struct intern *syms,
                                   const struct topology *topo, struct arena *scratch)
{
    size_t domains = topo->domains.len;
    uint8_t *holds = arena_alloc(scratch, domains);
    bool listed = req->op == OP_IN || req->op == OP_NOT_IN;
    memset(holds, req->op == OP_NOT_IN || req->op == OP_EXISTS, domains);
    holds[0] = requirement_holds(req, SYM_NONE, syms);
    for (uint32_t i = 0; listed && i < req->len; i++) {
        uint32_t domain = topology_find(topo, req->values[i]);
        if (domain)
            holds[domain] = req->op == OP_IN;
    }
    for (size_t i = 1; (req->op == OP_GT || req->op == OP_LT) && i < domains; i++)
        holds[i] = requirement_holds(req, topo->domains.items[i].value, syms);
    return holds;
}

static const struct topology *column_of(struct cluster *cluster, sym key)
{
    const struct topology *topo = cluster_topology_find(cluster, key);
    if (topo)
        return topo;
    return cluster->topologies.len < MATCH_COLUMNS_MAX ? cluster_topology(cluster, key) : NULL;
}

static void require(const struct requirement *req, struct cluster *cluster, struct arena *scratch,
                    uint32_t len, uint8_t *ok)
{
    const struct topology *topo = column_of(cluster, req->key);
    if (!topo) {
        for (uint32_t row = 0; row < len; row++)
            ok[row] &= requirement_holds(req, label_set_get(&cluster->nodes.items[row].labels, req->key),
                                         &cluster->syms);
        return;
    }
    const uint8_t *holds = domain_table(req, &cluster->syms, topo, scratch);
    const uint32_t *domain_of = topo->domain_of;
    for (uint32_t row = 0; row < len; row++)
        ok[row] &= holds[domain_of[row]];
}

static void require_all(const struct selector *sel, struct cluster *cluster, struct arena *scratch,
                        uint32_t len, uint8_t *ok)
{
    for (uint32_t i = 0; i < sel->len; i++)
        require(&sel->items[i], cluster, scratch, len, ok);
}

void row_term_match_all(const struct row_term *term, struct cluster *cluster, struct arena *scratch,
                        uint32_t len, uint8_t *ok)
{
    memset(ok, !term->never, len);
    if (term->never)
        return;
    require_all(&term->labels, cluster, scratch, len, ok);
    for (uint32_t row = 0; term->fields.len && row < len; row++)
        ok[row] &= fields_match(&term->fields, cluster, row);
}

void row_selector_match_all(const struct row_selector *sel, struct cluster *cluster, struct arena *scratch,
                            uint32_t len, uint8_t *ok)
{
    memset(ok, !sel->has_terms, len);
    uint8_t *one = sel->terms_len ? arena_alloc(scratch, len) : NULL;
    for (uint32_t i = 0; i < sel->terms_len; i++) {
        row_term_match_all(&sel->terms[i], cluster, scratch, len, one);
        for (uint32_t row = 0; row < len; row++)
            ok[row] |= one[row];
    }
    require_all(&sel->all, cluster, scratch, len, ok);
}
