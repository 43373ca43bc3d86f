/* json.c: a small JSON writer; see json.h. */
#include "cmd/json.h"

static void next_line(struct json *json)
{
    if (json->depth > json->tall)
        return;
    strbuf_printf(json->out, "\n%*s", (int)json->depth * 2, "");
}

/* Before any value or key: the comma and the line break that it needs. */
static void element(struct json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (json->filled[json->depth - 1])
        strbuf_puts(json->out, json->depth > json->tall ? ", " : ",");
    json->filled[json->depth - 1] = true;
    next_line(json);
}

void json_open(struct json *json, char bracket)
{
    assert(json->depth < JSON_DEPTH_MAX);
    element(json);
    strbuf_putc(json->out, bracket);
    json->closers[json->depth] = bracket == '{' ? '}' : ']';
    json->filled[json->depth] = false;
    json->depth++;
}

void json_close(struct json *json)
{
    assert(json->depth > 0);
    bool tall = json->depth <= json->tall;
    json->depth--;
    if (json->filled[json->depth] && tall)
        next_line(json);
    strbuf_putc(json->out, json->closers[json->depth]);
}

/* How many bytes the UTF-8 character at the front takes; 0 when it is none. */
static size_t utf8_len(const unsigned char *at, size_t left)
{
    size_t len = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : 4;
    if (at[0] >= 0x80 && (at[0] < 0xc2 || at[0] > 0xf4))
        return 0;
    if (len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool beyond = (at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf4 && at[1] >= 0x90);
    return overlong || beyond ? 0 : len;
}

static void quote(struct strbuf *out, struct str text)
{
    const unsigned char *at = (const unsigned char *)text.ptr;
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len;) {
        if (at[i] == '"' || at[i] == '\\') {
            strbuf_putc(out, '\\');
            strbuf_putc(out, (char)at[i++]);
        } else if (at[i] == '\n') {
            strbuf_puts(out, "\\n");
            i++;
        } else if (at[i] < 0x20 || at[i] == 0x7f) {
            strbuf_printf(out, "\\u%04x", at[i++]);
        } else {
            size_t len = utf8_len(at + i, text.len - i);
            if (len)
                strbuf_add(out, text.ptr + i, len);
            else
                strbuf_puts(out, "\xef\xbf\xbd");
            i += MAX(len, (size_t)1);
        }
    }
    strbuf_putc(out, '"');
}

void json_key_str(struct json *json, struct str key)
{
    element(json);
    quote(json->out, key);
    strbuf_puts(json->out, ": ");
    json->after_key = true;
}

void json_key(struct json *json, const char *key)
{
    json_key_str(json, str_from(key));
}

void json_text(struct json *json, struct str text)
{
    element(json);
    quote(json->out, text);
}

void json_number(struct json *json, int64_t value)
{
    element(json);
    strbuf_printf(json->out, "%lld", (long long)value);
}

void json_decimal(struct json *json, double value)
{
    element(json);
    strbuf_printf(json->out, "%.3f", value);
}

void json_bool(struct json *json, bool value)
{
    element(json);
    strbuf_puts(json->out, value ? "true" : "false");
}

void json_null(struct json *json)
{
    element(json);
    strbuf_puts(json->out, "null");
}
