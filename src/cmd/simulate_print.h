/* simulate_print.h: the ways to print a simulation. */
#ifndef CMD_SIMULATE_PRINT_H
#define CMD_SIMULATE_PRINT_H

#include "base/term.h"
#include "whatif/simulate.h"

struct simulate_view {
    const char *group_by; /* label; NULL: one is chosen */
    uint32_t top;         /* how many rows of each kind the table shows */
    bool timing;
    double load_seconds;
};

void simulate_json(const struct simulation *simulation, const struct simulate_view *view, struct strbuf *out);
/* Only the placements: the kind Placements. */
void simulate_trace(const struct simulation *simulation, struct strbuf *out);
void simulate_table(const struct simulation *simulation, const struct simulate_view *view, struct term *term);

#endif
