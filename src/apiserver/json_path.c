/* json_path.c: a path is followed step by step; steps with several values are tried in order until one leads on. */
#include "apiserver/json_path.h"

#include "codec/doc.h"

enum { NAME_LEN_MAX = 256, STEPS_MAX = 64 };

static yyjson_val *follow(yyjson_val *at, struct str rest, int steps);

/* The end of a bracket that begins at the first character; 0: it has none. Quoted text may have brackets. */
static uint32_t bracket_end(struct str text)
{
    char quote = 0;
    for (uint32_t i = 1; i < text.len; i++) {
        char c = text.ptr[i];
        if (quote && c == '\\')
            i++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == ']')
            return i;
    }
    return 0;
}

static bool is_quoted(struct str text)
{
    return text.len >= 2 && (text.ptr[0] == '\'' || text.ptr[0] == '"') &&
           text.ptr[text.len - 1] == text.ptr[0];
}

/* A name without its backslashes. */
static yyjson_val *member(yyjson_val *object, struct str name)
{
    char plain[NAME_LEN_MAX];
    uint32_t len = 0;
    for (uint32_t i = 0; i < name.len && len < NAME_LEN_MAX; i++) {
        if (name.ptr[i] == '\\' && i + 1 < name.len)
            i++;
        plain[len++] = name.ptr[i];
    }
    return yyjson_obj_getn(object, plain, len);
}

/* ---- filters ---- */
static bool is_equal(yyjson_val *val, struct str text)
{
    int64_t number;
    if (is_quoted(text))
        return yyjson_is_str(val) && str_eq(doc_text(val), str_slice(text, 1, text.len - 1));
    if (yyjson_is_bool(val))
        return str_is(text, yyjson_get_bool(val) ? "true" : "false");
    return yyjson_is_int(val) && str_to_int64(text, &number) && yyjson_get_sint(val) == number;
}

/* ?(@.type=="Ready"), ?(@.type!="Ready") or ?(@.type) */
static bool passes(yyjson_val *item, struct str filter, int steps)
{
    struct str inner = str_trim(str_slice(filter, 1, filter.len), " ");
    if (inner.len < 3 || inner.ptr[0] != '(' || inner.ptr[inner.len - 1] != ')')
        return false;
    inner = str_trim(str_slice(inner, 1, inner.len - 1), " ");
    if (!inner.len || inner.ptr[0] != '@')
        return false;
    uint32_t at = 1;
    while (at + 1 < inner.len &&
           !((inner.ptr[at] == '=' || inner.ptr[at] == '!') && inner.ptr[at + 1] == '='))
        at++;
    if (at + 1 >= inner.len)
        return follow(item, str_slice(inner, 1, inner.len), steps);
    yyjson_val *val = follow(item, str_trim(str_slice(inner, 1, at), " "), steps);
    struct str wanted = str_trim(str_slice(inner, at + 2, inner.len), " ");
    return val && is_equal(val, wanted) == (inner.ptr[at] == '=');
}

static yyjson_val *follow_items(yyjson_val *list, struct str filter, struct str rest, int steps)
{
    size_t i, max;
    yyjson_val *item, *key, *found = NULL;
    if (yyjson_is_arr(list))
        yyjson_arr_foreach(list, i, max, item) {
            if (!found && (str_is(filter, "*") || passes(item, filter, steps)))
                found = follow(item, rest, steps);
        }
    else if (yyjson_is_obj(list) && str_is(filter, "*"))
        yyjson_obj_foreach(list, i, max, key, item)
            found = found ? found : follow(item, rest, steps);
    return found;
}

/* ---- steps ---- */
static yyjson_val *follow_bracket(yyjson_val *at, struct str rest, int steps)
{
    uint32_t end = bracket_end(rest);
    if (!end)
        return NULL;
    struct str inner = str_trim(str_slice(rest, 1, end), " ");
    rest = str_slice(rest, end + 1, rest.len);
    int64_t number;
    if (str_is(inner, "*") || (inner.len && inner.ptr[0] == '?'))
        return follow_items(at, inner, rest, steps);
    if (is_quoted(inner))
        return follow(member(at, str_slice(inner, 1, inner.len - 1)), rest, steps);
    if (!str_to_int64(inner, &number))
        return NULL;
    if (number < 0)
        number += (int64_t)yyjson_arr_size(at);
    return number < 0 ? NULL : follow(yyjson_arr_get(at, (size_t)number), rest, steps);
}

static yyjson_val *follow(yyjson_val *at, struct str rest, int steps)
{
    if (!at || !rest.len || steps > STEPS_MAX)
        return steps > STEPS_MAX ? NULL : at;
    if (rest.ptr[0] == '[')
        return follow_bracket(at, rest, steps + 1);
    if (rest.ptr[0] != '.')
        return NULL;
    rest = str_slice(rest, 1, rest.len);
    if (!rest.len || rest.ptr[0] == '[')
        return follow(at, rest, steps + 1);
    uint32_t len = 0;
    while (len < rest.len && rest.ptr[len] != '.' && rest.ptr[len] != '[')
        len += rest.ptr[len] == '\\' && len + 1 < rest.len ? 2 : 1;
    struct str name = str_slice(rest, 0, len);
    rest = str_slice(rest, len, rest.len);
    if (str_is(name, "*"))
        return follow_items(at, name, rest, steps + 1);
    return follow(member(at, name), rest, steps + 1);
}

yyjson_val *json_path_first(yyjson_val *root, struct str path)
{
    path = str_trim(path, " ");
    if (path.len && path.ptr[0] == '$')
        path = str_slice(path, 1, path.len);
    return path.len ? follow(root, path, 0) : NULL;
}
