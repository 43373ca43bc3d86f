/* check.h: types of a tree. */
#ifndef CEL_CHECK_H
#define CEL_CHECK_H

#include "cel/ast.h"
#include "cel/issues.h"
#include "cel/type.h"

struct cel_scope {
    struct str name;
    const struct cel_type *type;
    int32_t slot;
    const struct cel_scope *outer;
};

struct cel_checker {
    struct cel_types types;
    struct cel_issues *issues;
    const struct cel_scope *scope;
    uint32_t rules; /* enum cel_rule */
    uint32_t slots_len;
};

/* Fills in types, variables and overloads; what does not fit becomes issues. */
void cel_check(struct cel_checker *checker, struct cel_node *node);

/* check_call.c */
void cel_check_call(struct cel_checker *checker, struct cel_node *node);
/* "a.b.c", if the node is just that. */
bool cel_check_qualified(const struct cel_node *node, struct strbuf *out);
const struct cel_type *cel_check_field(struct cel_checker *checker, struct cel_node *node,
                                       struct cel_node *operand, struct str field, bool optional);
bool cel_check_fits(struct cel_checker *checker, const struct cel_type *a, const struct cel_type *b);
/* There is no variable, type or function of that name. */
void cel_check_undeclared(struct cel_checker *checker, struct cel_node *node, struct str name);
void cel_check_mismatch(struct cel_checker *checker, const struct cel_node *node,
                        const struct cel_type *expected, const struct cel_type *found);

/* validate.c: looks for what the checker does not: lists of mixed types, literals that are no timestamps, format
 * strings that do not fit. */
void cel_validate(struct cel_checker *checker, struct cel_node *node);
/* string_format.c: a constant format string and its arguments. */
void cel_validate_format(struct cel_checker *checker, const struct cel_node *node);
/* plan.c: computes what is constant, and compiles constant patterns. -EINVAL: `err` says what cannot be computed. */
int cel_plan(struct cel_node *node, uint32_t rules, struct arena *arena, struct error *err);

#endif
