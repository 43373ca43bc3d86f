/* explain_print.h: the two ways to print an explanation. */
#ifndef WHATIF_EXPLAIN_PRINT_H
#define WHATIF_EXPLAIN_PRINT_H

#include "base/term.h"
#include "codec/json_writer.h"
#include "whatif/explain.h"

/* The members of an object that the caller begins and ends; the writer is pretty. */
void explain_members(const struct explanation *explanation, struct json_writer *json);
/* The same as a complete document. */
void explain_json(const struct explanation *explanation, struct strbuf *out);
/* At most `top` nodes, groups and candidates each. */
void explain_table(const struct explanation *explanation, struct term *term, uint32_t top);
/* The table in parts: without its first line, which names the pod; and what plugins cost. */
void explain_table_answer(const struct explanation *explanation, struct term *term, uint32_t top);
void explain_table_cost(const struct explanation *explanation, struct term *term, uint32_t top);
/* The member "cost", which is among the others. */
void explain_cost_member(const struct explanation *explanation, struct json_writer *json);

/* A node that can take the pod, and what it scored; also of an attempt that is over. */
struct scored_node {
    struct str name; /* empty: the node is gone */
    uint32_t equals; /* other nodes with the same scores, for which it stands */
    bool is_best;
    const int64_t *scores; /* weighted, by plugin of the view */
    int64_t extenders;     /* what they add to the total */
    int64_t total;
};

struct score_view {
    const char **plugins;
    uint32_t plugins_len;
    uint64_t hidden; /* plugins that are left out: 1 << index */
    bool has_extenders;
    struct scored_node *nodes;
    uint32_t len;
};

/* At most `top` nodes, in their order. */
void score_view_print(const struct score_view *view, struct term *term, uint32_t top);
/* The members "scores", "extenders" and "total" of a node. */
void scored_node_members(const struct score_view *view, const struct scored_node *node,
                         struct json_writer *json);
/* The feasible nodes of an explanation, in the order of its scores. */
struct score_view explain_scores(const struct explanation *explanation, struct arena *arena);
/* Leaves out plugins, and extenders, that gave nothing to any node. */
void score_view_hide_zeros(struct score_view *view);
/* The best first; nodes with the same scores become one. */
void score_view_merge(struct score_view *view);

/* A node against another one. */
struct comparison {
    int64_t lead;       /* how much larger its total is */
    const char *plugin; /* whose scores differ most in its favour, or "extenders"; NULL: none do */
    int64_t by;         /* and by how much */
};
struct comparison scores_compare(const struct score_view *view, const struct scored_node *a,
                                 const struct scored_node *b);
/* The best node and the next one with a lower total; false: there is none, or totals do not count. */
bool explain_runner_up(const struct explanation *explanation, const struct score_view *view,
                       const struct scored_node **ret_best, const struct scored_node **ret_next);

/* ---- one node ---- */
/* The answer about options.node, as text; and as the member "node", which is null without it. */
void explain_table_node(const struct explanation *explanation, struct term *term);
void explain_node_member(const struct explanation *explanation, struct json_writer *json);
/* The members "status", "plugin" and "reasons"; and "why". */
void status_members(struct json_writer *json, struct status status);
void why_member(struct json_writer *json, const struct row_why *why);

/* Nodes that the same plugin rejects with the same reasons; also of an attempt that is over. */
struct rejection {
    struct str plugin, text;
    uint32_t nodes;
    struct str example; /* the closest, or the first by name */
};
typedef VEC(struct rejection) rejection_vec;

/* The most frequent first; sorts them. */
void rejections_print(rejection_vec *rejections, struct term *term, uint32_t top);

#endif
