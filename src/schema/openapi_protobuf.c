/* openapi_protobuf.c: JSON into the messages of gnostic's openapi.v2, by tables: a row says which tag a member of a
 * JSON object has in its message, and what it is. */
#include "schema/openapi_protobuf.h"

#include <stdlib.h>
#include <yyjson.h>

#include "codec/doc.h"
#include "codec/protobuf.h"
#include "schema/tree.h"

enum how {
    TEXT,
    FLAG,
    ANY,
    MESSAGE,
    NAMED,     /* an object: repeated { name = 1, value = 2 } */
    PARAMETERS /* a list, whose items have a form of their own */
};

/* A list is repeated. `wrap` and `value_wrap` are tags of messages in between that have one field only. */
struct row {
    const char *key;
    uint32_t tag, wrap;
    enum how how;
    const struct message *message;
    uint32_t value_wrap;
};

struct message {
    uint32_t extensions; /* tag of x-... members; 0: none */
    const struct row *rows;
};

static const struct message schema;

static const struct row schema_rows[] = {
    { "$ref", 1, 0, TEXT, NULL, 0 },
    { "format", 2, 0, TEXT, NULL, 0 },
    { "description", 4, 0, TEXT, NULL, 0 },
    { "default", 5, 0, ANY, NULL, 0 },
    { "required", 19, 0, TEXT, NULL, 0 },
    { "enum", 20, 0, ANY, NULL, 0 },
    { "additionalProperties", 21, 1, MESSAGE, &schema, 0 },
    { "type", 22, 1, TEXT, NULL, 0 },
    { "items", 23, 1, MESSAGE, &schema, 0 },
    { "allOf", 24, 0, MESSAGE, &schema, 0 },
    { "properties", 25, 1, NAMED, &schema, 0 },
    { 0 },
};
static const struct message schema = { 31, schema_rows };

static const struct message response = { 0, (const struct row[]){
                                                { "description", 1, 0, TEXT, NULL, 0 },
                                                { "schema", 2, 1, MESSAGE, &schema, 0 },
                                                { 0 },
                                            } };

static const struct message operation = { 13, (const struct row[]){
                                                  { "parameters", 8, 0, PARAMETERS, NULL, 0 },
                                                  { "responses", 9, 1, NAMED, &response, 1 },
                                                  { 0 },
                                              } };

static const struct message path_item = { 0, (const struct row[]){
                                                 { "get", 2, 0, MESSAGE, &operation, 0 },
                                                 { "put", 3, 0, MESSAGE, &operation, 0 },
                                                 { "post", 4, 0, MESSAGE, &operation, 0 },
                                                 { "delete", 5, 0, MESSAGE, &operation, 0 },
                                                 { "patch", 8, 0, MESSAGE, &operation, 0 },
                                                 { "parameters", 9, 0, PARAMETERS, NULL, 0 },
                                                 { 0 },
                                             } };

static const struct message body_parameter = { 0, (const struct row[]){
                                                      { "name", 2, 0, TEXT, NULL, 0 },
                                                      { "in", 3, 0, TEXT, NULL, 0 },
                                                      { "required", 4, 0, FLAG, NULL, 0 },
                                                      { "schema", 5, 0, MESSAGE, &schema, 0 },
                                                      { 0 },
                                                  } };

static const struct message query_parameter = { 0, (const struct row[]){
                                                       { "in", 2, 0, TEXT, NULL, 0 },
                                                       { "name", 4, 0, TEXT, NULL, 0 },
                                                       { "type", 6, 0, TEXT, NULL, 0 },
                                                       { "uniqueItems", 20, 0, FLAG, NULL, 0 },
                                                       { 0 },
                                                   } };

static const struct message path_parameter = { 0, (const struct row[]){
                                                      { "required", 1, 0, FLAG, NULL, 0 },
                                                      { "in", 2, 0, TEXT, NULL, 0 },
                                                      { "name", 4, 0, TEXT, NULL, 0 },
                                                      { "type", 5, 0, TEXT, NULL, 0 },
                                                      { "uniqueItems", 19, 0, FLAG, NULL, 0 },
                                                      { 0 },
                                                  } };

static const struct message info = { 0, (const struct row[]){
                                            { "title", 1, 0, TEXT, NULL, 0 },
                                            { "version", 2, 0, TEXT, NULL, 0 },
                                            { 0 },
                                        } };

static const struct message document = { 0, (const struct row[]){
                                                { "swagger", 1, 0, TEXT, NULL, 0 },
                                                { "info", 2, 0, MESSAGE, &info, 0 },
                                                { "paths", 8, 2, NAMED, &path_item, 0 },
                                                { "definitions", 9, 1, NAMED, &schema, 0 },
                                                { 0 },
                                            } };

static void put_message(struct strbuf *out, const struct message *message, yyjson_val *object);

/* Any is a text of YAML, of which JSON is a part. */
static void put_any(struct strbuf *out, uint32_t tag, yyjson_val *val)
{
    size_t len = 0, begun = protobuf_begin(out, tag);
    char *text = yyjson_val_write(val, 0, &len);
    struct strbuf line = { 0 };
    strbuf_add(&line, text ? text : "", len);
    strbuf_putc(&line, '\n');
    protobuf_put_bytes(out, 2, strbuf_slice(&line));
    strbuf_release(&line);
    free(text);
    protobuf_end(out, begun);
}

static void put_parameter(struct strbuf *out, uint32_t tag, yyjson_val *val)
{
    struct str in = doc_text(yyjson_obj_get(val, "in"));
    bool body = str_is(in, "body"), path = str_is(in, "path");
    size_t item = protobuf_begin(out, tag), parameter = protobuf_begin(out, 1);
    size_t kind = protobuf_begin(out, body ? 1 : 2);
    size_t inner = body ? 0 : protobuf_begin(out, path ? 4 : 3);
    put_message(out, body ? &body_parameter : path ? &path_parameter : &query_parameter, val);
    if (!body)
        protobuf_end(out, inner);
    protobuf_end(out, kind);
    protobuf_end(out, parameter);
    protobuf_end(out, item);
}

static void put_named(struct strbuf *out, const struct row *row, yyjson_val *object)
{
    size_t i, max;
    yyjson_val *key, *val;
    size_t all = protobuf_begin(out, row->tag);
    yyjson_obj_foreach(object, i, max, key, val) {
        size_t one = protobuf_begin(out, row->wrap);
        protobuf_put_bytes(out, 1, doc_text(key));
        size_t value = protobuf_begin(out, 2);
        size_t inner = row->value_wrap ? protobuf_begin(out, row->value_wrap) : 0;
        put_message(out, row->message, val);
        if (row->value_wrap)
            protobuf_end(out, inner);
        protobuf_end(out, value);
        protobuf_end(out, one);
    }
    protobuf_end(out, all);
}

static void put_value(struct strbuf *out, const struct row *row, yyjson_val *val)
{
    if (row->how == NAMED && yyjson_is_obj(val)) {
        put_named(out, row, val);
        return;
    }
    bool fits = row->how == TEXT      ? yyjson_is_str(val)
                : row->how == FLAG    ? yyjson_is_bool(val)
                : row->how == MESSAGE ? yyjson_is_obj(val)
                                      : row->how == ANY || row->how == PARAMETERS;
    if (!fits)
        return;
    size_t wrapped = row->wrap ? protobuf_begin(out, row->tag) : 0;
    uint32_t tag = row->wrap ? row->wrap : row->tag;
    if (row->how == TEXT)
        protobuf_put_bytes(out, tag, doc_text(val));
    else if (row->how == FLAG)
        protobuf_put_number(out, tag, yyjson_get_bool(val));
    else if (row->how == ANY)
        put_any(out, tag, val);
    else if (row->how == PARAMETERS)
        put_parameter(out, tag, val);
    else {
        size_t begun = protobuf_begin(out, tag);
        put_message(out, row->message, val);
        protobuf_end(out, begun);
    }
    if (row->wrap)
        protobuf_end(out, wrapped);
}

static void put_message(struct strbuf *out, const struct message *message, yyjson_val *object)
{
    size_t i, max, j, items;
    yyjson_val *key, *val, *item;
    for (const struct row *row = message->rows; row->key; row++) {
        val = yyjson_obj_get(object, row->key);
        if (yyjson_is_arr(val)) {
            yyjson_arr_foreach(val, j, items, item)
                put_value(out, row, item);
        } else if (val)
            put_value(out, row, val);
    }
    if (!message->extensions)
        return;
    yyjson_obj_foreach(object, i, max, key, val) {
        if (!str_starts_with(doc_text(key), STR("x-")))
            continue;
        size_t begun = protobuf_begin(out, message->extensions);
        protobuf_put_bytes(out, 1, doc_text(key));
        put_any(out, 2, val);
        protobuf_end(out, begun);
    }
}

void openapi_to_protobuf(struct str json, struct strbuf *out)
{
    yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (yyjson_is_obj(root))
        put_message(out, &document, root);
    yyjson_doc_free(doc);
}
