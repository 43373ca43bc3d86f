/* cost.c: what calls cost, as the reference counts: k8s.io/apiserver/pkg/cel/library's estimator first, then the
 * trackers of extensions, then cel-go's own. */
#include "base/utf8.h"
#include "cel/value.h"

#include <math.h>

static const double TRAVERSAL = 0.1, PATTERN = 0.25;
enum { CALL_COST = 1, LIST_COST = 10 };

uint64_t cel_size_of(const struct cel_value *value)
{
    switch (value->kind) {
    case CEL_STRING:
        return utf8_runes(value->text);
    case CEL_BYTES:
        return value->text.len;
    case CEL_LIST:
        return value->list->len;
    case CEL_MAP:
        return value->map->len;
    case CEL_IP:
    case CEL_CIDR:
        return cel_ip_size(value);
    default:
        return 1;
    }
}

/* The size of what an optional holds, for equality. */
static uint64_t inner_size(const struct cel_value *value)
{
    while (value->kind == CEL_OPTIONAL && value->optional)
        value = value->optional;
    return cel_size_of(value);
}

static uint64_t tenth(double size)
{
    return (uint64_t)ceil(size * TRAVERSAL);
}

static uint64_t pattern_cost(const struct cel_value *text, const struct cel_value *pattern)
{
    uint64_t per_text = tenth(1.0 + (double)cel_size_of(text));
    uint64_t per_pattern = (uint64_t)ceil((double)cel_size_of(pattern) * PATTERN), cost;
    return __builtin_mul_overflow(per_text, per_pattern, &cost) ? UINT64_MAX : cost;
}

static uint64_t traversal(struct cel_run *run, const struct cel_value *value)
{
    uint64_t cost = 0;
    if (!cel_work(run, 1))
        return 0;
    switch (value->kind) {
    case CEL_STRING:
    case CEL_BYTES:
        return (uint64_t)((double)value->text.len * TRAVERSAL);
    case CEL_LIST:
        for (size_t i = 0; i < value->list->len && !run->stopped; i++) {
            struct cel_value item = cel_list_item(run, value->list, i);
            cost += traversal(run, &item);
        }
        return cost;
    case CEL_MAP:
        for (size_t i = 0; i < value->map->len && !run->stopped; i++) {
            const struct cel_entry *entry = &value->map->entries[i];
            cost += traversal(run, &entry->key) + traversal(run, &entry->value);
        }
        return cost;
    default:
        return 1;
    }
}

/* What is negative wraps around, as it does there. */
static uint64_t list_call(double factor, double size)
{
    double cost = size * factor;
    int64_t truncated = cost > 1e18 ? (int64_t)1e18 : cost < -0x1p63 ? INT64_MIN : (int64_t)cost;
    return (uint64_t)truncated + CALL_COST + LIST_COST;
}

/* Go names the first method that a type lacks. */
static uint64_t crash_as_list(struct cel_run *run, const struct cel_value *value)
{
    bool adds = (value->kind >= CEL_INT && value->kind <= CEL_BYTES) || value->kind == CEL_DURATION ||
                value->kind == CEL_TIMESTAMP;
    cel_crash(run, "interface conversion: %s is not traits.Lister: missing method %s",
              cel_go_type(run, value), adds ? "Contains" : "Add");
    return 0;
}

static uint64_t self_compare(struct cel_run *run, const struct cel_value *list)
{
    double factor = 2.0, size = (double)cel_size_of(list);
    if (list->kind != CEL_LIST)
        return crash_as_list(run, list);
    if (list->list->len > 0) {
        struct cel_value first = cel_list_item(run, list->list, 0);
        if (first.kind == CEL_STRING || first.kind == CEL_BYTES)
            factor += TRAVERSAL;
    }
    return list_call(factor, size * size);
}

/* A text that has to be read first costs more, where the checker knew that it is one. */
static uint64_t contains_net(const struct cel_call *call, const struct cel_value *args, bool cidr)
{
    uint64_t size = cel_size_of(&args[0]);
    uint64_t cost = tenth((double)(size + size));
    if (cidr)
        cost += tenth((double)size) + 1;
    bool text = call->candidates_len == 1 && call->candidates[0].kinds[1] == CEL_STRING;
    return text ? cost + tenth((double)cel_size_of(&args[1])) : cost;
}

static uint64_t sets(const struct cel_value *args, double factor)
{
    double cost = (double)cel_size_of(&args[0]) * (double)cel_size_of(&args[1]) * factor;
    return CALL_COST + (cost < 1e18 ? (uint64_t)cost : (uint64_t)1e18);
}

uint64_t cel_equality_cost(const struct cel_value *a, const struct cel_value *b, bool equals)
{
    if (equals && a->kind >= CEL_QUANTITY && a->kind <= CEL_FORMAT)
        return 1;
    return tenth((double)MIN(inner_size(a), inner_size(b)));
}

static uint64_t flatten(struct cel_run *run, const struct cel_value *args, size_t len)
{
    if (len > 1 && args[1].kind != CEL_INT) {
        cel_crash(run, "interface conversion: ref.Val is %s, not types.Int", cel_go_type(run, &args[1]));
        return 0;
    }
    double depth = len > 1 ? (double)args[1].integer : 1;
    if (depth < 0 && (run->rules & CEL_EXACT_COSTS))
        depth = 1;
    return list_call(depth, (double)cel_size_of(&args[0]));
}

uint64_t cel_call_cost(struct cel_run *run, const struct cel_call *call, const struct cel_overload *chosen,
                       const struct cel_value *args, const struct cel_value *result)
{
    if (chosen->cost >= COST_BY_OVERLOAD && call->candidates_len != 1)
        return CALL_COST;
    switch ((enum cel_cost)chosen->cost) {
    case COST_ONE:
        return CALL_COST;
    case COST_LENGTH:
    case COST_TEXT:
        return tenth((double)cel_size_of(&args[0]));
    case COST_ARGUMENT:
        return tenth((double)cel_size_of(&args[1]));
    case COST_LENGTH_TWICE:
        return tenth((double)cel_size_of(&args[0]) * 2);
    case COST_TRAVERSAL:
        return traversal(run, &args[0]);
    case COST_RESULT_TWICE:
        return tenth((double)cel_size_of(result) * 2);
    case COST_FIND:
    case COST_MATCHES:
        return pattern_cost(&args[0], &args[1]);
    case COST_CONTAINS_IP:
        return contains_net(call, args, false);
    case COST_CONTAINS_CIDR:
        return contains_net(call, args, true);
    case COST_VALIDATE:
        return args[0].kind != CEL_FORMAT
                   ? CALL_COST
                   : tenth(1.0 + (double)cel_size_of(&args[1])) *
                         (uint64_t)ceil((double)cel_format_regex_size(args[0].format) * PATTERN);
    case COST_IN_LIST:
        return cel_size_of(&args[1]);
    case COST_SHORTER:
        return tenth((double)MIN(inner_size(&args[0]), inner_size(&args[1])));
    case COST_BOTH:
        return tenth((double)(cel_size_of(&args[0]) + cel_size_of(&args[1])));
    case COST_CONTAINS:
        return tenth((double)cel_size_of(&args[0])) * tenth((double)cel_size_of(&args[1]));
    case COST_LIST_RESULT:
        return list_call(1, (double)cel_size_of(result));
    case COST_FLATTEN:
        return flatten(run, args, call->len);
    case COST_SELF_COMPARE:
        return self_compare(run, &args[0]);
    case COST_SELF_COMPARE_KEYS:
        return self_compare(run, &args[1]);
    case COST_SETS:
        return sets(args, 1);
    case COST_SETS_TWICE:
        return sets(args, 2);
    }
    return CALL_COST;
}
