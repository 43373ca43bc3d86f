/* simulate_print.h: the ways to print a simulation. */
#ifndef CMD_SIMULATE_PRINT_H
#define CMD_SIMULATE_PRINT_H

#include "base/term.h"
#include "codec/json_writer.h"
#include "whatif/facts.h"

struct simulate_view {
    const char *group_by; /* label; NULL: one is chosen */
    uint32_t top;         /* how many rows of each kind the table shows */
    bool timing, placements;
    double load_seconds;
};

void simulate_json(const struct facts *facts, const struct simulate_view *view, struct strbuf *out);
/* Its members, without apiVersion and kind. */
void simulate_json_members(const struct facts *facts, const struct simulate_view *view,
                           struct json_writer *json);
/* Only the placements: the kind Placements. */
void simulate_trace(const struct simulation *simulation, struct strbuf *out);
void simulate_csv(const struct facts *facts, struct strbuf *out);
void simulate_table(const struct facts *facts, const struct simulate_view *view, struct term *term);

/* Parts of the JSON. Without `after` it is null. */
void simulate_json_node(struct json_writer *json, const struct cluster *cluster, uint32_t row,
                        const struct sim_usage *before, const struct sim_usage *after);
void simulate_json_totals(struct json_writer *json, const struct cluster *cluster,
                          const struct fact_total *totals, size_t len);

/* Parts of the table. */
void simulate_print_workloads(const struct facts *facts, const struct simulate_view *view, struct term *term);
void simulate_print_placements(const struct facts *facts, struct term *term);
void simulate_print_totals(const struct cluster *cluster, const struct fact_total *totals, size_t len,
                           struct term *term);
void simulate_print_nodes(const struct facts *facts, struct term *term);

#endif
