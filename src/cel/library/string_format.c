/* string_format.c: "%s has %d".format([name, count]), as the extension's second version has it: numbers with %f and %e
 * are written for readers of English, with commas and superscripts.
 *
 * One scanner reads format strings for both evaluation and the check of constant ones. */
#include "base/decimal.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "cel/check.h"
#include "cel/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRECISION_DEFAULT = 6, DEPTH_MAX = 100, DOUBLE_FRACTION_MAX = 1100 };

struct clause {
    char verb; /* 0: nothing but text */
    int64_t precision;
    struct str before; /* text up to it, with %% still in it */
};

#define BAD_CLAUSE "could not parse formatting clause: "
#define BAD_PRECISION BAD_CLAUSE "error while parsing precision: "

/* The precision at *at, which moves behind it; or what is wrong. */
static const char *take_precision(struct str format, size_t *at, struct arena *arena, int64_t *ret)
{
    size_t from = ++*at;
    while (*at < format.len && format.ptr[*at] >= '0' && format.ptr[*at] <= '9')
        ++*at;
    if (*at == format.len)
        return BAD_PRECISION "could not find end of precision specifier";
    struct str digits = str_slice(format, from, *at);
    if (str_to_int64(digits, ret))
        return NULL;
    return arena_printf(arena,
                        BAD_PRECISION "error while converting precision to integer: strconv.Atoi: parsing "
                                      "\"" STR_FMT "\": %s",
                        STR_ARG(digits), digits.len ? "value out of range" : "invalid syntax")
        .ptr;
}

/* The next clause at *at, which moves behind it; or what is wrong. */
static const char *next_clause(struct str format, size_t *at, struct arena *arena, struct clause *ret)
{
    size_t from = *at, i = from;
    *ret = (struct clause){ .precision = PRECISION_DEFAULT };
    while (i < format.len && (format.ptr[i] != '%' || (i + 1 < format.len && format.ptr[i + 1] == '%')))
        i += format.ptr[i] == '%' ? 2 : 1;
    ret->before = str_slice(format, from, i);
    *at = i;
    if (i == format.len)
        return NULL;
    if (++i == format.len)
        return "unexpected end of string";
    const char *problem = format.ptr[i] == '.' ? take_precision(format, &i, arena, &ret->precision) : NULL;
    if (problem)
        return problem;
    ret->verb = format.ptr[i];
    *at = i + 1;
    if (ret->verb && strchr("sdfebxXo", ret->verb))
        return NULL;
    char rune[RUNE_BYTES_MAX]; /* the byte is taken for a character */
    struct str shown = { rune, (uint32_t)utf8_rune_put((unsigned char)ret->verb, rune) };
    return arena_printf(arena, BAD_CLAUSE "unrecognized formatting clause \"" STR_FMT "\"", STR_ARG(shown))
        .ptr;
}

static void put_before(struct strbuf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        strbuf_putc(out, text.ptr[i]);
        i += text.ptr[i] == '%' ? 1 : 0;
    }
}

/* The message about a value that a clause does not take. */
static const char *misfit(char verb, const char *kind, struct arena *arena)
{
    static const char *const messages[] = {
        ['s'] = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
                "durations, and timestamps",
        ['d'] = "decimal clause can only be used on integers",
        ['f'] = "fixed-point clause can only be used on doubles",
        ['e'] = "scientific clause can only be used on doubles",
        ['b'] = "only integers and bools can be formatted as binary",
        ['o'] = "octal clause can only be used on integers",
        ['x'] = "only integers, byte buffers, and strings can be formatted as hex",
    };
    return arena_printf(arena, "%s, was given %s", messages[verb | 0x20], kind).ptr;
}

/* Does a clause take values of the kind? */
static bool kind_fits(char verb, enum cel_kind kind)
{
    bool integer = kind == CEL_INT || kind == CEL_UINT;
    switch (verb) {
    case 's':
        return kind <= CEL_TYPE && kind != CEL_OPTIONAL;
    case 'f':
    case 'e':
        return kind == CEL_DOUBLE || kind == CEL_STRING;
    case 'b':
        return integer || kind == CEL_BOOL;
    case 'x':
    case 'X':
        return integer || kind == CEL_STRING || kind == CEL_BYTES;
    default:
        return integer;
    }
}

#define NOT_UTF8 "could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string"

static const char *put_nested(struct cel_run *run, struct strbuf *out, const struct cel_value *value,
                              int depth);
static const char *put_string(struct cel_run *run, struct strbuf *out, const struct cel_value *value,
                              int depth);

static void put_integer(struct strbuf *out, const struct cel_value *value, char verb)
{
    bool negative = value->kind == CEL_INT && value->integer < 0;
    uint64_t number = value->kind == CEL_BOOL ? value->boolean
                      : negative              ? 0 - value->uinteger
                                              : value->uinteger;
    unsigned base = verb == 'd' ? 10 : verb == 'b' ? 2 : verb == 'o' ? 8 : 16;
    char digits[65];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (verb == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[number % base];
        number /= base;
    } while (number);
    strbuf_puts(out, negative ? "-" : "");
    strbuf_add(out, digits + at, sizeof(digits) - at);
}

static const char *put_list(struct cel_run *run, struct strbuf *out, const struct cel_list *list, int depth)
{
    const char *problem = NULL;
    strbuf_putc(out, '[');
    for (size_t i = 0; i < list->len && !problem; i++) {
        struct cel_value item = cel_list_item(run, list, i);
        strbuf_puts(out, i ? ", " : "");
        problem = put_nested(run, out, &item, depth + 1);
    }
    strbuf_putc(out, ']');
    return problem;
}

static const char *put_map(struct cel_run *run, struct strbuf *out, const struct cel_map *map, int depth)
{
    struct str *entries = xcalloc(MAX(map->len, (size_t)1), sizeof(*entries));
    const char *problem = NULL;
    for (size_t i = 0; i < map->len && !problem; i++) {
        _cleanup_(strbuf_release) struct strbuf entry = { 0 };
        struct cel_value key = map->entries[i].key, value = map->entries[i].value;
        if (key.kind != CEL_STRING && key.kind != CEL_BOOL && key.kind != CEL_INT && key.kind != CEL_UINT)
            problem = arena_printf(run->scratch, "no formatting function for map key of type %s",
                                   cel_kind_name(key.kind))
                          .ptr;
        problem = problem ? problem : put_nested(run, &entry, &key, depth + 1);
        strbuf_putc(&entry, ':');
        problem = problem ? problem : put_nested(run, &entry, &value, depth + 1);
        entries[i] = arena_str(run->scratch, strbuf_slice(&entry));
        if (!cel_take(run, 0))
            problem = "too long";
    }
    qsort(entries, problem ? 0 : map->len, sizeof(*entries), str_qsort_cmp);
    strbuf_putc(out, '{');
    for (size_t i = 0; i < map->len && !problem; i++) {
        strbuf_puts(out, i ? ", " : "");
        strbuf_str(out, entries[i]);
    }
    strbuf_putc(out, '}');
    free(entries);
    return problem;
}

/* A value within a list or map: as it would be written in an expression. */
static const char *put_nested(struct cel_run *run, struct strbuf *out, const struct cel_value *value,
                              int depth)
{
    if (depth > DEPTH_MAX || !cel_work(run, 1))
        return "too deep";
    switch (value->kind) {
    case CEL_STRING:
        quote_go(out, value->text);
        return NULL;
    case CEL_BYTES:
        if (!utf8_valid(value->text))
            return NOT_UTF8;
        strbuf_putc(out, 'b');
        quote_go(out, value->text);
        return NULL;
    case CEL_DOUBLE:
        if (isfinite(value->number))
            strbuf_printf(out, "%.6f", value->number);
        else
            strbuf_puts(out, isnan(value->number) ? "\"NaN\"" : value->number > 0 ? "\"+Inf\"" : "\"-Inf\"");
        return NULL;
    case CEL_TIMESTAMP:
    case CEL_DURATION: {
        struct cel_value text = cel_convert_text(run, value);
        strbuf_puts(out, value->kind == CEL_DURATION ? "duration(" : "timestamp(");
        quote_go(out, text.text);
        strbuf_putc(out, ')');
        return NULL;
    }
    default:
        return kind_fits('s', value->kind)
                   ? put_string(run, out, value, depth)
                   : arena_printf(run->scratch, "no formatting function for %s", cel_kind_name(value->kind))
                         .ptr;
    }
}

static const char *put_string(struct cel_run *run, struct strbuf *out, const struct cel_value *value,
                              int depth)
{
    if (value->kind == CEL_LIST)
        return put_list(run, out, value->list, depth);
    if (value->kind == CEL_MAP)
        return put_map(run, out, value->map, depth);
    if (value->kind == CEL_INT || value->kind == CEL_UINT) {
        put_integer(out, value, 'd');
        return NULL;
    }
    struct cel_value text = value->kind == CEL_NULL ? cel_string(STR("null")) : cel_convert_text(run, value);
    if (cel_is_error(&text))
        return NOT_UTF8;
    strbuf_str(out, text.text);
    return NULL;
}

static void put_hex(struct strbuf *out, const struct cel_value *value, char verb)
{
    for (size_t i = 0; i < value->text.len; i++)
        strbuf_printf(out, verb == 'X' ? "%02X" : "%02x", (unsigned char)value->text.ptr[i]);
}

/* Digits of a number as printf has them, with commas between thousands. */
static void put_grouped(struct strbuf *out, const char *text)
{
    size_t digits = strspn(text + (text[0] == '-'), "0123456789");
    strbuf_puts(out, text[0] == '-' ? "-" : "");
    text += text[0] == '-';
    for (size_t i = 0; i < digits; i++) {
        if (i && (digits - i) % 3 == 0)
            strbuf_putc(out, ',');
        strbuf_putc(out, text[i]);
    }
    strbuf_puts(out, text + digits);
}

static void put_exponent(struct strbuf *out, int exponent)
{
    static const char *const digits[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    strbuf_puts(out, exponent < 0 ? "×10⁻" : "×10");
    exponent = abs(exponent);
    if (exponent >= 100)
        strbuf_puts(out, digits[exponent / 100]);
    strbuf_puts(out, digits[exponent / 10 % 10]);
    strbuf_puts(out, digits[exponent % 10]);
}

/* With the fraction that Go's printer for languages writes: it keeps the most digits in 16 bits (none, if that is
 * negative: as many as tell the number), and the fewest in 8. */
static void put_fixed(struct strbuf *out, double number, int64_t precision)
{
    _cleanup_(strbuf_release) struct strbuf plain = { 0 };
    char shortest[DECIMAL_LEN_MAX];
    int16_t most = (int16_t)precision;
    size_t fewest = (uint8_t)precision;
    if (most < 0)
        strbuf_str(&plain, decimal_format(number, DECIMAL_PLAIN, shortest));
    else
        strbuf_printf(&plain, "%.*f", MIN(most, (int16_t)DOUBLE_FRACTION_MAX), number);
    const char *point = strchr(plain.text, '.');
    size_t whole = point ? (size_t)(point - plain.text) : plain.len,
           digits = plain.len - whole - (point ? 1 : 0);
    for (; digits > fewest && plain.text[plain.len - 1] == '0'; digits--)
        plain.text[--plain.len] = '\0';
    if (digits == 0)
        plain.text[plain.len = whole] = '\0';
    if (digits == 0 && fewest > 0)
        strbuf_putc(&plain, '.');
    for (; digits < fewest; digits++)
        strbuf_putc(&plain, '0');
    put_grouped(out, plain.text);
}

static const char *put_double(struct cel_run *run, struct strbuf *out, const struct cel_value *value,
                              struct clause clause)
{
    double number = value->number;
    bool special =
        value->kind == CEL_STRING &&
        (str_is(value->text, "NaN") || str_is(value->text, "Infinity") || str_is(value->text, "-Infinity"));
    if (value->kind != CEL_DOUBLE && !special)
        return misfit(clause.verb, cel_kind_name(value->kind), run->scratch);
    if (special)
        cel_parse_double(value->text, &number);
    _cleanup_(strbuf_release) struct strbuf text = { 0 }, plain = { 0 };
    if (!isfinite(number)) {
        strbuf_puts(&text, isnan(number) ? "NaN" : number > 0 ? "∞" : "-∞");
    } else if (clause.verb == 'f') {
        put_fixed(&text, number, clause.precision);
    } else {
        strbuf_printf(&plain, "%.6e", number);
        char *exponent = strchr(plain.text, 'e');
        strbuf_add(&text, plain.text, (size_t)(exponent - plain.text));
        put_exponent(&text, (int)strtol(exponent + 1, NULL, 10));
    }
    /* What is meant as a precision of %e is taken as a width. */
    size_t width = clause.verb == 'e' ? (uint16_t)clause.precision : 0;
    for (size_t len = utf8_runes(strbuf_slice(&text)); len < width; len++)
        strbuf_putc(out, ' ');
    strbuf_str(out, strbuf_slice(&text));
    return NULL;
}

static const char *put(struct cel_run *run, struct strbuf *out, const struct cel_value *value,
                       struct clause clause)
{
    if (!kind_fits(clause.verb, value->kind))
        return misfit(clause.verb, cel_kind_name(value->kind), run->scratch);
    if (clause.verb == 's')
        return put_string(run, out, value, 0);
    if (clause.verb == 'f' || clause.verb == 'e')
        return put_double(run, out, value, clause);
    if (value->kind == CEL_STRING || value->kind == CEL_BYTES)
        put_hex(out, value, clause.verb);
    else
        put_integer(out, value, clause.verb);
    return NULL;
}

struct cel_value cel_string_format(struct cel_run *run, const struct cel_value *args, _unused_ size_t len)
{
    struct str format = args[0].text;
    const struct cel_list *list = args[1].list;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    size_t at = 0, index = 0;
    while (at < format.len) {
        struct clause clause;
        const char *problem = next_clause(format, &at, run->scratch, &clause);
        put_before(&out, clause.before);
        if (!problem && !clause.verb)
            break;
        if (index >= list->len)
            return cel_fail(run, "index %zu out of range", index);
        if (problem)
            return cel_fail(run, "%s", problem);
        struct cel_value value = cel_list_item(run, list, index++);
        problem = put(run, &out, &value, clause);
        if (run->stopped || out.len > UINT32_MAX)
            return cel_stop(run);
        if (problem)
            return cel_fail(run, "error during formatting: %s", problem);
    }
    return cel_text(run, &out);
}

/* The first part of an item that the clause does not take, or NULL. */
static const struct cel_node *misfit_of(struct cel_checker *checker, char verb, const struct cel_node *item)
{
    const struct cel_type *type = cel_type_resolve(&checker->types, item->type, true);
    if (type->kind != CEL_DYN && !kind_fits(verb, type->kind))
        return item;
    const struct cel_node *bad = NULL;
    bool has_items = verb == 's' && (item->kind == NODE_LIST || item->kind == NODE_MAP);
    for (size_t i = 0; has_items && i < item->items.len && !bad; i++) {
        bad = item->kind == NODE_MAP ? misfit_of(checker, verb, item->items.keys[i]) : NULL;
        bad = bad ? bad : misfit_of(checker, verb, item->items.values[i]);
    }
    return bad;
}

void cel_validate_format(struct cel_checker *checker, const struct cel_node *node)
{
    const struct cel_call *call = &node->call;
    if (!call->member || call->len != 2 || call->args[0]->kind != NODE_LITERAL ||
        call->args[0]->literal.kind != CEL_STRING || call->args[1]->kind != NODE_LIST)
        return;
    struct str format = call->args[0]->literal.text;
    size_t at = 0, index = 0, len = call->args[1]->items.len;
    while (at < format.len) {
        struct clause clause;
        const char *problem = next_clause(format, &at, checker->types.arena, &clause);
        if (!problem && !clause.verb)
            break;
        const struct cel_node *item = index < len ? call->args[1]->items.values[index] : NULL;
        if (!problem && !item)
            cel_issue(checker->issues, node->at, "index %zu out of range", index);
        else if (problem)
            cel_issue(checker->issues, node->at, "%s", problem);
        if (problem || !item)
            return;
        index++;
        const struct cel_node *bad = misfit_of(checker, clause.verb, item);
        if (bad) {
            const char *name = cel_kind_name(cel_type_resolve(&checker->types, bad->type, true)->kind);
            cel_issue(checker->issues, bad->at, "error during formatting: %s",
                      misfit(clause.verb, name, checker->types.arena));
            return;
        }
    }
    if (index < len)
        cel_issue(checker->issues, node->at,
                  "too many arguments supplied to string.format (expected %zu, got %zu)", index, len);
}
