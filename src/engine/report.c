/* report.c: kube-scheduler's texts, to the letter. */
#include "engine/report.h"

#include "base/log.h"
#include "base/utf8.h"

/* The API server rejects longer notes of events; a longer message could make a pod too large for etcd. */
enum { NOTE_LEN_MAX = 1024, MESSAGE_LEN_MAX = 512 << 10 };

static const struct str more = STR(" ...");

/* Messages of plugins and extenders may be of any bytes and any length: what is sent is valid UTF-8 and no longer than
 * `max`. */
static struct str presentable(struct str text, uint32_t max, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    size_t fits_with_more = 0;
    if (text.len <= max && utf8_valid(text))
        return text;
    size_t len;
    for (size_t at = 0; at < text.len && out.len <= max; at += len) {
        char rune[RUNE_BYTES_MAX];
        strbuf_add(&out, rune, utf8_rune_put(utf8_rune_at(text, at, &len), rune));
        if (out.len + more.len <= max)
            fits_with_more = out.len;
    }
    if (out.len <= max)
        return arena_str(arena, strbuf_slice(&out));
    return arena_printf(arena, STR_FMT STR_FMT, (int)fits_with_more, out.text, STR_ARG(more));
}

/* What events have in common. */
struct event_line {
    struct str type, reason, action;
};

static const struct event_line failed_line = { STR("Warning"), STR("FailedScheduling"), STR("Scheduling") },
                               scheduled_line = { STR("Normal"), STR("Scheduled"), STR("Binding") },
                               preempted_line = { STR("Normal"), STR("Preempted"), STR("Preempting") };

/* A policy that had a part in the result is named; without one the text is kube-scheduler's. */
static struct str with_policy(struct str note, const struct pod *pod, struct arena *arena)
{
    if (!pod->policy)
        return note;
    struct str policy = arena_printf(arena, " (scheduling policy " STR_FMT ")", STR_ARG(pod->policy->name));
    return arena_printf(arena, STR_FMT STR_FMT, STR_ARG(presentable(note, NOTE_LEN_MAX - policy.len, arena)),
                        STR_ARG(policy));
}

/* The object regarding, and the related one (NULL: none). */
static void emit(struct engine *engine, const struct event_line *line, const struct profile *profile,
                 struct event_subject about, const struct event_subject *related, struct str note)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct effect effect = { .kind = EFFECT_EVENT,
                             .namespace = about.namespace,
                             .name = about.name,
                             .uid = about.uid,
                             .resource_version = about.resource_version,
                             .event = { .type = line->type,
                                        .reason = line->reason,
                                        .action = line->action,
                                        .note = presentable(note, NOTE_LEN_MAX, &arena),
                                        .scheduler_name = profile->scheduler_name } };
    if (related)
        effect.event.related = *related;
    if (engine->host.emit)
        engine->host.emit(engine->host.context, &effect);
}

void report_failure(struct engine *engine, const struct profile *profile, const struct pod *pod,
                    struct str message, bool is_error, enum nomination nomination, struct str node,
                    int64_t now_ns)
{
    if (!engine->host.emit)
        return;
    _cleanup_(arena_release) struct arena arena = { 0 };
    report_skipped(engine, profile, pod, message);
    pod_status_set(&engine->statuses, pod,
                   &(struct status_change){
                       .condition = { .type = STR("PodScheduled"),
                                      .status = STR("False"),
                                      .reason = is_error ? STR("SchedulerError") : STR("Unschedulable"),
                                      .message = presentable(message, MESSAGE_LEN_MAX, &arena) },
                       .nomination = nomination,
                       .node = node },
                   now_ns);
}

void report_skipped(struct engine *engine, const struct profile *profile, const struct pod *pod,
                    struct str message)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    emit(engine, &failed_line, profile, event_subject_of(&pod->meta), NULL,
         with_policy(message, pod, &arena));
}

static void notify(struct engine *engine, enum notice_kind kind, const struct pod_binding *binding,
                   bool rejected, struct str message, int64_t now_ns)
{
    if (engine->host.notice)
        engine->host.notice(engine->host.context,
                            &(struct notice){ .kind = kind,
                                              .pod = pod_info_object(binding->pod),
                                              .profile = binding->cycle.profile,
                                              .node = binding->node,
                                              .message = message,
                                              .rejected = rejected,
                                              .now_ns = now_ns,
                                              .entry = binding->entry,
                                              .decision = &binding->decision,
                                              .took_ns = now_ns - binding->started_ns });
}

void report_bound(struct engine *engine, const struct pod_binding *binding, int64_t now_ns)
{
    const struct pod *pod = binding->pod->api;
    const struct meta *meta = &pod->meta;
    _cleanup_(arena_release) struct arena arena = { 0 };
    if (engine->host.emit) {
        struct str note = arena_printf(&arena, "Successfully assigned " STR_FMT "/" STR_FMT " to " STR_FMT,
                                       STR_ARG(meta->namespace), STR_ARG(meta->name), STR_ARG(binding->node));
        emit(engine, &scheduled_line, binding->cycle.profile, event_subject_of(meta), NULL,
             with_policy(note, pod, &arena));
    }
    notify(engine, NOTICE_BOUND, binding, false, STR(""), now_ns);
}

void report_binding_failure(struct engine *engine, const struct pod_binding *binding, struct status status,
                            int64_t now_ns)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    bool rejected = status_rejected(status);
    struct str message = binding->stage == BINDING_PERMIT && rejected ? diagnosis_of_one(status, &arena)
                                                                      : status_message(status, &arena);
    if (binding->entry->pod && !binding->pod->resize_deferred) /* else it is gone, or has a node */
        report_failure(engine, binding->cycle.profile, binding->pod->api, message, !rejected,
                       NOMINATION_CLEAR, STR(""), now_ns);
    notify(engine, NOTICE_BINDING_FAILED, binding, rejected, message, now_ns);
}

void report_removed(struct engine *engine, const struct pod_binding *binding, struct status status,
                    int64_t now_ns)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    const struct meta *meta = &binding->pod->api->meta;
    struct str message = diagnosis_of_one(status, &arena);
    log_info(0, "Pod doesn't exist in informer cache", log_ref("pod", meta->namespace, meta->name),
             log_str("err", arena_printf(&arena, "pod \"" STR_FMT "\" not found", STR_ARG(meta->name))));
    report_skipped(engine, binding->cycle.profile, binding->pod->api, message);
    notify(engine, NOTICE_BINDING_FAILED, binding, true, message, now_ns);
}

void report_preempted(struct engine *engine, const struct profile *profile,
                      const struct event_subject *victim, const struct event_subject *preemptor,
                      struct str node, bool in_memory)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    emit(engine, &preempted_line, profile, *victim, preemptor,
         arena_printf(&arena, "Preempted by pod " STR_FMT " on node " STR_FMT "%s", STR_ARG(preemptor->uid),
                      STR_ARG(node), in_memory ? " (in kube-scheduler memory)." : ""));
}
