/* explain_print.h: the two ways to print an explanation. */
#ifndef CMD_EXPLAIN_PRINT_H
#define CMD_EXPLAIN_PRINT_H

#include "cmd/term.h"
#include "sim/explain.h"
#include "sim/world.h"

void explain_json(const struct explanation *explanation, struct strbuf *out);
/* At most `top` nodes, groups and candidates each. */
void explain_table(const struct explanation *explanation, struct term *term, uint32_t top);

#endif
