/* explain_print.h: the two ways to print an explanation. */
#ifndef WHATIF_EXPLAIN_PRINT_H
#define WHATIF_EXPLAIN_PRINT_H

#include "base/term.h"
#include "codec/json_writer.h"
#include "input/world.h"
#include "whatif/explain.h"

/* The members of an object that the caller begins and ends; the writer is pretty. */
void explain_members(const struct explanation *explanation, struct json_writer *json);
/* The whole as a text. */
void explain_json(const struct explanation *explanation, struct strbuf *out);
/* At most `top` nodes, groups and candidates each. */
void explain_table(const struct explanation *explanation, struct term *term, uint32_t top);
/* The table in parts: without its first line, which names the pod; and what plugins cost. */
void explain_table_answer(const struct explanation *explanation, struct term *term, uint32_t top);
void explain_table_cost(const struct explanation *explanation, struct term *term, uint32_t top);
/* What stands above the column of a plugin's scores. */
const char *explain_heading(const char *plugin);
/* What extenders add to the total of a feasible node. */
int64_t explain_extender_score(const struct explanation *explanation, uint32_t place);
/* The member "cost", which is among the others. */
void explain_cost_member(const struct explanation *explanation, struct json_writer *json);

/* Nodes that the same plugin rejects with the same reasons; also of an attempt that is over. */
struct refusal {
    struct str plugin, text;
    uint32_t nodes;
    struct str example; /* the first by name */
};
typedef VEC(struct refusal) refusal_vec;

void refusals_sort(refusal_vec *refusals);
void refusals_print(const refusal_vec *refusals, struct term *term, uint32_t top);

#endif
