/* store_impl.h: what store.c (objects and history) and store_feed.c (watchers and waiters) share. */
#ifndef APISERVER_STORE_IMPL_H
#define APISERVER_STORE_IMPL_H

#include "apiserver/object_order.h"
#include "apiserver/store.h"
#include "base/map.h"
#include "base/vec.h"

enum { FEED_NOW, FEED_DURABLE, FEED_COUNT };

/* A kind; its name is first, as strmap_make() wants it. */
struct store_kind {
    struct str name;
    uint32_t number;
    size_t live; /* objects */
    struct object_order objects;
    struct list watchers[FEED_COUNT];
};

/* Watchers that are told at the same time. */
struct feed {
    const uint64_t *until; /* changes up to here are for them */
    uint64_t sent;         /* up to here they have been told */
    bool is_sending;
    struct store_watcher *next; /* to be told of the present change */
    struct list all;            /* watchers of all kinds; others are with their kind */
};

/* A watcher that is told what happened before it subscribed; on the stack of store_subscribe(). */
struct catching_up {
    struct store_watcher *watcher; /* NULL: unsubscribed meanwhile */
    struct catching_up *outer;
};

struct store {
    struct store_options options;
    VEC(struct store_kind *) kinds;
    struct strmap kinds_by_name;
    uint64_t revision, oldest, durable;
    /* Versions by revision: that of revision r is at r % history_cap; those after `oldest` are there. */
    struct stored **history;
    size_t history_cap, history_bytes; /* the bytes that only history keeps */
    uint32_t visiting;                 /* callbacks that are under way: nothing is freed meanwhile */
    struct feed feeds[FEED_COUNT];
    struct catching_up *catching_up;
    struct disk *disk;   /* NULL: in memory */
    struct list waiters; /* struct store_waiter, in the order of revisions */
};

/* ---- store.c ---- */
struct store_change store_change_at(const struct store *store, uint64_t revision);

/* ---- store_feed.c ---- */
/* The store has just been opened. */
void feeds_init(struct store *store);
/* Tells watchers and waiters what is new. */
void feeds_send(struct store *store);

#endif
