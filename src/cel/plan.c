/* plan.c: constants of a checked tree.
 *
 * Lists and maps of constants become constants, conversions of constants are done, membership in a list of
 * constants becomes a set, patterns that are constant are compiled. As in the reference, what fails here is wrong
 * with the expression, whether it would ever be evaluated or not. */
#include "cel/plan.h"

#include "cel/parse.h"
#include "cel/value.h"
#include "regex/regex.h"

struct plan {
    struct cel_run run;
    struct arena *arena;
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

static bool all_constant(struct cel_node *const *nodes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_constant(nodes[i]))
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

static bool is_conversion(struct str function)
{
    static const char *const names[] = { "bool", "bytes",  "double",    "duration", "dyn",
                                         "int",  "string", "timestamp", "type",     "uint" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_is(function, names[i]))
            return true;
    return false;
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
    call->regex = regex_compile(pattern->literal.text, plan->arena, &problem);
    return call->regex ? 0 : fail(plan, str_from(problem.text));
}

static int plan_call(struct plan *plan, struct cel_node *node)
{
    struct cel_call *call = &node->call;
    bool index = call->op == OP_INDEX || call->op == OP_OPT_INDEX;
    if (index && is_constant(call->args[1]) &&
        (call->args[1]->literal.kind < CEL_BOOL || call->args[1]->literal.kind > CEL_STRING))
        return fail(plan, arena_printf(plan->arena, "invalid qualifier type: %s",
                                       cel_kind_name(call->args[1]->literal.kind)));
    if (call->op != OP_CALL)
        return 0;
    if (str_is(call->function, FN_IN)) {
        plan_in(plan, node);
        return 0;
    }
    if (call->len == 1 && is_conversion(call->function) && is_constant(call->args[0]))
        return become_constant(plan, node);
    if (call->len >= 2 && (str_is(call->function, "matches") || str_is(call->function, "find") ||
                           str_is(call->function, "findAll")))
        return plan_pattern(plan, call);
    return 0;
}

static int walk(struct plan *plan, struct cel_node *node);

static int walk_all(struct plan *plan, struct cel_node *const *nodes, size_t len)
{
    int r = 0;
    for (size_t i = 0; i < len && r == 0; i++)
        r = walk(plan, nodes[i]);
    return r;
}

static int walk(struct plan *plan, struct cel_node *node)
{
    int r = 0;
    if (!node->checking) /* taken back here: a node may be reached twice */
        return 0;
    node->checking = false;
    switch (node->kind) {
    case NODE_LITERAL:
    case NODE_IDENT:
        return 0;
    case NODE_SELECT:
        return walk(plan, node->select.operand);
    case NODE_CALL:
        r = walk_all(plan, node->call.args, node->call.len);
        return r ? r : plan_call(plan, node);
    case NODE_LIST:
        r = walk_all(plan, node->list.items, node->list.len);
        return r || !all_constant(node->list.items, node->list.len) ? r : become_constant(plan, node);
    case NODE_MAP:
        r = walk_all(plan, node->map.keys, node->map.len);
        r = r ? r : walk_all(plan, node->map.values, node->map.len);
        if (r || !all_constant(node->map.keys, node->map.len) ||
            !all_constant(node->map.values, node->map.len))
            return r;
        return become_constant(plan, node);
    case NODE_FOLD: {
        struct cel_fold *fold = &node->fold;
        struct cel_node *const parts[] = { fold->init, fold->range, fold->condition, fold->step,
                                           fold->result };
        return walk_all(plan, parts, ARRAY_SIZE(parts));
    }
    }
    return r;
}

int cel_plan(struct cel_node *node, struct arena *arena, struct error *err)
{
    struct plan plan = {
        .run = { .scratch = arena, .cost_max = UINT64_MAX },
        .arena = arena,
        .err = err,
    };
    return walk(&plan, node);
}
