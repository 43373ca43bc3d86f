/* explain_print.h: the two ways to print an explanation. */
#ifndef WHATIF_EXPLAIN_PRINT_H
#define WHATIF_EXPLAIN_PRINT_H

#include "base/term.h"
#include "codec/json_writer.h"
#include "input/input.h"
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
