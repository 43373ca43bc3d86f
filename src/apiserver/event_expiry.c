/* event_expiry.c: see event_expiry.h.
 *
 * All Events are in one list, in the order in which they were written last: the first one is due first. */
#include "apiserver/event_expiry.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/map.h"

enum { EVENTS_PER_TURN = 200 };

struct event_entry {
    struct str key; /* of the map, which it is an entry of: "NAMESPACE/NAME" */
    struct list_link link;
    int64_t due_ns;
};

struct event_expiry {
    struct registry *registry;
    struct loop *loop;
    int64_t ttl_ns;
    const struct api_resource *events;
    struct store_watcher watcher;
    struct strmap entries;
    struct list order;
    struct loop_timer timer;
};

static void set_timer(struct event_expiry *expiry)
{
    const struct event_entry *first = list_first(&expiry->order, struct event_entry, link);
    if (first)
        loop_timer_set(expiry->loop, &expiry->timer, first->due_ns);
}

static void renew(struct event_expiry *expiry, struct event_entry *entry)
{
    if (list_has(&expiry->order, &entry->link))
        list_remove(&expiry->order, &entry->link);
    entry->due_ns = monotonic_ns() + expiry->ttl_ns;
    list_append(&expiry->order, &entry->link);
    if (!expiry->timer.place)
        set_timer(expiry);
}

static void forget(struct event_expiry *expiry, struct event_entry *entry)
{
    list_remove(&expiry->order, &entry->link);
    strmap_remove(&expiry->entries, entry->key);
    free(entry);
}

static void follow(struct event_expiry *expiry, const struct stored *event, bool is_deleted)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    strbuf_printf(&key, STR_FMT "/" STR_FMT, STR_ARG(event->ns), STR_ARG(event->name));
    if (!is_deleted) {
        renew(expiry, strmap_make(&expiry->entries, strbuf_slice(&key), sizeof(struct event_entry)));
        return;
    }
    struct event_entry *entry = strmap_get(&expiry->entries, strbuf_slice(&key));
    if (entry)
        forget(expiry, entry);
}

static void changed(struct store_watcher *watcher, const struct store_change *change)
{
    follow(container_of(watcher, struct event_expiry, watcher), change->now, change->type == STORE_DELETED);
}

static enum store_visited follow_present(void *user, struct stored *event)
{
    follow(user, event, false);
    return STORE_COUNTS;
}

/* The watcher forgets it, unless something keeps it: then it has its time again. */
static void expire(struct event_expiry *expiry, struct event_entry *entry)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 }; /* the entry's own goes with it */
    strbuf_str(&key, entry->key);
    struct str name = strbuf_slice(&key), ns = str_cut(&name, '/');
    struct registry_result result = { 0 };
    struct api_error err = { 0 };
    renew(expiry, entry);
    registry_delete(expiry->registry, expiry->events, ns, name, &(struct delete_options){ 0 }, &result, &err);
    registry_result_release(&result);
    api_error_release(&err);
}

static void ring(struct loop_timer *timer)
{
    struct event_expiry *expiry = container_of(timer, struct event_expiry, timer);
    int64_t now_ns = monotonic_ns();
    for (int i = 0; i < EVENTS_PER_TURN; i++) {
        struct event_entry *first = list_first(&expiry->order, struct event_entry, link);
        if (!first || first->due_ns > now_ns)
            break;
        expire(expiry, first);
    }
    set_timer(expiry);
}

struct event_expiry *event_expiry_new(struct registry *registry, struct loop *loop, int64_t ttl_ms)
{
    struct event_expiry *expiry = xcalloc(1, sizeof(*expiry));
    struct store *store = registry_store(registry);
    expiry->registry = registry;
    expiry->loop = loop;
    expiry->ttl_ns = ttl_ms * NS_PER_MS;
    expiry->events = resource_named("", "events");
    expiry->timer.ring = ring;
    expiry->watcher = (struct store_watcher){ .kind = expiry->events->storage, .changed = changed };
    store_page(store, &(struct store_range){ .kind = expiry->events->storage }, 0, follow_present, expiry);
    store_subscribe(store, &expiry->watcher, store_revision(store));
    return expiry;
}

void event_expiry_free(struct event_expiry *expiry)
{
    if (!expiry)
        return;
    store_unsubscribe(registry_store(expiry->registry), &expiry->watcher);
    loop_timer_stop(expiry->loop, &expiry->timer);
    struct event_entry *entry;
    while ((entry = list_first(&expiry->order, struct event_entry, link)))
        forget(expiry, entry);
    strmap_release(&expiry->entries);
    free(expiry);
}
