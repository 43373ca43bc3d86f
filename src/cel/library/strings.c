/* strings.c: functions on strings: those of the language, and the extension's second version. Positions count
 * characters, not bytes. */
#include "base/utf8.h"
#include "base/vec.h"
#include "cel/value.h"

static bool both_text(const struct cel_value *args)
{
    return args[0].kind == CEL_STRING && args[1].kind == CEL_STRING;
}

CEL_RETURNS(contains,
            both_text(args) ? cel_bool(utf8_find(args[0].text, args[1].text, 0) >= 0) : cel_no_overload())

CEL_RETURNS(starts_with,
            both_text(args) ? cel_bool(str_starts_with(args[0].text, args[1].text)) : cel_no_overload())

CEL_RETURNS(ends_with,
            both_text(args) ? cel_bool(str_ends_with(args[0].text, args[1].text)) : cel_no_overload())

static struct cel_value out_of_range(struct cel_run *run, int64_t index)
{
    return cel_fail(run, "index out of range: %lld", (long long)index);
}

static struct cel_value slice(struct str text, size_t from, size_t to)
{
    return cel_string(str_slice(text, utf8_offset(text, from), utf8_offset(text, to)));
}

CEL_FUNCTION(char_at)
{
    int64_t index = args[1].integer;
    if (index < 0 || (uint64_t)index > utf8_runes(args[0].text))
        return out_of_range(run, index);
    return slice(args[0].text, (size_t)index, (size_t)index + 1);
}

/* Where the empty text is, looked for from the `offset`-th character on. */
static struct cel_value index_of_nothing(struct cel_run *run, struct str text, int64_t offset)
{
    if (!(run->rules & CEL_BOUNDED_INDEX))
        return cel_int(offset);
    return offset < 0 ? out_of_range(run, offset) : cel_int(MIN(offset, (int64_t)utf8_runes(text)));
}

/* From the `offset`-th character on. */
CEL_FUNCTION(index_of)
{
    int64_t offset = len > 2 ? args[2].integer : 0;
    struct str text = args[0].text, part = args[1].text;
    if (part.len == 0)
        return index_of_nothing(run, text, offset);
    if (offset < 0)
        return out_of_range(run, offset);
    size_t from = utf8_offset(text, (size_t)offset);
    ptrdiff_t at = from < text.len ? utf8_find(text, part, from) : -1;
    return cel_int(at < 0 ? -1 : (int64_t)utf8_runes(str_slice(text, 0, (size_t)at)));
}

/* From the `offset`-th character backwards. */
CEL_FUNCTION(last_index_of)
{
    struct str text = args[0].text, part = args[1].text;
    int64_t runes = (int64_t)utf8_runes(text), offset = len > 2 ? args[2].integer : runes - 1;
    if (part.len == 0)
        return len > 2 ? index_of_nothing(run, text, offset) : cel_int(runes);
    if (len == 2 && text.len < part.len)
        return cel_int(-1);
    if (offset < 0)
        return out_of_range(run, offset);
    if (offset >= runes || part.len > text.len || !cel_work(run, text.len))
        return cel_int(-1);
    size_t at = MIN(utf8_offset(text, (size_t)offset), text.len - part.len);
    for (;; at--) {
        if (memcmp(text.ptr + at, part.ptr, part.len) == 0)
            return cel_int((int64_t)utf8_runes(str_slice(text, 0, at)));
        if (at == 0)
            return cel_int(-1);
    }
}

static struct cel_value change_case(struct cel_run *run, struct str text, char from, char to)
{
    char *out = cel_take(run, text.len);
    if (!out)
        return cel_stop(run);
    for (size_t i = 0; i < text.len; i++)
        out[i] =
            text.ptr[i] >= from && text.ptr[i] <= from + 25 ? (char)(text.ptr[i] - from + to) : text.ptr[i];
    return cel_string((struct str){ out, text.len });
}

CEL_RETURNS(lower_ascii, change_case(run, args->text, 'A', 'a'))

CEL_RETURNS(upper_ascii, change_case(run, args->text, 'a', 'A'))

/* Where `part` is next, from `at` on; the empty one is before every character and at the end. */
static ptrdiff_t next_of(struct str text, struct str part, size_t at, bool first)
{
    size_t bytes;
    if (part.len > 0 || first)
        return utf8_find(text, part, at);
    if (at >= text.len)
        return -1;
    utf8_rune_at(text, at, &bytes);
    return (ptrdiff_t)(at + bytes);
}

CEL_FUNCTION(replace)
{
    struct str text = args[0].text, part = args[1].text, by = args[2].text;
    int64_t limit = len > 3 ? args[3].integer : -1;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    size_t done = 0;
    ptrdiff_t at = next_of(text, part, 0, true);
    for (; limit != 0 && at >= 0; limit--) {
        if (!cel_text_add(run, &out, str_slice(text, done, (size_t)at)) || !cel_text_add(run, &out, by))
            return cel_stop(run);
        done = (size_t)at + part.len;
        at = next_of(text, part, done, false);
    }
    return cel_text_add(run, &out, str_slice(text, done, text.len)) ? cel_text(run, &out) : cel_stop(run);
}

CEL_FUNCTION(split)
{
    struct str text = args[0].text, separator = args[1].text;
    int64_t limit = len > 2 ? args[2].integer : -1;
    VEC(struct cel_value) parts = { 0 };
    size_t from = 0;
    while (limit != 0 && (text.len > 0 || separator.len > 0)) {
        ptrdiff_t at =
            limit > 0 && parts.len + 1 == (uint64_t)limit ? -1 : next_of(text, separator, from, false);
        if (separator.len == 0 && at == (ptrdiff_t)text.len)
            at = -1; /* the last character ends the text */
        *vec_push(&parts) = cel_string(str_slice(text, from, at < 0 ? text.len : (size_t)at));
        if (at < 0)
            break;
        from = (size_t)at + separator.len;
    }
    struct cel_value *items = cel_take(run, parts.len * sizeof(*items));
    if (items && parts.len)
        memcpy(items, parts.items, parts.len * sizeof(*items));
    size_t count = parts.len;
    vec_release(&parts);
    return items ? cel_list_make(run, items, count) : cel_stop(run);
}

CEL_FUNCTION(substring)
{
    int64_t runes = (int64_t)utf8_runes(args[0].text), from = args[1].integer;
    int64_t to = len > 2 ? args[2].integer : runes;
    if (len > 2 && from > to)
        return cel_fail(run, "invalid substring range. start: %lld, end: %lld", (long long)from,
                        (long long)to);
    if (from < 0 || from > runes)
        return out_of_range(run, from);
    if (to < 0 || to > runes)
        return out_of_range(run, to);
    return slice(args[0].text, (size_t)from, (size_t)to);
}

CEL_FUNCTION(trim)
{
    return cel_string(utf8_trim(args->text));
}

CEL_FUNCTION(join)
{
    const struct cel_list *list = args[0].list;
    struct str separator = len > 1 ? args[1].text : STR("");
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    for (size_t i = 0; i < list->len; i++) {
        struct cel_value item = cel_list_item(run, list, i);
        if (item.kind != CEL_STRING) {
            struct str text = cel_value_text(run, &item);
            return cel_fail(run, "join: invalid input: " STR_FMT, STR_ARG(text));
        }
        if (!cel_work(run, 1) || (i && !cel_text_add(run, &out, separator)) ||
            !cel_text_add(run, &out, item.text))
            return cel_stop(run);
    }
    return cel_text(run, &out);
}

CEL_FUNCTION(quote)
{
    static const char special[] = "\a\b\f\n\r\t\v\\\"", names[] = "abfnrtv\\\"";
    struct str text = args->text;
    char *out = cel_take(run, 3 * (size_t)text.len + 2);
    if (!out)
        return cel_stop(run);
    size_t filled = 0, bytes;
    out[filled++] = '"';
    for (size_t at = 0; at < text.len; at += bytes) {
        uint32_t rune = utf8_rune_at(text, at, &bytes);
        const char *hit = rune > 0 && rune < 0x80 ? strchr(special, (int)rune) : NULL;
        if (hit) {
            out[filled++] = '\\';
            out[filled++] = names[hit - special];
        } else {
            filled += utf8_rune_put(rune, out + filled);
        }
    }
    out[filled++] = '"';
    return cel_string((struct str){ out, (uint32_t)filled });
}

const struct cel_overload cel_lib_text[] = {
    { "contains", "string, string -> bool", contains, CEL_MEMBER | CEL_UNGUARDED, COST_CONTAINS },
    { "startsWith", "string, string -> bool", starts_with, CEL_MEMBER | CEL_UNGUARDED, COST_TEXT,
      .lacks = CEL_EXACT_COSTS },
    { "endsWith", "string, string -> bool", ends_with, CEL_MEMBER | CEL_UNGUARDED, COST_TEXT,
      .lacks = CEL_EXACT_COSTS },
    { "startsWith", "string, string -> bool", starts_with, CEL_MEMBER | CEL_UNGUARDED, COST_ARGUMENT,
      .needs = CEL_EXACT_COSTS },
    { "endsWith", "string, string -> bool", ends_with, CEL_MEMBER | CEL_UNGUARDED, COST_ARGUMENT,
      .needs = CEL_EXACT_COSTS },
    { 0 },
};

const struct cel_overload cel_lib_strings[] = {
    { "charAt", "string, int -> string", char_at, CEL_MEMBER },
    { "indexOf", "string, string -> int; string, string, int -> int", index_of, CEL_MEMBER, COST_TRAVERSAL },
    { "lastIndexOf", "string, string -> int; string, string, int -> int", last_index_of, CEL_MEMBER,
      COST_TRAVERSAL },
    { "lowerAscii", "string -> string", lower_ascii, CEL_MEMBER, COST_LENGTH },
    { "upperAscii", "string -> string", upper_ascii, CEL_MEMBER, COST_LENGTH },
    { "replace", "string, string, string -> string; string, string, string, int -> string", replace,
      CEL_MEMBER, COST_LENGTH_TWICE },
    { "split", "string, string -> list(string); string, string, int -> list(string)", split, CEL_MEMBER,
      COST_LENGTH_TWICE },
    { "substring", "string, int -> string; string, int, int -> string", substring, CEL_MEMBER, COST_LENGTH },
    { "trim", "string -> string", trim, CEL_MEMBER, COST_LENGTH },
    { "join", "list(string) -> string; list(string), string -> string", join, CEL_MEMBER, COST_RESULT_TWICE },
    { "format", "string, list(dyn) -> string", cel_string_format, CEL_MEMBER, COST_TEXT },
    { "strings.quote", "string -> string", quote, 0, COST_TEXT },
    { 0 },
};
