/* node_price.h: what a node costs per hour, as far as it is written down: on the node, or in a list of instance types.
 *
 *     annotation of the node  >  label of the node  >  list by instance type  >  not known
 *
 * A price on the node is what the node costs. Of a spot node, the list has a price of its own, or its price is reduced
 * by the discount. */
#ifndef STRATEGIES_NODE_PRICE_H
#define STRATEGIES_NODE_PRICE_H

#include "node_value.h"

#define PRICE_KEY "scheduling.berth.dev/hourly-price"
#define PRICE_INSTANCE_TYPE "node.kubernetes.io/instance-type"
#define PRICE_MAX 1e9

/* One instance type. */
struct price_row {
    struct berth_str type;
    double hourly, spot_hourly;
};

static const struct berth_field price_row_fields[] = {
    BERTH_FIELD("instanceType", BERTH_STRING, struct price_row, type),
    BERTH_FIELD("hourly", BERTH_DOUBLE, struct price_row, hourly),
    BERTH_FIELD("spotHourly", BERTH_DOUBLE, struct price_row, spot_hourly),
    { 0 },
};

struct price_args {
    struct berth_list rows;
    struct berth_str label, annotation, spot_label;
    double spot_discount;
};

/* The rows of a table of arguments whose struct has a member `prices` of struct price_args. */
#define PRICE_FIELDS(type) \
    BERTH_NESTED("prices", BERTH_LIST, type, prices.rows, price_row_fields, struct price_row), \
        BERTH_FIELD("priceLabel", BERTH_STRING, type, prices.label), \
        BERTH_FIELD("priceAnnotation", BERTH_STRING, type, prices.annotation), \
        BERTH_FIELD("spotLabel", BERTH_STRING, type, prices.spot_label), \
        BERTH_FIELD("spotDiscount", BERTH_DOUBLE, type, prices.spot_discount)

#define PRICE_DEFAULTS { .label = TEXT(PRICE_KEY), .annotation = TEXT(PRICE_KEY), .spot_discount = 0.6 }

static inline bool price_in_range(double price)
{
    return price >= 0 && price <= PRICE_MAX; /* not NaN */
}

static inline int price_check(const struct price_args *args, struct berth_error *err)
{
    const struct price_row *rows = args->rows.items;
    for (uint32_t i = 0; i < args->rows.len; i++) {
        if (!rows[i].type.len)
            return berth_fail(err, "prices[%u].instanceType: expected the name of an instance type", i);
        if (!price_in_range(rows[i].hourly) || !price_in_range(rows[i].spot_hourly))
            return berth_fail(err, "prices[%u]: expected prices from 0 to 1e9", i);
    }
    if (!(args->spot_discount >= 0 && args->spot_discount <= 1))
        return berth_fail(err, "spotDiscount: %g is not between 0 and 1", args->spot_discount);
    return 0;
}

static inline const struct price_row *price_row_of(const struct price_args *args, const void *node)
{
    const struct price_row *rows = args->rows.items;
    struct berth_str type = berth_object_label(node, PRICE_INSTANCE_TYPE);
    for (uint32_t i = 0; type.len && i < args->rows.len; i++)
        if (berth_eq(rows[i].type, type))
            return &rows[i];
    return NULL;
}

/* False: the price is not known. */
static inline bool price_of(const struct price_args *args, const void *node, bool is_spot, double *ret)
{
    if (value_of_keys(node, args->annotation, args->label, ret) && price_in_range(*ret))
        return true;
    const struct price_row *row = price_row_of(args, node);
    if (!row)
        return false;
    *ret = !is_spot               ? row->hourly
           : row->spot_hourly > 0 ? row->spot_hourly
                                  : row->hourly * (1 - args->spot_discount);
    return true;
}

#endif
