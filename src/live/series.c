/* series.c: events as the API server takes them; see series.h. */
#include "live/series.h"

#include <stdlib.h>

#include "api/fields.h"
#include "api/protobuf.h"
#include "base/timestamp.h"
#include "client/rest.h"
#include "codec/json_writer.h"

enum { NOTE_BYTES_MAX = 1024, NAME_BYTES_MAX = 253 };

static const struct record_type *event_type(void)
{
    return api_kinds[KIND_EVENT].type;
}

/* Of a field of an event that is an object. */
static const struct record_type *part_type(struct str field)
{
    return record_member(event_type(), field).field->type;
}

/* ---- the key ----
 * Each text is preceded by its length. A reference consists of texts alone, so none of its fields is left out. */
static void key_add(struct strbuf *bytes, struct str text)
{
    strbuf_add(bytes, (const char *)&text.len, sizeof(text.len));
    strbuf_str(bytes, text);
}

static_assert(sizeof(struct object_ref) == 7 * sizeof(struct str), "all fields of a reference are texts");

static void key_add_ref(struct strbuf *bytes, const struct object_ref *ref)
{
    const struct str fields[] = { ref->kind,        ref->namespace,        ref->name,      ref->uid,
                                  ref->api_version, ref->resource_version, ref->field_path };
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        key_add(bytes, fields[i]);
}

struct series_key series_key(const struct recorder_event *event, struct strbuf *scratch,
                             const uint64_t seeds[2])
{
    strbuf_clear(scratch);
    key_add(scratch, event->type);
    key_add(scratch, event->reason);
    key_add(scratch, event->action);
    key_add(scratch, event->controller);
    key_add_ref(scratch, &event->regarding);
    if (event->related.name.len)
        key_add_ref(scratch, &event->related);
    strbuf_putc(scratch, event->legacy ? '1' : '0');
    if (event->legacy)
        key_add(scratch, event->note);
    return (struct series_key){ { hash_bytes(scratch->text, scratch->len, seeds[0]),
                                  hash_bytes(scratch->text, scratch->len, seeds[1]) } };
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
static size_t sizeof_with_names(size_t names)
{
    return MAX(sizeof(struct series), offsetof(struct series, names) + names);
}

struct series *series_new(const struct recorder_event *event, struct series_key key, int64_t wall_ns,
                          int64_t name_ns)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    struct str namespace = event->regarding.namespace.len ? event->regarding.namespace : STR("default");
    put_name(&name, event->regarding.name, name_ns);
    assert(name.len <= UINT8_MAX);
    struct series *series = xmalloc(sizeof_with_names(namespace.len + name.len));
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

void series_set_texts(struct series *series, const struct api_event *event)
{
    _cleanup_(strbuf_release) struct strbuf note = { 0 };
    struct strbuf texts = { 0 };
    struct api_event cut = *event;
    put_note(&note, event->note);
    cut.note = strbuf_slice(&note);
    record_write_protobuf(&texts, event_type(), &cut);
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
    return sizeof_with_names(series->namespace_len + series->name_len) + series->texts_bytes;
}

static struct opt_time time_of(int64_t wall_ns)
{
    return (struct opt_time){ true, wall_ns / NS_PER_S, (int32_t)(wall_ns % NS_PER_S) };
}

/* The event with its name, times and count. Its strings are those of the series. */
static struct api_event event_of(const struct series *series, struct arena *arena)
{
    struct api_event event = { 0 };
    struct record_reader reader = { .arena = arena, .budget_bytes = record_budget(series->texts_bytes) };
    struct str texts = { series->texts, series->texts_bytes };
    int r = record_read_protobuf(&reader, NULL, texts, event_type(), &event);
    assert(r == 0); /* series_set_texts() has written them */
    (void)r;
    event.meta.namespace = series_namespace(series);
    event.meta.name = series_name(series);
    event.event_time = time_of(series->first_ns);
    if (series_is_repeated(series)) {
        event.series = arena_new(arena, struct event_series);
        *event.series = (struct event_series){ series->count, time_of(series->last_ns) };
    }
    return event;
}

struct str series_reason(const struct series *series)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    return event_of(series, &arena).reason;
}

/* ---- requests ---- */
void series_put_path(struct strbuf *out, const struct series *series, bool core, bool patch)
{
    strbuf_puts(out, core ? "/api/v1" : "/apis/events.k8s.io/v1");
    rest_path(out, series_namespace(series), "events", patch ? series_name(series) : (struct str){ 0 });
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
    const struct event_series count = { series->count, time_of(series->last_ns) };
    json_begin_object(&json);
    json_key(&json, STR("series"));
    record_write(&(struct record_writer){ .json = &json }, part_type(STR("series")), &count);
    json_end_object(&json);
}

static const char *put_event(struct strbuf *out, const struct series *series, const struct api *api)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct api_event event = event_of(series, &arena);
    const struct object object = {
        .kind = KIND_EVENT,
        .ptr = &event,
        .meta = &event.meta,
        .api_version = STR("events.k8s.io/v1"),
        .kind_name = STR("Event"),
    };
    return rest_encode(api, &object, out);
}

static void put_core_times(struct json_writer *json, const struct series *series)
{
    json_member_int(json, "count", series->count);
    put_time(json, "lastTimestamp", series->last_ns);
}

static void put_core_event(struct strbuf *out, const struct series *series)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    const struct api_event event = event_of(series, &arena);
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("Event"));
    json_member_str(&json, "apiVersion", STR("v1"));
    json_member_object(&json, "metadata");
    json_member_str(&json, "name", event.meta.name);
    json_member_str(&json, "namespace", event.meta.namespace);
    json_end_object(&json);
    json_key(&json, STR("involvedObject"));
    record_write(&(struct record_writer){ .json = &json }, part_type(STR("regarding")), &event.regarding);
    member(&json, "reason", event.reason);
    member(&json, "message", event.note);
    json_member_object(&json, "source");
    member(&json, "component", event.reporting_controller);
    json_end_object(&json);
    put_time(&json, "firstTimestamp", series->first_ns);
    put_core_times(&json, series);
    json_member_str(&json, "type", event.type);
    json_member_str(&json, "reportingComponent", event.reporting_controller);
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

const char *series_put_body(struct strbuf *out, const struct series *series, const struct api *api, bool core,
                            bool patch)
{
    if (patch) {
        (core ? put_core_patch : put_patch)(out, series);
        return REST_STRATEGIC_MERGE_PATCH;
    }
    if (!core)
        return put_event(out, series, api);
    put_core_event(out, series);
    return API_JSON;
}
