/* json_writer.h: JSON, written value after value into a buffer.
 *
 *     struct json_writer json = json_writer(&out, JSON_COMPACT);
 *     json_begin_object(&json);
 *     json_key(&json, STR("pods"));
 *     json_begin_array(&json);
 *     json_str(&json, STR("a"));
 *     json_end_array(&json);
 *     json_member_int(&json, "count", 1);
 *     json_end_object(&json);                     {"pods":["a"],"count":1}
 *
 * The writer sets commas, colons and indentation. What comes out is always valid JSON as long as every begin has
 * its end and an object's values have keys: bytes that are not UTF-8 become U+FFFD, numbers that are not finite
 * become null. Values written one after another on the outermost level stand on a line each. */
#ifndef CODEC_JSON_WRITER_H
#define CODEC_JSON_WRITER_H

#include "base/str.h"

enum json_style { JSON_COMPACT, JSON_PRETTY /* two spaces per level */ };

struct json_writer {
    struct strbuf *out;
    enum json_style style;
    uint32_t depth;
    bool has_items; /* does the innermost container (or the text) have items? */
    bool has_key;   /* is the next value that of a key? */
};

static inline struct json_writer json_writer(struct strbuf *out, enum json_style style)
{
    return (struct json_writer){ .out = out, .style = style };
}

void json_begin_object(struct json_writer *json);
void json_end_object(struct json_writer *json);
void json_begin_array(struct json_writer *json);
void json_end_array(struct json_writer *json);
void json_key(struct json_writer *json, struct str key);

void json_str(struct json_writer *json, struct str value);
void json_int(struct json_writer *json, int64_t value);
void json_uint(struct json_writer *json, uint64_t value);
/* The shortest digits that read back as the same number, laid out as Go does. */
void json_double(struct json_writer *json, double value);
void json_bool(struct json_writer *json, bool value);
void json_null(struct json_writer *json);
/* An object on one line inside JSON_PRETTY: a list of thousands of small objects is a line each. */
void json_begin_line(struct json_writer *json);
void json_end_line(struct json_writer *json);
/* A text that is JSON already. */
void json_raw(struct json_writer *json, struct str value);

/* A key and its value. */
void json_member_str(struct json_writer *json, const char *key, struct str value);
void json_member_int(struct json_writer *json, const char *key, int64_t value);
void json_member_double(struct json_writer *json, const char *key, double value);
void json_member_bool(struct json_writer *json, const char *key, bool value);
void json_member_strs(struct json_writer *json, const char *key, const struct str *values, size_t len);
/* A key and the beginning of its value. */
void json_member_object(struct json_writer *json, const char *key);
void json_member_array(struct json_writer *json, const char *key);

#endif
