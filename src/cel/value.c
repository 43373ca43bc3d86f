/* value.c: equality and order, as the reference's types have them, bugs included: an int, a uint and a double may be
 * equal; lists with an incomparable pair are equal where that pair is; a quantity that was computed is comparable
 * only from its own side. */
#include "cel/value.h"

#include <math.h>

const char *cel_kind_name(enum cel_kind kind)
{
    static const char *const names[] = {
        [CEL_NULL] = "null_type",
        [CEL_BOOL] = "bool",
        [CEL_INT] = "int",
        [CEL_UINT] = "uint",
        [CEL_DOUBLE] = "double",
        [CEL_STRING] = "string",
        [CEL_BYTES] = "bytes",
        [CEL_LIST] = "list",
        [CEL_MAP] = "map",
        [CEL_DURATION] = "google.protobuf.Duration",
        [CEL_TIMESTAMP] = "google.protobuf.Timestamp",
        [CEL_OPTIONAL] = "optional_type",
        [CEL_TYPE] = "type",
        [CEL_QUANTITY] = "kubernetes.Quantity",
        [CEL_SEMVER] = "kubernetes.Semver",
        [CEL_URL] = "kubernetes.URL",
        [CEL_IP] = "net.IP",
        [CEL_CIDR] = "net.CIDR",
        [CEL_FORMAT] = "kubernetes.NamedFormat",
        [CEL_ERROR] = "error",
        [CEL_DYN] = "dyn",
        [CEL_ANY] = "google.protobuf.Any",
        [CEL_DEVICE] = "kubernetes.DRADevice",
        [CEL_UNKNOWN] = "!error!",
    };
    return names[kind];
}

const char *cel_go_type(const struct cel_run *run, const struct cel_value *value)
{
    static const char *const names[CEL_KINDS] = {
        [CEL_NULL] = "types.Null",
        [CEL_BOOL] = "types.Bool",
        [CEL_INT] = "types.Int",
        [CEL_UINT] = "types.Uint",
        [CEL_DOUBLE] = "types.Double",
        [CEL_STRING] = "types.String",
        [CEL_BYTES] = "types.Bytes",
        [CEL_LIST] = "*types.baseList",
        [CEL_MAP] = "*types.baseMap",
        [CEL_DURATION] = "types.Duration",
        [CEL_TIMESTAMP] = "types.Timestamp",
        [CEL_OPTIONAL] = "*types.Optional",
        [CEL_TYPE] = "*types.Type",
        [CEL_QUANTITY] = "cel.Quantity",
        [CEL_SEMVER] = "cel.Semver",
        [CEL_URL] = "cel.URL",
        [CEL_IP] = "cel.IP",
        [CEL_CIDR] = "cel.CIDR",
        [CEL_FORMAT] = "cel.Format",
        [CEL_ERROR] = "*types.Err",
    };
    if (value->kind == CEL_QUANTITY && (value->flags & CEL_QUANTITY_COMPUTED))
        return "*cel.Quantity";
    if (value->kind == CEL_LIST && value->list->first)
        return "*types.concatList";
    if (value->kind == CEL_MAP && value->map->is_total)
        return "cel.mapper";
    if (value->kind == CEL_MAP && run->device && run->device->map == value->map)
        return "map[string]interface {}";
    return names[value->kind];
}

bool cel_double_to_int(double value, int64_t *ret)
{
    if (!(value > -0x1p63 && value < 0x1p63))
        return false;
    *ret = (int64_t)value;
    return (double)*ret == value;
}

bool cel_double_to_uint(double value, uint64_t *ret)
{
    if (!(value >= 0 && value < 0x1p64))
        return false;
    *ret = (uint64_t)value;
    return (double)*ret == value;
}

static int order_double(double a, double b)
{
    return (a > b) - (a < b);
}

/* As Go compares them: the int becomes a double within its range. */
static int order_double_int(double a, int64_t b)
{
    return a < -0x1p63 ? -1 : a > 0x1p63 ? 1 : order_double(a, (double)b);
}

static int order_double_uint(double a, uint64_t b)
{
    return a < 0 ? -1 : a > 0x1p64 ? 1 : order_double(a, (double)b);
}

static int order_int_uint(int64_t a, uint64_t b)
{
    if (a < 0 || b > INT64_MAX)
        return -1;
    return ((uint64_t)a > b) - ((uint64_t)a < b);
}

static bool is_number(enum cel_kind kind)
{
    return kind == CEL_INT || kind == CEL_UINT || kind == CEL_DOUBLE;
}

static int order_numbers(const struct cel_value *a, const struct cel_value *b)
{
    if (a->kind == CEL_DOUBLE)
        return b->kind == CEL_DOUBLE ? order_double(a->number, b->number)
               : b->kind == CEL_INT  ? order_double_int(a->number, b->integer)
                                     : order_double_uint(a->number, b->uinteger);
    if (b->kind == CEL_DOUBLE)
        return -order_numbers(b, a);
    if (a->kind == CEL_INT)
        return b->kind == CEL_INT ? (a->integer > b->integer) - (a->integer < b->integer)
                                  : order_int_uint(a->integer, b->uinteger);
    return b->kind == CEL_UINT ? (a->uinteger > b->uinteger) - (a->uinteger < b->uinteger)
                               : -order_numbers(b, a);
}

static bool is_nan(const struct cel_value *value)
{
    return value->kind == CEL_DOUBLE && isnan(value->number);
}

static enum cel_equality lists_equal(struct cel_run *run, const struct cel_list *a, const struct cel_list *b)
{
    if (a->len != b->len)
        return CEL_DIFFERENT;
    enum cel_equality equality = CEL_EQUAL;
    for (size_t i = 0; i < a->len && !run->stopped; i++) {
        struct cel_value x = cel_list_item(run, a, i), y = cel_list_item(run, b, i);
        switch (cel_values_equal(run, &x, &y)) {
        case CEL_DIFFERENT:
            return CEL_DIFFERENT;
        case CEL_INCOMPARABLE:
            if (a->first)
                equality = CEL_INCOMPARABLE;
            break;
        case CEL_EQUAL:
            break;
        }
    }
    return equality;
}

static enum cel_equality maps_equal(struct cel_run *run, const struct cel_map *a, const struct cel_map *b)
{
    if (a->len != b->len)
        return CEL_DIFFERENT;
    for (size_t i = 0; i < a->len && !run->stopped; i++) {
        struct cel_value other;
        if (!cel_map_find(b, &a->entries[i].key, &other) ||
            cel_values_equal(run, &a->entries[i].value, &other) == CEL_DIFFERENT)
            return CEL_DIFFERENT;
    }
    return CEL_EQUAL;
}

static enum cel_equality optionals_equal(struct cel_run *run, const struct cel_value *a,
                                         const struct cel_value *b)
{
    if (!a->optional || !b->optional)
        return a->optional == b->optional ? CEL_EQUAL : CEL_DIFFERENT;
    return cel_values_equal(run, a->optional, b->optional);
}

static enum cel_equality same(bool equal)
{
    return equal ? CEL_EQUAL : CEL_DIFFERENT;
}

bool cel_scalars_equal(const struct cel_value *a, const struct cel_value *b)
{
    switch (a->kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return a->boolean == b->boolean;
    case CEL_INT:
    case CEL_UINT:
        return a->integer == b->integer;
    case CEL_DOUBLE:
        return a->number == b->number;
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_TYPE:
        return str_eq(a->text, b->text);
    case CEL_DURATION:
        return a->duration_ns == b->duration_ns;
    case CEL_TIMESTAMP:
        return a->timestamp.seconds == b->timestamp.seconds && a->timestamp.nanos == b->timestamp.nanos;
    default:
        return false;
    }
}

static enum cel_equality same_kind_equal(struct cel_run *run, const struct cel_value *a,
                                         const struct cel_value *b)
{
    switch (a->kind) {
    case CEL_LIST:
        return lists_equal(run, a->list, b->list);
    case CEL_MAP:
        return maps_equal(run, a->map, b->map);
    case CEL_OPTIONAL:
        return optionals_equal(run, a, b);
    case CEL_QUANTITY:
        return b->flags & CEL_QUANTITY_COMPUTED ? CEL_INCOMPARABLE : same(cel_quantity_order(a, b) == 0);
    case CEL_SEMVER:
        return same(cel_semver_order(a->semver, b->semver) == 0);
    case CEL_URL:
        return same(cel_url_equal(a->url, b->url));
    case CEL_IP:
    case CEL_CIDR:
        return same(cel_ip_equal(a->ip, b->ip));
    case CEL_FORMAT:
        return same(a->format == b->format);
    default:
        return same(cel_scalars_equal(a, b));
    }
}

enum cel_equality cel_values_equal(struct cel_run *run, const struct cel_value *a, const struct cel_value *b)
{
    if (!cel_work(run, 1))
        return CEL_DIFFERENT;
    if (is_number(a->kind) && is_number(b->kind))
        return same(!is_nan(a) && !is_nan(b) && order_numbers(a, b) == 0);
    if (a->kind == b->kind)
        return same_kind_equal(run, a, b);
    return a->kind >= CEL_QUANTITY && b->kind != CEL_NULL ? CEL_INCOMPARABLE : CEL_DIFFERENT;
}

bool cel_is_ordered(enum cel_kind kind)
{
    return kind == CEL_BOOL || is_number(kind) || kind == CEL_STRING || kind == CEL_BYTES ||
           kind == CEL_DURATION || kind == CEL_TIMESTAMP;
}

static int order_timestamps(struct cel_timestamp a, struct cel_timestamp b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return (a.nanos > b.nanos) - (a.nanos < b.nanos);
}

struct cel_value cel_values_compare(const struct cel_value *a, const struct cel_value *b)
{
    if (is_number(a->kind) && is_number(b->kind)) {
        if (is_nan(a) || is_nan(b))
            return cel_fail_static("NaN values cannot be ordered");
        return cel_int(order_numbers(a, b));
    }
    if (a->kind != b->kind)
        return cel_no_overload();
    int order;
    switch (a->kind) {
    case CEL_BOOL:
        return cel_int(a->boolean - b->boolean);
    case CEL_STRING:
    case CEL_BYTES:
        order = str_cmp(a->text, b->text);
        return cel_int((order > 0) - (order < 0));
    case CEL_DURATION:
        return cel_int((a->duration_ns > b->duration_ns) - (a->duration_ns < b->duration_ns));
    case CEL_TIMESTAMP:
        return cel_int(order_timestamps(a->timestamp, b->timestamp));
    default:
        return cel_no_overload();
    }
}
