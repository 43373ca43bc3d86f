/* capacity_print.h: the ways to print how many more copies fit. */
#ifndef CMD_CAPACITY_PRINT_H
#define CMD_CAPACITY_PRINT_H

#include "base/term.h"
#include "whatif/capacity.h"

struct capacity_view {
    uint32_t top;         /* how many rows of each kind the table shows */
    bool timing, verbose; /* verbose: every node that got copies */
    int64_t max;          /* that was given; 0: none */
    struct str time;      /* of the decisions */
    double load_seconds, decide_seconds;
};

void capacity_json(const struct capacity *capacity, const struct capacity_view *view, struct strbuf *out);
/* Of the first run: as the cluster-capacity tool prints it. */
void capacity_review(const struct capacity *capacity, const struct capacity_view *view, struct strbuf *out);
void capacity_table(const struct capacity *capacity, const struct capacity_view *view, struct term *term);

#endif
