/* json_writer.c: what stands before a value follows from two bits (has the container items, is there a key), so the
 * writer needs no stack and nests as deep as it likes. */
#include "codec/json_writer.h"

#include <math.h>

#include "base/decimal.h"
#include "base/quote.h"

static void new_line(struct json_writer *json)
{
    strbuf_putc(json->out, '\n');
    for (uint32_t i = 0; i < json->depth; i++)
        strbuf_add(json->out, "  ", 2);
}

/* Whatever must stand before a key or a value. */
static void before_item(struct json_writer *json)
{
    if (json->has_key) {
        json->has_key = false;
        return;
    }
    if (json->depth == 0) {
        if (json->has_items)
            strbuf_putc(json->out, '\n');
    } else {
        if (json->has_items)
            strbuf_putc(json->out, ',');
        if (json->style == JSON_PRETTY)
            new_line(json);
    }
    json->has_items = true;
}

static void begin(struct json_writer *json, char open)
{
    before_item(json);
    strbuf_putc(json->out, open);
    json->depth++;
    json->has_items = false;
}

static void end(struct json_writer *json, char close)
{
    assert(json->depth > 0 && !json->has_key);
    json->depth--;
    if (json->has_items && json->style == JSON_PRETTY)
        new_line(json);
    strbuf_putc(json->out, close);
    json->has_items = true;
}

void json_begin_object(struct json_writer *json)
{
    begin(json, '{');
}

void json_end_object(struct json_writer *json)
{
    end(json, '}');
}

void json_begin_array(struct json_writer *json)
{
    begin(json, '[');
}

void json_end_array(struct json_writer *json)
{
    end(json, ']');
}

void json_begin_line(struct json_writer *json)
{
    json_begin_object(json);
    json->style = JSON_COMPACT;
}

void json_end_line(struct json_writer *json)
{
    json_end_object(json);
    json->style = JSON_PRETTY;
}

void json_key(struct json_writer *json, struct str key)
{
    assert(!json->has_key);
    before_item(json);
    quote_json(json->out, key, QUOTE_JSON);
    strbuf_puts(json->out, json->style == JSON_PRETTY ? ": " : ":");
    json->has_key = true;
}

void json_str(struct json_writer *json, struct str value)
{
    before_item(json);
    quote_json(json->out, value, QUOTE_JSON);
}

void json_raw(struct json_writer *json, struct str value)
{
    before_item(json);
    strbuf_str(json->out, value);
}

void json_int(struct json_writer *json, int64_t value)
{
    char buf[DECIMAL_INTEGER_LEN_MAX];
    json_raw(json, decimal_integer(value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value, buf));
}

void json_uint(struct json_writer *json, uint64_t value)
{
    char buf[DECIMAL_INTEGER_LEN_MAX];
    json_raw(json, decimal_integer(false, value, buf));
}

void json_double(struct json_writer *json, double value)
{
    char buf[DECIMAL_LEN_MAX];
    if (isfinite(value))
        json_raw(json, decimal_format(value, DECIMAL_JSON, buf));
    else
        json_null(json);
}

void json_bool(struct json_writer *json, bool value)
{
    json_raw(json, value ? STR("true") : STR("false"));
}

void json_null(struct json_writer *json)
{
    json_raw(json, STR("null"));
}

void json_member_str(struct json_writer *json, const char *key, struct str value)
{
    json_key(json, str_from(key));
    json_str(json, value);
}

void json_member_int(struct json_writer *json, const char *key, int64_t value)
{
    json_key(json, str_from(key));
    json_int(json, value);
}

void json_member_double(struct json_writer *json, const char *key, double value)
{
    json_key(json, str_from(key));
    json_double(json, value);
}

void json_member_bool(struct json_writer *json, const char *key, bool value)
{
    json_key(json, str_from(key));
    json_bool(json, value);
}

void json_member_object(struct json_writer *json, const char *key)
{
    json_key(json, str_from(key));
    json_begin_object(json);
}

void json_member_array(struct json_writer *json, const char *key)
{
    json_key(json, str_from(key));
    json_begin_array(json);
}

void json_member_strs(struct json_writer *json, const char *key, const struct str *values, size_t len)
{
    json_member_array(json, key);
    for (size_t i = 0; i < len; i++)
        json_str(json, values[i]);
    json_end_array(json);
}
