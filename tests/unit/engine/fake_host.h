/* fake_host.h: a host that records the engine's effects; the test answers them.
 *
 *     host_answer(&h, host_wants(&h, EFFECT_BIND), ANSWER_UNKNOWN);
 */
#ifndef ENGINE_FAKE_HOST_H
#define ENGINE_FAKE_HOST_H

#include "support/engine_fixture.h"

#include "engine/inputs.h"

#define SECOND NS_PER_SECOND
#define MS (NS_PER_SECOND / 1000)

/* An effect that was emitted; its strings are in the host's arena. */
struct wanted {
    struct effect effect;
    struct wanted_condition condition;
    bool answered;
};

struct fake_host {
    struct arena arena;
    VEC(struct wanted *) wanted;
    struct engine_fixture e;
    VEC(struct notice) notices;
};

static inline void fake_emit(void *context, const struct effect *effect)
{
    struct fake_host *h = context;
    struct wanted *wanted = arena_new(&h->arena, struct wanted);
    wanted->effect = *effect;
    struct str *texts[] = { &wanted->effect.name,
                            &wanted->effect.uid,
                            &wanted->effect.node,
                            &wanted->effect.event.reason,
                            &wanted->effect.event.note,
                            &wanted->effect.namespace,
                            &wanted->effect.event.related.name };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        *texts[i] = arena_str(&h->arena, *texts[i]);
    if (effect->condition) {
        wanted->condition = (struct wanted_condition){
            .type = arena_str(&h->arena, effect->condition->type),
            .status = arena_str(&h->arena, effect->condition->status),
            .reason = arena_str(&h->arena, effect->condition->reason),
            .message = arena_str(&h->arena, effect->condition->message),
            .last_transition_time = effect->condition->last_transition_time,
            .observed_generation = effect->condition->observed_generation,
        };
        wanted->effect.condition = &wanted->condition;
    }
    *vec_push(&h->wanted) = wanted;
}

static inline void fake_notice(void *context, const struct notice *notice)
{
    struct fake_host *h = context;
    struct notice copy = *notice;
    copy.message = arena_str(&h->arena, notice->message);
    copy.node = arena_str(&h->arena, notice->node);
    *vec_push(&h->notices) = copy;
}

static inline size_t host_count(const struct fake_host *h, enum effect_kind kind)
{
    size_t count = 0;
    vec_for(&h->wanted, wanted)
        count += (*wanted)->effect.kind == kind;
    return count;
}

/* The number of unanswered effects of a kind. */
static inline size_t host_open(const struct fake_host *h, enum effect_kind kind)
{
    size_t count = 0;
    vec_for(&h->wanted, wanted)
        count += (*wanted)->effect.kind == kind && !(*wanted)->answered;
    return count;
}

/* The first unanswered effect of the kind. */
static inline struct wanted *host_wants(const struct fake_host *h, enum effect_kind kind)
{
    vec_for(&h->wanted, wanted)
        if ((*wanted)->effect.kind == kind && !(*wanted)->answered)
            return *wanted;
    fail_msg("no unanswered effect: %s", effect_kind_names[kind]);
    return NULL;
}

/* The same for an object. */
static inline struct wanted *host_wants_of(const struct fake_host *h, enum effect_kind kind, const char *name)
{
    vec_for(&h->wanted, wanted)
        if ((*wanted)->effect.kind == kind && !(*wanted)->answered && str_is((*wanted)->effect.name, name))
            return *wanted;
    fail_msg("no unanswered effect: %s %s", effect_kind_names[kind], name);
    return NULL;
}

static inline bool host_has_event(const struct fake_host *h, const char *reason, const char *about)
{
    vec_for(&h->wanted, wanted)
        if ((*wanted)->effect.kind == EFFECT_EVENT && str_is((*wanted)->effect.event.reason, reason) &&
            str_is((*wanted)->effect.name, about))
            return true;
    return false;
}

/* ---- with an engine ---- */
static inline void host_add(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct engine_fixture *e = container_of(f, struct engine_fixture, f);
    bool is_kept = engine_set_object(&e->engine, kind, object, object, e->now_ns);
    assert_true(is_kept || kind == KIND_POD);
    if (kind == KIND_POD)
        f->last_pod = is_kept ? cluster_find_pod(&f->cluster, object->namespace, object->name) : NULL;
}

static inline void host_begin_gated(struct fake_host *h, int minor, int gate, const char *config,
                                    const struct registry *registry)
{
    const struct engine_options options = {
        .slowest = PATH_INDEX,
        .registry = registry,
        .seed = 1,
        .now_ns = 1000 * SECOND,
        .host = { .emit = fake_emit, .notice = fake_notice, .context = h },
    };
    struct error err;
    *h = (struct fake_host){ 0 };
    if (engine_fixture_try_gated(&h->e, minor, gate, config, &options, &err) < 0)
        fail_msg("%s", err.text);
    h->e.f.add = host_add;
}

static inline void host_begin_as(struct fake_host *h, int minor, const char *config,
                                 const struct registry *registry)
{
    host_begin_gated(h, minor, -1, config, registry);
}

static inline void host_begin(struct fake_host *h, const char *config, const struct registry *registry)
{
    host_begin_as(h, RELEASE_DEFAULT, config, registry);
}

static inline void host_end(struct fake_host *h)
{
    engine_fixture_release(&h->e);
    vec_release(&h->wanted);
    vec_release(&h->notices);
    arena_release(&h->arena);
}

static inline void host_answer_with(struct fake_host *h, struct wanted *wanted, struct answer answer)
{
    wanted->answered = true;
    engine_answer(&h->e.engine, wanted->effect.ticket, &answer, h->e.now_ns);
}

static inline void host_answer(struct fake_host *h, struct wanted *wanted, enum answer_kind kind)
{
    host_answer_with(h, wanted, (struct answer){ .kind = kind, .message = STR("rejected by the server") });
}

/* Decides until no pod is left, without advancing the clock. */
static inline void host_settle(struct fake_host *h)
{
    struct decision decision;
    while (engine_step(&h->e.engine, h->e.now_ns, &decision))
        ;
}

static inline void host_pass(struct fake_host *h, int64_t ns)
{
    h->e.now_ns += ns;
    host_settle(h);
}

static inline enum queue_place host_place(const struct fake_host *h, const char *pod)
{
    const struct queued_pod *entry = queue_find(&h->e.engine.queue, fixture_pod(&h->e.f, pod));
    return entry ? entry->place : QUEUE_NOWHERE;
}

static inline void assert_place(const struct fake_host *h, const char *pod, enum queue_place want)
{
    if (host_place(h, pod) != want)
        fail_msg("%s is %s, want %s", pod, queue_place_names[host_place(h, pod)], queue_place_names[want]);
}

static inline int64_t host_used_cpu(const struct fake_host *h, const char *node)
{
    return h->e.f.cluster.col.used[RES_CPU][fixture_row(&h->e.f, node)];
}

#define NODE(name, cpu) \
    "{kind: Node, metadata: {name: " name "}, status: {allocatable: {cpu: " cpu ", memory: 8Gi, pods: 20}}}"
#define POD_WITH(name, version, cpu, meta, more) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name ", resourceVersion: '" version "'" meta \
    "}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]" more "}}"
#define POD(name, cpu, more) POD_WITH(name, "1", cpu, "", more)

#endif
