/* extra_watch.c: see extra_watch.h. A change of what is wanted, which is rare, begins all of them anew. */
#include "live/extra_watch.h"

#include "api/extra_kinds.h"

enum { ABSENT_MS = 5000 };

static void start(struct extra_watch *watch)
{
    struct reflector_options options = watch->options;
    options.kinds = watch->kinds;
    options.absent_ms = ABSENT_MS;
    for (int kind = KIND_EXTRA_FIRST; kind < KIND_COUNT; kind++)
        if (watch->wanted >> kind & 1)
            watch->kinds[options.kind_count++] = watched_for_plugins((enum api_kind)kind, &watch->texts);
    if (options.kind_count)
        watch->reflectors = reflectors_start(watch->api, watch->inbox, &options);
}

static void empty(struct extra_watch *watch, uint64_t kinds)
{
    for (int kind = KIND_EXTRA_FIRST; kind < KIND_COUNT; kind++) {
        if (!(kinds >> kind & 1))
            continue;
        struct inbox_message *message = inbox_message_new(MESSAGE_ABSENT);
        message->api_kind = (enum api_kind)kind;
        inbox_post(watch->inbox, message);
    }
}

void extra_watch_want(struct extra_watch *watch, uint64_t kinds)
{
    uint64_t before = watch->wanted, now = extra_kinds_of_servers(kinds);
    if (before == now)
        return;
    extra_watch_stop(watch);
    empty(watch, before & ~now);
    watch->wanted = now;
    start(watch);
}

void extra_watch_stop(struct extra_watch *watch)
{
    reflectors_stop(watch->reflectors);
    watch->reflectors = NULL;
    watch->wanted = 0;
    arena_release(&watch->texts);
}
