/* series.c: events as the API server takes them; see series.h. */
#include "client/series.h"

#include <stdlib.h>
#include <sys/random.h>

#include "api/protobuf.h"
#include "api/timestamp.h"
#include "client/rest.h"
#include "codec/json_writer.h"

enum { NOTE_BYTES_MAX = 1024, NAME_BYTES_MAX = 253, NANO = 1000000000, NANO_PER_MICRO = 1000 };

/* What makes two events one of a kind: all but the note and the time. */
static const uint16_t key_fields[] = {
    offsetof(struct series, event.type),
    offsetof(struct series, event.action),
    offsetof(struct series, event.reason),
    offsetof(struct series, event.reporting_controller),
    offsetof(struct series, event.reporting_instance),
    offsetof(struct series, event.regarding.kind),
    offsetof(struct series, event.regarding.namespace),
    offsetof(struct series, event.regarding.name),
    offsetof(struct series, event.regarding.uid),
    offsetof(struct series, event.regarding.api_version),
    offsetof(struct series, event.regarding.resource_version),
    offsetof(struct series, event.regarding.field_path),
    offsetof(struct series, related.kind),
    offsetof(struct series, related.namespace),
    offsetof(struct series, related.name),
    offsetof(struct series, related.uid),
    offsetof(struct series, related.api_version),
    offsetof(struct series, related.resource_version),
    offsetof(struct series, related.field_path),
};

static struct str *field_at(struct series *series, size_t i)
{
    return (struct str *)(void *)((char *)series + key_fields[i]);
}

/* The fields that are the key, still in the caller's memory. */
static struct series series_of(const struct recorder_event *event, struct str instance)
{
    return (struct series){
        .event = { .type = event->type,
                   .action = event->action,
                   .reason = event->reason,
                   .reporting_controller = event->controller,
                   .reporting_instance = instance,
                   .regarding = event->regarding },
        .related = event->related,
        .legacy = event->legacy,
    };
}

/* A length in front of each part, so that no two keys read alike. */
void series_put_key(struct strbuf *out, const struct recorder_event *event, struct str instance)
{
    struct series series = series_of(event, instance);
    strbuf_putc(out, event->legacy ? '1' : '0');
    for (size_t i = 0; i < ARRAY_SIZE(key_fields); i++) {
        struct str part = *field_at(&series, i);
        strbuf_add(out, (const char *)&part.len, sizeof(part.len));
        strbuf_str(out, part);
    }
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

static void put_uuid(struct strbuf *out)
{
    uint8_t b[16];
    if (getrandom(b, sizeof(b), 0) != sizeof(b))
        memset(b, 0, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof(b); i++)
        strbuf_printf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
}

static void put_name(struct strbuf *out, struct str regarding, int64_t name_ns)
{
    strbuf_printf(out, STR_FMT ".%llx", STR_ARG(regarding), (unsigned long long)name_ns);
    if (is_dns_subdomain(strbuf_slice(out)))
        return;
    strbuf_clear(out);
    put_uuid(out);
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
static struct opt_time time_of(int64_t wall_ns)
{
    return (struct opt_time){ true, wall_ns / NANO, (int32_t)(wall_ns % NANO) };
}

static struct str copy_behind(char **at, struct str text)
{
    struct str copy = { *at, text.len };
    if (text.len)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

struct series *series_new(const struct recorder_event *event, struct str key, int64_t wall_ns,
                          int64_t name_ns)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 }, note = { 0 };
    put_name(&name, event->regarding.name, name_ns);
    put_note(&note, event->note);
    struct series *series = xmalloc(sizeof(*series) + key.len + name.len + note.len);
    *series = series_of(event, (struct str){ 0 });
    char *at = (char *)(series + 1);
    series->key = copy_behind(&at, key);
    /* The key has all of its fields in it, each behind its length. */
    uint32_t part = 1;
    for (size_t i = 0; i < ARRAY_SIZE(key_fields); i++) {
        struct str *field = field_at(series, i);
        memcpy(&field->len, series->key.ptr + part, sizeof(field->len));
        field->ptr = series->key.ptr + part + sizeof(field->len);
        part += (uint32_t)sizeof(field->len) + field->len;
    }
    series->event.meta.name = copy_behind(&at, strbuf_slice(&name));
    series->event.meta.namespace =
        series->event.regarding.namespace.len ? series->event.regarding.namespace : STR("default");
    series->event.note = copy_behind(&at, strbuf_slice(&note));
    series->event.event_time = time_of(wall_ns);
    series->event.related = series->related.name.len ? &series->related : NULL;
    return series;
}

void series_free(struct series *series)
{
    free(series);
}

void series_repeat(struct series *series, int64_t wall_ns)
{
    if (!series->event.series) {
        series->repeated.count = 1;
        series->event.series = &series->repeated;
    }
    series->repeated.count += series->repeated.count < INT32_MAX;
    series->repeated.last_observed_time = time_of(wall_ns);
}

int64_t series_last_ns(const struct series *series)
{
    const struct opt_time *last =
        series_is_repeated(series) ? &series->repeated.last_observed_time : &series->event.event_time;
    return last->seconds * NANO + last->nanos;
}

/* ---- requests ---- */
void series_put_path(struct strbuf *out, const struct series *series, bool core, bool patch)
{
    strbuf_puts(out, core ? "/api/v1" : "/apis/events.k8s.io/v1");
    rest_path(out, series->event.meta.namespace, "events",
              patch ? series->event.meta.name : (struct str){ 0 });
}

static void put_micro_time(struct json_writer *json, const char *key, const struct opt_time *time)
{
    char seconds[TIMESTAMP_LEN + 1], text[TIMESTAMP_LEN + 16];
    timestamp_format(time->seconds, seconds);
    snprintf(text, sizeof(text), "%.*s.%06dZ", TIMESTAMP_LEN - 1, seconds, time->nanos / NANO_PER_MICRO);
    json_member_str(json, key, str_from(text));
}

static void put_time(struct json_writer *json, const char *key, const struct opt_time *time)
{
    char seconds[TIMESTAMP_LEN + 1];
    json_member_str(json, key, timestamp_format(time->seconds, seconds));
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
    json_member_int(&json, "count", series->repeated.count);
    put_micro_time(&json, "lastObservedTime", &series->repeated.last_observed_time);
    json_end_object(&json);
    json_end_object(&json);
}

static void put_event(struct strbuf *out, const struct series *series)
{
    struct api_event event = series->event;
    const struct object object = {
        .kind = KIND_EVENT,
        .ptr = &event,
        .meta = &event.meta,
        .api_version = STR("events.k8s.io/v1"),
        .kind_name = STR("Event"),
    };
    object_encode_protobuf(&object, out);
}

static void put_core_times(struct json_writer *json, const struct series *series)
{
    bool repeated = series_is_repeated(series);
    json_member_int(json, "count", repeated ? series->repeated.count : 1);
    put_time(json, "lastTimestamp",
             repeated ? &series->repeated.last_observed_time : &series->event.event_time);
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
    const struct api_event *event = &series->event;
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
    put_time(&json, "firstTimestamp", &event->event_time);
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
