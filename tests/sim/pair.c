/* pair.c: two schedulers of different names share the nodes of a simulated API server (engine/announce.h).
 *
 *     pair [--seed N] [--seeds COUNT] [--verbose] [--silent]
 *
 * Each seed is a small cluster: pods of both schedulers come and go, requests and answers are late or lost, watches
 * lag, break and list again, schedulers end and start again. At no moment may a node hold more than it has: a kubelet
 * would refuse a pod. When everything has calmed down, no pod may wait that fits on a node.
 *
 * --silent: the schedulers announce nothing. Then nodes do get too much, which is reported and not a failure: it shows
 * that these clusters would find a mistake. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "plugins/registry.h"
#include "render.h"
#include "sync/mirror.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define EPOCH_NS (INT64_C(1780000000) * S)
enum { SIDES = 2, FAILURES_MAX = 3, CALM_S = 150, PUMPS_MAX = 10000, ROUNDS_MAX = 10000 };

static const enum sim_kind watched[] = { SIM_NODES, SIM_PODS };
enum { WATCHED = ARRAY_SIZE(watched) };

/* ---- the state of a run ---- */
struct watch {
    uint64_t next; /* change that it will read */
    bool planned, listing;
    size_t list_at;
    VEC(struct version *) list;
};

struct side {
    bool alive;
    uint64_t incarnation;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct watch watches[WATCHED];
};

struct world {
    uint64_t seed;
    struct rng rng;
    bool verbose, silent, storm, failed;
    int64_t now_ns;
    struct heap agenda;
    uint64_t happenings;
    struct store store;
    struct side sides[SIDES];
    struct {
        uint32_t nodes, pods, lost, half_lost, late, refused, slow, watch_break, watch_lag_ms, restarts;
        bool priorities, ports, removals;
    } knobs;
    uint64_t bound, evicted, too_much;
};

struct happening {
    int64_t at_ns;
    uint64_t order;
    void (*run)(struct world *world, struct happening *self);
    uint32_t side;
    uint64_t incarnation;
    uint32_t watch;
    struct arena arena;
    struct effect effect;
    struct wanted_condition condition;
    struct answer answer;
    enum { REPLY_NONE, REPLY_ANSWER, REPLY_UNKNOWN } reply; /* of an arrival */
};

static uint32_t roll(struct world *world, uint32_t count)
{
    return (uint32_t)rng_below(&world->rng, count);
}

static bool chance(struct world *world, uint32_t of_1000)
{
    return roll(world, 1000) < of_1000;
}

static int64_t clock_of(const struct world *world)
{
    return EPOCH_NS + world->now_ns;
}

static void say(const struct world *world, const char *format, ...) _printf_(2, 3);
static void say(const struct world *world, const char *format, ...)
{
    va_list args;
    if (!world->verbose)
        return;
    printf("%10.3f  ", (double)world->now_ns / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void wrong(struct world *world, const char *format, ...) _printf_(2, 3);
static void wrong(struct world *world, const char *format, ...)
{
    va_list args;
    if (world->failed)
        return;
    world->failed = true;
    printf("seed %llu: %10.3f  ", (unsigned long long)world->seed, (double)world->now_ns / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* ---- the agenda ---- */
static bool comes_before(const void *a, const void *b, const void *context)
{
    const struct happening *x = a, *y = b;
    (void)context;
    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->order < y->order;
}

static struct happening *plan(struct world *world, int64_t in_ns,
                              void (*run)(struct world *world, struct happening *self))
{
    struct happening *happening = xcalloc(1, sizeof(*happening));
    happening->at_ns = world->now_ns + in_ns;
    happening->order = world->happenings++;
    happening->run = run;
    heap_push(&world->agenda, happening);
    return happening;
}

static void happening_free(struct happening *happening)
{
    arena_release(&happening->arena);
    free(happening);
}

/* ---- the server ---- */
static struct stored *pod_at(struct world *world, uint32_t number)
{
    return store_at(&world->store, SIM_PODS, (int)number);
}

static bool holds(const struct stored *pod, int node)
{
    return pod && pod->facts.pod.node == node;
}

static bool fits(struct world *world, const struct stored *pod, int node)
{
    const struct node_facts *has = &store_at(&world->store, SIM_NODES, node)->facts.node;
    int64_t used[AMOUNTS] = { 0 }, pods = 1;
    for (uint32_t i = 0; i < world->knobs.pods; i++) {
        const struct stored *other = pod_at(world, i);
        if (!holds(other, node) || other == pod)
            continue;
        pods++;
        for (int a = 0; a < AMOUNTS; a++)
            used[a] += other->facts.pod.requests[a];
        if (pod->facts.pod.host_port && other->facts.pod.host_port == pod->facts.pod.host_port)
            return false;
    }
    bool fits = pods <= has->pods_max;
    for (int a = 0; a < AMOUNTS; a++)
        fits &= used[a] + pod->facts.pod.requests[a] <= has->has[a];
    return fits;
}

static struct stored *target(struct world *world, const struct effect *effect)
{
    struct stored *pod = store_find(&world->store, SIM_PODS, effect->name);
    return pod && pod->facts.uid == uid_of(effect->uid) ? pod : NULL;
}

static struct answer bind(struct world *world, struct stored *pod, const struct effect *effect)
{
    struct pod_facts *facts = &pod->facts.pod;
    if (facts->node != NONE)
        return (struct answer){ .kind = ANSWER_CONFLICT };
    facts->node = number_of(effect->node);
    facts->nominated = NONE;
    facts->scheduled = SCHEDULED_TRUE;
    world->bound++;
    if (!fits(world, pod, facts->node)) {
        world->too_much++;
        if (!world->silent)
            wrong(world, "pod p%u does not fit on n%d: a kubelet would refuse it", pod->facts.number,
                  facts->node);
    }
    store_commit(&world->store, SIM_PODS, pod);
    return (struct answer){ .kind = ANSWER_DONE };
}

static struct answer patch(struct world *world, struct stored *pod, const struct effect *effect)
{
    struct pod_facts *facts = &pod->facts.pod, before = *facts;
    bool is_new = false;
    if (effect->condition && str_is(effect->condition->type, "PodScheduled") && facts->node == NONE) {
        is_new = !str_eq(strbuf_slice(&pod->message), effect->condition->message);
        facts->scheduled = SCHEDULED_FALSE;
        strbuf_clear(&pod->message);
        strbuf_str(&pod->message, effect->condition->message);
    }
    if (effect->sets_nomination && facts->node == NONE)
        facts->nominated = number_of(effect->node);
    if (is_new || before.nominated != facts->nominated || before.scheduled != facts->scheduled)
        store_commit(&world->store, SIM_PODS, pod); /* a patch without effect creates no version */
    return (struct answer){ .kind = ANSWER_DONE };
}

static struct answer serve(struct world *world, struct happening *request)
{
    const struct effect *effect = &request->effect;
    struct stored *pod = target(world, effect);
    struct answer answer = { .kind = ANSWER_DONE };
    if (!pod)
        return (struct answer){ .kind = ANSWER_GONE };
    if (effect->kind == EFFECT_BIND) {
        answer = bind(world, pod, effect);
    } else if (effect->kind == EFFECT_POD_STATUS) {
        answer = patch(world, pod, effect);
    } else if (effect->kind == EFFECT_DELETE_POD) {
        world->evicted++;
        store_remove(&world->store, SIM_PODS, pod);
        return answer;
    } else if (pod->facts.pod.node != NONE) {
        answer.node = arena_printf(&request->arena, "n%d", pod->facts.pod.node);
    }
    answer.uid = effect->uid;
    answer.resource_version = arena_printf(&request->arena, "%llu", (unsigned long long)pod->facts.version);
    return answer;
}

/* ---- the network ---- */
static int64_t delay_ns(struct world *world)
{
    bool slow = world->storm && chance(world, world->knobs.slow);
    return MS * (1 + roll(world, slow ? 4000 : 20));
}

static bool is_current(const struct world *world, const struct happening *happening)
{
    const struct side *side = &world->sides[happening->side];
    return side->alive && side->incarnation == happening->incarnation;
}

static void reply(struct world *world, struct happening *self)
{
    if (is_current(world, self))
        engine_answer(&world->sides[self->side].engine, self->effect.ticket, &self->answer, clock_of(world));
}

static struct happening *plan_reply(struct world *world, const struct happening *request,
                                    const struct answer *answer)
{
    struct happening *happening = plan(world, delay_ns(world), reply);
    happening->side = request->side;
    happening->incarnation = request->incarnation;
    happening->effect.ticket = request->effect.ticket;
    happening->answer = *answer;
    happening->answer.node = arena_str(&happening->arena, answer->node);
    happening->answer.uid = arena_str(&happening->arena, answer->uid);
    happening->answer.resource_version = arena_str(&happening->arena, answer->resource_version);
    return happening;
}

static void wake_watches(struct world *world);

/* A lease is a fence: what a process has sent does not arrive when it has ended. */
static void arrive(struct world *world, struct happening *self)
{
    if (!is_current(world, self))
        return;
    struct answer answer = serve(world, self);
    say(world, "%u: %s " STR_FMT " " STR_FMT ": %s", self->side, effect_kind_names[self->effect.kind],
        STR_ARG(self->effect.name), STR_ARG(self->effect.node), answer_kind_names[answer.kind]);
    if (self->reply == REPLY_UNKNOWN)
        answer = (struct answer){ .kind = ANSWER_UNKNOWN };
    if (self->reply != REPLY_NONE)
        plan_reply(world, self, &answer);
    wake_watches(world);
}

static struct side *side_of(struct world *world, uint32_t number)
{
    return &world->sides[number];
}

struct side_host {
    struct world *world;
    uint32_t side;
};

static struct happening *send(struct world *world, uint32_t side, const struct effect *effect, int64_t in_ns)
{
    struct happening *request = plan(world, in_ns, arrive);
    request->side = side;
    request->incarnation = side_of(world, side)->incarnation;
    request->effect = effect_copy(&request->arena, effect);
    return request;
}

static void emit(void *context, const struct effect *effect)
{
    const struct side_host *host = context;
    struct world *world = host->world;
    if (effect->kind == EFFECT_EVENT)
        return;
    struct happening *request = send(world, host->side, effect, delay_ns(world));
    uint32_t fate = world->storm ? roll(world, 1000) : 1000;
    const uint32_t lost = world->knobs.lost, half = lost + world->knobs.half_lost,
                   late = half + world->knobs.late, refused = late + world->knobs.refused;
    say(world, "%u: wants %s " STR_FMT " " STR_FMT "%s", host->side, effect_kind_names[effect->kind],
        STR_ARG(effect->name), STR_ARG(effect->node), effect->sets_nomination ? " (nomination)" : "");
    request->reply = fate < refused ? REPLY_NONE : REPLY_ANSWER;
    if (fate < lost || (fate >= late && fate < refused)) {
        request->incarnation = 0; /* it never arrives */
        struct happening *reply = plan_reply(
            world, request, &(struct answer){ .kind = fate < lost ? ANSWER_UNKNOWN : ANSWER_REFUSED });
        reply->incarnation = side_of(world, host->side)->incarnation;
    } else if (fate < late) {
        request->reply = REPLY_UNKNOWN;
        /* Once more, seconds later. Not a status, which would undo newer ones: no server is known to do that. */
        if (fate >= half && effect->kind == EFFECT_BIND)
            send(world, host->side, effect, S + delay_ns(world));
    }
}

/* ---- watches ---- */
static void read_on(struct world *world, struct happening *self);

static void read_later(struct world *world, uint32_t side, uint32_t number)
{
    struct watch *watch = &side_of(world, side)->watches[number];
    uint32_t lag_ms = world->storm ? world->knobs.watch_lag_ms : 5;
    if (watch->planned)
        return;
    watch->planned = true;
    struct happening *happening = plan(world, MS * (1 + roll(world, lag_ms + 1)), read_on);
    happening->side = side;
    happening->incarnation = side_of(world, side)->incarnation;
    happening->watch = number;
}

static void wake_watches(struct world *world)
{
    for (uint32_t side = 0; side < SIDES; side++)
        for (uint32_t i = 0; i < WATCHED; i++)
            if (side_of(world, side)->alive &&
                side_of(world, side)->watches[i].next < store_head(&world->store, watched[i]))
                read_later(world, side, i);
}

static void post(struct world *world, uint32_t side, enum inbox_message_kind kind, enum sim_kind object_kind,
                 const struct version *version)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = sim_api_kinds[object_kind];
    message->object = version ? render(version) : NULL;
    if (version && object_kind == SIM_PODS)
        say(world, "%u: told p%u (version %llu) %s, node n%d, nominated n%d", side, version->facts.number,
            (unsigned long long)version->facts.version, kind == MESSAGE_REMOVE ? "is gone" : "is there",
            version->facts.pod.node, version->facts.pod.nominated);
    mirror_apply(&side_of(world, side)->mirror, message, clock_of(world));
    inbox_message_free(message);
}

static void forget_list(struct watch *watch)
{
    for (size_t i = 0; i < watch->list.len; i++)
        version_unref(watch->list.items[i]);
    vec_release(&watch->list);
    watch->list_at = 0;
}

static void begin_list(struct world *world, struct watch *watch, enum sim_kind kind)
{
    const struct kind_store *store = &world->store.kinds[kind];
    forget_list(watch);
    watch->listing = true;
    watch->next = store_head(&world->store, kind);
    for (uint32_t i = 0; i < store->len; i++)
        if (store->items[i].shown)
            *vec_push(&watch->list) = version_ref(store->items[i].shown);
}

static void read_list(struct world *world, uint32_t side, struct watch *watch, enum sim_kind kind)
{
    uint32_t count = 1 + roll(world, 6);
    if (!watch->list_at)
        post(world, side, MESSAGE_LIST_BEGIN, kind, NULL);
    for (; count && watch->list_at < watch->list.len; count--)
        post(world, side, MESSAGE_SET, kind, watch->list.items[watch->list_at++]);
    if (watch->list_at < watch->list.len)
        return;
    post(world, side, MESSAGE_LIST_END, kind, NULL);
    forget_list(watch);
    watch->listing = false;
}

/* What is read at once is a batch: the newest version of an object may take the place of an older one, and so overtake
 * others (sync/inbox.h). */
static void read_changes(struct world *world, uint32_t side, struct watch *watch, enum sim_kind kind)
{
    uint64_t head = store_head(&world->store, kind);
    uint32_t count = 1 + roll(world, (uint32_t)(4 + (head - watch->next) / 2));
    uint64_t end = MIN(head, watch->next + count);
    bool merges = chance(world, 500);
    for (uint64_t i = watch->next; i < end; i++) {
        const struct change *change = store_change(&world->store, kind, i), *newest = change;
        for (uint64_t k = i + 1; merges && k < end; k++) {
            const struct change *later = store_change(&world->store, kind, k);
            if (later->version->facts.uid == change->version->facts.uid)
                newest = later;
        }
        post(world, side, newest->removed ? MESSAGE_REMOVE : MESSAGE_SET, kind, newest->version);
    }
    watch->next = end;
}

static void read_on(struct world *world, struct happening *self)
{
    struct watch *watch = &side_of(world, self->side)->watches[self->watch];
    enum sim_kind kind = watched[self->watch];
    if (!is_current(world, self))
        return;
    watch->planned = false;
    if (watch->listing)
        read_list(world, self->side, watch, kind);
    else if (world->storm && chance(world, world->knobs.watch_break))
        begin_list(world, watch, kind);
    else
        read_changes(world, self->side, watch, kind);
    if (watch->listing || watch->next < store_head(&world->store, kind))
        read_later(world, self->side, self->watch);
}

/* ---- schedulers ---- */
static const struct scheduler_config *config_of(uint32_t side)
{
    static struct scheduler_config configs[SIDES];
    static struct arena arena;
    static const char *const names[SIDES] = { SIM_SCHEDULER, "another" };
    struct error err;
    if (configs[side].profiles.len)
        return &configs[side];
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &arena);
    const struct config_env env = { .catalog = &catalog };
    struct str text = arena_printf(&arena,
                                   "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                   "kind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: %s}]\n",
                                   names[side]);
    if (config_load_text("pair", strndup(text.ptr, text.len), text.len, &env, &arena, &configs[side], NULL,
                         &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
    return &configs[side];
}

static struct side_host hosts[SIDES];

static void start(struct world *world, uint32_t number)
{
    struct side *side = side_of(world, number);
    struct error err;
    *side = (struct side){ .alive = true, .incarnation = side->incarnation + 1 };
    hosts[number] = (struct side_host){ world, number };
    cluster_init(&side->cluster);
    features_default(&side->cluster.features, release_of(world->seed % 2 ? 37 : 36), 0);
    const struct engine_options options = { .config = config_of(number),
                                            .registry = &builtin_plugins,
                                            .seed = rng_next(&world->rng),
                                            .now_ns = clock_of(world),
                                            .slowest = chance(world, 200) ? PATH_PLAIN : PATH_INDEX,
                                            .announces = !world->silent,
                                            .host = { .emit = emit, .context = &hosts[number] } };
    if (engine_init(&side->engine, &side->cluster, &options, &err) < 0)
        wrong(world, "the engine does not start: %s", err.text);
    mirror_init(&side->mirror, &side->engine);
    for (uint32_t i = 0; i < WATCHED; i++) {
        begin_list(world, &side->watches[i], watched[i]);
        read_later(world, number, i);
    }
    say(world, "%u: a scheduler starts", number);
}

static void stop(struct world *world, uint32_t number)
{
    struct side *side = side_of(world, number);
    if (!side->alive)
        return;
    engine_release(&side->engine);
    mirror_release(&side->mirror);
    cluster_release(&side->cluster);
    for (uint32_t i = 0; i < WATCHED; i++)
        forget_list(&side->watches[i]);
    side->alive = false;
}

static void pump(struct world *world, uint32_t number)
{
    struct side *side = side_of(world, number);
    struct decision decision;
    uint32_t steps = world->storm && chance(world, 300) ? roll(world, 3) : PUMPS_MAX;
    if (!side->alive)
        return;
    engine_tick(&side->engine, clock_of(world));
    if (!side->mirror.kinds[KIND_NODE].synced || !side->mirror.kinds[KIND_POD].synced)
        return;
    for (; steps && engine_step(&side->engine, clock_of(world), &decision); steps--)
        say(world, "%u: " STR_FMT " %s " STR_FMT, number, STR_ARG(decision.pod->api->meta.name),
            decision.row == ROW_NONE ? "waits" : "goes to",
            STR_ARG(decision.row == ROW_NONE ? decision.message
                                             : cluster_node_name(&side->cluster, decision.row)));
}

/* ---- what happens in the cluster ---- */
static void add_pod(struct world *world)
{
    int number = store_free_number(&world->store, SIM_PODS, roll(world, world->knobs.pods));
    if (number == NONE)
        return;
    struct stored *pod = store_create(&world->store, SIM_PODS, (uint32_t)number);
    pod->facts.pod = (struct pod_facts){ .requests[AMOUNT_CPU] = 100 * (1 + roll(world, 10)),
                                         .priority = world->knobs.priorities ? (int32_t)roll(world, 3) : 0,
                                         .host_port = world->knobs.ports && chance(world, 300) ? 80 : 0,
                                         .foreign = chance(world, 500),
                                         .zone = NONE,
                                         .claim = NONE,
                                         .node = NONE,
                                         .nominated = NONE };
    store_commit(&world->store, SIM_PODS, pod);
    say(world, "p%d is created: %lld, priority %d, port %d", number,
        (long long)pod->facts.pod.requests[AMOUNT_CPU], pod->facts.pod.priority, pod->facts.pod.host_port);
}

static void act(struct world *world, struct happening *self)
{
    (void)self;
    if (!world->storm)
        return;
    uint32_t kind = roll(world, 10);
    struct stored *pod = pod_at(world, roll(world, world->knobs.pods));
    if (kind < 7)
        add_pod(world);
    else if (kind < 9 && pod && world->knobs.removals)
        store_remove(&world->store, SIM_PODS, pod);
    if (chance(world, world->knobs.restarts)) {
        uint32_t side = roll(world, SIDES);
        stop(world, side);
        start(world, side);
    }
    wake_watches(world);
    plan(world, MS * (1 + roll(world, 300)), act);
}

static void choose_knobs(struct world *world)
{
    bool quiet = chance(world, 150);
#define KNOB(name, most, percent) \
    world->knobs.name = !quiet && chance(world, (percent) * 10) ? roll(world, (most) + 1) : 0
    KNOB(lost, 100, 50);
    KNOB(half_lost, 100, 50);
    KNOB(late, 80, 40);
    KNOB(refused, 60, 30);
    KNOB(slow, 300, 50);
    KNOB(watch_break, 80, 50);
    KNOB(watch_lag_ms, 2000, 70);
    KNOB(restarts, 60, 40);
#undef KNOB
    world->knobs.nodes = 1 + roll(world, 4);
    world->knobs.pods = 8 + roll(world, 40);
    world->knobs.priorities = chance(world, 500);
    world->knobs.ports = chance(world, 400);
    world->knobs.removals = chance(world, 700);
}

/* ---- a run ---- */
static int64_t due_ns(const struct world *world)
{
    int64_t due = INT64_MAX;
    for (uint32_t i = 0; i < SIDES; i++)
        if (world->sides[i].alive) {
            int64_t at = engine_next_due(&world->sides[i].engine);
            due = MIN(due, at == INT64_MAX ? at : MAX(world->now_ns, at - EPOCH_NS));
        }
    return due;
}

static void run_until(struct world *world, int64_t until_ns)
{
    uint32_t rounds = 0;
    while (!world->failed) {
        struct happening *next = world->agenda.items.len ? world->agenda.items.items[0] : NULL;
        int64_t at_ns = MIN(next ? next->at_ns : INT64_MAX, due_ns(world));
        if (at_ns > until_ns)
            break;
        rounds = at_ns > world->now_ns ? 0 : rounds + 1;
        if (rounds > ROUNDS_MAX)
            wrong(world, "an engine runs in circles");
        world->now_ns = MAX(world->now_ns, at_ns);
        world->store.now_s = clock_of(world) / S;
        if (next && next->at_ns <= world->now_ns) {
            heap_pop(&world->agenda);
            next->run(world, next);
            happening_free(next);
        }
        for (uint32_t i = 0; i < SIDES; i++)
            pump(world, i);
    }
    world->now_ns = until_ns;
}

static void check_waiting(struct world *world)
{
    for (uint32_t i = 0; i < world->knobs.pods; i++) {
        const struct stored *pod = pod_at(world, i);
        for (uint32_t n = 0; pod && pod->facts.pod.node == NONE && n < world->knobs.nodes; n++)
            if (fits(world, pod, (int)n))
                wrong(world, "pod p%u waits, and fits on n%u", i, n);
    }
}

static void init(struct world *world)
{
    rng_seed(&world->rng, world->seed);
    world->agenda.before = comes_before;
    world->storm = true;
    choose_knobs(world);
    const uint32_t lens[SIM_KIND_COUNT] = { [SIM_NODES] = world->knobs.nodes,
                                            [SIM_PODS] = world->knobs.pods,
                                            [SIM_CLAIMS] = 1,
                                            [SIM_VOLUMES] = 1,
                                            [SIM_BUDGETS] = 1,
                                            [SIM_CLASSES] = 1 };
    store_init(&world->store, lens);
    world->store.now_s = clock_of(world) / S;
    for (uint32_t i = 0; i < world->knobs.nodes; i++) {
        struct stored *node = store_create(&world->store, SIM_NODES, i);
        node->facts.node = (struct node_facts){ .has[AMOUNT_CPU] = 1000 * (1 + roll(world, 4)),
                                                .has[AMOUNT_MEMORY] = INT64_C(1) << 33,
                                                .pods_max = 3 + roll(world, 10) };
        store_commit(&world->store, SIM_NODES, node);
    }
    for (uint32_t i = roll(world, world->knobs.pods); i > 0; i--)
        add_pod(world);
}

static bool run(struct world *world)
{
    init(world);
    for (uint32_t i = 0; i < SIDES; i++)
        start(world, i);
    plan(world, 0, act);
    run_until(world, (5 + roll(world, 20)) * S);
    world->storm = false;
    run_until(world, world->now_ns + CALM_S * S);
    bool hints_suffice = !world->knobs.priorities || !world->knobs.ports; /* as in sim.c */
    bool may_linger = world->knobs.refused; /* an announcement whose withdrawal was refused */
    if (!world->failed && !world->silent && hints_suffice && !may_linger)
        check_waiting(world);
    for (uint32_t i = 0; i < SIDES; i++)
        stop(world, i);
    vec_for(&world->agenda.items, item)
        happening_free(*item);
    heap_release(&world->agenda);
    store_release(&world->store);
    return !world->failed;
}

int main(int argc, char **argv)
{
    int64_t first = 1, seeds = 1;
    bool verbose = false, silent = false;
    for (int i = 1; i < argc; i++) {
        struct str option = str_from(argv[i]);
        int64_t *value = str_is(option, "--seed") ? &first : str_is(option, "--seeds") ? &seeds : NULL;
        if (str_is(option, "--verbose"))
            verbose = true;
        else if (str_is(option, "--silent"))
            silent = true;
        else if (!value || ++i == argc || !str_to_int64(str_from(argv[i]), value)) {
            fprintf(stderr, "usage: pair [--seed N] [--seeds COUNT] [--verbose] [--silent]\n");
            return 2;
        }
    }
    uint64_t bound = 0, evicted = 0, too_much = 0;
    int failed = 0;
    printf("seeds %lld to %lld\n", (long long)first, (long long)(first + seeds - 1));
    for (int64_t i = 0; i < seeds && failed < FAILURES_MAX; i++) {
        struct world world = { .seed = (uint64_t)(first + i), .verbose = verbose, .silent = silent };
        if (!run(&world)) {
            printf("again with: build/tests/sim/pair --seed %lld --verbose\n", (long long)(first + i));
            failed++;
        }
        bound += world.bound;
        evicted += world.evicted;
        too_much += world.too_much;
    }
    printf("%llu pods bound, %llu evicted, %llu that a kubelet would refuse\n", (unsigned long long)bound,
           (unsigned long long)evicted, (unsigned long long)too_much);
    return failed || (silent && !too_much) ? 1 : 0;
}
