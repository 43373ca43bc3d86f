/* attribute.c: a.b[c].d: a variable (or any value) and what is picked out of it, one after the other.
 *
 * Once an optional value or a pick with ? is on the way, a missing part is no error but ends the way with
 * optional.none(), and what is found is wrapped at the end. A choice (c ? a : b).d goes on with the branch.
 *
 * Costs: one for each pick, and one for the whole unless it begins with a choice; has() is free but for its picks. */
#include "cel/parse.h"
#include "cel/value.h"

struct way {
    struct cel_value at;
    bool optional;
    bool ended; /* `at` is the result */
};

bool cel_is_attribute(const struct cel_node *node)
{
    if (node->kind == NODE_CALL)
        return node->call.op == OP_INDEX || node->call.op == OP_OPT_INDEX || node->call.op == OP_OPT_SELECT ||
               node->call.op == OP_CONDITIONAL;
    return node->kind == NODE_IDENT || (node->kind == NODE_SELECT && !node->select.test);
}

static struct cel_value variable(struct cel_run *run, const struct cel_node *node)
{
    if (node->ident.slot >= 0)
        return cel_eval_slot(run, node->ident.slot);
    for (size_t i = 0; i < run->variables_len; i++)
        if (str_eq(run->variables[i].name, node->ident.name))
            return run->variables[i].value;
    return cel_fail(run, "no such attribute(s): " STR_FMT, STR_ARG(node->ident.name));
}

static bool go(struct cel_run *run, const struct cel_node *node, struct way *way);

static struct cel_value finish(struct cel_run *run, const struct way *way)
{
    return way->ended || !way->optional ? way->at : cel_optional(run, &way->at);
}

/* What an optional holds, once it has been through the reference's own representation of values: an optional in it is
 * lost, a type becomes its name, and what that representation does not know becomes an error. */
static struct cel_value opened(const struct cel_value *held)
{
    while (held->kind == CEL_OPTIONAL && held->optional)
        held = held->optional;
    if (held->kind == CEL_OPTIONAL)
        return (struct cel_value){ .kind = CEL_NULL };
    if (held->kind == CEL_TYPE)
        return cel_string(held->text);
    bool unknown = held->kind >= CEL_QUANTITY && held->kind != CEL_FORMAT;
    return unknown ? cel_fail_static("unsupported conversion to ref.Val") : *held;
}

static bool end_with(struct way *way, struct cel_value value)
{
    way->at = value;
    way->ended = true;
    return false;
}

/* The start of a way; an optional value is opened. */
static bool begin(struct way *way, struct cel_value value)
{
    if (cel_is_error(&value) || (value.kind == CEL_OPTIONAL && !value.optional))
        return end_with(way, value);
    way->optional = value.kind == CEL_OPTIONAL;
    way->at = way->optional ? opened(value.optional) : value;
    return true;
}

static struct cel_value key_of(struct cel_run *run, const struct cel_node *node)
{
    if (node->kind == NODE_SELECT)
        return cel_string(node->select.field);
    const struct cel_node *index = node->call.args[1];
    if (!cel_is_attribute(index))
        return cel_eval_node(run, index);
    struct way way = { 0 };
    go(run, index, &way);
    return finish(run, &way);
}

static bool is_key(enum cel_kind kind)
{
    return kind == CEL_STRING || kind == CEL_INT || kind == CEL_UINT || kind == CEL_BOOL ||
           kind == CEL_DOUBLE;
}

/* An index of a list from a number of any kind; a message if it is none. */
static struct cel_value index_of(struct cel_run *run, const struct cel_value *key)
{
    int64_t index = 0;
    bool exact = key->kind == CEL_INT || (key->kind == CEL_UINT && key->uinteger <= INT64_MAX) ||
                 (key->kind == CEL_DOUBLE && cel_double_to_int(key->number, &index));
    if (key->kind == CEL_STRING || key->kind == CEL_BOOL)
        return cel_fail(run, "unsupported index type '%s' in list", cel_kind_name(key->kind));
    if (!exact) {
        struct str text = cel_value_text(run, key);
        return cel_fail(run, "unsupported index value " STR_FMT " in list", STR_ARG(text));
    }
    return cel_int(key->kind == CEL_DOUBLE ? index : key->integer);
}

/* Whether `object` has `key`; then *ret is the value. Otherwise *ret is an error if what was asked makes no sense. */
static bool pick(struct cel_run *run, const struct cel_value *object, const struct cel_value *key,
                 struct cel_value *ret)
{
    *ret = (struct cel_value){ .kind = CEL_NULL };
    if (!is_key(key->kind)) {
        *ret =
            cel_is_error(key) ? *key : cel_fail(run, "invalid qualifier type: %s", cel_kind_name(key->kind));
        return false;
    }
    if (object->kind == CEL_MAP)
        return object->map->ops->find(object->map, key, run->scratch, ret);
    if (object->kind != CEL_LIST)
        return false;
    struct cel_value index = index_of(run, key);
    if (cel_is_error(&index)) {
        *ret = index;
        return false;
    }
    if (index.integer < 0 || (uint64_t)index.integer >= object->list->len)
        return false;
    *ret = cel_list_item(run, object->list, (size_t)index.integer);
    return true;
}

static struct cel_value missing(struct cel_run *run, const struct cel_value *object,
                                const struct cel_value *key)
{
    struct str text = cel_value_text(run, key);
    if (object->kind == CEL_LIST)
        return cel_fail(run, "index out of bounds: " STR_FMT, STR_ARG(text));
    return cel_fail(run, "no such key: " STR_FMT, STR_ARG(text));
}

/* One step on. */
static bool qualify(struct cel_run *run, const struct cel_node *node, struct way *way)
{
    if (node->kind == NODE_CALL && node->call.op != OP_INDEX)
        way->optional = true;
    struct cel_value key = key_of(run, node), object = way->at;
    if (cel_is_error(&object))
        return end_with(way, object);
    bool found = pick(run, &object, &key, &way->at);
    if (run->stopped || ((found || !way->optional) && !cel_charge(run, 1)))
        return end_with(way, cel_stop(run));
    if (found)
        return true;
    if (cel_is_error(&way->at))
        return end_with(way, way->at);
    return end_with(way,
                    way->optional ? (struct cel_value){ .kind = CEL_OPTIONAL } : missing(run, &object, &key));
}

/* False: the way has ended. */
static bool go(struct cel_run *run, const struct cel_node *node, struct way *way)
{
    if (node->kind == NODE_IDENT)
        return begin(way, variable(run, node));
    if (!cel_is_attribute(node))
        return begin(way, cel_eval_node(run, node));
    if (node->kind == NODE_SELECT)
        return go(run, node->select.operand, way) && qualify(run, node, way);
    if (node->call.op != OP_CONDITIONAL)
        return go(run, node->call.args[0], way) && qualify(run, node, way);
    struct cel_value condition = cel_eval_node(run, node->call.args[0]);
    if (condition.kind != CEL_BOOL)
        return end_with(way, cel_is_error(&condition) ? condition : cel_no_overload());
    return go(run, node->call.args[condition.boolean ? 1 : 2], way);
}

/* Whether the way begins with a choice. */
static bool begins_with_choice(const struct cel_node *node)
{
    while (cel_is_attribute(node) && node->kind != NODE_IDENT) {
        if (node->kind == NODE_CALL && node->call.op == OP_CONDITIONAL)
            return true;
        node = node->kind == NODE_SELECT ? node->select.operand : node->call.args[0];
    }
    return false;
}

/* The picks are paid, the whole is not; behind a choice, which is free, one is even given back. */
static struct cel_value eval_has(struct cel_run *run, const struct cel_node *node)
{
    struct way way = { 0 };
    struct cel_value key = cel_string(node->select.field), ignored, result;
    if (go(run, node->select.operand, &way)) {
        bool found = pick(run, &way.at, &key, &ignored);
        if ((found || !way.optional) && !cel_charge(run, 1))
            return cel_stop(run);
        result = !found && cel_is_error(&ignored) ? ignored : cel_bool(found);
    } else {
        result = cel_is_error(&way.at) ? way.at : cel_bool(false);
    }
    if (begins_with_choice(node->select.operand) && !cel_charge(run, (uint64_t)-1))
        return cel_stop(run);
    return result;
}

struct cel_value cel_eval_attribute(struct cel_run *run, const struct cel_node *node)
{
    if (node->kind == NODE_SELECT && node->select.test)
        return eval_has(run, node);
    struct way way = { 0 };
    go(run, node, &way);
    struct cel_value value = finish(run, &way);
    if (run->stopped || (!begins_with_choice(node) && !cel_charge(run, 1)))
        return cel_stop(run);
    return value;
}
