/* plan.h: what is done to a checked tree before it is evaluated. */
#ifndef CEL_PLAN_H
#define CEL_PLAN_H

#include "cel/check.h"

/* Looks for what the checker does not: lists of mixed types, literals that are no timestamps, format strings
 * that do not fit. */
void cel_validate(struct cel_checker *checker, struct cel_node *node);
/* Computes what is constant, and compiles constant patterns. -EINVAL: `err` says what cannot be computed. */
int cel_plan(struct cel_node *node, struct arena *arena, struct error *err);

/* strings.c: a constant format string and its arguments. */
void cel_validate_format(struct cel_checker *checker, const struct cel_node *node);

#endif
