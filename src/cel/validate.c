/* validate.c: what is wrong with an expression though its types fit. */
#include "cel/check.h"
#include "cel/value.h"
#include "regex/regex.h"

static const struct cel_type *final_type(struct cel_checker *checker, const struct cel_node *node,
                                         bool optional)
{
    const struct cel_type *type = cel_type_resolve(&checker->types, node->type, true);
    return optional && type->len > 0 ? type->args[0] : type;
}

/* Whether an item is of the type of those before it, which is *first. */
static bool agrees(struct cel_checker *checker, const struct cel_node *item, bool optional,
                   const struct cel_type **first)
{
    const struct cel_type *type = final_type(checker, item, optional);
    *first = *first ? *first : type;
    if (cel_type_same(&checker->types, *first, type, true))
        return true;
    cel_check_mismatch(checker, item, *first, type);
    return false;
}

/* Of a list only the first item that does not agree is named. */
static void validate_items(struct cel_checker *checker, const struct cel_node *node)
{
    const struct cel_type *key = NULL, *value = NULL;
    for (size_t i = 0; i < node->items.len; i++) {
        if (node->kind == NODE_MAP)
            agrees(checker, node->items.keys[i], false, &key);
        if (!agrees(checker, node->items.values[i], cel_item_is_optional(node, i), &value) &&
            node->kind == NODE_LIST)
            return;
    }
}

/* The first argument in the parentheses, if it is a literal, must be a duration, a timestamp or a pattern. */
static void validate_literal(struct cel_checker *checker, const struct cel_call *call)
{
    size_t first = call->member ? 1 : 0;
    if (call->len <= first || call->args[first]->kind != NODE_LITERAL)
        return;
    const struct cel_value *value = &call->args[first]->literal;
    struct cel_value parsed = { .kind = CEL_NULL };
    bool wrong = false;
    if (value->kind == CEL_STRING && str_is(call->function, "duration")) {
        parsed = cel_duration_parse(value->text);
    } else if (value->kind == CEL_STRING && str_is(call->function, "timestamp")) {
        parsed = cel_timestamp_parse(value->text);
    } else if (value->kind == CEL_INT && str_is(call->function, "timestamp")) {
        parsed = cel_timestamp_of(value->integer);
    } else if (value->kind == CEL_INT && str_is(call->function, "duration")) {
        wrong = true;
    } else if (value->kind == CEL_STRING && str_is(call->function, "matches")) {
        struct arena arena = { 0 };
        wrong = !regex_compile(value->text, &arena, NULL);
        arena_release(&arena);
    }
    if (wrong || cel_is_error(&parsed))
        cel_issue(checker->issues, call->args[first]->at, "invalid " STR_FMT " argument",
                  STR_ARG(call->function));
}

/* `exempt`: somewhere below a call of format(), whose list may be mixed. */
static void walk(struct cel_checker *checker, struct cel_node *node, bool exempt)
{
    if (checker->types.steps++ > 1000000) /* a graph: as a tree it may be endless */
        checker->types.exhausted = true;
    if (checker->types.exhausted)
        return;
    if ((node->kind == NODE_LIST || node->kind == NODE_MAP) && !exempt)
        validate_items(checker, node);
    if (node->kind == NODE_CALL)
        validate_literal(checker, &node->call);
    if (node->kind == NODE_CALL && str_is(node->call.function, "format")) {
        cel_validate_format(checker, node);
        exempt = true;
    }
    if (node->kind == NODE_IDENT && node->ident.slot >= 0)
        node->ident.is_type = final_type(checker, node, false)->kind == CEL_TYPE;
    struct cel_node *part;
    for (size_t i = 0; (part = cel_node_part(node, i)); i++)
        walk(checker, part, exempt);
}

void cel_validate(struct cel_checker *checker, struct cel_node *node)
{
    walk(checker, node, false);
}
