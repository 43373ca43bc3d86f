/* journal_entry.c: entries of a journal as bytes. What is zero is left out. */
#include "client/journal.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/fields.h"
#include "api/protobuf.h"
#include "config/write.h"

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

/* ---- the beginning ---- */

/* The keys with which extenders are spoken to are nobody's business. */
static struct extender_config *without_keys(const struct extender_config *extenders, uint32_t len)
{
    struct extender_config *copy = xcalloc(len + 1, sizeof(*copy));
    for (uint32_t i = 0; i < len && extenders; i++) {
        copy[i] = extenders[i];
        copy[i].tls = NULL;
    }
    return copy;
}

void journal_put_head(struct strbuf *out, const struct scheduler_config *config,
                      const struct features *features, uint64_t seed, int64_t now_ns)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct scheduler_config copy = *config;
    copy.extenders.items = without_keys(config->extenders.items, config->extenders.len);
    copy.extenders_as_written = without_keys(config->extenders_as_written, config->extenders.len);
    config_write_json(&copy, &text);
    free(copy.extenders.items);
    free(copy.extenders_as_written);

    size_t begun = begin(out, JOURNAL_HEAD, now_ns);
    protobuf_put_bytes(out, HEAD_VERSION, STR(BERTH_VERSION));
    protobuf_put_number(out, HEAD_SEED, seed);
    protobuf_put_bytes(out, HEAD_CONFIG, strbuf_slice(&text));
    for (int i = 0; i < FEATURE_COUNT; i++) {
        strbuf_clear(&text);
        strbuf_printf(&text, "%s=%s", feature_infos[i].name, features->enabled[i] ? "true" : "false");
        protobuf_put_bytes(out, HEAD_FEATURE, strbuf_slice(&text));
    }
    protobuf_end(out, begun);
}

/* ---- letters ---- */

/* What kubectl keeps there is the whole object as somebody wrote it. Whether it changed may matter, what it is does
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

void journal_prepare(struct letter *letter)
{
    if (!letter->object)
        return;
    struct str_map *annotations = &letter->object->object.meta->annotations;
    struct pair *original = annotations->items;
    char hash[17];
    bool any = false;
    list_for(annotations, annotation)
        any |= is_private(annotation);
    if (any)
        annotations->items = without_private(annotations, hash);
    object_encode_protobuf(&letter->object->object, &letter->record);
    if (any) {
        free(annotations->items);
        annotations->items = original;
    }
}

static void put_answer(struct strbuf *out, const struct letter *letter, int64_t now_ns)
{
    const struct answer *answer = &letter->answer;
    size_t begun = begin(out, JOURNAL_ANSWER, now_ns);
    put_number(out, ANSWER_TICKET, letter->ticket);
    put_number(out, ANSWER_RESULT, (uint64_t)answer->kind);
    put_text(out, ANSWER_MESSAGE, answer->message);
    put_number(out, ANSWER_RETRY_AFTER_MS, (uint64_t)answer->retry_after_ms);
    put_text(out, ANSWER_VERSION, answer->resource_version);
    put_text(out, ANSWER_NODE, answer->node);
    put_text(out, ANSWER_UID, answer->uid);
    put_number(out, ANSWER_TERMINATING, answer->terminating);
    protobuf_end(out, begun);
}

/* How long a field of bytes is, with its tag (of one byte) and length. */
static size_t field_len(size_t len)
{
    size_t more = 2;
    for (size_t rest = len >> 7; rest; rest >>= 7)
        more++;
    return more + len;
}

/* Objects are most of the bytes: their entry is begun with its length, since protobuf_end() would move them. */
static void put_object_letter(struct strbuf *out, enum journal_entry_kind kind, const struct letter *letter,
                              int64_t now_ns)
{
    _cleanup_(strbuf_release) struct strbuf head = { 0 };
    struct str name = api_kinds[letter->api_kind].kind;
    protobuf_put_number(&head, JOURNAL_TIME, (uint64_t)now_ns);
    protobuf_put_bytes(&head, LETTER_API_KIND, name);
    struct str record = strbuf_slice(&letter->record);
    uint64_t len = head.len + (record.len ? field_len(record.len) : 0);
    strbuf_putc(out, (char)(kind << 3 | WIRE_BYTES));
    for (; len >= 0x80; len >>= 7)
        strbuf_putc(out, (char)(len | 0x80));
    strbuf_putc(out, (char)len);
    strbuf_str(out, strbuf_slice(&head));
    put_text(out, LETTER_OBJECT, record);
}

void journal_put_letter(struct strbuf *out, const struct letter *letter, int64_t now_ns)
{
    switch (letter->kind) {
#define SAME(name) \
    case LETTER_##name: \
        put_object_letter(out, JOURNAL_##name, letter, now_ns); \
        return;
        SAME(SET)
        SAME(REMOVE)
        SAME(LIST_BEGIN)
        SAME(LIST_END)
        SAME(DOUBT)
        SAME(ABSENT)
#undef SAME
    case LETTER_ANSWER:
        put_answer(out, letter, now_ns);
        return;
    case LETTER_CALL: /* nothing of it reaches the engine */
        return;
    }
}

static_assert(JOURNAL_ENTRY_KINDS <= 16, "tags of entries have one byte");

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
