/* extra_watch.c: see extra_watch.h. A change of what is wanted, which is rare, begins all of them anew. */
#include "live/extra_watch.h"

#include "api/extra_kinds.h"

enum { PAGE_LEN = 500, ABSENT_MS = 5000 };

static const char *text_of(struct extra_watch *watch, struct str text)
{
    return arena_strndup(&watch->texts, text.len ? text.ptr : "", text.len);
}

static struct watched_kind watched_of(struct extra_watch *watch, enum api_kind kind)
{
    const struct extra_kind *extra = extra_kind_of(kind);
    _cleanup_(strbuf_release) struct strbuf selector = { 0 };
    if (extra->name.len)
        strbuf_printf(&selector, "metadata.name=" STR_FMT, STR_ARG(extra->name));
    return (struct watched_kind){
        .kind = kind,
        .resource = extra->text.ptr,
        .page_len = PAGE_LEN,
        .older_versions = "",
        .field_selector = text_of(watch, strbuf_slice(&selector)),
        .is_looked_up = true,
        .namespace = extra->namespace.len ? extra->namespace.ptr : NULL,
    };
}

static uint64_t served_by_others(uint64_t kinds)
{
    uint64_t ret = 0;
    for (int kind = KIND_EXTRA_FIRST; kind < KIND_EXTRA_FIRST + (int)extra_kind_count(); kind++)
        if (kinds >> kind & 1 && !extra_kind_is_own((enum api_kind)kind))
            ret |= UINT64_C(1) << kind;
    return ret;
}

static void start(struct extra_watch *watch)
{
    struct reflector_options options = watch->options;
    options.kinds = watch->kinds;
    options.absent_ms = ABSENT_MS;
    for (int kind = KIND_EXTRA_FIRST; kind < KIND_COUNT; kind++)
        if (watch->wanted >> kind & 1)
            watch->kinds[options.kind_count++] = watched_of(watch, (enum api_kind)kind);
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
    uint64_t before = watch->wanted, now = served_by_others(kinds);
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
