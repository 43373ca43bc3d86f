/* row_match.h: node selectors over many rows.
 *
 * Over all rows a requirement becomes a table by domain of its key (one look-up per row); over a few changed rows it is
 * matched against each node's labels. */
#ifndef INDEX_ROW_MATCH_H
#define INDEX_ROW_MATCH_H

#include "cluster/cluster.h"

/* One term of a node selector. */
struct row_term {
    struct selector labels;
    struct selector fields; /* matched against the node's name */
    bool never;             /* an empty term */
};

/* spec.nodeSelector and required affinity, or any other node selector. */
struct row_selector {
    struct selector all;    /* must hold in any case */
    struct row_term *terms; /* one of them must hold, where has_terms */
    uint32_t terms_len;
    bool has_terms;
};

/* Compiled into the arena; row_selector_release() releases the symbols. Either part may be NULL. */
void row_selector_init(struct row_selector *sel, struct cluster *cluster, struct arena *arena,
                       const struct str_map *labels, const struct node_selector *terms);
void row_selector_release(struct row_selector *sel, struct cluster *cluster);
void row_term_init(struct row_term *term, struct cluster *cluster, struct arena *arena,
                   const struct node_selector_term *api);
void row_term_release(struct row_term *term, struct cluster *cluster);

bool row_term_matches(const struct row_term *term, const struct cluster *cluster, uint32_t row);
bool row_selector_matches(const struct row_selector *sel, const struct cluster *cluster, uint32_t row);
/* For the first `len` rows: ok[row] is 1 or 0. Takes memory from `scratch` that is not needed afterwards. */
void row_term_match_all(const struct row_term *term, struct cluster *cluster, struct arena *scratch,
                        uint32_t len, uint8_t *ok);
void row_selector_match_all(const struct row_selector *sel, struct cluster *cluster, struct arena *scratch,
                            uint32_t len, uint8_t *ok);

#endif
