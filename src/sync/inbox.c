/* inbox.c: a list under a lock. The core takes the complete list in one step and walks it without the lock.
 *
 * Once the list is long, a map has the last message about each object. It is gone when the list is taken, so that a
 * core that keeps up pays nothing for it. */
#include "sync/inbox.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/thread.h"

enum { MERGE_FROM = 256 }; /* messages */

struct inbox {
    struct monitor monitor;
    struct list messages;
    bool merges;
    struct idmap last; /* by identity_of(); with a few collisions: what is found is compared */
    struct {
        uint32_t epoch;
        bool listing; /* the last message about lists is LIST_BEGIN */
        atomic_size_t depth;
    } kinds[KIND_COUNT];
    void (*prepare)(struct inbox_message *message); /* may be NULL */
    atomic_size_t depth;
};

struct inbox *inbox_new(void)
{
    struct inbox *inbox = xcalloc(1, sizeof(*inbox));
    monitor_init(&inbox->monitor);
    return inbox;
}

void inbox_free(struct inbox *inbox)
{
    if (!inbox)
        return;
    list_for_each(&inbox->messages, struct inbox_message, message, link)
        inbox_message_free(message);
    idmap_release(&inbox->last);
    monitor_release(&inbox->monitor);
    free(inbox);
}

struct inbox_message *inbox_message_new(enum inbox_message_kind kind)
{
    struct inbox_message *message = xcalloc(1, sizeof(*message));
    message->kind = kind;
    return message;
}

void inbox_message_free(struct inbox_message *message)
{
    if (!message)
        return;
    live_object_free(message->object);
    if (message->drop)
        message->drop(message->context);
    arena_release(&message->texts);
    strbuf_release(&message->record);
    free(message);
}

void inbox_prepare(struct inbox *inbox, void (*prepare)(struct inbox_message *message))
{
    inbox->prepare = prepare;
}

/* ---- merging ---- */
bool meta_is_older(const struct meta *known, const struct meta *meta)
{
    int64_t then, now;
    return str_eq(known->uid, meta->uid) && str_to_int64(known->resource_version, &then) &&
           str_to_int64(meta->resource_version, &now) && now < then;
}

static bool is_about_object(const struct inbox_message *message)
{
    return message->object && (message->kind == MESSAGE_SET || message->kind == MESSAGE_REMOVE ||
                               message->kind == MESSAGE_PARTIAL);
}

static uint64_t identity_of(const struct inbox_message *message)
{
    const struct meta *meta = message->object->object.meta;
    return table_hash(meta->name) * 31 + table_hash(meta->namespace) * 7 + (uint64_t)message->api_kind;
}

static bool is_same_object(const struct inbox_message *a, const struct inbox_message *b)
{
    const struct meta *x = a->object->object.meta, *y = b->object->object.meta;
    return a->api_kind == b->api_kind && str_eq(x->name, y->name) && str_eq(x->namespace, y->namespace) &&
           str_eq(x->uid, y->uid);
}

static bool is_of_kind(const struct inbox_message *message)
{
    return message->kind != MESSAGE_ANSWER && message->kind != MESSAGE_CALL;
}

static void count(struct inbox *inbox, const struct inbox_message *message, size_t difference)
{
    atomic_fetch_add_explicit(&inbox->depth, difference, memory_order_relaxed);
    if (is_of_kind(message))
        atomic_fetch_add_explicit(&inbox->kinds[message->api_kind].depth, difference, memory_order_relaxed);
}

static void drop_place(struct inbox *inbox, struct inbox_message *place)
{
    list_remove(&inbox->messages, &place->link);
    count(inbox, place, (size_t)-1);
    inbox_message_free(place);
}

/* Where the new message goes in place of one that waits: *ret is that one, or NULL for the end of the list. False: it
 * is older than what waits. */
static bool find_place(struct inbox *inbox, struct inbox_message *message, struct inbox_message **ret)
{
    struct inbox_message *last = idmap_get(&inbox->last, identity_of(message));
    *ret = NULL;
    if (!last || last->epoch != message->epoch || !is_same_object(last, message) ||
        last->kind == MESSAGE_REMOVE)
        return true;
    if (meta_is_older(last->object->object.meta, message->object->object.meta) &&
        (message->kind == MESSAGE_REMOVE || !inbox->kinds[message->api_kind].listing))
        return false;
    if (message->kind == MESSAGE_PARTIAL && last->kind == MESSAGE_SET) {
        message->base = last;
        return true;
    }
    *ret = last;
    if (message->kind != MESSAGE_PARTIAL && last->base) {
        *ret = last->base;
        drop_place(inbox, last);
    }
    return true;
}

/* What was in the place is in the message afterwards, to be freed. */
static void put_in_place(struct inbox_message *place, struct inbox_message *message)
{
    struct inbox_message old = *place;
    *place = *message;
    place->link = old.link;
    place->base = old.base;
    *message = old;
    message->base = NULL;
}

static void index_all(struct inbox *inbox)
{
    inbox->merges = true;
    list_for_each(&inbox->messages, struct inbox_message, message, link)
        if (is_about_object(message))
            idmap_put(&inbox->last, identity_of(message), message);
}

/* The message, or another one in the place of which it is now, or NULL: the caller frees what is returned. */
static struct inbox_message *add(struct inbox *inbox, struct inbox_message *message)
{
    bool is_about = is_about_object(message);
    struct inbox_message *place = NULL;
    message->epoch = inbox->kinds[message->api_kind].epoch;
    if (!inbox->merges && atomic_load_explicit(&inbox->depth, memory_order_relaxed) >= MERGE_FROM)
        index_all(inbox);
    if (is_about && inbox->merges && !find_place(inbox, message, &place))
        return message;
    if (place) {
        put_in_place(place, message);
    } else {
        list_append(&inbox->messages, &message->link);
        count(inbox, message, 1);
    }
    if (is_about && inbox->merges)
        idmap_put(&inbox->last, identity_of(place ? place : message), place ? place : message);
    if (!is_about && is_of_kind(message) && message->kind != MESSAGE_PARTIAL) {
        inbox->kinds[message->api_kind].epoch++;
        inbox->kinds[message->api_kind].listing = message->kind == MESSAGE_LIST_BEGIN;
    }
    return place ? message : NULL;
}

void inbox_post(struct inbox *inbox, struct inbox_message *message)
{
    if (inbox->prepare)
        inbox->prepare(message);
    monitor_lock(&inbox->monitor);
    struct inbox_message *superseded = add(inbox, message);
    monitor_unlock(&inbox->monitor);
    monitor_wake(&inbox->monitor);
    inbox_message_free(superseded);
}

struct list inbox_take(struct inbox *inbox, int64_t until_ns)
{
    monitor_lock(&inbox->monitor);
    bool waits = until_ns > 0;
    while (waits && list_empty(&inbox->messages))
        waits = monitor_wait(&inbox->monitor, until_ns);
    struct list messages = inbox->messages;
    inbox->messages = (struct list){ 0 };
    inbox->merges = false;
    idmap_release(&inbox->last);
    atomic_store_explicit(&inbox->depth, 0, memory_order_relaxed);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        atomic_store_explicit(&inbox->kinds[kind].depth, 0, memory_order_relaxed);
    monitor_unlock(&inbox->monitor);
    return messages;
}

size_t inbox_depth(const struct inbox *inbox)
{
    return atomic_load_explicit(&inbox->depth, memory_order_relaxed);
}

size_t inbox_depth_of(const struct inbox *inbox, enum api_kind kind)
{
    return atomic_load_explicit(&inbox->kinds[kind].depth, memory_order_relaxed);
}

struct live_object *live_object_new(void)
{
    return xcalloc(1, sizeof(struct live_object));
}

void live_object_free(struct live_object *object)
{
    if (!object)
        return;
    arena_release(&object->arena);
    free(object);
}
