/* journal_entry.c: entries of a journal as bytes. What is zero is left out. */
#include "live/journal.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/extra_kinds.h"
#include "api/fields.h"
#include "api/protobuf.h"
#include "config/write.h"
#include "framework/blocking_work.h"

enum { RECORD_BYTES = 1000 }; /* what malloc still has at hand for each thread */

static void put_number(struct strbuf *out, uint32_t tag, uint64_t number)
{
    if (number)
        protobuf_put_number(out, tag, number);
}

static void put_text(struct strbuf *out, uint32_t tag, struct str text)
{
    if (text.len)
        protobuf_put_bytes(out, tag, text);
}

static size_t begin(struct strbuf *out, enum journal_entry_kind kind, int64_t now_ns)
{
    size_t begun = protobuf_begin(out, kind);
    protobuf_put_number(out, JOURNAL_TIME, (uint64_t)now_ns);
    return begun;
}

void journal_put_moment(struct strbuf *out, enum journal_entry_kind kind, int64_t now_ns)
{
    protobuf_end(out, begin(out, kind, now_ns));
}

void journal_put_clock(struct strbuf *out, int64_t ahead_ns, int64_t now_ns)
{
    size_t begun = begin(out, JOURNAL_CLOCK, now_ns);
    put_number(out, CLOCK_AHEAD_NS, (uint64_t)ahead_ns);
    protobuf_end(out, begun);
}

/* ---- the beginning ---- */

/* Keys and passwords of extenders are not recorded, nor are tokens for sources of samples. */
static struct extender_config *without_keys(const struct extender_config *extenders, uint32_t len)
{
    struct extender_config *copy = xcalloc(len + 1, sizeof(*copy));
    for (uint32_t i = 0; i < len && extenders; i++) {
        copy[i] = extenders[i];
        copy[i].tls = NULL;
    }
    return copy;
}

static void put_config(struct strbuf *out, uint32_t tag, const struct scheduler_config *config)
{
    _cleanup_(strbuf_release) struct strbuf text = { .secret = true }, shown = { 0 };
    struct scheduler_config copy = *config;
    copy.extenders.items = without_keys(config->extenders.items, config->extenders.len);
    copy.extenders_as_written = without_keys(config->extenders_as_written, config->extenders.len);
    config_write_json(&copy, &text);
    free(copy.extenders.items);
    free(copy.extenders_as_written);
    config_hide_secrets(strbuf_slice(&text), &shown);
    protobuf_put_bytes(out, tag, strbuf_slice(&shown));
}

/* What is not here (how many tables are kept, which path is taken) does not change a decision. */
void journal_put_head(struct strbuf *out, const struct engine_options *options,
                      const struct features *features)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    size_t begun = begin(out, JOURNAL_HEAD, options->now_ns);
    protobuf_put_bytes(out, HEAD_VERSION, STR(BERTH_VERSION));
    protobuf_put_number(out, HEAD_SEED, options->seed);
    put_config(out, HEAD_CONFIG, options->config);
    for (int i = 0; i < FEATURE_COUNT; i++) {
        strbuf_clear(&text);
        strbuf_printf(&text, "%s=%s", feature_infos[i].name, features->enabled[i] ? "true" : "false");
        protobuf_put_bytes(out, HEAD_FEATURE, strbuf_slice(&text));
    }
    put_number(out, HEAD_UNSCHEDULABLE_MAX_NS, (uint64_t)options->unschedulable_max_ns);
    if (options->percentage.set)
        put_number(out, HEAD_PERCENTAGE, (uint64_t)(int64_t)options->percentage.value + 1);
    put_number(out, HEAD_BINDINGS_MAX, options->host.bindings_max);
    put_number(out, HEAD_LAST_TICKET, options->last_ticket);
    protobuf_put_number(out, HEAD_RELEASE, (uint64_t)features->release->minor);
    protobuf_put_number(out, HEAD_COMPATIBLE, (uint64_t)features->compatible);
    put_number(out, HEAD_ANNOUNCES, options->announces);
    protobuf_end(out, begun);
}

void journal_put_config(struct strbuf *out, const struct scheduler_config *config, int64_t now_ns)
{
    size_t begun = begin(out, JOURNAL_CONFIG, now_ns);
    put_config(out, CONFIG_TEXT, config);
    protobuf_end(out, begun);
}

/* ---- messages of plugins ---- */

static void put_outcome(struct strbuf *out, const struct cycle_work *work)
{
    struct status status = work->status;
    protobuf_put_number(out, RECEIVED_WORK, work->number);
    protobuf_put_number(out, RECEIVED_STATUS, (uint64_t)status.code + 1);
    for (uint32_t i = 0; i < status.len; i++)
        protobuf_put_bytes(out, RECEIVED_REASON, status.reasons[i]);
}

void journal_put_plugin_message(struct strbuf *out, const struct plugin_message *message, int64_t now_ns)
{
    size_t begun = begin(out, JOURNAL_PLUGIN_MESSAGE, now_ns);
    protobuf_put_number(out, RECEIVED_KIND, (uint64_t)message->kind + 1);
    protobuf_put_bytes(out, RECEIVED_PLUGIN, str_from(message->plugin->name));
    put_text(out, RECEIVED_NAMESPACE, message->namespace);
    put_text(out, RECEIVED_NAME, message->name);
    put_text(out, RECEIVED_UID, message->uid);
    put_text(out, RECEIVED_REASON, message->reason);
    if (message->kind == PLUGIN_MESSAGE_WORK_DONE)
        put_outcome(out, work_of(message));
    protobuf_end(out, begun);
}

/* ---- messages ---- */

/* What kubectl keeps there is the complete object as it was applied. Whether it changed may matter, what it is does
 * not: a hash stands for it. */
static bool is_private(const struct pair *annotation)
{
    return str_is(annotation->key, "kubectl.kubernetes.io/last-applied-configuration");
}

static struct pair *without_private(const struct str_map *annotations, char hash[static 17])
{
    struct pair *copy = xcalloc(annotations->len, sizeof(*copy));
    for (uint32_t i = 0; i < annotations->len; i++) {
        copy[i] = annotations->items[i];
        if (!is_private(&copy[i]))
            continue;
        snprintf(hash, 17, "%016llx", (unsigned long long)str_hash(copy[i].value));
        copy[i].value = str_from(hash);
    }
    return copy;
}

void journal_prepare(struct inbox_message *message)
{
    if (!message->object)
        return;
    struct str_map *annotations = &message->object->object.meta->annotations;
    struct pair *original = annotations->items;
    char hash[17];
    bool any = false;
    list_for(annotations, annotation)
        any |= is_private(annotation);
    if (any)
        annotations->items = without_private(annotations, hash);
    if (!message->record.cap) /* most objects are not longer */
        message->record = (struct strbuf){ .text = xmalloc(RECORD_BYTES), .cap = RECORD_BYTES };
    object_encode_protobuf(&message->object->object, &message->record);
    if (any) {
        free(annotations->items);
        annotations->items = original;
    }
}

static void put_answer(struct strbuf *out, const struct inbox_message *message, int64_t now_ns)
{
    const struct answer *answer = &message->answer;
    size_t begun = begin(out, JOURNAL_ANSWER, now_ns);
    put_number(out, ANSWER_TICKET, message->ticket);
    put_number(out, ANSWER_RESULT, (uint64_t)answer->kind);
    put_text(out, ANSWER_MESSAGE, answer->message);
    put_number(out, ANSWER_RETRY_AFTER_MS, (uint64_t)answer->retry_after_ms);
    put_text(out, ANSWER_VERSION, answer->resource_version);
    put_text(out, ANSWER_NODE, answer->node);
    put_text(out, ANSWER_UID, answer->uid);
    put_number(out, ANSWER_TERMINATING, answer->terminating);
    put_text(out, ANSWER_NAME, answer->name);
    protobuf_end(out, begun);
}

static void put_object_message(struct strbuf *out, enum journal_entry_kind kind,
                               const struct inbox_message *message, int64_t now_ns)
{
    size_t begun = begin(out, kind, now_ns);
    if (kind_is_extra(message->api_kind)) {
        size_t named = protobuf_begin(out, MESSAGE_API_KIND);
        extra_kind_print(message->api_kind, out);
        protobuf_end(out, named);
    } else {
        protobuf_put_bytes(out, MESSAGE_API_KIND, api_kinds[message->api_kind].kind);
    }
    put_text(out, MESSAGE_OBJECT, strbuf_slice(&message->record));
    protobuf_end(out, begun);
}

void journal_put_message(struct strbuf *out, const struct inbox_message *message, int64_t now_ns)
{
    switch (message->kind) {
#define X(name, handler) \
    case MESSAGE_##name: \
        put_object_message(out, JOURNAL_##name, message, now_ns); \
        return;
        WATCH_INPUTS(X)
        WATCH_INPUTS_LATER(X)
#undef X
    case MESSAGE_ANSWER:
        put_answer(out, message, now_ns);
        return;
    case MESSAGE_CALL: /* nothing of it reaches the engine */
        return;
    }
}

/* ---- decisions ---- */

static struct str name_of_row(const struct cluster *cluster, uint32_t row)
{
    return row == ROW_NONE ? (struct str){ 0 } : cluster_node_name(cluster, row);
}

static void put_victims(struct strbuf *out, const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->victims_len; i++) {
        const struct meta *meta = &decision->victims[i]->api->meta;
        size_t begun = protobuf_begin(out, DECISION_VICTIM);
        strbuf_str(out, meta->namespace);
        strbuf_putc(out, '/');
        strbuf_str(out, meta->name);
        protobuf_end(out, begun);
    }
}

void journal_put_decision(struct strbuf *out, const struct cluster *cluster, const struct decision *decision,
                          int64_t now_ns)
{
    const struct meta *meta = &decision->pod->api->meta;
    size_t begun = begin(out, JOURNAL_DECISION, now_ns);
    put_text(out, DECISION_NAMESPACE, meta->namespace);
    put_text(out, DECISION_NAME, meta->name);
    put_text(out, DECISION_UID, meta->uid);
    put_text(out, DECISION_NODE, name_of_row(cluster, decision->row));
    put_text(out, DECISION_MESSAGE, decision->message);
    put_number(out, DECISION_FLAGS,
               (decision->is_error ? DECISION_IS_ERROR : 0u) |
                   (decision->is_deleted ? DECISION_IS_DELETED : 0u) |
                   (decision->retry ? DECISION_RETRIES : 0u) |
                   (decision->nomination == NOMINATION_CLEAR ? DECISION_CLEARS_NOMINATION : 0u));
    if (decision->nomination == NOMINATION_SET)
        put_text(out, DECISION_NOMINATED, name_of_row(cluster, decision->nominated_row));
    put_victims(out, decision);
    put_number(out, DECISION_EXAMINED, decision->examined);
    put_number(out, DECISION_FEASIBLE, decision->feasible);
    put_number(out, DECISION_TOTAL, (uint64_t)decision->total);
    put_number(out, DECISION_TIES, decision->ties);
    protobuf_end(out, begun);
}

uint64_t journal_checksum(struct str payload, uint64_t number)
{
    return hash_bytes(payload.ptr, payload.len, number * 0x9e3779b97f4a7c15u + payload.len);
}
