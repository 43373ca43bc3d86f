/* ast.h: an expression as a tree.
 *
 * The parser builds it with macros expanded (all, exists, map, filter, cel.bind, ... are folds), the checker
 * fills in types, variables and overloads, and evaluation only reads it. A macro may use one node twice, so
 * this is a graph without cycles; code that changes nodes must do it once. Everything lives in the program's arena. */
#ifndef CEL_AST_H
#define CEL_AST_H

#include "cel/cel.h"

struct cel_overload;
struct regex;
struct cel_type;

enum { CEL_ARGS_MAX = 4 };

enum cel_node_kind { NODE_LITERAL, NODE_IDENT, NODE_SELECT, NODE_CALL, NODE_LIST, NODE_MAP, NODE_FOLD };

/* What evaluation treats apart from calls of functions. */
enum cel_op {
    OP_CALL,
    OP_AND, /* any number of arguments, as OP_OR */
    OP_OR,
    OP_CONDITIONAL,
    OP_EQUALS,
    OP_NOT_EQUALS,
    OP_INDEX,
    OP_OPT_INDEX,
    OP_OPT_SELECT, /* the field is a literal, the second argument */
    OP_IN_SET,     /* a list of constants: membership costs nothing */
    OP_NOT_STRICTLY_FALSE,
    OP_OPTIONAL_OR,
    OP_OPTIONAL_OR_VALUE,
};

/* An overload that the types of the arguments allow, and the kinds of value that it takes (CEL_KINDS: any). Of a list,
 * the first item is looked at as well, of a map any key and value. */
struct cel_candidate {
    const struct cel_overload *overload;
    uint8_t kinds[CEL_ARGS_MAX], parts[CEL_ARGS_MAX][2];
};

struct cel_call {
    struct str function;
    struct cel_node **args;                 /* the target is the first */
    const struct cel_candidate *candidates; /* in the order of the tables */
    const struct regex *regex;              /* of a constant pattern */
    uint32_t len, candidates_len;
    enum cel_op op;
    bool member; /* written a.f(b); args[0] is a */
};

/* accu = init; for (var, var2 in range; while) accu = step; the value is `result`. */
struct cel_fold {
    struct cel_node *range, *init, *condition, *step, *result;
    struct str var, var2, accu; /* var2 may be empty */
    uint32_t slot;              /* of accu; the next two are var and var2 */
};

struct cel_node {
    enum cel_node_kind kind;
    uint32_t at;    /* byte in the text */
    uint16_t depth; /* of nesting, as the reference counts it */
    bool checking;  /* the checker has been here */
    const struct cel_type *type;
    union {
        struct cel_value literal;
        struct {
            struct str name;
            int32_t slot; /* -1: the variable `device` */
            bool is_type; /* a variable whose value is a type */
            bool
                is_hidden; /* `.device` where a variable of a macro has that name: selections from it are free */
        } ident;
        struct {
            struct cel_node *operand;
            struct str field;
            bool test; /* has() */
        } select;
        struct cel_call call;
        struct {
            struct cel_node **keys; /* of a map */
            struct cel_node **values;
            const bool *optional; /* those marked with ?; NULL: none is */
            uint32_t len;
        } items;
        struct cel_fold fold;
    };
};

static inline bool cel_item_is_optional(const struct cel_node *node, size_t i)
{
    return node->items.optional && node->items.optional[i];
}

/* Part i of a node, in the order of evaluation; NULL behind the last. */
struct cel_node *cel_node_part(const struct cel_node *node, size_t i);

#endif
