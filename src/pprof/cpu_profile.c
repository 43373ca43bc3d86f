/* cpu_profile.c: see cpu_profile.h. Equal stacks are one sample with a count; an address is one location. */
#include "pprof/cpu_profile.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/protobuf.h"
#include "net/file.h"
#include "pprof/symbols.h"

enum { MAPS_BYTES_MAX = 4 << 20 };
#define PERIOD_NS (INT64_C(1000000000) / SAMPLER_HZ)

/* Tags of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
};

struct mapping {
    uint64_t from, to, offset;
    struct str file;
    bool named; /* of all addresses in it the function is known */
};

struct writer {
    struct arena arena;
    struct strbuf *out;
    VEC(struct mapping) mappings;
    VEC(struct str) strings;
    struct strmap string_numbers; /* to number + 1 */
    struct strmap functions;      /* name to id */
    struct idmap locations;       /* address to id */
};

static void *number(uint64_t value)
{
    return (void *)(uintptr_t)value;
}

static uint64_t string_number(struct writer *w, struct str text)
{
    uint64_t known = (uint64_t)(uintptr_t)strmap_get(&w->string_numbers, text);
    if (known)
        return known - 1;
    struct str copy = arena_str(&w->arena, text);
    *vec_push(&w->strings) = copy;
    strmap_put(&w->string_numbers, copy, number(w->strings.len));
    return w->strings.len - 1;
}

/* "55d0a3e00000-55d0a3e80000 r-xp 00001000 08:01 131 /usr/bin/berth" */
static void add_mapping(struct writer *w, char *line)
{
    char *at = line, *words[5]; /* addresses, rights, offset, device, inode; then the path */
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (!(words[i] = strsep(&at, " ")))
            return;
    char *limit;
    uint64_t from = strtoull(words[0], &limit, 16);
    if (*limit != '-' || !strchr(words[1], 'x'))
        return;
    const char *path = at ? at + strspn(at, " ") : "";
    *vec_push(&w->mappings) = (struct mapping){ .from = from,
                                                .to = strtoull(limit + 1, NULL, 16),
                                                .offset = strtoull(words[2], NULL, 16),
                                                .file = arena_str(&w->arena, str_from(path)),
                                                .named = true };
}

static void read_mappings(struct writer *w)
{
    struct strbuf text = { 0 };
    struct error ignored;
    if (file_read("/proc/self/maps", MAPS_BYTES_MAX, &text, &ignored) == 0 && text.text)
        for (char *rest = text.text, *line; (line = strsep(&rest, "\n"));)
            add_mapping(w, line);
    strbuf_release(&text);
}

/* 0: none. */
static uint64_t mapping_of(struct writer *w, uint64_t address)
{
    for (size_t i = 0; i < w->mappings.len; i++)
        if (address >= w->mappings.items[i].from && address < w->mappings.items[i].to)
            return i + 1;
    return 0;
}

static uint64_t function_of(struct writer *w, struct str name)
{
    uint64_t id = (uint64_t)(uintptr_t)strmap_get(&w->functions, name);
    if (id || !name.len)
        return id;
    id = w->functions.len + 1;
    strmap_put(&w->functions, name, number(id));
    uint64_t text = string_number(w, name);
    size_t begun = protobuf_begin(w->out, PROFILE_FUNCTION);
    protobuf_put_number(w->out, FUNCTION_ID, id);
    protobuf_put_number(w->out, FUNCTION_NAME, text);
    protobuf_put_number(w->out, FUNCTION_SYSTEM_NAME, text);
    protobuf_end(w->out, begun);
    return id;
}

static uint64_t location_of(struct writer *w, uint64_t address)
{
    uint64_t id = (uint64_t)(uintptr_t)idmap_get(&w->locations, address);
    if (id)
        return id;
    id = w->locations.len + 1;
    idmap_put(&w->locations, address, number(id));
    uint64_t mapping = mapping_of(w, address), function = function_of(w, symbol_of(address));
    if (mapping && !function)
        w->mappings.items[mapping - 1].named = false;
    size_t begun = protobuf_begin(w->out, PROFILE_LOCATION);
    protobuf_put_number(w->out, LOCATION_ID, id);
    if (mapping)
        protobuf_put_number(w->out, LOCATION_MAPPING, mapping);
    protobuf_put_number(w->out, LOCATION_ADDRESS, address);
    if (function) {
        size_t line = protobuf_begin(w->out, LOCATION_LINE);
        protobuf_put_number(w->out, LINE_FUNCTION, function);
        protobuf_end(w->out, line);
    }
    protobuf_end(w->out, begun);
    return id;
}

/* Stacks that were seen, and how often. */
struct stack {
    const uint64_t *addresses;
    size_t len;
    uint64_t count;
};

static void put_sample(struct writer *w, const struct stack *stack)
{
    uint64_t ids[SAMPLER_FRAMES_MAX];
    for (size_t i = 0; i < stack->len; i++) /* callers: the call, not where it returns to */
        ids[i] = location_of(w, stack->addresses[i] - (i > 0));
    size_t begun = protobuf_begin(w->out, PROFILE_SAMPLE);
    for (size_t i = 0; i < stack->len; i++)
        protobuf_put_number(w->out, SAMPLE_LOCATION, ids[i]);
    protobuf_put_number(w->out, SAMPLE_VALUE, stack->count);
    protobuf_put_number(w->out, SAMPLE_VALUE, stack->count * (uint64_t)PERIOD_NS);
    protobuf_end(w->out, begun);
}

static void put_samples(struct writer *w, const struct samples *samples)
{
    struct strmap stacks = { 0 };
    VEC(struct stack *) order = { 0 };
    for (size_t at = 0; at < samples->len; at += samples->words[at] + 1) {
        const uint64_t *addresses = samples->words + at + 1;
        size_t len = samples->words[at];
        struct str key = { (const char *)addresses, (uint32_t)(len * sizeof(uint64_t)) };
        struct stack *stack = strmap_get(&stacks, key);
        if (!stack) {
            stack = arena_new(&w->arena, struct stack);
            *stack = (struct stack){ addresses, len, 0 };
            strmap_put(&stacks, key, stack);
            *vec_push(&order) = stack;
        }
        stack->count++;
    }
    vec_for(&order, stack)
        put_sample(w, *stack);
    vec_release(&order);
    strmap_release(&stacks);
}

static void put_value_type(struct writer *w, uint32_t tag, const char *type, const char *unit)
{
    size_t begun = protobuf_begin(w->out, tag);
    protobuf_put_number(w->out, VALUE_TYPE, string_number(w, str_from(type)));
    protobuf_put_number(w->out, VALUE_UNIT, string_number(w, str_from(unit)));
    protobuf_end(w->out, begun);
}

static void put_mappings(struct writer *w)
{
    for (size_t i = 0; i < w->mappings.len; i++) {
        const struct mapping *mapping = &w->mappings.items[i];
        size_t begun = protobuf_begin(w->out, PROFILE_MAPPING);
        protobuf_put_number(w->out, MAPPING_ID, i + 1);
        protobuf_put_number(w->out, MAPPING_START, mapping->from);
        protobuf_put_number(w->out, MAPPING_LIMIT, mapping->to);
        protobuf_put_number(w->out, MAPPING_OFFSET, mapping->offset);
        protobuf_put_number(w->out, MAPPING_FILE, string_number(w, mapping->file));
        if (mapping->named) /* else the reader may know more than we do */
            protobuf_put_number(w->out, MAPPING_HAS_FUNCTIONS, 1);
        protobuf_end(w->out, begun);
    }
}

static void put_comment(struct writer *w, uint64_t lost)
{
    char text[80];
    snprintf(text, sizeof(text), "%llu samples had no room and are missing", (unsigned long long)lost);
    protobuf_put_number(w->out, PROFILE_COMMENT, string_number(w, str_from(text)));
}

void cpu_profile_write(const struct samples *samples, int64_t began_ns, int64_t took_ns, struct strbuf *out)
{
    struct writer w = { .out = out };
    string_number(&w, STR("")); /* the first one is always empty */
    read_mappings(&w);
    put_value_type(&w, PROFILE_SAMPLE_TYPE, "samples", "count");
    put_value_type(&w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    put_samples(&w, samples);
    put_mappings(&w);
    put_value_type(&w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
    protobuf_put_number(out, PROFILE_PERIOD, (uint64_t)PERIOD_NS);
    protobuf_put_number(out, PROFILE_TIME_NS, (uint64_t)began_ns);
    protobuf_put_number(out, PROFILE_DURATION_NS, (uint64_t)took_ns);
    if (samples->lost)
        put_comment(&w, samples->lost);
    vec_for(&w.strings, text)
        protobuf_put_bytes(out, PROFILE_STRING, *text);
    vec_release(&w.strings);
    vec_release(&w.mappings);
    strmap_release(&w.string_numbers);
    strmap_release(&w.functions);
    idmap_release(&w.locations);
    arena_release(&w.arena);
}
