/* macro.c: calls that stand for longer expressions.
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
    struct cel_fold fold; /* of a macro with variables: its range and names */
    bool failed;
};

typedef struct cel_node *macro_expand(struct expansion *m);

static void *wrong(struct expansion *m, const struct cel_node *node, const char *message)
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

/* A list of one item, or none. */
static struct cel_node *list_of(const struct expansion *m, struct cel_node *item)
{
    return cel_node_items(m->arena, m->at, NODE_LIST, NULL, &item, item ? 1 : 0);
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
                       .range = list_of(m, NULL),
                       .var = STR("#unused"),
                       .accu = name,
                       .init = init,
                       .condition = literal_bool(m, false),
                       .step = cel_node_ident(m->arena, m->at, name),
                       .result = result,
                   });
}

/* The variables of a fold over the target: one or two names. */
static bool take_names(struct expansion *m, size_t count)
{
    m->fold = (struct cel_fold){ .range = m->args[0], .accu = STR(ACCU_NAME) };
    for (size_t i = 1; i <= count; i++) {
        struct cel_node *arg = m->args[i];
        if (arg->kind != NODE_IDENT)
            return wrong(m, arg, "argument must be a simple name");
        if (str_is(arg->ident.name, ACCU_NAME) || str_is(arg->ident.name, "__result__"))
            return wrong(m, arg, "iteration variable overwrites accumulator variable");
        *(i == 1 ? &m->fold.var : &m->fold.var2) = arg->ident.name;
    }
    if (count == 2 && str_eq(m->fold.var, m->fold.var2)) {
        cel_issue(m->issues, m->args[2]->at, "duplicate variable name: " STR_FMT, STR_ARG(m->fold.var));
        m->failed = true;
    }
    return !m->failed;
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

/* The fold over the target with these parts. */
static struct cel_node *fold_target(struct expansion *m, struct cel_node *init, struct cel_node *condition,
                                    struct cel_node *step, struct cel_node *result)
{
    m->fold.init = init;
    m->fold.condition = condition;
    m->fold.step = step;
    m->fold.result = result;
    return fold(m, m->fold);
}

static struct cel_node *expand_all(struct expansion *m)
{
    return fold_target(m, literal_bool(m, true), CALL(m, STR(FN_NOT_STRICTLY_FALSE), accu(m)),
                       CALL(m, STR(FN_AND), accu(m), m->args[m->len - 1]), accu(m));
}

static struct cel_node *expand_exists(struct expansion *m)
{
    return fold_target(m, literal_bool(m, false),
                       CALL(m, STR(FN_NOT_STRICTLY_FALSE), CALL(m, STR(FN_NOT), accu(m))),
                       CALL(m, STR(FN_OR), accu(m), m->args[m->len - 1]), accu(m));
}

static struct cel_node *expand_exists_one(struct expansion *m)
{
    struct cel_node *more = CALL(m, STR(FN_ADD), accu(m), literal_int(m, 1));
    return fold_target(m, literal_int(m, 0), literal_bool(m, true),
                       CALL(m, STR(FN_CONDITIONAL), m->args[m->len - 1], more, accu(m)),
                       CALL(m, STR(FN_EQUALS), accu(m), literal_int(m, 1)));
}

/* `step` for every entry that `filter` takes, if there is one, from an empty list or map on. */
static struct cel_node *collect(struct expansion *m, struct cel_node *init, struct cel_node *filter,
                                struct cel_node *step)
{
    return fold_target(m, init, literal_bool(m, true),
                       filter ? CALL(m, STR(FN_CONDITIONAL), filter, step, accu(m)) : step, accu(m));
}

static struct cel_node *collect_list(struct expansion *m, struct cel_node *filter, struct cel_node *item)
{
    return collect(m, list_of(m, NULL), filter, CALL(m, STR(FN_ADD), accu(m), list_of(m, item)));
}

/* The argument between the variables and the last one; NULL: there is none. */
static struct cel_node *filter_of(const struct expansion *m)
{
    size_t first = str_empty(m->fold.var2) ? 2 : 3;
    return m->len == first + 2 ? m->args[first] : NULL;
}

static struct cel_node *expand_map(struct expansion *m)
{
    return collect_list(m, filter_of(m), m->args[m->len - 1]);
}

static struct cel_node *expand_filter(struct expansion *m)
{
    return collect_list(m, m->args[2], m->args[1]);
}

static struct cel_node *expand_transform_map(struct expansion *m)
{
    struct cel_node *key = cel_node_ident(m->arena, m->at, m->fold.var), *value = m->args[m->len - 1];
    return collect(m, cel_node_items(m->arena, m->at, NODE_MAP, NULL, NULL, 0), filter_of(m),
                   CALL(m, STR(FN_MAP_INSERT), accu(m), key, value));
}

static struct cel_node *expand_transform_map_entry(struct expansion *m)
{
    return collect(m, cel_node_items(m->arena, m->at, NODE_MAP, NULL, NULL, 0), filter_of(m),
                   CALL(m, STR(FN_MAP_INSERT), accu(m), m->args[m->len - 1]));
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
    return CALL(m, STR(FN_CONDITIONAL), has, flat ? result : CALL(m, STR("optional.of"), result),
                call(m, STR("optional.none"), 0, NULL));
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
    struct cel_node *map_args[] = { cel_node_ident(m->arena, m->at, name), m->args[1], m->args[2] };
    struct expansion inner = *m;
    inner.args = map_args;
    m->failed = !take_names(&inner, 1);
    if (m->failed)
        return NULL;
    struct cel_node *keys = expand_map(&inner);
    struct cel_node *sort_args[] = { cel_node_ident(m->arena, m->at, name), keys };
    return bind(m, name, target,
                cel_node_call(m->arena, m->at, STR("@sortByAssociatedKeys"), true, sort_args, 2));
}

static const struct macro {
    struct str name;
    uint8_t args; /* without the target */
    bool member;
    uint8_t vars; /* of the fold, if it is one: the first arguments */
    macro_expand *expand;
} macros[] = {
    { STR("has"), 1, false, 0, expand_has },
    { STR("all"), 2, true, 1, expand_all },
    { STR("all"), 3, true, 2, expand_all },
    { STR("exists"), 2, true, 1, expand_exists },
    { STR("exists"), 3, true, 2, expand_exists },
    { STR("exists_one"), 2, true, 1, expand_exists_one },
    { STR("exists_one"), 3, true, 2, expand_exists_one },
    { STR("existsOne"), 3, true, 2, expand_exists_one },
    { STR("map"), 2, true, 1, expand_map },
    { STR("map"), 3, true, 1, expand_map },
    { STR("filter"), 2, true, 1, expand_filter },
    { STR("transformList"), 3, true, 2, expand_map },
    { STR("transformList"), 4, true, 2, expand_map },
    { STR("transformMap"), 3, true, 2, expand_transform_map },
    { STR("transformMap"), 4, true, 2, expand_transform_map },
    { STR("transformMapEntry"), 3, true, 2, expand_transform_map_entry },
    { STR("transformMapEntry"), 4, true, 2, expand_transform_map_entry },
    { STR("bind"), 3, true, 0, expand_bind },
    { STR("optMap"), 2, true, 0, expand_opt_map },
    { STR("optFlatMap"), 2, true, 0, expand_opt_flat_map },
    { STR("sortBy"), 2, true, 0, expand_sort_by },
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
        struct cel_node *node = !macro->vars || take_names(&m, macro->vars) ? macro->expand(&m) : NULL;
        *ret_failed |= m.failed;
        return node;
    }
    return NULL;
}
