/* setup.h: a queue with the plugins of plugins.h, and what happens to its pods. */
#ifndef UNIT_QUEUE_SETUP_H
#define UNIT_QUEUE_SETUP_H

#include "plugins.h"

#define SECOND NS_PER_SECOND
#define MS (NS_PER_SECOND / 1000)
#define START (1000 * SECOND)

struct setup {
    struct fixture f;
    struct queue queue;
    int64_t now_ns;
};

static inline void setup_init_as(struct setup *b, int minor)
{
    FIXTURE_AS(&b->f, minor, NULL, TEST_PLUGINS);
    b->now_ns = START;
    struct queue_options options = test_options(&b->f, START);
    queue_init(&b->queue, &options);
}

static inline void setup_init(struct setup *b)
{
    setup_init_as(b, RELEASE_DEFAULT);
}

static inline void setup_release(struct setup *b)
{
    queue_release(&b->queue);
    fixture_release(&b->f);
}

static inline struct queued_pod *add(struct setup *b, const char *name, int priority, const char *labels)
{
    struct status gate;
    fixture_loadf(&b->f, "{kind: Pod, metadata: {name: %s, uid: %s, labels: {%s}}, spec: {priority: %d}}",
                  name, name, labels, priority);
    return queue_add(&b->queue, b->f.last_pod, 0, b->now_ns, &gate);
}

static inline void wait(struct setup *b, int64_t ns)
{
    b->now_ns += ns;
    queue_tick(&b->queue, b->now_ns);
}

static inline void assert_place(const struct queued_pod *entry, enum queue_place want)
{
    if (entry->place != want)
        fail_msg("is %s, want %s", queue_place_names[entry->place], queue_place_names[want]);
}

/* The next pod must be `want`; it stays in flight. */
static inline void pop(struct setup *b, const struct queued_pod *want)
{
    struct queued_pod *entry = queue_pop(&b->queue);
    if (entry != want)
        fail_msg("popped " STR_FMT, STR_ARG(entry ? entry->pod->api->meta.name : STR("no pod")));
}

/* Pops the pod and rejects it. */
static inline void reject_pod(struct setup *b, struct queued_pod *entry, uint64_t by)
{
    pop(b, entry);
    queue_requeue(&b->queue, entry, by, by & GAMMA, b->now_ns);
}

static inline void event(struct setup *b, enum event_resource resource, uint32_t actions, const void *before,
                         const void *after)
{
    struct cluster_event happened = {
        .resource = resource, .actions = actions, .before = before, .after = after
    };
    queue_event(&b->queue, &happened, NULL, b->now_ns);
}

static inline struct node node_of_app(const char *app)
{
    static struct pair labels[8];
    static size_t used;
    struct pair *label = &labels[used++ % ARRAY_SIZE(labels)];
    *label = (struct pair){ STR("app"), str_from(app) };
    return (struct node){ .meta = { .labels = { label, 1 } } };
}

static inline void node_added(struct setup *b, const char *app)
{
    struct node node = node_of_app(app);
    event(b, EVENT_NODE, ACTION_ADD, NULL, &node);
}

#endif
