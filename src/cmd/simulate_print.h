/* simulate_print.h: the ways to print a simulation. */
#ifndef CMD_SIMULATE_PRINT_H
#define CMD_SIMULATE_PRINT_H

#include "base/term.h"
#include "codec/json_writer.h"
#include "whatif/growth.h"
#include "whatif/outcome.h"
#include "whatif/removable.h"
#include "whatif/runs.h"

struct simulate_view {
    const char *group_by; /* label; NULL: one is chosen */
    uint32_t top;         /* how many rows of each kind the table shows */
    bool timing, placements;
    double load_seconds;
    const struct outcome *outcome; /* of changes that were asked for; NULL: none were */
    const struct growth *growth;   /* NULL: not asked for, as the next one */
    const struct removable *removable;
};

void simulate_json(const struct facts *facts, const struct simulate_view *view, struct strbuf *out);
/* Its members, without apiVersion and kind. */
void simulate_json_members(const struct facts *facts, const struct simulate_view *view,
                           struct json_writer *json);
/* Only the placements: the kind Placements. */
void simulate_trace(const struct simulation *simulation, struct strbuf *out);
void simulate_csv(const struct facts *facts, struct strbuf *out);
void simulate_table(const struct facts *facts, const struct simulate_view *view, struct term *term);

/* A node: without `before` or `after` that is null. */
struct node_json {
    const struct meta *meta;
    uint32_t row;
    const struct usage *before, *after;
    bool has_change; /* the member `change` is there, and null if there was none */
    struct str change;
};

/* Parts of the JSON. */
void simulate_json_node(struct json_writer *json, const struct cluster *cluster,
                        const struct node_json *node);
void simulate_json_totals(struct json_writer *json, const struct cluster *cluster, bool changed,
                          const struct fact_total *totals, size_t len);
/* Comma-separated values (RFC 4180): a field, and what is behind it. */
void csv_field(struct strbuf *out, struct str text, bool last);

/* Configurations side by side: the kind Comparison. */
void runs_json(const struct runs *runs, struct strbuf *out);
void runs_csv(const struct runs *runs, struct strbuf *out);
void runs_table(const struct runs *runs, uint32_t top, struct term *term);

/* The members about changes. */
void simulate_json_changes(const struct facts *facts, const struct outcome *outcome,
                           struct json_writer *json);

void simulate_json_growth(const struct growth *growth, struct json_writer *json);
void simulate_json_removable(const struct facts *facts, const struct removable *removable,
                             struct json_writer *json);

/* Parts of the table. */
void simulate_print_growth(const struct growth *growth, struct term *term);
void simulate_print_removable(const struct facts *facts, const struct simulate_view *view, struct term *term);
void simulate_print_changes(const struct facts *facts, const struct simulate_view *view, struct term *term);
void simulate_print_workloads(const struct facts *facts, const struct simulate_view *view, struct term *term);
void simulate_print_placements(const struct facts *facts, struct term *term);
void simulate_print_totals(const struct cluster *cluster, const struct fact_total *totals, size_t len,
                           struct term *term);
void simulate_print_nodes(const struct facts *facts, struct term *term);

#endif
