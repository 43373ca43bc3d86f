/* plan.c: constants of a checked tree.
 *
 * Lists and maps of constants become constants, conversions of constants are done, membership in a list of
 * constants becomes a set, patterns that are constant are compiled. As in the reference, what fails here is wrong
 * with the expression, whether it would ever be evaluated or not. */
#include "cel/check.h"
#include "cel/parse.h"
#include "cel/value.h"
#include "regex/regex.h"

struct plan {
    struct cel_run run; /* its scratch is the program's arena */
    struct error *err;
};

static int fail(struct plan *plan, struct str message)
{
    return error_set(plan->err, -EINVAL, "program instantiation failed: " STR_FMT, STR_ARG(message));
}

static bool is_constant(const struct cel_node *node)
{
    return node->kind == NODE_LITERAL;
}

static bool all_constant(const struct cel_node *node)
{
    const struct cel_node *part;
    for (size_t i = 0; (part = cel_node_part(node, i)); i++)
        if (!is_constant(part))
            return false;
    return true;
}

static int become_constant(struct plan *plan, struct cel_node *node)
{
    struct cel_value value = cel_eval_node(&plan->run, node);
    if (cel_is_error(&value))
        return fail(plan, value.text);
    node->kind = NODE_LITERAL;
    node->literal = value;
    return 0;
}

static void plan_in(struct plan *plan, struct cel_node *node)
{
    struct cel_call *call = &node->call;
    if (call->candidates_len != 1 || call->candidates[0].kinds[1] != CEL_LIST ||
        !is_constant(call->args[1]) || call->args[1]->literal.kind != CEL_LIST)
        return;
    const struct cel_list *list = call->args[1]->literal.list;
    if (list->len == 0) {
        node->kind = NODE_LITERAL;
        node->literal = cel_bool(false);
        return;
    }
    for (size_t i = 0; i < list->len; i++) {
        struct cel_value item = cel_list_item(&plan->run, list, i);
        if (item.kind < CEL_BOOL || item.kind > CEL_STRING)
            return;
    }
    call->op = OP_IN_SET;
}

static int plan_pattern(struct plan *plan, struct cel_call *call)
{
    const struct cel_node *pattern = call->args[1];
    if (!is_constant(pattern) || pattern->literal.kind != CEL_STRING)
        return 0;
    struct error problem = { "" };
    call->regex = regex_compile(pattern->literal.text, plan->run.scratch, &problem);
    return call->regex ? 0 : fail(plan, str_from(problem.text));
}

static int plan_call(struct plan *plan, struct cel_node *node)
{
    struct cel_call *call = &node->call;
    bool index = call->op == OP_INDEX || call->op == OP_OPT_INDEX;
    if (index && is_constant(call->args[1]) &&
        (call->args[1]->literal.kind < CEL_BOOL || call->args[1]->literal.kind > CEL_STRING))
        return fail(plan, arena_printf(plan->run.scratch, "invalid qualifier type: %s",
                                       cel_go_type(&plan->run, &call->args[1]->literal)));
    if (call->op != OP_CALL)
        return 0;
    if (str_is(call->function, FN_IN)) {
        plan_in(plan, node);
        return 0;
    }
    uint8_t flags = call->candidates[0].overload->flags;
    if ((flags & CEL_CONSTANT) && is_constant(call->args[0]))
        return become_constant(plan, node);
    return flags & CEL_PATTERN ? plan_pattern(plan, call) : 0;
}

static int walk(struct plan *plan, struct cel_node *node)
{
    if (!node->checking) /* taken back here: a node may be reached twice */
        return 0;
    node->checking = false;
    struct cel_node *part;
    for (size_t i = 0; (part = cel_node_part(node, i)); i++) {
        int r = walk(plan, part);
        if (r < 0)
            return r;
    }
    if (node->kind == NODE_CALL)
        return plan_call(plan, node);
    /* A variable that holds a type is taken for the name of one. */
    if (node->kind == NODE_IDENT && node->ident.is_type)
        return fail(plan, arena_printf(plan->run.scratch, "reference to undefined type: " STR_FMT,
                                       STR_ARG(node->ident.name)));
    bool literal = (node->kind == NODE_LIST || node->kind == NODE_MAP) && all_constant(node);
    return literal ? become_constant(plan, node) : 0;
}

int cel_plan(struct cel_node *node, uint32_t rules, struct arena *arena, struct error *err)
{
    struct plan plan = { .run = { .scratch = arena, .cost_max = UINT64_MAX, .rules = rules }, .err = err };
    return walk(&plan, node);
}
