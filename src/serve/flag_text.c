/* flag_text.c: one printer per kind of value. */
#include "serve/flag_text.h"

#include <stdlib.h>

#include "base/decimal.h"
#include "base/duration.h"

static void put_bool(const void *value, struct strbuf *out)
{
    strbuf_puts(out, *(const bool *)value ? "true" : "false");
}

static void put_str(const void *value, struct strbuf *out)
{
    strbuf_str(out, *(const struct str *)value);
}

static void put_int64(const void *value, struct strbuf *out)
{
    strbuf_printf(out, "%lld", (long long)*(const int64_t *)value);
}

static void put_int32(const void *value, struct strbuf *out)
{
    strbuf_printf(out, "%d", *(const int32_t *)value);
}

static void put_float(const void *value, struct strbuf *out)
{
    char buf[DECIMAL_LEN_MAX];
    strbuf_str(out, decimal_single(*(const double *)value, buf));
}

static void put_duration(const void *value, struct strbuf *out)
{
    char buf[DURATION_TEXT_MAX];
    duration_format(*(const int64_t *)value, buf);
    strbuf_puts(out, buf);
}

/* A field of a line of comma-separated values: in quotes where it would be read differently without. */
static void put_field(struct strbuf *out, struct str text)
{
    bool quotes = str_is(text, "\\.");
    for (uint32_t i = 0; i < text.len; i++)
        quotes = quotes || strchr(",\"\r\n", text.ptr[i]) || (i == 0 && strchr(" \t", text.ptr[i]));
    if (!quotes) {
        strbuf_str(out, text);
        return;
    }
    strbuf_putc(out, '"');
    for (uint32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            strbuf_putc(out, '"');
        strbuf_putc(out, text.ptr[i]);
    }
    strbuf_putc(out, '"');
}

static void put_strings(const void *value, struct strbuf *out)
{
    const struct str_list *list = value;
    for (uint32_t i = 0; i < list->len; i++) {
        strbuf_puts(out, i ? "," : "");
        put_field(out, list->items[i]);
    }
}

static void put_int32s(const void *value, struct strbuf *out)
{
    const struct flag_int32s *list = value;
    for (uint32_t i = 0; i < list->len; i++)
        strbuf_printf(out, "%s%d", i ? "," : "", list->items[i]);
}

static void put_pairs(const void *value, struct strbuf *out)
{
    const struct str_map *map = value;
    for (uint32_t i = 0; i < map->len; i++) {
        _cleanup_(strbuf_release) struct strbuf field = { 0 };
        strbuf_printf(&field, STR_FMT "=" STR_FMT, STR_ARG(map->items[i].key), STR_ARG(map->items[i].value));
        strbuf_puts(out, i ? "," : "");
        put_field(out, strbuf_slice(&field));
    }
}

static void put_cert_keys(const void *value, struct strbuf *out)
{
    const struct flag_cert_keys *list = value;
    for (uint32_t i = 0; i < list->len; i++) {
        const struct flag_cert_key *pair = &list->items[i];
        strbuf_printf(out, "%s" STR_FMT "," STR_FMT, i ? ";" : "", STR_ARG(pair->cert_file),
                      STR_ARG(pair->key_file));
        for (uint32_t j = 0; j < pair->names.len; j++)
            strbuf_printf(out, "%c" STR_FMT, j ? ',' : ':', STR_ARG(pair->names.items[j]));
    }
}

static void put_gates(const void *value, struct strbuf *out)
{
    const struct flag_gates *list = value;
    bool *done = xcalloc((size_t)list->len + 1, sizeof(*done));
    /* By component, each in the order in which it was given. */
    for (uint32_t i = 0; i < list->len; i++) {
        uint32_t first = list->len;
        for (uint32_t j = 0; j < list->len; j++)
            if (!done[j] &&
                (first == list->len || str_cmp(list->items[j].component, list->items[first].component) < 0))
                first = j;
        done[first] = true;
        strbuf_printf(out, "%s" STR_FMT ":" STR_FMT, i ? "," : "", STR_ARG(list->items[first].component),
                      STR_ARG(list->items[first].setting));
    }
    free(done);
}

static const struct {
    void (*put)(const void *value, struct strbuf *out);
    bool is_list; /* stands in brackets */
} printers[FLAG_KINDS_COUNT] = {
    [FLAG_KIND_BOOL] = { put_bool },
    [FLAG_KIND_STRING] = { put_str },
    [FLAG_KIND_INT] = { put_int64 },
    [FLAG_KIND_INT32] = { put_int32 },
    [FLAG_KIND_FLOAT] = { put_float },
    [FLAG_KIND_DURATION] = { put_duration },
    [FLAG_KIND_IP] = { put_str },
    [FLAG_KIND_STRINGS] = { put_strings, true },
    [FLAG_KIND_INT32S] = { put_int32s, true },
    [FLAG_KIND_PAIRS] = { put_pairs, true },
    [FLAG_KIND_CERT_KEYS] = { put_cert_keys, true },
    [FLAG_KIND_GATES] = { put_gates },
    [FLAG_KIND_QUANTITY] = { put_int64 },
    [FLAG_KIND_LEVEL] = { put_int32 },
    [FLAG_KIND_VMODULE] = { put_str },
    [FLAG_KIND_VERSION] = { put_str },
};

void flag_text(const struct scheduler_flags *flags, const struct flag_info *info, struct strbuf *out)
{
    bool is_list = printers[info->kind].is_list;
    strbuf_puts(out, is_list ? "[" : "");
    printers[info->kind].put((const char *)flags + info->offset, out);
    strbuf_puts(out, is_list ? "]" : "");
}

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

void flag_texts(const struct scheduler_flags *flags, struct arena *arena, struct str_map *ret)
{
    ret->items = arena_array(arena, struct pair, FLAG_COUNT);
    ret->len = FLAG_COUNT;
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        struct strbuf value = { 0 };
        flag_text(flags, &flag_infos[i], &value);
        ret->items[i] = (struct pair){ arena_str(arena, str_from(flag_infos[i].name)),
                                       arena_str(arena, strbuf_slice(&value)) };
        strbuf_release(&value);
    }
    qsort(ret->items, ret->len, sizeof(*ret->items), by_key);
}
