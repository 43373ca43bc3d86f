/* series.c: events as the API server takes them; see series.h. */
#include "live/series.h"

#include <stdlib.h>

#include "api/protobuf.h"
#include "base/timestamp.h"
#include "client/rest.h"
#include "codec/json_writer.h"

enum { NOTE_BYTES_MAX = 1024, NAME_BYTES_MAX = 253, NANO = 1000000000, NANO_PER_MICRO = 1000 };

/* An event to be created, put together from a record and its texts. */
struct draft {
    struct api_event event;
    struct object_ref related;    /* event.related, if there is one */
    struct event_series repeated; /* event.series, from the second one on */
};

/* What makes two events one of a kind: all but the note and the time. */
static const uint16_t key_fields[] = {
    offsetof(struct draft, event.type),
    offsetof(struct draft, event.action),
    offsetof(struct draft, event.reason),
    offsetof(struct draft, event.reporting_controller),
    offsetof(struct draft, event.reporting_instance),
    offsetof(struct draft, event.regarding.kind),
    offsetof(struct draft, event.regarding.namespace),
    offsetof(struct draft, event.regarding.name),
    offsetof(struct draft, event.regarding.uid),
    offsetof(struct draft, event.regarding.api_version),
    offsetof(struct draft, event.regarding.resource_version),
    offsetof(struct draft, event.regarding.field_path),
    offsetof(struct draft, related.kind),
    offsetof(struct draft, related.namespace),
    offsetof(struct draft, related.name),
    offsetof(struct draft, related.uid),
    offsetof(struct draft, related.api_version),
    offsetof(struct draft, related.resource_version),
    offsetof(struct draft, related.field_path),
};

static struct str *field_at(struct draft *draft, size_t i)
{
    return (struct str *)(void *)((char *)draft + key_fields[i]);
}

/* A length in front of each part, so that no two keys read alike. */
static void put_part(struct strbuf *out, struct str part)
{
    strbuf_add(out, (const char *)&part.len, sizeof(part.len));
    strbuf_str(out, part);
}

static struct str take_part(const char **at)
{
    struct str part;
    memcpy(&part.len, *at, sizeof(part.len));
    part.ptr = *at + sizeof(part.len);
    *at = part.ptr + part.len;
    return part;
}

void series_put_parts(struct strbuf *out, const struct recorder_event *event, struct str instance)
{
    struct draft draft = {
        .event = { .type = event->type,
                   .action = event->action,
                   .reason = event->reason,
                   .reporting_controller = event->controller,
                   .reporting_instance = instance,
                   .regarding = event->regarding },
        .related = event->related,
    };
    for (size_t i = 0; i < ARRAY_SIZE(key_fields); i++)
        put_part(out, *field_at(&draft, i));
    strbuf_putc(out, event->legacy ? '1' : '0');
}

struct series_key series_key(struct str parts, const uint64_t seeds[2])
{
    return (struct series_key){ { hash_bytes(parts.ptr, parts.len, seeds[0]),
                                  hash_bytes(parts.ptr, parts.len, seeds[1]) } };
}

/* ---- name and note ---- */
static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Labels of lower-case letters, digits and dashes that begin and end with one of the first two, with dots between. */
static bool is_dns_subdomain(struct str name)
{
    for (uint32_t i = 0; i < name.len; i++) {
        bool at_edge = i == 0 || i + 1 == name.len || name.ptr[i - 1] == '.' || name.ptr[i + 1] == '.';
        char c = name.ptr[i];
        if (!is_alnum(c) && (at_edge || (c != '-' && c != '.')))
            return false;
    }
    return name.len > 0 && name.len <= NAME_BYTES_MAX;
}

static void put_name(struct strbuf *out, struct str regarding, int64_t name_ns)
{
    strbuf_printf(out, STR_FMT ".%llx", STR_ARG(regarding), (unsigned long long)name_ns);
    if (is_dns_subdomain(strbuf_slice(out)))
        return;
    strbuf_clear(out);
    rest_uuid(out);
}

/* Longer ones would be refused. A character is not cut in two. */
static void put_note(struct strbuf *out, struct str note)
{
    static const struct str dots = STR(" ...");
    if (note.len <= NOTE_BYTES_MAX) {
        strbuf_str(out, note);
        return;
    }
    size_t len = NOTE_BYTES_MAX - dots.len;
    while (len && ((unsigned char)note.ptr[len] & 0xc0) == 0x80)
        len--;
    strbuf_str(out, str_slice(note, 0, len));
    strbuf_str(out, dots);
}

/* ---- life ---- */
struct series *series_new(const struct recorder_event *event, struct series_key key, int64_t wall_ns,
                          int64_t name_ns)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    struct str namespace = event->regarding.namespace.len ? event->regarding.namespace : STR("default");
    put_name(&name, event->regarding.name, name_ns);
    assert(name.len <= UINT8_MAX);
    struct series *series = xmalloc(sizeof(*series) + namespace.len + name.len);
    *series = (struct series){
        .key = key,
        .first_ns = wall_ns,
        .last_ns = wall_ns,
        .count = 1,
        .legacy = event->legacy,
        .namespace_len = namespace.len,
        .name_len = (uint8_t)name.len,
    };
    memcpy(series->names, namespace.ptr, namespace.len);
    memcpy(series->names + namespace.len, name.text, name.len);
    return series;
}

void series_free(struct series *series)
{
    if (series)
        free(series->texts);
    free(series);
}

void series_set_texts(struct series *series, struct str parts, struct str note)
{
    _cleanup_(strbuf_release) struct strbuf cut = { 0 };
    struct strbuf texts = { 0 };
    put_note(&cut, note);
    strbuf_str(&texts, parts);
    put_part(&texts, strbuf_slice(&cut));
    free(series->texts);
    series->texts = xrealloc(texts.text, texts.len);
    series->texts_bytes = (uint32_t)texts.len;
}

void series_drop_texts(struct series *series)
{
    free(series->texts);
    series->texts = NULL;
    series->texts_bytes = 0;
}

void series_repeat(struct series *series, int64_t wall_ns)
{
    series->count += series->count < INT32_MAX;
    series->last_ns = wall_ns;
}

struct str series_namespace(const struct series *series)
{
    return (struct str){ series->names, series->namespace_len };
}

struct str series_name(const struct series *series)
{
    return (struct str){ series->names + series->namespace_len, series->name_len };
}

size_t series_bytes(const struct series *series)
{
    return sizeof(*series) + series->namespace_len + series->name_len + series->texts_bytes;
}

static struct opt_time time_of(int64_t wall_ns)
{
    return (struct opt_time){ true, wall_ns / NANO, (int32_t)(wall_ns % NANO) };
}

/* The strings are the record's and its texts'. */
static void draft_of(const struct series *series, struct draft *ret)
{
    *ret = (struct draft){ 0 };
    const char *at = series->texts;
    for (size_t i = 0; i < ARRAY_SIZE(key_fields); i++)
        *field_at(ret, i) = take_part(&at);
    at++; /* legacy or not */
    ret->event.note = take_part(&at);
    ret->event.meta.namespace = series_namespace(series);
    ret->event.meta.name = series_name(series);
    ret->event.event_time = time_of(series->first_ns);
    ret->repeated = (struct event_series){ series->count, time_of(series->last_ns) };
    ret->event.series = series_is_repeated(series) ? &ret->repeated : NULL;
    ret->event.related = ret->related.name.len ? &ret->related : NULL;
}

struct str series_reason(const struct series *series)
{
    struct draft draft = { 0 };
    if (series->texts)
        draft_of(series, &draft);
    return draft.event.reason;
}

/* ---- requests ---- */
void series_put_path(struct strbuf *out, const struct series *series, bool core, bool patch)
{
    strbuf_puts(out, core ? "/api/v1" : "/apis/events.k8s.io/v1");
    rest_path(out, series_namespace(series), "events", patch ? series_name(series) : (struct str){ 0 });
}

static void put_micro_time(struct json_writer *json, const char *key, int64_t wall_ns)
{
    struct opt_time time = time_of(wall_ns);
    char text[TIMESTAMP_LEN_MAX + 1];
    json_member_str(json, key, timestamp_format_fraction(time.seconds, time.nanos, 6, text));
}

static void put_time(struct json_writer *json, const char *key, int64_t wall_ns)
{
    char seconds[TIMESTAMP_LEN + 1];
    json_member_str(json, key, timestamp_format(time_of(wall_ns).seconds, seconds));
}

static void member(struct json_writer *json, const char *key, struct str value)
{
    if (value.len)
        json_member_str(json, key, value);
}

static void put_patch(struct strbuf *out, const struct series *series)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_key(&json, STR("series"));
    json_begin_object(&json);
    json_member_int(&json, "count", series->count);
    put_micro_time(&json, "lastObservedTime", series->last_ns);
    json_end_object(&json);
    json_end_object(&json);
}

static void put_event(struct strbuf *out, const struct series *series)
{
    struct draft draft;
    draft_of(series, &draft);
    const struct object object = {
        .kind = KIND_EVENT,
        .ptr = &draft.event,
        .meta = &draft.event.meta,
        .api_version = STR("events.k8s.io/v1"),
        .kind_name = STR("Event"),
    };
    object_encode_protobuf(&object, out);
}

static void put_core_times(struct json_writer *json, const struct series *series)
{
    json_member_int(json, "count", series->count);
    put_time(json, "lastTimestamp", series->last_ns);
}

static void put_involved(struct json_writer *json, const struct object_ref *ref)
{
    json_key(json, STR("involvedObject"));
    json_begin_object(json);
    member(json, "kind", ref->kind);
    member(json, "namespace", ref->namespace);
    member(json, "name", ref->name);
    member(json, "uid", ref->uid);
    member(json, "apiVersion", ref->api_version);
    member(json, "resourceVersion", ref->resource_version);
    member(json, "fieldPath", ref->field_path);
    json_end_object(json);
}

static void put_core_event(struct strbuf *out, const struct series *series)
{
    struct draft draft;
    draft_of(series, &draft);
    const struct api_event *event = &draft.event;
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("Event"));
    json_member_str(&json, "apiVersion", STR("v1"));
    json_key(&json, STR("metadata"));
    json_begin_object(&json);
    json_member_str(&json, "name", event->meta.name);
    json_member_str(&json, "namespace", event->meta.namespace);
    json_end_object(&json);
    put_involved(&json, &event->regarding);
    member(&json, "reason", event->reason);
    member(&json, "message", event->note);
    json_key(&json, STR("source"));
    json_begin_object(&json);
    member(&json, "component", event->reporting_controller);
    json_end_object(&json);
    put_time(&json, "firstTimestamp", series->first_ns);
    put_core_times(&json, series);
    json_member_str(&json, "type", event->type);
    json_member_str(&json, "reportingComponent", event->reporting_controller);
    json_member_str(&json, "reportingInstance", STR(""));
    json_end_object(&json);
}

static void put_core_patch(struct strbuf *out, const struct series *series)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    put_core_times(&json, series);
    json_end_object(&json);
}

void series_put_body(struct strbuf *out, const struct series *series, bool core, bool patch)
{
    static void (*const writers[2][2])(struct strbuf *, const struct series *) = {
        { put_event, put_patch },
        { put_core_event, put_core_patch },
    };
    writers[core][patch](out, series);
}
