/* attribute.c: a.b[c].d: a variable (or any value), and the fields and items selected from it one after the other.
 *
 * From an optional value or a selection with ? on, a missing part is no error: the path ends with optional.none(), and
 * what is found is wrapped at the end. A conditional (c ? a : b).d continues with the branch.
 *
 * Costs: one for each selection, and one for the path unless it begins with a conditional; has() costs its selections
 * only. */
#include "cel/parse.h"
#include "cel/value.h"

struct path {
    struct cel_value at;
    bool optional;
    bool is_free;
    bool ended; /* `at` is the result */
};

static bool is_attribute(const struct cel_node *node)
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
    return run->device ? *run->device
                       : cel_fail(run, "no such attribute(s): " STR_FMT, STR_ARG(node->ident.name));
}

static bool follow(struct cel_run *run, const struct cel_node *node, struct path *path);

static struct cel_value finish(struct cel_run *run, const struct path *path)
{
    return path->ended || !path->optional ? path->at : cel_optional(run, &path->at);
}

/* What an optional holds, once it has been through the reference's own representation of values: an optional in it is
 * lost, a type becomes its name, and a kind that it does not have becomes an error. */
static struct cel_value opened(struct cel_run *run, const struct cel_value *held)
{
    while (held->kind == CEL_OPTIONAL && held->optional)
        held = held->optional;
    if (held->kind == CEL_OPTIONAL)
        return (struct cel_value){ .kind = CEL_NULL };
    if (held->kind == CEL_TYPE)
        return cel_string(held->text);
    if (held->kind == CEL_IP || held->kind == CEL_CIDR) {
        struct str text = cel_ip_text(held, run->scratch);
        return cel_fail(run, "unsupported conversion to ref.Val: (netip.%s)" STR_FMT,
                        held->kind == CEL_IP ? "Addr" : "Prefix", STR_ARG(text));
    }
    bool unknown = held->kind >= CEL_QUANTITY && held->kind != CEL_FORMAT;
    return unknown ? cel_fail_static("unsupported conversion to ref.Val") : *held;
}

static bool end_with(struct path *path, struct cel_value value)
{
    path->at = value;
    path->ended = true;
    return false;
}

/* The start of a path; an optional value is opened. */
static bool begin(struct cel_run *run, struct path *path, struct cel_value value)
{
    if (cel_is_error(&value) || (value.kind == CEL_OPTIONAL && !value.optional))
        return end_with(path, value);
    path->optional = value.kind == CEL_OPTIONAL;
    if (!path->optional)
        path->at = value;
    else
        path->at = run->rules & CEL_KEPT_OPTIONALS ? *value.optional : opened(run, value.optional);
    return true;
}

static struct cel_value key_of(struct cel_run *run, const struct cel_node *node)
{
    if (node->kind == NODE_SELECT)
        return cel_string(node->select.field);
    const struct cel_node *index = node->call.args[1];
    if (!is_attribute(index))
        return cel_eval_node(run, index);
    struct path path = { 0 };
    follow(run, index, &path);
    return finish(run, &path);
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

/* Whether `object` has `key`; then *ret is the value. Otherwise *ret is an error if the key is none for this object. */
static bool pick(struct cel_run *run, const struct cel_value *object, const struct cel_value *key,
                 struct cel_value *ret)
{
    *ret = (struct cel_value){ .kind = CEL_NULL };
    if (!is_key(key->kind)) {
        *ret = cel_is_error(key) ? *key : cel_fail(run, "invalid qualifier type: %s", cel_go_type(run, key));
        return false;
    }
    if (object->kind == CEL_MAP)
        return cel_map_find(object->map, key, ret);
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
static bool qualify(struct cel_run *run, const struct cel_node *node, struct path *path)
{
    if (node->kind == NODE_CALL && node->call.op != OP_INDEX)
        path->optional = true;
    struct cel_value key = key_of(run, node), object = path->at;
    if (cel_is_error(&object))
        return end_with(path, object);
    bool found = pick(run, &object, &key, &path->at);
    if (run->stopped || ((found || !path->optional) && !path->is_free && !cel_charge(run, 1)))
        return end_with(path, cel_stop(run));
    if (found)
        return true;
    if (cel_is_error(&path->at))
        return end_with(path, path->at);
    return end_with(path, path->optional ? (struct cel_value){ .kind = CEL_OPTIONAL }
                                         : missing(run, &object, &key));
}

/* Follows the path of a node; false: it has ended. */
static bool follow(struct cel_run *run, const struct cel_node *node, struct path *path)
{
    if (node->kind == NODE_IDENT) {
        path->is_free = node->ident.is_hidden;
        return begin(run, path, variable(run, node));
    }
    if (!is_attribute(node))
        return begin(run, path, cel_eval_node(run, node));
    if (node->kind == NODE_SELECT)
        return follow(run, node->select.operand, path) && qualify(run, node, path);
    if (node->call.op != OP_CONDITIONAL)
        return follow(run, node->call.args[0], path) && qualify(run, node, path);
    struct cel_value condition = cel_eval_node(run, node->call.args[0]);
    if (condition.kind != CEL_BOOL)
        return end_with(path, cel_is_error(&condition) ? condition : cel_no_overload());
    return follow(run, node->call.args[condition.boolean ? 1 : 2], path);
}

/* Whether the path begins with a conditional. */
static bool begins_with_conditional(const struct cel_node *node)
{
    while (is_attribute(node) && node->kind != NODE_IDENT) {
        if (node->kind == NODE_CALL && node->call.op == OP_CONDITIONAL)
            return true;
        node = node->kind == NODE_SELECT ? node->select.operand : node->call.args[0];
    }
    return false;
}

/* Costs the selections, not the path; behind a conditional, which is free, the cost is one less. */
static struct cel_value eval_has(struct cel_run *run, const struct cel_node *node)
{
    struct path path = { 0 };
    struct cel_value key = cel_string(node->select.field), ignored, result;
    if (follow(run, node->select.operand, &path)) {
        bool found = pick(run, &path.at, &key, &ignored);
        if ((found || !path.optional) && !cel_charge(run, 1))
            return cel_stop(run);
        result = !found && cel_is_error(&ignored) ? ignored : cel_bool(found);
    } else {
        result = cel_is_error(&path.at) ? path.at : cel_bool(false);
    }
    if (begins_with_conditional(node->select.operand) && !cel_charge(run, (uint64_t)-1))
        return cel_stop(run);
    return result;
}

struct cel_value cel_eval_attribute(struct cel_run *run, const struct cel_node *node)
{
    if (node->kind == NODE_SELECT && node->select.test)
        return eval_has(run, node);
    struct path path = { 0 };
    follow(run, node, &path);
    struct cel_value value = finish(run, &path);
    if (run->stopped || (!begins_with_conditional(node) && !cel_charge(run, 1)))
        return cel_stop(run);
    return value;
}
