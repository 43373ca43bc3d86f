/* Any text, JSON or YAML: its documents can be written as JSON and are read back as the same tree. */
#include "codec/json_writer.h"
#include "fuzz/documents.h"

static struct str text_of(yyjson_val *val)
{
    return (struct str){ val->uni.str, (uint32_t)unsafe_yyjson_get_len(val) };
}

static void write_value(struct json_writer *json, yyjson_val *val)
{
    size_t i, max;
    yyjson_val *key, *item;
    switch (yyjson_get_type(val)) {
    case YYJSON_TYPE_NULL:
        return json_null(json);
    case YYJSON_TYPE_BOOL:
        return json_bool(json, yyjson_get_bool(val));
    case YYJSON_TYPE_RAW:
        return json_raw(json, text_of(val));
    case YYJSON_TYPE_STR:
        return json_str(json, text_of(val));
    case YYJSON_TYPE_NUM:
        if (yyjson_is_uint(val))
            return json_uint(json, yyjson_get_uint(val));
        return yyjson_is_sint(val) ? json_int(json, yyjson_get_sint(val))
                                   : json_double(json, yyjson_get_real(val));
    case YYJSON_TYPE_ARR:
        json_begin_array(json);
        yyjson_arr_foreach(val, i, max, item)
            write_value(json, item);
        return json_end_array(json);
    default:
        must(yyjson_is_obj(val));
        json_begin_object(json);
        yyjson_obj_foreach(val, i, max, key, item) {
            json_key(json, text_of(key));
            write_value(json, item);
        }
        return json_end_object(json);
    }
}

/* JSON has one kind of number, so 1.0 and 1 are the same; a tree may hold the same key twice, so order counts. */
static bool same(yyjson_val *a, yyjson_val *b)
{
    if (yyjson_is_num(a) && yyjson_is_num(b))
        return yyjson_get_num(a) == yyjson_get_num(b);
    if (yyjson_get_type(a) != yyjson_get_type(b))
        return yyjson_is_num(a) && yyjson_is_raw(b); /* an integer beyond 64 bits */
    if (yyjson_is_str(a) || yyjson_is_raw(a))
        return str_eq(text_of(a), text_of(b));
    if (yyjson_is_bool(a))
        return yyjson_get_bool(a) == yyjson_get_bool(b);
    return true;
}

static void check_writer(const struct doc *doc, enum json_style style)
{
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, style);
    write_value(&json, doc->root);
    yyjson_doc *back = yyjson_read(out.text, out.len, YYJSON_READ_BIGNUM_AS_RAW);
    must(back);
    size_t count = yyjson_doc_get_val_count(doc->json);
    must(yyjson_doc_get_val_count(back) == count);
    for (size_t i = 0; i < count; i++)
        must(same(doc->root + i, yyjson_doc_get_root(back) + i));
    yyjson_doc_free(back);
    strbuf_release(&out);
}

static void visit(const struct doc *doc)
{
    check_writer(doc, JSON_COMPACT);
    check_writer(doc, JSON_PRETTY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_documents(data, size, false, visit);
    fuzz_documents(data, size, true, visit);
    return 0;
}
