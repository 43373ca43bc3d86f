/* json.h: writes JSON text, with the commas, quotes and line breaks in the right places.
 *
 *     json_open(&out, '{');
 *     json_key(&out, "pod");
 *     json_text(&out, name);
 *     json_close(&out);
 *
 * Containers down to depth `tall` go over several lines; deeper ones stay on one, so that a list of thousands of small
 * objects is a line each. */
#ifndef CMD_JSON_H
#define CMD_JSON_H

#include "base/str.h"

enum { JSON_DEPTH_MAX = 16 };

struct json {
    struct strbuf *out;
    unsigned tall;
    unsigned depth;
    char closers[JSON_DEPTH_MAX];
    bool filled[JSON_DEPTH_MAX]; /* has the open container an element yet? */
    bool after_key;
};

void json_open(struct json *json, char bracket); /* '{' or '[' */
void json_close(struct json *json);
void json_key(struct json *json, const char *key);
void json_key_str(struct json *json, struct str key);
/* Bytes that are not UTF-8 become U+FFFD. */
void json_text(struct json *json, struct str text);
void json_number(struct json *json, int64_t value);
/* With three digits behind the point. */
void json_decimal(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

#endif
