/* eval.c: the value of a tree.
 *
 * A tree is evaluated as it stands. Costs are charged where the reference's observer charges them, so that an
 * evaluation exceeds the limit here if and only if it does there. */
#include "cel/value.h"

#include <stdarg.h>

/* About what the most expensive evaluation within the cost limit takes. */
enum { WORK_MAX = 12000000 };
/* What the values of an evaluation may take: far more than any within the cost limit should need. */
static const size_t BYTES_MAX = (size_t)64 << 20;

struct cel_value cel_fail_static(const char *text)
{
    return (struct cel_value){ .kind = CEL_ERROR, .text = str_from(text) };
}

struct cel_value cel_no_overload(void)
{
    return cel_fail_static("no such overload");
}

struct cel_value cel_no_trait(struct cel_run *run, const struct cel_value *first, uint32_t kinds)
{
    kinds |= 1u << CEL_STRING | 1u << CEL_DURATION | 1u << CEL_TIMESTAMP;
    return kinds & 1u << first->kind
               ? cel_no_overload()
               : cel_fail(run, "no such overload: " STR_FMT, STR_ARG(run->call->function));
}

struct cel_value cel_stop(struct cel_run *run)
{
    run->stopped = true;
    return cel_fail_static("operation cancelled: actual cost limit exceeded");
}

struct cel_value cel_crash(struct cel_run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!run->stopped)
        run->crash = arena_vprintf(run->scratch, format, args);
    va_end(args);
    run->stopped = true;
    return (struct cel_value){ .kind = CEL_ERROR, .text = run->crash };
}

struct cel_value cel_fail(struct cel_run *run, const char *format, ...)
{
    enum { MESSAGE_BYTES = 256 };
    if (!cel_take(run, MESSAGE_BYTES))
        return cel_stop(run);
    va_list args;
    va_start(args, format);
    struct str text = arena_vprintf(run->scratch, format, args);
    va_end(args);
    return (struct cel_value){ .kind = CEL_ERROR, .text = text };
}

bool cel_charge(struct cel_run *run, uint64_t cost)
{
    run->cost += cost; /* wraps around, as there */
    if (run->cost > run->cost_max)
        run->stopped = true;
    return !run->stopped;
}

bool cel_work(struct cel_run *run, uint64_t steps)
{
    if (__builtin_add_overflow(run->work, steps, &run->work) || run->work > WORK_MAX)
        run->stopped = true;
    return !run->stopped;
}

bool cel_regex_find(struct cel_run *run, const struct regex *regex, struct str text, size_t from,
                    size_t *ret_from, size_t *ret_to)
{
    struct regex_budget budget = { .steps = run->work, .steps_max = WORK_MAX };
    bool found = regex_find(regex, text, from, &budget, ret_from, ret_to);
    run->work = budget.steps;
    return cel_work(run, 0) && found;
}

void *cel_take(struct cel_run *run, size_t bytes)
{
    if (__builtin_add_overflow(run->bytes, bytes, &run->bytes) || run->bytes > BYTES_MAX)
        run->stopped = true;
    return run->stopped ? NULL : arena_alloc(run->scratch, bytes);
}

struct cel_value cel_optional(struct cel_run *run, const struct cel_value *value)
{
    struct cel_value *held = value ? cel_take(run, sizeof(*held)) : NULL;
    if (value && !held)
        return cel_stop(run);
    if (held)
        *held = *value;
    return (struct cel_value){ .kind = CEL_OPTIONAL, .optional = held };
}

bool cel_text_add(struct cel_run *run, struct strbuf *text, struct str part)
{
    if (text->len + part.len > BYTES_MAX)
        run->stopped = true;
    else
        strbuf_str(text, part);
    return !run->stopped;
}

struct cel_value cel_text(struct cel_run *run, const struct strbuf *text)
{
    char *copy = text->len <= UINT32_MAX ? cel_take(run, text->len) : NULL;
    if (!copy)
        return cel_stop(run);
    if (text->len)
        memcpy(copy, text->text, text->len);
    return cel_string((struct str){ copy, (uint32_t)text->len });
}

static bool takes_kind(uint8_t wanted, const struct cel_value *value)
{
    return wanted == CEL_KINDS || wanted == value->kind;
}

static bool takes_parts(struct cel_run *run, const uint8_t parts[static 2], const struct cel_value *value)
{
    if (parts[0] == CEL_KINDS && parts[1] == CEL_KINDS)
        return true;
    if (value->kind == CEL_LIST && value->list->len > 0) {
        struct cel_value first = cel_list_item(run, value->list, 0);
        return takes_kind(parts[0], &first);
    }
    if (value->kind != CEL_MAP || value->map->len == 0)
        return true;
    const struct cel_entry *entry = value->map->entries;
    return takes_kind(parts[0], &entry->key) && takes_kind(parts[1], &entry->value);
}

static bool takes(struct cel_run *run, const struct cel_candidate *candidate, const struct cel_value *args,
                  size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!takes_kind(candidate->kinds[i], &args[i]) || !takes_parts(run, candidate->parts[i], &args[i]))
            return false;
    return true;
}

static struct cel_value no_overload_for(struct cel_run *run, const struct cel_call *call,
                                        const struct cel_value *args)
{
    _cleanup_(strbuf_release) struct strbuf types = { 0 };
    for (size_t i = 0; i < call->len; i++)
        strbuf_printf(&types, "%s%s", i ? ", " : "", cel_kind_name(args[i].kind));
    return cel_fail(run, "no such overload: " STR_FMT "(%s)", STR_ARG(call->function),
                    types.text ? types.text : "");
}

static struct cel_value dispatch(struct cel_run *run, const struct cel_call *call,
                                 const struct cel_value *args, const struct cel_overload **ret_chosen)
{
    for (size_t i = 0; i < call->candidates_len; i++) {
        const struct cel_overload *overload = call->candidates[i].overload;
        if ((overload->flags & CEL_UNGUARDED) || takes(run, &call->candidates[i], args, call->len)) {
            *ret_chosen = overload;
            run->call = call;
            return overload->call(run, args, call->len);
        }
    }
    return no_overload_for(run, call, args);
}

/* Arguments first, all of them up to two; of more, or of a compiled pattern's, none behind the first that fails, and
 * then it costs nothing. */
static struct cel_value eval_call(struct cel_run *run, const struct cel_call *call)
{
    struct cel_value args[CEL_ARGS_MAX], result = { .kind = CEL_NULL };
    for (size_t i = 0; i < call->len; i++) {
        args[i] = cel_eval_node(run, call->args[i]);
        if (run->stopped)
            return args[i];
        if (cel_is_error(&args[i]) && !cel_is_error(&result))
            result = args[i];
        if (cel_is_error(&result) && (call->len > 2 || call->regex))
            return result;
    }
    const struct cel_overload *chosen = call->candidates[0].overload;
    if (!cel_is_error(&result))
        result = dispatch(run, call, args, &chosen);
    if (run->stopped || !cel_charge(run, cel_call_cost(run, call, chosen, args, &result)))
        return cel_stop(run);
    return result;
}

/* `absorbing` decides alone: false of &&, true of ||. */
static struct cel_value eval_logic(struct cel_run *run, const struct cel_call *call, bool absorbing)
{
    struct cel_value failure = cel_bool(!absorbing);
    for (size_t i = 0; i < call->len; i++) {
        struct cel_value term = cel_eval_node(run, call->args[i]);
        if (run->stopped)
            return term;
        if (term.kind == CEL_BOOL && term.boolean == absorbing)
            return term;
        if (term.kind != CEL_BOOL && !cel_is_error(&failure))
            failure = cel_is_error(&term) ? term : cel_no_overload();
    }
    return failure;
}

static struct cel_value eval_equality(struct cel_run *run, const struct cel_call *call, bool equals)
{
    struct cel_value a = cel_eval_node(run, call->args[0]);
    struct cel_value b = run->stopped ? a : cel_eval_node(run, call->args[1]);
    struct cel_value result = cel_is_error(&a) ? a : b;
    uint64_t cost = cel_equality_cost(&a, &b, equals);
    if (run->stopped || !cel_charge(run, cost)) /* before it is done: there may be a lot to compare */
        return cel_stop(run);
    if (!cel_is_error(&result)) {
        enum cel_equality equality = cel_values_equal(run, &a, &b);
        result = equality == CEL_INCOMPARABLE && equals ? cel_no_overload()
                                                        : cel_bool((equality == CEL_EQUAL) == equals);
    }
    return run->stopped ? cel_stop(run) : result;
}

static struct cel_value eval_in_set(struct cel_run *run, const struct cel_call *call)
{
    struct cel_value item = cel_eval_node(run, call->args[0]);
    if (cel_is_error(&item))
        return item;
    bool found = cel_list_contains(run, call->args[1]->literal.list, &item);
    return run->stopped ? cel_stop(run) : cel_bool(found);
}

static struct cel_value eval_not_strictly_false(struct cel_run *run, const struct cel_call *call)
{
    struct cel_value value = cel_eval_node(run, call->args[0]);
    if (run->stopped || !cel_charge(run, 1))
        return cel_stop(run);
    return value.kind == CEL_BOOL ? value : cel_bool(true);
}

/* o.or(other), o.orValue(other): `other` is evaluated only if it is needed. */
static struct cel_value eval_optional_or(struct cel_run *run, const struct cel_call *call, bool unwrap)
{
    struct cel_value value = cel_eval_node(run, call->args[0]);
    if (value.kind != CEL_OPTIONAL)
        return !cel_is_error(&value) && (run->rules & CEL_STRICT_OR) ? cel_no_overload() : value;
    if (value.optional)
        return unwrap ? *value.optional : value;
    return cel_eval_node(run, call->args[1]);
}

static struct cel_value eval_op(struct cel_run *run, const struct cel_node *node)
{
    const struct cel_call *call = &node->call;
    switch (call->op) {
    case OP_AND:
        return eval_logic(run, call, false);
    case OP_OR:
        return eval_logic(run, call, true);
    case OP_EQUALS:
    case OP_NOT_EQUALS:
        return eval_equality(run, call, call->op == OP_EQUALS);
    case OP_IN_SET:
        return eval_in_set(run, call);
    case OP_NOT_STRICTLY_FALSE:
        return eval_not_strictly_false(run, call);
    case OP_OPTIONAL_OR:
    case OP_OPTIONAL_OR_VALUE:
        return eval_optional_or(run, call, call->op == OP_OPTIONAL_OR_VALUE);
    case OP_CONDITIONAL:
    case OP_INDEX:
    case OP_OPT_INDEX:
    case OP_OPT_SELECT:
        return cel_eval_attribute(run, node);
    case OP_CALL:
        break;
    }
    return eval_call(run, call);
}

/* Items marked with ? are optional values, and missing if they are none. */
static bool take_optional(struct cel_value *value, const struct cel_node *node, size_t i, bool *ret_missing)
{
    *ret_missing = false;
    if (!cel_item_is_optional(node, i))
        return true;
    if (value->kind != CEL_OPTIONAL)
        return false;
    *ret_missing = !value->optional;
    if (value->optional)
        *value = *value->optional;
    return true;
}

static struct cel_value list_of(struct cel_run *run, const struct cel_node *node)
{
    struct cel_value *items = cel_take(run, arena_bytes(node->items.len, sizeof(*items)));
    if (!items)
        return cel_stop(run);
    size_t len = 0;
    for (size_t i = 0; i < node->items.len; i++) {
        struct cel_value item = cel_eval_node(run, node->items.values[i]);
        if (cel_is_error(&item))
            return item;
        bool missing;
        if (!take_optional(&item, node, i, &missing)) {
            struct str text = cel_value_text(run, &item);
            return cel_fail(run, "cannot initialize optional list element from non-optional value " STR_FMT,
                            STR_ARG(text));
        }
        if (!missing)
            items[len++] = item;
    }
    return cel_list_make(run, items, len);
}

static struct cel_value map_of(struct cel_run *run, const struct cel_node *node)
{
    struct cel_value map = cel_map_new(run, false);
    for (size_t i = 0; i < node->items.len && !cel_is_error(&map); i++) {
        struct cel_value key = cel_eval_node(run, node->items.keys[i]);
        if (cel_is_error(&key))
            return key;
        struct cel_value value = cel_eval_node(run, node->items.values[i]);
        if (cel_is_error(&value))
            return value;
        bool missing;
        if (!take_optional(&value, node, i, &missing)) {
            struct str k = cel_value_text(run, &key), v = cel_value_text(run, &value);
            return cel_fail(run,
                            "cannot initialize optional entry '" STR_FMT "' from non-optional value " STR_FMT,
                            STR_ARG(k), STR_ARG(v));
        }
        if (missing)
            cel_map_remove(&map, &key);
        else
            map = cel_map_put(run, &map, &key, &value);
    }
    return map;
}

struct cel_value cel_eval_node(struct cel_run *run, const struct cel_node *node)
{
    enum { LIST_COST = 10, MAP_COST = 30 };
    struct cel_value value;
    if (run->stopped)
        return cel_stop(run);
    switch (node->kind) {
    case NODE_LITERAL:
        return node->literal;
    case NODE_IDENT:
    case NODE_SELECT:
        return cel_eval_attribute(run, node);
    case NODE_CALL:
        return eval_op(run, node);
    case NODE_LIST:
        value = list_of(run, node);
        return cel_charge(run, LIST_COST) ? value : cel_stop(run);
    case NODE_MAP:
        value = map_of(run, node);
        return cel_charge(run, MAP_COST) ? value : cel_stop(run);
    case NODE_FOLD:
        break;
    }
    return cel_eval_fold(run, node);
}
