/* domain_counter.c: plus, minus, and the smallest sum by histogram. */
#include "index/domain_counter.h"

#include <stdlib.h>
#include <string.h>

enum { HISTOGRAM_MAX = 1 << 16 };

void domain_counter_init(struct domain_counter *counter, struct topology *topo, uint32_t rows,
                         struct arena *arena)
{
    *counter = (struct domain_counter){ .topo = topo, .rows_cap = rows, .arena = arena };
}

static void make_rows(struct domain_counter *counter)
{
    if (counter->rows_cap && !counter->rows)
        counter->rows = arena_array(counter->arena, struct row_contribution, counter->rows_cap);
}

static void *grow(struct arena *arena, const void *old, size_t old_len, size_t len, size_t size)
{
    char *wider = arena_zalloc(arena, arena_bytes(len, size));
    if (old_len)
        memcpy(wider, old, old_len * size);
    return wider;
}

static void grow_domains(struct domain_counter *counter, uint32_t domain)
{
    if (domain < counter->domains_cap)
        return;
    uint32_t old = counter->domains_cap;
    uint32_t cap = MAX((uint32_t)counter->topo->domains.len, MAX(domain + 1, old * 2));
    counter->sums = grow(counter->arena, counter->sums, old, cap, sizeof(*counter->sums));
    counter->nodes = grow(counter->arena, counter->nodes, old, cap, sizeof(*counter->nodes));
    counter->domains_cap = cap;
}

static void histogram_count(struct domain_counter *counter, int64_t sum, int delta)
{
    if (sum < 0 || sum >= HISTOGRAM_MAX) {
        counter->beyond += (uint32_t)delta;
        return;
    }
    if (sum >= counter->histogram_cap) {
        uint32_t cap = MAX((uint32_t)sum + 1, MAX(counter->histogram_cap * 2, 64u));
        counter->histogram = grow(counter->arena, counter->histogram, counter->histogram_cap, cap,
                                  sizeof(*counter->histogram));
        counter->histogram_cap = cap;
    }
    counter->histogram[sum] += (uint32_t)delta;
    counter->least_at = MIN(counter->least_at, (uint32_t)sum);
}

static void add_missing(struct domain_counter *counter, uint32_t row, int32_t value)
{
    if (counter->rows)
        counter->rows[row].domain = counter->missing;
    counter->sums[counter->missing] += value;
    counter->nodes[counter->missing]++;
}

void domain_counter_fill(struct domain_counter *counter, const uint8_t *counts, const int32_t *values,
                         uint32_t len)
{
    grow_domains(counter, (uint32_t)counter->topo->domains.len - 1);
    make_rows(counter);
    const uint32_t *domain_of = counter->topo->domain_of;
    struct row_contribution *rows = counter->rows;
    int64_t *sums = counter->sums;
    uint32_t *nodes = counter->nodes;
    for (uint32_t row = 0; row < len; row++) {
        uint32_t domain = !counts || counts[row] ? domain_of[row] : 0;
        if (rows)
            rows[row] = (struct row_contribution){ domain, values[row] };
        sums[domain] += values[row];
        nodes[domain]++;
    }
    for (uint32_t row = 0; counter->missing && row < len; row++)
        if (!domain_of[row] && (!counts || counts[row]))
            add_missing(counter, row, values[row]);
    sums[0] = nodes[0] = 0;
    for (uint32_t i = 1; i < counter->domains_cap; i++) {
        counter->total += sums[i];
        counter->domains += nodes[i] > 0;
    }
}

static void make_histogram(struct domain_counter *counter)
{
    for (uint32_t i = 1; i < counter->domains_cap; i++)
        if (counter->nodes[i])
            histogram_count(counter, counter->sums[i], +1);
    counter->has_histogram = true;
}

static void domain_change(struct domain_counter *counter, uint32_t domain, int nodes, int64_t value)
{
    if (counter->has_histogram && counter->nodes[domain])
        histogram_count(counter, counter->sums[domain], -1);
    counter->domains -= counter->nodes[domain] > 0;
    counter->nodes[domain] += (uint32_t)nodes;
    counter->sums[domain] += value;
    counter->total += value;
    counter->domains += counter->nodes[domain] > 0;
    if (counter->has_histogram && counter->nodes[domain])
        histogram_count(counter, counter->sums[domain], +1);
}

static void grow_rows(struct domain_counter *counter, uint32_t row)
{
    make_rows(counter);
    if (row < counter->rows_cap)
        return;
    uint32_t cap = MAX(row + 1, counter->rows_cap * 2);
    counter->rows = grow(counter->arena, counter->rows, counter->rows_cap, cap, sizeof(*counter->rows));
    counter->rows_cap = cap;
}

void domain_counter_set(struct domain_counter *counter, uint32_t row, bool counts, int32_t value)
{
    uint32_t label = counter->topo->domain_of[row];
    uint32_t domain = !counts ? 0 : label ? label : counter->missing;
    if (!counter->rows && !domain)
        return;
    grow_rows(counter, row);
    struct row_contribution *old = &counter->rows[row];
    if (old->domain == domain && (!domain || old->value == value))
        return;
    if (old->domain)
        domain_change(counter, old->domain, -1, -(int64_t)old->value);
    *old = (struct row_contribution){ domain, value };
    if (!domain)
        return;
    grow_domains(counter, domain);
    domain_change(counter, domain, +1, value);
}

static int64_t least_by_scan(const struct domain_counter *counter)
{
    int64_t least = INT32_MAX;
    for (uint32_t i = 1; i < counter->domains_cap; i++)
        if (counter->nodes[i])
            least = MIN(least, counter->sums[i]);
    return least;
}

void domain_counter_change(struct domain_counter *counter, uint32_t domain, int64_t delta)
{
    if (!domain)
        return;
    grow_domains(counter, domain);
    domain_change(counter, domain, 0, delta);
}

int64_t domain_counter_least(struct domain_counter *counter)
{
    if (!counter->has_histogram)
        make_histogram(counter);
    if (counter->beyond)
        return least_by_scan(counter);
    while (counter->least_at < counter->histogram_cap && !counter->histogram[counter->least_at])
        counter->least_at++;
    return counter->least_at < counter->histogram_cap ? counter->least_at : INT32_MAX;
}

void domain_counter_input(const struct domain_counter *counter, struct row_span span, uint32_t *column)
{
    const struct topology *topo = counter->topo;
    const struct domain *domains = topo->domains.items;
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span_row(span, i), domain = topo->domain_of[row], input;
        bool single = domain && domains[domain].nodes == 1 && domain != counter->missing;
        column[row] =
            single && input_from_value(domain_counter_sum(counter, domain), &input) ? input : domain;
    }
}

int64_t domain_counter_resolve(const struct domain_counter *counter, uint32_t input)
{
    return input_is_value(input) ? input_value(input) : domain_counter_sum(counter, input);
}
