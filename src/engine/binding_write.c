/* binding_write.c: see binding_write.h. */
#include "engine/binding_write.h"
#include "framework/probe.h"

/* After that no API server will still carry out a request: they give up after a minute. */
#define DOUBT_NS ((int64_t)90 * 1000000000)

static struct answer copy_answer(struct arena *arena, const struct answer *answer)
{
    struct answer copy = *answer;
    copy.message = arena_str(arena, answer->message);
    copy.resource_version = arena_str(arena, answer->resource_version);
    copy.node = arena_str(arena, answer->node);
    copy.uid = arena_str(arena, answer->uid);
    copy.name = arena_str(arena, answer->name);
    return copy;
}

/* A bind of the API server has ended; others are not counted. */
static void count_bind(const struct binding_write *own, bool failed, int64_t now_ns)
{
    const struct probe *probe = own->binding->engine->probe;
    if (own->sent_ns && !own->effect.by && probe && probe->api_call)
        probe->api_call(probe->context, API_CALL_BINDING, failed, now_ns - own->sent_ns);
}

static void answer_with(struct binding_write *own, const struct answer *answer, int64_t now_ns)
{
    count_bind(own, answer->kind != ANSWER_DONE, now_ns);
    own->answer = copy_answer(&own->binding->arena, answer);
    binding_event(own->binding, &(struct binding_event){ .kind = BINDING_ON_ANSWERED, .now_ns = now_ns });
}

/* A write over a version that is not the newest, after an attempt without an answer: it may be in conflict with itself.
 * The plugin that wrote it waits for the object to show it anyway, and finds out. */
static bool may_be_own_conflict(const struct write *write, const struct answer *answer)
{
    enum effect_kind kind = write->effect.kind;
    return answer->kind == ANSWER_CONFLICT && write->in_doubt &&
           (kind == EFFECT_PV_CLAIM || kind == EFFECT_PVC_NODE);
}

static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns)
{
    static const struct answer maybe_done = { .kind = ANSWER_DONE, .in_doubt = true };
    struct binding_write *own = context;
    const struct probe *probe = own->binding->engine->probe;
    if (write->effect.kind == EFFECT_CLAIM_CREATE && probe && probe->claim)
        probe->claim(probe->context, answer->kind != ANSWER_DONE);
    own->write = NULL;
    answer_with(own, may_be_own_conflict(write, answer) ? &maybe_done : answer, now_ns);
}

/* ---- a bind ---- */
static void bind_answered(void *context, const struct write *write, const struct answer *answer,
                          int64_t now_ns);

/* READING: where is the pod? Where it has no node, an attempt whose answer was lost may still arrive. */
static void read_answered(void *context, const struct write *write, const struct answer *answer,
                          int64_t now_ns)
{
    struct binding_write *own = context;
    struct pod_binding *binding = own->binding;
    bool found = answer->kind == ANSWER_DONE;
    (void)write;
    own->write = NULL;
    if (found && !answer->node.len && !answer->terminating && own->in_doubt && now_ns < own->doubt_until_ns) {
        own->write = writes_send_later(&binding->engine->writes, &own->effect, bind_answered, own,
                                       ++own->rounds, now_ns);
        return;
    }
    if (found && str_eq(answer->node, binding->node))
        own->bind.kind = ANSWER_DONE;
    else if (found)
        binding->elsewhere = arena_str(&binding->arena, answer->node);
    answer_with(own, &own->bind, now_ns);
}

/* SENT: was it done? A bind that an extender reports as failed may have been done: its own request may have timed
 * out. */
static void bind_answered(void *context, const struct write *write, const struct answer *answer,
                          int64_t now_ns)
{
    struct binding_write *own = context;
    own->write = NULL;
    if (write->in_doubt) {
        own->in_doubt = true;
        own->doubt_until_ns = now_ns + DOUBT_NS;
    }
    if (answer->kind == ANSWER_DONE ||
        (answer->kind != ANSWER_CONFLICT && !own->in_doubt && !own->effect.by)) {
        answer_with(own, answer, now_ns);
        return;
    }
    struct effect read = own->effect;
    read.kind = EFFECT_READ_POD;
    read.by = NULL;
    own->bind = copy_answer(&own->binding->arena, answer);
    own->write = writes_send(&own->binding->engine->writes, &read, read_answered, own, now_ns);
}

/* ---- all writes ---- */
const struct binding_write *binding_write(struct pod_binding *binding, const struct effect *effect)
{
    struct writes *writes = &binding->engine->writes;
    struct arena *arena = &binding->arena;
    struct binding_write *own = arena_new(arena, struct binding_write);
    *own =
        (struct binding_write){ .binding = binding, .next = binding->writes, .answer.kind = ANSWER_PENDING };
    binding->writes = own;
    if (effect->kind == EFFECT_EVENT) { /* it has no answer */
        binding->engine->host.emit(binding->engine->host.context, effect);
        own->answer.kind = ANSWER_DONE;
    } else if (effect->kind == EFFECT_BIND) {
        own->effect = effect_copy(arena, effect);
        own->sent_ns = binding->cycle.now_ns;
        own->write = writes_send(writes, &own->effect, bind_answered, own, binding->cycle.now_ns);
    } else {
        own->write = writes_send(writes, effect, answered, own, binding->cycle.now_ns);
    }
    return own;
}

void binding_writes_shown(const struct pod_binding *binding, int64_t now_ns)
{
    for (const struct binding_write *own = binding->writes; own; own = own->next)
        if (own->write)
            count_bind(own, false, now_ns);
}

void binding_writes_cancel(struct pod_binding *binding)
{
    for (struct binding_write *own = binding->writes; own; own = own->next) {
        if (own->write)
            writes_cancel(&binding->engine->writes, own->write);
        own->write = NULL;
    }
}
