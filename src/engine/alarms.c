/* alarms.c: see alarms.h. */
#include "engine/alarms.h"

#include <stdlib.h>

#include "engine/engine.h"

/* A pod by its names: it may be gone, and another one in its place, when the time comes. */
struct alarm {
    int64_t at_ns;
    uint64_t number; /* in the order in which they were set */
    struct str namespace, name, uid;
    char texts[];
};

static bool before(const void *a, const void *b, const void *context _unused_)
{
    const struct alarm *x = a, *y = b;
    return x->at_ns != y->at_ns ? x->at_ns < y->at_ns : x->number < y->number;
}

void alarms_init(struct alarms *alarms)
{
    *alarms = (struct alarms){ .due = { .before = before } };
}

void alarms_release(struct alarms *alarms)
{
    vec_for(&alarms->due.items, alarm)
        free(*alarm);
    heap_release(&alarms->due);
}

static struct str put(char **at, struct str text)
{
    struct str copy = { *at, text.len };
    if (text.len)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

void alarms_set(struct alarms *alarms, const struct pod *pod, int64_t at_ns)
{
    const struct meta *meta = &pod->meta;
    size_t len = (size_t)meta->namespace.len + meta->name.len + meta->uid.len;
    struct alarm *alarm = xmalloc(sizeof(*alarm) + len);
    char *at = alarm->texts;
    alarm->at_ns = at_ns;
    alarm->number = alarms->set++;
    alarm->namespace = put(&at, meta->namespace);
    alarm->name = put(&at, meta->name);
    alarm->uid = put(&at, meta->uid);
    heap_push(&alarms->due, alarm);
}

int64_t alarms_next_due(const struct alarms *alarms)
{
    return alarms->due.items.len ? ((const struct alarm *)alarms->due.items.items[0])->at_ns : INT64_MAX;
}

static void ring(struct engine *engine, const struct alarm *alarm, int64_t now_ns)
{
    struct pod_info *pod = cluster_find_pod(engine->cluster, alarm->namespace, alarm->name);
    const struct queued_pod *entry =
        pod && str_eq(pod->api->meta.uid, alarm->uid) ? queue_find(&engine->queue, pod) : NULL;
    if (entry && entry->place == QUEUE_UNSCHEDULABLE)
        queue_activate(&engine->queue, pod, now_ns);
}

void alarms_ring(struct engine *engine, int64_t now_ns)
{
    while (alarms_next_due(&engine->alarms) <= now_ns) {
        struct alarm *alarm = heap_pop(&engine->alarms.due);
        ring(engine, alarm, now_ns);
        free(alarm);
    }
}
