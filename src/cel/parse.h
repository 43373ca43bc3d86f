/* parse.h: from a text to a tree. */
#ifndef CEL_PARSE_H
#define CEL_PARSE_H

#include "cel/ast.h"
#include "cel/lex.h"

/* Operators are calls of functions with these names. */
#define FN_CONDITIONAL "_?_:_"
#define FN_AND "_&&_"
#define FN_OR "_||_"
#define FN_NOT "!_"
#define FN_NEGATE "-_"
#define FN_ADD "_+_"
#define FN_EQUALS "_==_"
#define FN_IN "@in"
#define FN_INDEX "_[_]"
#define FN_OPT_INDEX "_[?_]"
#define FN_OPT_SELECT "_?._"
#define FN_NOT_STRICTLY_FALSE "@not_strictly_false"
#define FN_MAP_INSERT "cel.@mapInsert"

/* A name that no expression can spell. */
#define ACCU_NAME "@result"

/* NULL: `issues` says why. */
struct cel_node *cel_parse(struct str text, uint32_t rules, struct arena *arena, struct cel_issues *issues);

/* Nodes, for the parser and its macros. */
struct cel_node *cel_node_new(struct arena *arena, enum cel_node_kind kind, size_t at);
struct cel_node *cel_node_literal(struct arena *arena, size_t at, struct cel_value value);
struct cel_node *cel_node_ident(struct arena *arena, size_t at, struct str name);
/* A list, which has no keys, or a map. */
struct cel_node *cel_node_items(struct arena *arena, size_t at, enum cel_node_kind kind,
                                struct cel_node *const *keys, struct cel_node *const *values, size_t len);
struct cel_node *cel_node_call(struct arena *arena, size_t at, struct str function, bool member,
                               struct cel_node *const *args, size_t len);

/* macro.c: if this call is one of a macro, its expansion; NULL if it is not one; `*ret_failed` if it is one with
 * wrong arguments, which `issues` names then. `args` has the target first if `member`. */
struct cel_node *cel_macro_expand(struct arena *arena, struct cel_issues *issues, size_t at,
                                  struct str function, bool member, struct cel_node **args, size_t len,
                                  bool *ret_failed);

#endif
