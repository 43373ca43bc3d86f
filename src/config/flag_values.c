/* flag_values.c: reading values of flags.
 *
 * The syntax is pflag's and Go's, to the letter where scripts may depend on it: numbers in any base with
 * underscores, lists as one line of CSV, durations, maps. The complaints are our own. */
#include "config/flag_values.h"

#include <float.h>
#include <math.h>

#include "base/duration.h"
#include "base/ip.h"
#include "base/utf8.h"
#include "config/flags.h"

/* read_KIND(), for the table at the end; see struct flag_kind_info. */
#define READ(kind) \
    static int read_##kind(struct arena *arena _unused_, struct str text, bool again _unused_, void *ret, \
                           struct error *why _unused_)

/* Capacity for one more item, doubled when it is full: the capacity is the next power of two. */
#define GROW(arena, list) \
    do { \
        uint32_t len_ = (list)->len++; \
        if ((len_ & (len_ - 1)) == 0) \
            (list)->items = arena_copy((arena), __typeof__(*(list)->items), (list)->items, len_, \
                                       len_ ? 2 * (size_t)len_ : 1); \
    } while (0)

#define PUSH(arena, list, value) \
    do { \
        GROW((arena), (list)); \
        (list)->items[(list)->len - 1] = (value); \
    } while (0)

/* ---- numbers ---- */

bool flag_read_bool(struct str text, bool *ret)
{
    static const char *const words[2][6] = {
        { "0", "f", "F", "false", "FALSE", "False" },
        { "1", "t", "T", "true", "TRUE", "True" },
    };
    for (int value = 0; value < 2; value++) {
        for (size_t i = 0; i < ARRAY_SIZE(words[value]); i++) {
            if (str_is(text, words[value][i])) {
                *ret = value;
                return true;
            }
        }
    }
    return false;
}

/* The base that the digits begin with; *at moves behind the prefix. */
static unsigned base_of(struct str text, size_t *at)
{
    if (text.len - *at < 2 || text.ptr[*at] != '0')
        return 10;
    char letter = text.ptr[*at + 1] | 0x20;
    unsigned base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 0;
    *at += base ? 2 : 1;
    return base ? base : 8;
}

/* An integer as Go writes it in source text: 12, -0x1F, 0b11, 1_000. -EINVAL: none; -ERANGE: does not fit. */
static int read_int(struct str text, int64_t min, int64_t max, int64_t *ret)
{
    bool negative = text.len && text.ptr[0] == '-';
    size_t at = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+');
    size_t start = at;
    unsigned base = base_of(text, &at);
    bool after_digit = at > start, any = after_digit && base == 8 && at == start + 1, fits = true;
    int64_t value = 0;
    for (; at < text.len; at++) {
        if (text.ptr[at] == '_' && after_digit) {
            after_digit = false;
            continue;
        }
        int digit = hex_digit(text.ptr[at]);
        if (digit < 0 || digit >= (int)base)
            return -EINVAL;
        after_digit = any = true;
        fits = fits && !__builtin_mul_overflow(value, (int64_t)base, &value) &&
               !__builtin_add_overflow(value, negative ? -(int64_t)digit : (int64_t)digit, &value);
    }
    if (!any || !after_digit)
        return -EINVAL;
    if (!fits || value < min || value > max)
        return -ERANGE;
    *ret = value;
    return 0;
}

static int int_between(struct str text, int64_t min, int64_t max, int64_t *ret, struct error *why)
{
    int r = read_int(text, min, max, ret);
    if (r == -EINVAL)
        return error_set(why, r, "expected a whole number");
    if (r < 0)
        return error_set(why, -EINVAL, "expected a number from %lld to %lld", (long long)min, (long long)max);
    return 0;
}

READ(BOOL)
{
    return flag_read_bool(text, ret) ? 0 : error_set(why, -EINVAL, "expected true or false");
}

READ(INT)
{
    return int_between(text, INT64_MIN, INT64_MAX, ret, why);
}

READ(INT32)
{
    int64_t value;
    int r = int_between(text, INT32_MIN, INT32_MAX, &value, why);
    if (r == 0)
        *(int32_t *)ret = (int32_t)value;
    return r;
}

/* Decimal digits only, as Go's ParseUint in base 10. */
static int read_level(struct str text, int32_t *ret, struct error *why)
{
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return error_set(why, -EINVAL, "expected a whole number that is not negative");
        value = MIN(value * 10 + (text.ptr[i] - '0'), (int64_t)INT32_MAX + 1);
    }
    if (!text.len)
        return error_set(why, -EINVAL, "expected a whole number that is not negative");
    if (value > INT32_MAX)
        return error_set(why, -EINVAL, "expected a number up to %d", INT32_MAX);
    *ret = (int32_t)value;
    return 0;
}

READ(LEVEL)
{
    return read_level(text, ret, why);
}

READ(FLOAT)
{
    char *copy = arena_strndup(arena, text.ptr, text.len), *end = copy;
    double value = strspn(copy, "+-.0123456789eE") == text.len ? strtod(copy, &end) : 0;
    if (end == copy || *end)
        return error_set(why, -EINVAL, "expected a number");
    if (!isfinite(value) || fabs(value) > FLT_MAX)
        return error_set(why, -EINVAL, "the number is too large");
    *(double *)ret = (double)(float)value;
    return 0;
}

READ(DURATION)
{
    if (duration_parse(text, ret))
        return 0;
    int64_t number;
    bool bare = read_int(text, INT64_MIN, INT64_MAX, &number) == 0;
    return error_set(why, -EINVAL,
                     bare ? "the unit is missing; a duration is written as \"10s\" or \"1m30s\""
                          : "expected a duration such as \"10s\" or \"1m30s\"");
}

READ(QUANTITY)
{
    struct quantity quantity;
    if (quantity_parse(text, &quantity) < 0)
        return error_set(why, -EINVAL, "expected a quantity such as 512, 1K or 2Ki");
    *(int64_t *)ret = quantity_value(quantity);
    return 0;
}

/* ---- texts ---- */

READ(STRING)
{
    *(struct str *)ret = arena_str(arena, text);
    return 0;
}

READ(IP)
{
    if (str_empty(text))
        return 0;
    uint8_t bytes[IPV6_BYTES];
    struct str address = arena_str(arena, utf8_trim(text));
    if (!ip_parse(address, bytes))
        return error_set(why, -EINVAL, "expected an IP address");
    *(struct str *)ret = address;
    return 0;
}

READ(VERSION)
{
    bool on;
    const char *version = release_default()->version;
    size_t len = strlen(version) + 1;
    if (str_starts_with(text, STR("v"))) {
        char next = text.len > len ? text.ptr[len] : '\0';
        if (!str_starts_with(str_slice(text, 1, text.len), str_from(version)) ||
            (next && next != '-' && next != '+'))
            return error_set(why, -EINVAL,
                             "it must begin with v%s, the version of Kubernetes whose scheduler this is",
                             version);
        *(struct str *)ret = arena_str(arena, text);
    } else if (str_is(text, "raw")) {
        *(struct str *)ret = STR("raw");
    } else if (flag_read_bool(text, &on)) {
        *(struct str *)ret = on ? STR("true") : STR("false");
    } else {
        return error_set(why, -EINVAL, "expected nothing, raw, or a version such as v%s-custom", version);
    }
    return 0;
}

/* "pattern=N,pattern=N", to which further ones are appended. */
READ(VMODULE)
{
    struct str all = *(struct str *)ret, rest = text;
    while (rest.ptr) {
        struct str item = str_cut(&rest, ','), level = item, pattern = str_cut(&level, '=');
        int32_t number;
        if (str_empty(item))
            continue;
        if (str_empty(pattern) || str_empty(level))
            return error_set(why, -EINVAL, "\"" STR_FMT "\" is not of the form pattern=N", STR_ARG(item));
        if (read_level(level, &number, why) < 0) {
            error_prefix(why, "the level in \"" STR_FMT "\"", STR_ARG(item));
            return -EINVAL;
        }
        all = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(all), all.len ? "," : "", STR_ARG(item));
    }
    *(struct str *)ret = all;
    return 0;
}

/* ---- lists and maps ---- */

/* A field in quotes, from behind the first one; *at moves behind the last. */
static int read_quoted(struct arena *arena, struct str text, size_t *at, struct str *ret, struct error *why)
{
    char *out = arena_alloc(arena, text.len - *at + 1);
    uint32_t len = 0;
    for (; *at < text.len; (*at)++) {
        if (text.ptr[*at] == '"') {
            if (*at + 1 == text.len || text.ptr[*at + 1] != '"')
                break;
            (*at)++;
        }
        out[len++] = text.ptr[*at];
    }
    bool closed = *at < text.len && (++*at == text.len || strchr(",\r\n", text.ptr[*at]));
    if (!closed)
        return error_set(why, -EINVAL, "a quote is missing, or a text goes on behind one");
    out[len] = '\0';
    *ret = (struct str){ out, len };
    return 0;
}

/* The first line of CSV. An empty text is an empty list. */
static int read_csv(struct arena *arena, struct str text, struct str_list *list, struct error *why)
{
    size_t at = 0;
    while (at < text.len && (text.ptr[at] == '\n' || text.ptr[at] == '\r'))
        at++;
    if (at == text.len)
        return text.len ? error_set(why, -EINVAL, "there is nothing in it") : 0;
    for (bool more = true; more; at++) {
        struct str field;
        if (at < text.len && text.ptr[at] == '"') {
            at++;
            int r = read_quoted(arena, text, &at, &field, why);
            if (r < 0)
                return r;
        } else {
            size_t start = at;
            while (at < text.len && !strchr(",\n\"", text.ptr[at]))
                at++;
            if (at < text.len && text.ptr[at] == '"')
                return error_set(why, -EINVAL,
                                 "a quote stands inside of a text that does not begin with one");
            field = arena_str(arena, str_slice(text, start, at));
            if ((at == text.len || text.ptr[at] == '\n') && str_ends_with(field, STR("\r")))
                field.len--;
        }
        PUSH(arena, list, field);
        more = at < text.len && text.ptr[at] == ',';
    }
    return 0;
}

READ(STRINGS)
{
    struct str_list list = again ? *(struct str_list *)ret : (struct str_list){ 0 };
    int r = read_csv(arena, text, &list, why);
    if (r == 0)
        *(struct str_list *)ret = list;
    return r;
}

READ(INT32S)
{
    struct flag_int32s list = again ? *(struct flag_int32s *)ret : (struct flag_int32s){ 0 };
    for (struct str rest = text.ptr ? text : STR(""); rest.ptr;) {
        int64_t value;
        int r = int_between(str_cut(&rest, ','), INT32_MIN, INT32_MAX, &value, why);
        if (r < 0)
            return r;
        PUSH(arena, &list, (int32_t)value);
    }
    *(struct flag_int32s *)ret = list;
    return 0;
}

/* Sorted; a key that is there takes the new value. */
static void put_pair(struct arena *arena, struct str_map *map, struct pair pair)
{
    uint32_t at = 0;
    while (at < map->len && str_cmp(map->items[at].key, pair.key) < 0)
        at++;
    if (at < map->len && str_eq(map->items[at].key, pair.key)) {
        map->items[at] = pair;
        return;
    }
    GROW(arena, map);
    memmove(map->items + at + 1, map->items + at, (map->len - 1 - at) * sizeof(*map->items));
    map->items[at] = pair;
}

/* A single pair is taken as it is, without quotes around it; several are a line of CSV. */
READ(PAIRS)
{
    struct str_map map = { 0 };
    struct str_list fields = { 0 };
    if (again)
        for (uint32_t i = 0; i < ((struct str_map *)ret)->len; i++)
            PUSH(arena, &map, ((struct str_map *)ret)->items[i]);
    ptrdiff_t first = str_find(text, '=');
    if (first >= 0 && first == str_rfind(text, '=')) {
        while (text.len && text.ptr[0] == '"')
            text = str_slice(text, 1, text.len);
        while (text.len && text.ptr[text.len - 1] == '"')
            text.len--;
        PUSH(arena, &fields, arena_str(arena, text));
    } else if (first >= 0) {
        int r = read_csv(arena, text, &fields, why);
        if (r < 0)
            return r;
    } else {
        return error_set(why, -EINVAL, "expected key=value");
    }
    for (uint32_t i = 0; i < fields.len; i++) {
        struct str value = fields.items[i], key = str_cut(&value, '=');
        if (!value.ptr)
            return error_set(why, -EINVAL, "\"" STR_FMT "\" is not of the form key=value",
                             STR_ARG(fields.items[i]));
        put_pair(arena, &map, (struct pair){ key, value });
    }
    *(struct str_map *)ret = map;
    return 0;
}

/* "cert,key" or "cert,key:name,name" */
READ(CERT_KEYS)
{
    struct flag_cert_keys list = again ? *(struct flag_cert_keys *)ret : (struct flag_cert_keys){ 0 };
    struct flag_cert_key item = { 0 };
    struct str names = text, key = utf8_trim(str_cut(&names, ':'));
    item.cert_file = arena_str(arena, utf8_trim(str_cut(&key, ',')));
    if (!key.ptr || str_find(key, ',') >= 0)
        return error_set(why, -EINVAL,
                         "expected a certificate file and a key file with a comma between them");
    item.key_file = arena_str(arena, utf8_trim(key));
    if (names.ptr && str_empty(utf8_trim(names)))
        return error_set(why, -EINVAL, "there are no names behind the colon");
    while (names.ptr) {
        struct str name = arena_str(arena, utf8_trim(str_cut(&names, ',')));
        PUSH(arena, &item.names, name);
    }
    PUSH(arena, &list, item);
    *(struct flag_cert_keys *)ret = list;
    return 0;
}

READ(GATES)
{
    struct flag_gates list = again ? *(struct flag_gates *)ret : (struct flag_gates){ 0 };
    for (struct str rest = arena_str(arena, text); rest.ptr;) {
        struct str item = str_cut(&rest, ','), setting = item;
        if (str_empty(item))
            continue;
        struct str component = str_cut(&setting, ':');
        struct flag_gate gate = { utf8_trim(component), utf8_trim(setting) };
        if (!setting.ptr)
            gate = (struct flag_gate){ .setting = utf8_trim(item) };
        PUSH(arena, &list, gate);
    }
    *(struct flag_gates *)ret = list;
    return 0;
}

const struct flag_kind_info flag_kinds[FLAG_KINDS_COUNT] = {
#define X(kind, type, name, bare) [FLAG_KIND_##kind] = { name, bare, read_##kind },
    FLAG_KINDS(X)
#undef X
};
