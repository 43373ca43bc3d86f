/* yaml_writer.c: JSON turned into libyaml's events. */
#include "codec/yaml_writer.h"

#include <stdlib.h>
#include <yaml.h>

#include "base/vec.h"
#include "codec/doc.h"
#include "codec/record_struct.h"
#include "codec/yaml_scalar.h"

struct writer {
    yaml_emitter_t emitter;
    struct strbuf *out;
};

static int write_bytes(void *data, unsigned char *bytes, size_t len)
{
    strbuf_add(data, (const char *)bytes, len);
    return 1;
}

/* Events are well-formed and the handler does not fail: what is left is no memory. */
static void emit(struct writer *writer, yaml_event_t *event, int made)
{
    if (!made || !yaml_emitter_emit(&writer->emitter, event))
        abort();
}

static int scalar_event(yaml_event_t *event, struct str text, yaml_scalar_style_t style)
{
    static const char tag[] = "tag:yaml.org,2002:str";
    return yaml_scalar_event_initialize(event, NULL, (const yaml_char_t *)tag,
                                        (const yaml_char_t *)(text.ptr ? text.ptr : ""), (int)text.len, 1, 1,
                                        style);
}

static void emit_scalar(struct writer *writer, struct str text, yaml_scalar_style_t style)
{
    _cleanup_(strbuf_release) struct strbuf clean = { 0 };
    yaml_event_t event;
    int made = scalar_event(&event, text, style);
    if (!made) { /* not UTF-8 */
        for (size_t i = 0; i < text.len; i++)
            if ((unsigned char)text.ptr[i] < 0x80)
                strbuf_putc(&clean, text.ptr[i]);
            else
                strbuf_puts(&clean, "\xef\xbf\xbd");
        made = scalar_event(&event, strbuf_slice(&clean), style);
    }
    emit(writer, &event, made);
}

/* Numbers with colons between them, and dates: numbers and times to other readers of YAML 1.1. */
static bool looks_like_time(struct str text)
{
    bool separated = false;
    if (!text.len || !strchr("+-0123456789", text.ptr[0]))
        return false;
    for (size_t i = 1; i < text.len; i++) {
        separated = separated || text.ptr[i] == ':' || text.ptr[i] == '-';
        if (!strchr("0123456789_:.-+TtZz ", text.ptr[i]))
            return false;
    }
    return separated;
}

static void emit_string(struct writer *writer, struct str text)
{
    yyjson_val ignored;
    bool plain =
        text.len && yaml_scalar_resolve(text, &ignored) == YAML_SCALAR_STRING && !looks_like_time(text);
    bool lines = plain && str_find(text, '\n') >= 0;
    emit_scalar(writer, text,
                lines   ? YAML_LITERAL_SCALAR_STYLE
                : plain ? YAML_PLAIN_SCALAR_STYLE
                        : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

/* A number, true, false or null. */
static void emit_plain(struct writer *writer, yyjson_val *val)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct json_writer json = json_writer(&text, JSON_COMPACT);
    record_write_value(&json, val);
    emit_scalar(writer, strbuf_slice(&text), YAML_PLAIN_SCALAR_STYLE);
}

static void emit_value(struct writer *writer, yyjson_val *val, unsigned depth);

static int compare_keys(const void *a, const void *b)
{
    yyjson_val *left = *(yyjson_val *const *)a, *right = *(yyjson_val *const *)b;
    return str_cmp(doc_text(left), doc_text(right));
}

static void emit_object(struct writer *writer, yyjson_val *object, unsigned depth)
{
    VEC(yyjson_val *) keys = { 0 };
    yaml_event_t event;
    yyjson_obj_iter iter = yyjson_obj_iter_with(object);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));)
        *vec_push(&keys) = key;
    if (keys.len)
        qsort(keys.items, keys.len, sizeof(*keys.items), compare_keys);
    emit(writer, &event,
         yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
    vec_for(&keys, key) {
        emit_string(writer, doc_text(*key));
        emit_value(writer, yyjson_obj_iter_get_val(*key), depth);
    }
    emit(writer, &event, yaml_mapping_end_event_initialize(&event));
    vec_release(&keys);
}

static void emit_list(struct writer *writer, yyjson_val *list, unsigned depth)
{
    yaml_event_t event;
    yyjson_arr_iter iter = yyjson_arr_iter_with(list);
    emit(writer, &event,
         yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
    for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));)
        emit_value(writer, item, depth);
    emit(writer, &event, yaml_sequence_end_event_initialize(&event));
}

static void emit_value(struct writer *writer, yyjson_val *val, unsigned depth)
{
    if (yyjson_is_obj(val) && depth < DOC_DEPTH_MAX)
        emit_object(writer, val, depth + 1);
    else if (yyjson_is_arr(val) && depth < DOC_DEPTH_MAX)
        emit_list(writer, val, depth + 1);
    else if (yyjson_is_str(val))
        emit_string(writer, doc_text(val));
    else if (yyjson_is_ctn(val))
        emit_scalar(writer, STR("null"), YAML_PLAIN_SCALAR_STYLE);
    else
        emit_plain(writer, val);
}

void yaml_write(struct strbuf *out, struct str json)
{
    struct writer writer = { .out = out };
    yaml_event_t event;
    yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
    if (!yaml_emitter_initialize(&writer.emitter))
        abort();
    yaml_emitter_set_output(&writer.emitter, write_bytes, out);
    yaml_emitter_set_unicode(&writer.emitter, 1);
    yaml_emitter_set_width(&writer.emitter, 80); /* as Kubernetes does: longer texts go on below */
    emit(&writer, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
    emit(&writer, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
    emit_value(&writer, yyjson_doc_get_root(doc), 0);
    emit(&writer, &event, yaml_document_end_event_initialize(&event, 1));
    emit(&writer, &event, yaml_stream_end_event_initialize(&event));
    yaml_emitter_delete(&writer.emitter);
    yyjson_doc_free(doc);
}
