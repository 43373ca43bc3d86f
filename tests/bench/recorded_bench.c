/* recorded_bench.c: the cost of recording an existing recording.
 *
 *     recording ──entries──▶ messages with objects ──▶ journal_prepare() ──▶ journal ──▶ its thread ──▶ files
 *                                                     \_____________ this part is timed ________________/
 *
 * The messages of a recorded scheduler are recorded once more, a few at a time, often enough for a stable CPU time. No
 * difference of two measurements is needed: even on a noisy machine the share of recording is as accurate as the total
 * CPU time. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/live_core.h"
#include "bench/measure.h"
#include "bench/recording_bench.h"
#include "plugins/registry.h"
#include "replay/replay.h"

enum { TIMES = 11, MESSAGES_AT_ONCE = 16 };

/* An entry to be recorded again. */
struct again {
    struct recording_entry entry;
    struct inbox_message *message; /* NULL: not a message */
};

struct pass {
    struct journal *journal;
    struct again some[MESSAGES_AT_ONCE];
    int len;
    int64_t spent_ns; /* of this thread */
};

/* ---- work of the I/O and core threads ---- */
/* Field by field, as journal_put_decision() does. */
static void put_again(struct journal *journal, const struct recording_entry *entry)
{
    struct strbuf *out = journal_write(journal);
    struct protobuf_reader reader = protobuf_reader(entry->body);
    struct protobuf_field field;
    size_t begun = protobuf_begin(out, entry->kind);
    while (protobuf_next(&reader, &field) > 0)
        if (field.wire == WIRE_BYTES)
            protobuf_put_bytes(out, field.tag, field.bytes);
        else
            protobuf_put_number(out, field.tag, field.number);
    protobuf_end(out, begun);
}

static void record(struct journal *journal, const struct again *again)
{
    int64_t now_ns = again->entry.now_ns;
    if (again->message)
        journal_message(journal, again->message, now_ns);
    else if (again->entry.kind == JOURNAL_TICK)
        journal_tick(journal, now_ns);
    else if (again->entry.kind == JOURNAL_IDLE)
        journal_step(journal, NULL, NULL, now_ns);
    else
        put_again(journal, &again->entry);
    if (again->entry.kind == JOURNAL_TICK)
        journal_round(journal, now_ns);
}

static void record_some(struct pass *pass)
{
    int64_t begun_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < pass->len; i++)
        if (pass->some[i].message)
            journal_prepare(pass->some[i].message);
    for (int i = 0; i < pass->len; i++) {
        record(pass->journal, &pass->some[i]);
        if (pass->some[i].message)
            strbuf_release(&pass->some[i].message->record);
    }
    pass->spent_ns += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    while (pass->len)
        inbox_message_free(pass->some[--pass->len].message);
}

/* ---- reading the recording ---- */
static struct inbox_message *answer_of(const struct recording_entry *entry)
{
    const struct entry_fields *fields = &entry->fields;
    struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
    message->ticket = fields->numbers[ANSWER_TICKET];
    message->answer = (struct answer){ .kind = (enum answer_kind)fields->numbers[ANSWER_RESULT],
                                       .message = fields->texts[ANSWER_MESSAGE],
                                       .retry_after_ms = (int64_t)fields->numbers[ANSWER_RETRY_AFTER_MS],
                                       .resource_version = fields->texts[ANSWER_VERSION],
                                       .node = fields->texts[ANSWER_NODE],
                                       .uid = fields->texts[ANSWER_UID],
                                       .terminating = fields->numbers[ANSWER_TERMINATING] != 0,
                                       .name = fields->texts[ANSWER_NAME] };
    return message;
}

static struct inbox_message *message_of(const struct recording_entry *entry)
{
    struct error err;
    if (entry->kind == JOURNAL_ANSWER)
        return answer_of(entry);
    if (entry->kind < JOURNAL_SET || entry->kind > JOURNAL_ABSENT)
        return NULL;
    struct inbox_message *message = replay_message(entry, &err);
    if (!message)
        live_die(&err);
    return message;
}

/* With the default configuration: the length of its text is irrelevant. */
static void put_head(struct journal *journal)
{
    struct arena arena = { 0 };
    struct scheduler_config config;
    struct error err;
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &arena);
    if (config_default(&(struct config_env){ .catalog = &catalog }, &arena, &config, &err) < 0)
        live_die(&err);
    journal_head(journal, &(struct engine_options){ .config = &config });
    config_release(&config);
    arena_release(&arena);
}

/* One pass over the recording. */
static void run_pass(const char *dir, struct recorded_cost *ret)
{
    struct recording recording;
    struct recording_entry entry;
    struct bench_recording made;
    struct error err;
    double others_before_ns = others_ns();
    struct pass pass = { .journal = bench_recording_open(&made) };
    put_head(pass.journal);
    if (recording_open(&recording, dir, INT64_MAX, &err) < 0)
        live_die(&err);
    *ret = (struct recorded_cost){ 0 };
    while (recording_next(&recording, &entry)) {
        if (entry.kind == JOURNAL_NONE || entry.kind == JOURNAL_HEAD)
            continue;
        ret->decisions += entry.kind == JOURNAL_DECISION;
        if (entry_read(entry.body, &entry.fields, &err) < 0)
            live_die(&err);
        pass.some[pass.len++] = (struct again){ entry, message_of(&entry) };
        if (pass.len == MESSAGES_AT_ONCE)
            record_some(&pass);
    }
    record_some(&pass);
    struct journal_stats stats = journal_stats(pass.journal);
    ret->entries = stats.entries;
    bench_recording_close(&made);
    ret->bytes = bench_recording_remove(&made);
    if (stats.ended || stats.entries != recording.entries)
        live_die(&(struct error){ .text = "the recording is not the same" });
    ret->threads_ns = (double)pass.spent_ns;
    ret->journal_ns = others_ns() - others_before_ns;
    recording_close(&recording);
}

void recorded_measure(const char *dir, int times, struct recorded_cost *ret)
{
    double threads_ns[RECORDED_TIMES_MAX], journal_ns[RECORDED_TIMES_MAX];
    assert(times <= RECORDED_TIMES_MAX);
    for (int i = 0; i < times; i++) {
        run_pass(dir, ret);
        threads_ns[i] = ret->threads_ns;
        journal_ns[i] = ret->journal_ns;
    }
    size_t len = (size_t)times;
    ret->threads_ns = quantile(threads_ns, len, 0.5);
    ret->journal_ns = quantile(journal_ns, len, 0.5);
    ret->spread_ns[0] = quantile(threads_ns, len, 0.75) - quantile(threads_ns, len, 0.25);
    ret->spread_ns[1] = quantile(journal_ns, len, 0.75) - quantile(journal_ns, len, 0.25);
}

int recorded_bench(const char *dir)
{
    struct recorded_cost cost;
    memory_for_daemon();
    recorded_measure(dir, TIMES, &cost);
    /* bench-live reads this line. */
    printf(
        "recording %llu entries, %llu decisions, %llu bytes costs %.3f ms on threads that are there anyway "
        "and %.3f ms on its own\n",
        (unsigned long long)cost.entries, (unsigned long long)cost.decisions, (unsigned long long)cost.bytes,
        cost.threads_ns / 1e6, cost.journal_ns / 1e6);
    printf("medians of %d times; between the quartiles are %.3f and %.3f ms\n", TIMES,
           cost.spread_ns[0] / 1e6, cost.spread_ns[1] / 1e6);
    return 0;
}
