/* print.c: values in messages. */
#include "cel/value.h"

enum { TEXT_BYTES_MAX = 200, DEPTH_MAX = 8 };

static void print(struct cel_run *run, struct strbuf *out, const struct cel_value *value, int depth);

static void print_list(struct cel_run *run, struct strbuf *out, const struct cel_list *list, int depth)
{
    strbuf_putc(out, '[');
    for (size_t i = 0; i < list->len && out->len < TEXT_BYTES_MAX; i++) {
        struct cel_value item = cel_list_item(run, list, i);
        strbuf_puts(out, i ? ", " : "");
        print(run, out, &item, depth + 1);
    }
    strbuf_putc(out, ']');
}

static void print_map(struct cel_run *run, struct strbuf *out, const struct cel_map *map, int depth)
{
    strbuf_putc(out, '{');
    for (size_t i = 0; i < map->len && out->len < TEXT_BYTES_MAX; i++) {
        strbuf_puts(out, i ? ", " : "");
        print(run, out, &map->entries[i].key, depth + 1);
        strbuf_puts(out, ": ");
        print(run, out, &map->entries[i].value, depth + 1);
    }
    strbuf_putc(out, '}');
}

static void print(struct cel_run *run, struct strbuf *out, const struct cel_value *value, int depth)
{
    if (depth > DEPTH_MAX || out->len > TEXT_BYTES_MAX)
        return;
    if (value->kind > CEL_TYPE) {
        strbuf_puts(out, cel_kind_name(value->kind));
        return;
    }
    struct str text = value->text;
    switch (value->kind) {
    case CEL_NULL:
        strbuf_puts(out, "null");
        break;
    case CEL_LIST:
        print_list(run, out, value->list, depth);
        break;
    case CEL_MAP:
        print_map(run, out, value->map, depth);
        break;
    case CEL_OPTIONAL:
        strbuf_puts(out, value->optional ? "optional(" : "optional.none()");
        if (value->optional) {
            print(run, out, value->optional, depth + 1);
            strbuf_putc(out, ')');
        }
        break;
    default:
        if (value->kind != CEL_BYTES)
            text = cel_convert_text(run, value).text;
        strbuf_str(out, str_slice(text, 0, MIN(text.len, (uint32_t)TEXT_BYTES_MAX)));
    }
}

struct str cel_value_text(struct cel_run *run, const struct cel_value *value)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    print(run, &out, value, 0);
    return arena_str(run->scratch, strbuf_slice(&out));
}
