/* store_feed.c: how watchers and waiters of the store learn of changes.
 *
 * There are two feeds: of changes as they are made, and of those that are durable. A feed tells all of its watchers of
 * one change before it goes on to the next. A callback that changes the store adds to the end: the feed that called it
 * goes on with that when all watchers have been told of the change before. */
#include "apiserver/store_impl.h"

void feeds_init(struct store *store)
{
    store->feeds[FEED_NOW] = (struct feed){ .until = &store->revision, .sent = store->revision };
    store->feeds[FEED_DURABLE] = (struct feed){ .until = &store->durable, .sent = store->durable };
}

static bool is_catching_up(const struct store *store, const struct store_watcher *watcher)
{
    for (const struct catching_up *one = store->catching_up; one; one = one->outer)
        if (one->watcher == watcher)
            return true;
    return false;
}

static void tell(struct store *store, struct feed *feed, struct list *watchers,
                 const struct store_change *change)
{
    for (struct store_watcher *watcher = list_first(watchers, struct store_watcher, link); watcher;
         watcher = feed->next) {
        feed->next = list_item(watcher->link.next, struct store_watcher, link);
        if (change->now->revision > watcher->after && !is_catching_up(store, watcher))
            watcher->changed(watcher, change);
    }
}

static void feed_send(struct store *store, size_t number)
{
    struct feed *feed = &store->feeds[number];
    if (feed->is_sending)
        return;
    feed->is_sending = true;
    while (feed->sent < *feed->until) {
        struct store_change change = store_change_at(store, ++feed->sent);
        tell(store, feed, &store->kinds.items[change.now->kind]->watchers[number], &change);
        tell(store, feed, &feed->all, &change);
    }
    feed->is_sending = false;
}

void feeds_send(struct store *store)
{
    store->visiting++;
    feed_send(store, FEED_NOW);
    feed_send(store, FEED_DURABLE);
    for (struct store_waiter *waiter; (waiter = list_first(&store->waiters, struct store_waiter, link)) &&
                                      waiter->revision <= store->durable;) {
        list_remove(&store->waiters, &waiter->link);
        waiter->durable(waiter);
    }
    store->visiting--;
}

static struct list *watchers_of(struct store *store, const struct store_watcher *watcher)
{
    size_t number = watcher->when_durable ? FEED_DURABLE : FEED_NOW;
    return watcher->kind == STORE_ALL ? &store->feeds[number].all
                                      : &store->kinds.items[watcher->kind]->watchers[number];
}

int store_subscribe(struct store *store, struct store_watcher *watcher, uint64_t revision)
{
    if (revision < store->oldest)
        return -ESTALE;
    if (revision > store->revision)
        return -ERANGE;
    const uint64_t *until = store->feeds[watcher->when_durable ? FEED_DURABLE : FEED_NOW].until;
    list_append(watchers_of(store, watcher), &watcher->link);
    struct catching_up own = { watcher, store->catching_up };
    store->catching_up = &own;
    store->visiting++;
    uint64_t at = revision;
    while (own.watcher && at < *until) {
        struct store_change change = store_change_at(store, ++at);
        if (watcher->kind == STORE_ALL || watcher->kind == change.now->kind)
            watcher->changed(watcher, &change);
    }
    if (own.watcher)
        watcher->after = at;
    store->visiting--;
    store->catching_up = own.outer;
    return 0;
}

void store_unsubscribe(struct store *store, struct store_watcher *watcher)
{
    struct list *watchers = watchers_of(store, watcher);
    if (!list_has(watchers, &watcher->link))
        return;
    for (size_t i = 0; i < FEED_COUNT; i++)
        if (store->feeds[i].next == watcher)
            store->feeds[i].next = list_item(watcher->link.next, struct store_watcher, link);
    for (struct catching_up *one = store->catching_up; one; one = one->outer)
        if (one->watcher == watcher)
            one->watcher = NULL;
    list_remove(watchers, &watcher->link);
}

void store_when_durable(struct store *store, uint64_t revision, struct store_waiter *waiter)
{
    if (revision <= store->durable) {
        waiter->durable(waiter);
        return;
    }
    /* Not before one that came earlier: the list is in the order of revisions. */
    const struct store_waiter *last = list_item(store->waiters.last, struct store_waiter, link);
    waiter->revision = last ? MAX(revision, last->revision) : revision;
    list_append(&store->waiters, &waiter->link);
}

void store_cancel(struct store *store, struct store_waiter *waiter)
{
    if (list_has(&store->waiters, &waiter->link))
        list_remove(&store->waiters, &waiter->link);
}
