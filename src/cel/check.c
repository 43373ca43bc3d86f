/* check.c: type checking, as the reference's: names resolve to variables or types, selections to fields or
 * entries, and whatever is dyn is left to evaluation. */
#include "cel/check.h"

#include "cel/parse.h"
#include "cel/value.h"

bool cel_check_fits(struct cel_checker *checker, const struct cel_type *a, const struct cel_type *b)
{
    return cel_type_assign(&checker->types, &a, &b, 1);
}

void cel_check_mismatch(struct cel_checker *checker, const struct cel_node *node,
                        const struct cel_type *expected, const struct cel_type *found)
{
    struct str a = cel_type_text(&checker->types, expected, false),
               b = cel_type_text(&checker->types, found, false);
    cel_issue(checker->issues, node->at, "expected type '" STR_FMT "' but found '" STR_FMT "'", STR_ARG(a),
              STR_ARG(b));
}

void cel_check_undeclared(struct cel_checker *checker, struct cel_node *node, struct str name)
{
    cel_issue(checker->issues, node->at, "undeclared reference to '" STR_FMT "' (in container '')",
              STR_ARG(name));
    node->type = cel_type_plain(CEL_UNKNOWN);
}

static void become_type(struct cel_checker *checker, struct cel_node *node, const struct cel_type *type)
{
    if (type->kind == CEL_OPTIONAL && (checker->rules & CEL_OPTIONAL_OF_DYN))
        type = cel_type_of(&checker->types, CEL_OPTIONAL, cel_type_plain(CEL_DYN), NULL);
    node->kind = NODE_LITERAL;
    node->literal = cel_make_type(type->kind);
    node->type = cel_type_of(&checker->types, CEL_TYPE, type, NULL);
}

static bool has_dot(struct str name)
{
    return name.len > 0 && name.ptr[0] == '.';
}

/* A name with a dot before it is looked up without it: there is no other container. */
static struct str plain_name(struct str name)
{
    return has_dot(name) ? str_slice(name, 1, name.len) : name;
}

/* The variable of a macro, or NULL. */
static const struct cel_scope *find_local(const struct cel_checker *checker, struct str name)
{
    for (const struct cel_scope *scope = checker->scope; scope; scope = scope->outer)
        if (str_eq(scope->name, plain_name(name)))
            return scope;
    return NULL;
}

static void check_ident(struct cel_checker *checker, struct cel_node *node)
{
    const struct cel_scope *local = find_local(checker, node->ident.name);
    bool is_global = has_dot(node->ident.name) && (checker->rules & CEL_GLOBAL_NAMES);
    if (local && !is_global) {
        node->type = local->type;
        node->ident.slot = local->slot;
        return;
    }
    node->ident.is_hidden = local != NULL;
    struct str name = plain_name(node->ident.name);
    const struct cel_type *type = cel_type_named(&checker->types, name);
    if (str_is(name, "device")) {
        node->type = cel_type_plain(CEL_DEVICE);
        node->ident.name = name;
    } else if (type && node->ident.is_hidden) {
        node->ident.is_type = true; /* which is not found then */
        node->type = cel_type_of(&checker->types, CEL_TYPE, type, NULL);
    } else if (type) {
        become_type(checker, node, type);
    } else {
        cel_check_undeclared(checker, node, node->ident.name);
    }
}

bool cel_check_qualified(const struct cel_node *node, struct strbuf *out)
{
    if (node->kind == NODE_IDENT) {
        strbuf_str(out, plain_name(node->ident.name));
        return true;
    }
    if (node->kind != NODE_SELECT || node->select.test || !cel_check_qualified(node->select.operand, out))
        return false;
    strbuf_putc(out, '.');
    strbuf_str(out, node->select.field);
    return true;
}

static bool is_struct(enum cel_kind kind)
{
    return kind == CEL_DEVICE || kind == CEL_QUANTITY || kind == CEL_SEMVER || kind == CEL_URL ||
           kind == CEL_FORMAT;
}

const struct cel_type *cel_check_field(struct cel_checker *checker, struct cel_node *node,
                                       struct cel_node *operand, struct str field, bool optional)
{
    cel_check(checker, operand);
    const struct cel_type *type = cel_type_resolve(&checker->types, operand->type, false), *result;
    if (cel_type_is_optional(type)) {
        optional = true;
        type = type->args[0];
    }
    if (type->kind == CEL_MAP) {
        result = type->args[1];
    } else if (is_struct(type->kind)) {
        result = NULL;
        if (type->kind == CEL_DEVICE)
            result = cel_device_field(&checker->types, field, checker->rules & CEL_DYN_ATTRIBUTES);
        if (!result && type->kind == CEL_DEVICE)
            cel_issue(checker->issues, node->at, "undefined field '" STR_FMT "'", STR_ARG(field));
        else if (!result)
            cel_issue(checker->issues, node->at, "unexpected failed resolution of '%s'",
                      cel_kind_name(type->kind));
        result = result ? result : cel_type_plain(CEL_UNKNOWN);
    } else {
        if (type->kind == CEL_PARAM) {
            cel_check_fits(checker, cel_type_plain(CEL_DYN), type);
        } else if (!cel_type_is_dyn(type) && type->kind != CEL_UNKNOWN) {
            struct str text = cel_type_text(&checker->types, type, false);
            cel_issue(checker->issues, node->at, "type '" STR_FMT "' does not support field selection",
                      STR_ARG(text));
        }
        result = cel_type_plain(CEL_DYN);
    }
    return optional ? cel_type_of(&checker->types, CEL_OPTIONAL, result, NULL) : result;
}

/* Whether a.b.c begins with the variable of a macro, which hides what is called so. */
static bool is_hidden(const struct cel_checker *checker, const struct cel_node *node)
{
    while (node->kind == NODE_SELECT)
        node = node->select.operand;
    return (checker->rules & CEL_GLOBAL_NAMES) && !has_dot(node->ident.name) &&
           find_local(checker, node->ident.name);
}

static void check_select(struct cel_checker *checker, struct cel_node *node)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    if (cel_check_qualified(node, &name) && !is_hidden(checker, node)) {
        const struct cel_type *type = cel_type_named(&checker->types, strbuf_slice(&name));
        if (type) {
            become_type(checker, node, type);
            return;
        }
    }
    const struct cel_type *type =
        cel_check_field(checker, node, node->select.operand, node->select.field, false);
    node->type =
        node->select.test ? cel_type_plain(CEL_BOOL) : cel_type_resolve(&checker->types, type, false);
}

/* What both are; dyn if they have nothing in common. */
static const struct cel_type *join(struct cel_checker *checker, const struct cel_type *before,
                                   const struct cel_type *type)
{
    if (!before)
        return type;
    return cel_check_fits(checker, before, type) ? cel_type_most_general(&checker->types, before, type)
                                                 : cel_type_plain(CEL_DYN);
}

/* What an item marked with ? holds. */
static const struct cel_type *unwrap(struct cel_checker *checker, const struct cel_node *item)
{
    const struct cel_type *type = cel_type_resolve(&checker->types, item->type, false);
    if (cel_type_is_optional(type))
        return type->args[0];
    if (!cel_type_is_dyn(type))
        cel_check_mismatch(checker, item, cel_type_of(&checker->types, CEL_OPTIONAL, type, NULL), type);
    return type;
}

/* A list or a map. */
static void check_items(struct cel_checker *checker, struct cel_node *node)
{
    struct cel_types *types = &checker->types;
    const struct cel_type *key = NULL, *value = NULL;
    bool is_map = node->kind == NODE_MAP;
    for (size_t i = 0; i < node->items.len; i++) {
        struct cel_node *item = node->items.values[i];
        if (is_map) {
            cel_check(checker, node->items.keys[i]);
            key = join(checker, key, node->items.keys[i]->type);
        }
        cel_check(checker, item);
        value = join(checker, value, cel_item_is_optional(node, i) ? unwrap(checker, item) : item->type);
    }
    if (is_map && !key)
        key = cel_type_param(types);
    if (!value)
        value = cel_type_param(types);
    node->type = is_map ? cel_type_of(types, CEL_MAP, key, value) : cel_type_of(types, CEL_LIST, value, NULL);
}

/* The types of the variables of a fold over `range`. */
static void range_types(struct cel_checker *checker, struct cel_node *node,
                        const struct cel_type *ret[static 2])
{
    bool two = !str_empty(node->fold.var2);
    const struct cel_type *range = cel_type_resolve(&checker->types, node->fold.range->type, false);
    ret[0] = ret[1] = cel_type_plain(CEL_DYN);
    switch (range->kind) {
    case CEL_LIST:
        ret[0] = two ? cel_type_plain(CEL_INT) : range->args[0];
        ret[1] = range->args[0];
        return;
    case CEL_MAP:
        ret[0] = range->args[0];
        ret[1] = range->args[1];
        return;
    case CEL_DYN:
    case CEL_UNKNOWN:
    case CEL_PARAM:
        cel_check_fits(checker, cel_type_plain(CEL_DYN), range);
        return;
    default: {
        struct str text = cel_type_text(&checker->types, range, false);
        cel_issue(checker->issues, node->fold.range->at,
                  "expression of type '" STR_FMT
                  "' cannot be range of a comprehension (must be list, map, or dynamic)",
                  STR_ARG(text));
        ret[0] = ret[1] = cel_type_plain(CEL_UNKNOWN);
    }
    }
}

static void assert_type(struct cel_checker *checker, const struct cel_node *node, const struct cel_type *type)
{
    if (!cel_check_fits(checker, type, node->type))
        cel_check_mismatch(checker, node, type, node->type);
}

static void check_fold(struct cel_checker *checker, struct cel_node *node)
{
    struct cel_fold *fold = &node->fold;
    cel_check(checker, fold->range);
    cel_check(checker, fold->init);
    const struct cel_type *accu_type = fold->init->type, *vars[2];
    const struct cel_scope *outer = checker->scope;
    range_types(checker, node, vars);
    fold->slot = checker->slots_len;
    checker->slots_len += 3;
    int32_t slot = (int32_t)fold->slot;
    const struct cel_scope accu = { fold->accu, accu_type, slot, outer };
    const struct cel_scope var = { fold->var, vars[0], slot + 1, &accu };
    const struct cel_scope var2 = { fold->var2, vars[1], slot + 2, &var };
    checker->scope = str_empty(fold->var2) ? &var : &var2;
    cel_check(checker, fold->condition);
    assert_type(checker, fold->condition, cel_type_plain(CEL_BOOL));
    cel_check(checker, fold->step);
    assert_type(checker, fold->step, accu_type);
    checker->scope = &accu;
    cel_check(checker, fold->result);
    checker->scope = outer;
    node->type = cel_type_resolve(&checker->types, fold->result->type, false);
}

void cel_check(struct cel_checker *checker, struct cel_node *node)
{
    if (node->checking)
        return;
    node->checking = true;
    size_t issues = checker->issues->count;
    switch (node->kind) {
    case NODE_LITERAL:
        node->type = cel_type_plain(node->literal.kind);
        break;
    case NODE_IDENT:
        check_ident(checker, node);
        break;
    case NODE_SELECT:
        check_select(checker, node);
        break;
    case NODE_CALL:
        cel_check_call(checker, node);
        break;
    case NODE_LIST:
    case NODE_MAP:
        check_items(checker, node);
        break;
    case NODE_FOLD:
        check_fold(checker, node);
        break;
    }
    /* What is wrong with a node that a macro uses twice is said twice. */
    if (checker->issues->count > issues && checker->issues->count < CEL_ISSUES_MAX)
        node->checking = false;
}
