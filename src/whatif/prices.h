/* prices.h: what nodes cost per hour, as the strategy CostOptimizationPlugin knows it (docs/STRATEGIES.md).
 *
 * The price of a node is the first of these: its annotation, its label, that of its instance type, that of its size.
 * Without a file only annotations and labels say one. */
#ifndef WHATIF_PRICES_H
#define WHATIF_PRICES_H

#include "cluster/cluster.h"
#include "codec/doc.h"

struct price_row {
    struct str instance_type;
    double hourly, spot_hourly; /* negative: not given */
};

struct prices {
    struct arena arena;
    bool has_file;
    double cpu, memory_gib, gpu; /* per hour; the size of a node counts only with a file */
    double spot_discount;
    struct str_list gpu_resources;
    struct str annotation, label, spot_label;
    VEC(struct price_row) rows;
};

/* `path` NULL: none. */
int prices_read(struct prices *prices, const char *path, struct error *err);
void prices_release(struct prices *prices);
/* False: the node has none. */
bool price_of_node(const struct prices *prices, const struct cluster *cluster, uint32_t row, double *ret);

#endif
