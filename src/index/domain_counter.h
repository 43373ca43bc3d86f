/* domain_counter.h: sums over the nodes of each topology domain, kept while nodes change.
 *
 * Each row contributes a value to the domain that it is in; rows that do not count contribute nothing. Setting a row
 * again replaces what it contributed before, also when it has moved to another domain since. A what-if changes the sum
 * of a domain, and the opposite change undoes it. */
#ifndef INDEX_DOMAIN_COUNTER_H
#define INDEX_DOMAIN_COUNTER_H

#include "base/vec.h"
#include "index/table.h"

struct row_contribution {
    uint32_t domain; /* 0: does not count */
    int32_t value;
};

struct domain_counter {
    struct topology *topo;
    struct arena *arena;           /* owns the rest */
    struct row_contribution *rows; /* NULL: not kept, rows are filled in once; or there is no domain yet */
    uint32_t rows_cap;             /* as many are kept; 0: none */
    uint32_t missing;              /* the domain of rows without the label; 0: they do not count */
    int64_t *sums;                 /* by domain */
    uint32_t *nodes;               /* by domain: rows that count */
    uint32_t domains_cap;
    uint32_t domains; /* with at least one row that counts */
    int64_t total;
    bool has_histogram;  /* made when the smallest sum is needed for the first time */
    uint32_t *histogram; /* how many counting domains have that sum, while sums are small */
    uint32_t histogram_cap;
    uint32_t least_at; /* no counting domain has a smaller sum that is in the histogram */
    uint32_t beyond;   /* counting domains whose sum is not in the histogram */
};

/* For so many rows; 0: what a row contributes is not kept, and rows cannot be set again. */
void domain_counter_init(struct domain_counter *counter, struct topology *topo, uint32_t rows,
                         struct arena *arena);
/* What all rows contribute, at once; not needed while there is no domain. `counts` NULL: every row that has the label
 * counts. */
void domain_counter_fill(struct domain_counter *counter, const uint8_t *counts, const int32_t *values,
                         uint32_t len);
/* What the row contributes now; `counts` false: nothing. */
void domain_counter_set(struct domain_counter *counter, uint32_t row, bool counts, int32_t value);
/* What if the sum of the domain were larger by `delta`? */
void domain_counter_change(struct domain_counter *counter, uint32_t domain, int64_t delta);
/* The smallest sum over the domains that count; INT32_MAX when there are none. */
int64_t domain_counter_least(struct domain_counter *counter);

static inline int64_t domain_counter_sum(const struct domain_counter *counter, uint32_t domain)
{
    return domain < counter->domains_cap ? counter->sums[domain] : 0;
}

/* Fills in the input column of rows for this counter; see table.h. */
void domain_counter_input(const struct domain_counter *counter, struct row_span span, uint32_t *column);
/* The sum that an input stands for. */
int64_t domain_counter_resolve(const struct domain_counter *counter, uint32_t input);

#endif
