/* macro.c: calls that are other expressions in short.
 *
 *     r.all(x, p)   fold: accu = true; while not strictly false; accu = accu && p
 *     r.map(x, e)   fold: accu = []; accu = accu + [e]
 *     cel.bind(x, v, e)   a fold over nothing: accu, which is named x here, is v; the result is e
 *
 * One table says which name with how many arguments is which macro. */
#include "cel/parse.h"

struct expansion {
    struct arena *arena;
    struct cel_issues *issues;
    size_t at;
    struct cel_node **args; /* the target first, if there is one */
    size_t len;
    bool failed;
};

typedef struct cel_node *macro_expand(struct expansion *m);

static struct cel_node *wrong(struct expansion *m, const struct cel_node *node, const char *message)
{
    cel_issue(m->issues, node->at, "%s", message);
    m->failed = true;
    return NULL;
}

static struct cel_node *literal_bool(const struct expansion *m, bool value)
{
    return cel_node_literal(m->arena, m->at, cel_bool(value));
}

static struct cel_node *literal_int(const struct expansion *m, int64_t value)
{
    return cel_node_literal(m->arena, m->at, cel_int(value));
}

static struct cel_node *accu(const struct expansion *m)
{
    return cel_node_ident(m->arena, m->at, STR(ACCU_NAME));
}

static struct cel_node *call(const struct expansion *m, struct str function, size_t len,
                             struct cel_node **args)
{
    return cel_node_call(m->arena, m->at, function, false, args, len);
}

#define CALL(m, function, ...) \
    call((m), (function), sizeof((struct cel_node *[]){ __VA_ARGS__ }) / sizeof(struct cel_node *), \
         (struct cel_node *[]){ __VA_ARGS__ })

static struct cel_node *fold(const struct expansion *m, struct cel_fold parts)
{
    struct cel_node *node = cel_node_new(m->arena, NODE_FOLD, m->at);
    const struct cel_node *all[] = { parts.range, parts.init, parts.condition, parts.step, parts.result };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        node->depth = MAX(node->depth, all[i]->depth);
    node->fold = parts;
    return node;
}

/* The value of `init` under a name, in `result`. */
static struct cel_node *bind(const struct expansion *m, struct str name, struct cel_node *init,
                             struct cel_node *result)
{
    return fold(m, (struct cel_fold){
                       .range = cel_node_list(m->arena, m->at, NULL, 0),
                       .var = STR("#unused"),
                       .accu = name,
                       .init = init,
                       .condition = literal_bool(m, false),
                       .step = cel_node_ident(m->arena, m->at, name),
                       .result = result,
                   });
}

/* The variables of a fold: one or two names. */
static bool names(struct expansion *m, size_t count, struct cel_fold *ret)
{
    for (size_t i = 1; i <= count; i++) {
        struct cel_node *arg = m->args[i];
        if (arg->kind != NODE_IDENT) {
            wrong(m, arg, "argument must be a simple name");
            return false;
        }
        if (str_is(arg->ident.name, ACCU_NAME) || str_is(arg->ident.name, "__result__")) {
            wrong(m, arg, "iteration variable overwrites accumulator variable");
            return false;
        }
        *(i == 1 ? &ret->var : &ret->var2) = arg->ident.name;
    }
    if (count == 2 && str_eq(ret->var, ret->var2)) {
        cel_issue(m->issues, m->args[2]->at, "duplicate variable name: " STR_FMT, STR_ARG(ret->var));
        m->failed = true;
        return false;
    }
    ret->range = m->args[0];
    ret->accu = STR(ACCU_NAME);
    return true;
}

static struct cel_node *expand_has(struct expansion *m)
{
    struct cel_node *arg = m->args[0];
    if (arg->kind != NODE_SELECT)
        return wrong(m, arg, "invalid argument to has() macro");
    struct cel_node *node = cel_node_new(m->arena, NODE_SELECT, m->at);
    node->depth = arg->depth;
    node->select = arg->select;
    node->select.test = true;
    return node;
}

static struct cel_node *all(struct expansion *m, size_t vars)
{
    struct cel_fold parts = { 0 };
    if (!names(m, vars, &parts))
        return NULL;
    parts.init = literal_bool(m, true);
    parts.condition = CALL(m, STR(FN_NOT_STRICTLY_FALSE), accu(m));
    parts.step = CALL(m, STR(FN_AND), accu(m), m->args[vars + 1]);
    parts.result = accu(m);
    return fold(m, parts);
}

static struct cel_node *expand_all(struct expansion *m)
{
    return all(m, 1);
}

static struct cel_node *expand_all_2(struct expansion *m)
{
    return all(m, 2);
}

static struct cel_node *exists(struct expansion *m, size_t vars)
{
    struct cel_fold parts = { 0 };
    if (!names(m, vars, &parts))
        return NULL;
    parts.init = literal_bool(m, false);
    parts.condition = CALL(m, STR(FN_NOT_STRICTLY_FALSE), CALL(m, STR(FN_NOT), accu(m)));
    parts.step = CALL(m, STR(FN_OR), accu(m), m->args[vars + 1]);
    parts.result = accu(m);
    return fold(m, parts);
}

static struct cel_node *expand_exists(struct expansion *m)
{
    return exists(m, 1);
}

static struct cel_node *expand_exists_2(struct expansion *m)
{
    return exists(m, 2);
}

static struct cel_node *exists_one(struct expansion *m, size_t vars)
{
    struct cel_fold parts = { 0 };
    if (!names(m, vars, &parts))
        return NULL;
    struct cel_node *more = CALL(m, STR(FN_ADD), accu(m), literal_int(m, 1));
    parts.init = literal_int(m, 0);
    parts.condition = literal_bool(m, true);
    parts.step = CALL(m, STR(FN_CONDITIONAL), m->args[vars + 1], more, accu(m));
    parts.result = CALL(m, STR(FN_EQUALS), accu(m), literal_int(m, 1));
    return fold(m, parts);
}

static struct cel_node *expand_exists_one(struct expansion *m)
{
    return exists_one(m, 1);
}

static struct cel_node *expand_exists_one_2(struct expansion *m)
{
    return exists_one(m, 2);
}

/* `step` for every entry that `filter` takes, if there is one, from an empty list or map on. */
static struct cel_node *collect(struct expansion *m, struct cel_fold parts, struct cel_node *init,
                                struct cel_node *filter, struct cel_node *step)
{
    parts.init = init;
    parts.condition = literal_bool(m, true);
    parts.step = filter ? CALL(m, STR(FN_CONDITIONAL), filter, step, accu(m)) : step;
    parts.result = accu(m);
    return fold(m, parts);
}

static struct cel_node *append(struct expansion *m, struct cel_node *item)
{
    return CALL(m, STR(FN_ADD), accu(m), cel_node_list(m->arena, m->at, &item, 1));
}

static struct cel_node *transform_list(struct expansion *m, size_t vars)
{
    struct cel_fold parts = { 0 };
    if (!names(m, vars, &parts))
        return NULL;
    struct cel_node *filter = m->len == vars + 3 ? m->args[vars + 1] : NULL;
    return collect(m, parts, cel_node_list(m->arena, m->at, NULL, 0), filter, append(m, m->args[m->len - 1]));
}

static struct cel_node *expand_map(struct expansion *m)
{
    return transform_list(m, 1);
}

static struct cel_node *expand_transform_list(struct expansion *m)
{
    return transform_list(m, 2);
}

static struct cel_node *expand_filter(struct expansion *m)
{
    struct cel_fold parts = { 0 };
    if (!names(m, 1, &parts))
        return NULL;
    return collect(m, parts, cel_node_list(m->arena, m->at, NULL, 0), m->args[2], append(m, m->args[1]));
}

static struct cel_node *transform_map(struct expansion *m, bool by_entry)
{
    struct cel_fold parts = { 0 };
    if (!names(m, 2, &parts))
        return NULL;
    struct str insert = STR("cel.@mapInsert");
    struct cel_node *filter = m->len == 5 ? m->args[3] : NULL, *value = m->args[m->len - 1];
    struct cel_node *key = cel_node_ident(m->arena, m->at, parts.var);
    struct cel_node *step = by_entry ? CALL(m, insert, accu(m), value) : CALL(m, insert, accu(m), key, value);
    return collect(m, parts, cel_node_new(m->arena, NODE_MAP, m->at), filter, step);
}

static struct cel_node *expand_transform_map(struct expansion *m)
{
    return transform_map(m, false);
}

static struct cel_node *expand_transform_map_entry(struct expansion *m)
{
    return transform_map(m, true);
}

static struct cel_node *expand_bind(struct expansion *m)
{
    const struct cel_node *target = m->args[0];
    if (target->kind != NODE_IDENT || !str_is(target->ident.name, "cel"))
        return NULL;
    if (m->args[1]->kind != NODE_IDENT)
        return wrong(m, m->args[1], "cel.bind() variable names must be simple identifiers");
    return bind(m, m->args[1]->ident.name, m->args[2], m->args[3]);
}

/* o.hasValue() ? (the value of `e`, where the name is o.value()) : optional.none() */
static struct cel_node *opt_map(struct expansion *m, bool flat)
{
    if (m->args[1]->kind != NODE_IDENT)
        return wrong(m, m->args[1],
                     flat ? "optFlatMap() variable name must be a simple identifier"
                          : "optMap() variable name must be a simple identifier");
    struct cel_node *has = cel_node_call(m->arena, m->at, STR("hasValue"), true, m->args, 1);
    struct cel_node *value = cel_node_call(m->arena, m->at, STR("value"), true, m->args, 1);
    struct cel_node *result = bind(m, m->args[1]->ident.name, value, m->args[2]);
    if (!flat)
        result = CALL(m, STR("optional.of"), result);
    struct cel_node *none = cel_node_call(m->arena, m->at, STR("optional.none"), false, NULL, 0);
    return CALL(m, STR(FN_CONDITIONAL), has, result, none);
}

static struct cel_node *expand_opt_map(struct expansion *m)
{
    return opt_map(m, false);
}

static struct cel_node *expand_opt_flat_map(struct expansion *m)
{
    return opt_map(m, true);
}

static struct cel_node *expand_sort_by(struct expansion *m)
{
    struct str name = STR("@__sortBy_input__");
    struct cel_node *target = m->args[0];
    if (target->kind == NODE_LITERAL || target->kind == NODE_MAP)
        return wrong(
            m, target,
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression");
    struct cel_node *input = cel_node_ident(m->arena, m->at, name);
    struct cel_node *map_args[] = { input, m->args[1], m->args[2] };
    struct expansion inner = *m;
    inner.args = map_args;
    struct cel_node *keys = transform_list(&inner, 1);
    if (!keys) {
        m->failed = true;
        return NULL;
    }
    struct cel_node *sort_args[] = { cel_node_ident(m->arena, m->at, name), keys };
    return bind(m, name, target,
                cel_node_call(m->arena, m->at, STR("@sortByAssociatedKeys"), true, sort_args, 2));
}

static const struct macro {
    struct str name;
    uint8_t args; /* without the target */
    bool member;
    macro_expand *expand;
} macros[] = {
    { STR("has"), 1, false, expand_has },
    { STR("all"), 2, true, expand_all },
    { STR("all"), 3, true, expand_all_2 },
    { STR("exists"), 2, true, expand_exists },
    { STR("exists"), 3, true, expand_exists_2 },
    { STR("exists_one"), 2, true, expand_exists_one },
    { STR("exists_one"), 3, true, expand_exists_one_2 },
    { STR("existsOne"), 3, true, expand_exists_one_2 },
    { STR("map"), 2, true, expand_map },
    { STR("map"), 3, true, expand_map },
    { STR("filter"), 2, true, expand_filter },
    { STR("transformList"), 3, true, expand_transform_list },
    { STR("transformList"), 4, true, expand_transform_list },
    { STR("transformMap"), 3, true, expand_transform_map },
    { STR("transformMap"), 4, true, expand_transform_map },
    { STR("transformMapEntry"), 3, true, expand_transform_map_entry },
    { STR("transformMapEntry"), 4, true, expand_transform_map_entry },
    { STR("bind"), 3, true, expand_bind },
    { STR("optMap"), 2, true, expand_opt_map },
    { STR("optFlatMap"), 2, true, expand_opt_flat_map },
    { STR("sortBy"), 2, true, expand_sort_by },
};

struct cel_node *cel_macro_expand(struct arena *arena, struct cel_issues *issues, size_t at,
                                  struct str function, bool member, struct cel_node **args, size_t len,
                                  bool *ret_failed)
{
    struct expansion m = { .arena = arena, .issues = issues, .at = at, .args = args, .len = len };
    for (size_t i = 0; i < ARRAY_SIZE(macros); i++) {
        const struct macro *macro = &macros[i];
        if (macro->member != member || macro->args + (size_t)member != len || !str_eq(macro->name, function))
            continue;
        struct cel_node *node = macro->expand(&m);
        *ret_failed |= m.failed;
        return node;
    }
    return NULL;
}
