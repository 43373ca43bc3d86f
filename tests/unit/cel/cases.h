/* cases.h: the device that recorded expressions are evaluated with, and how a value is written.
 *
 * data/ has one JSON object per line: an expression, whether lists are allowed as attributes, whether the result may be
 * of any type, and the recorded outcome in Kubernetes: "ok" with a value and its cost, or "compile", "runtime" or
 * "cost". */
#ifndef CEL_CASES_H
#define CEL_CASES_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cel/library/device.h"

enum { CASE_ENTRIES_MAX = 16 };

struct case_device {
    struct arena arena;
    struct cel_device_entry attributes[CASE_ENTRIES_MAX], capacity[CASE_ENTRIES_MAX];
    struct cel_device device;
};

static struct cel_value case_version(struct arena *arena, const char *text)
{
    struct cel_value value = { .kind = CEL_NULL };
    cel_semver(str_from(text), arena, &value, NULL);
    return value;
}

static struct cel_value case_quantity(const char *text)
{
    struct quantity value = { 0 };
    quantity_parse(str_from(text), &value);
    return cel_quantity(value);
}

static void case_add(struct case_device *d, const char *name, struct cel_value value)
{
    bool capacity = value.kind == CEL_QUANTITY;
    struct cel_device_entry *entry =
        capacity ? &d->capacity[d->device.capacity_len++] : &d->attributes[d->device.attributes_len++];
    cel_device_name(str_from(name), d->device.driver, &entry->domain, &entry->id);
    entry->value = value;
}

static void case_add_lists(struct case_device *d)
{
    static const struct cel_value numbers[] = { { .kind = CEL_INT, .integer = 1 },
                                                { .kind = CEL_INT, .integer = 2 },
                                                { .kind = CEL_INT, .integer = 3 } };
    struct cel_value *names = arena_array(&d->arena, struct cel_value, 3);
    struct cel_value *flags = arena_array(&d->arena, struct cel_value, 2);
    struct cel_value *versions = arena_array(&d->arena, struct cel_value, 2);
    for (size_t i = 0; i < 3; i++)
        names[i] = cel_string(str_slice(STR("abc"), i, i + 1));
    flags[0] = cel_bool(true);
    flags[1] = cel_bool(false);
    versions[0] = case_version(&d->arena, "1.0.0");
    versions[1] = case_version(&d->arena, "2.0.0");
    case_add(d, "numbers", cel_list(numbers, 3, &d->arena));
    case_add(d, "names", cel_list(names, 3, &d->arena));
    case_add(d, "flags", cel_list(flags, 2, &d->arena));
    case_add(d, "versions", cel_list(versions, 2, &d->arena));
}

/* The device of every case. */
static void case_device_init(struct case_device *d, bool lists)
{
    *d = (struct case_device){ .device = { .driver = STR("dra.example.com"),
                                           .allow_multiple_allocations = true } };
    d->device.attributes = d->attributes;
    d->device.capacity = d->capacity;
    case_add(d, "model", cel_string(STR("A100-80GB")));
    case_add(d, "index", cel_int(3));
    case_add(d, "healthy", cel_bool(true));
    case_add(d, "broken", cel_bool(false));
    case_add(d, "version", case_version(&d->arena, "1.2.3-alpha.4+b1"));
    case_add(d, "negative", cel_int(-7));
    case_add(d, "empty", cel_string(STR("")));
    case_add(d, "uuid", cel_string(STR("gpu-18db0e85-99e9-c746-8531-ffeb86328b39")));
    case_add(d, "other.example.com/speed", cel_int(100));
    case_add(d, "other.example.com/name", cel_string(STR("héllo wörld")));
    case_add(d, "memory", case_quantity("80Gi"));
    case_add(d, "cores", case_quantity("1500m"));
    case_add(d, "other.example.com/slots", case_quantity("7"));
    if (lists)
        case_add_lists(d);
}

static void case_show_text(struct strbuf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c > 32 && c < 127 && c != '%' && c != '\\')
            strbuf_putc(out, (char)c);
        else
            strbuf_printf(out, "%%%02x", c);
    }
}

static void case_show(struct strbuf *out, const struct cel_value *value, struct arena *scratch);

static void case_show_list(struct strbuf *out, const struct cel_list *list, struct arena *scratch)
{
    strbuf_putc(out, '[');
    for (size_t i = 0; i < list->len && i < 200; i++) {
        struct cel_value item = cel_list_at(list, i, &(uint64_t){ 0 });
        strbuf_puts(out, i ? "," : "");
        case_show(out, &item, scratch);
    }
    strbuf_putc(out, ']');
}

static void case_show_map(struct strbuf *out, const struct cel_map *map, struct arena *scratch)
{
    struct str *entries = arena_array(scratch, struct str, map->len);
    for (size_t i = 0; i < map->len; i++) {
        struct strbuf entry = { 0 };
        case_show(&entry, &map->entries[i].key, scratch);
        strbuf_putc(&entry, ':');
        case_show(&entry, &map->entries[i].value, scratch);
        entries[i] = arena_str(scratch, strbuf_slice(&entry));
        strbuf_release(&entry);
    }
    qsort(entries, map->len, sizeof(*entries), str_qsort_cmp);
    strbuf_putc(out, '{');
    for (size_t i = 0; i < map->len; i++) {
        strbuf_puts(out, i ? "," : "");
        strbuf_str(out, entries[i]);
    }
    strbuf_putc(out, '}');
}

static void case_show_double(struct strbuf *out, double value)
{
    char text[64];
    int precision = 1;
    if (isnan(value) || isinf(value)) {
        strbuf_puts(out, isnan(value) ? "d:NaN" : value > 0 ? "d:+Inf" : "d:-Inf");
        return;
    }
    do
        snprintf(text, sizeof(text), "%.*g", precision, value);
    while (strtod(text, NULL) != value && precision++ < 17);
    strbuf_printf(out, "d:%.17g", strtod(text, NULL));
}

/* As recorded values are written. A kind without a short form is only named. */
static void case_show(struct strbuf *out, const struct cel_value *value, struct arena *scratch)
{
    switch (value->kind) {
    case CEL_NULL:
        strbuf_puts(out, "null");
        break;
    case CEL_BOOL:
        strbuf_puts(out, value->boolean ? "true" : "false");
        break;
    case CEL_INT:
        strbuf_printf(out, "%" PRId64, value->integer);
        break;
    case CEL_UINT:
        strbuf_printf(out, "%" PRIu64 "u", value->uinteger);
        break;
    case CEL_DOUBLE:
        case_show_double(out, value->number);
        break;
    case CEL_STRING:
        strbuf_puts(out, "s:");
        case_show_text(out, value->text);
        break;
    case CEL_BYTES:
        strbuf_puts(out, "b:");
        case_show_text(out, value->text);
        break;
    case CEL_TYPE:
        strbuf_puts(out, "type:");
        strbuf_str(out, value->text);
        break;
    case CEL_LIST:
        case_show_list(out, value->list, scratch);
        break;
    case CEL_MAP:
        case_show_map(out, value->map, scratch);
        break;
    case CEL_DURATION:
        strbuf_printf(out, "duration:%" PRId64, value->duration_ns);
        break;
    case CEL_TIMESTAMP:
        strbuf_printf(out, "timestamp:%" PRId64 ".%09u", value->timestamp.seconds, value->timestamp.nanos);
        break;
    case CEL_OPTIONAL:
        strbuf_puts(out, value->optional ? "some(" : "none");
        if (value->optional) {
            case_show(out, value->optional, scratch);
            strbuf_putc(out, ')');
        }
        break;
    default:
        strbuf_puts(out, cel_kind_name(value->kind));
    }
}

#endif
