/* Any bytes as the response to a list or a watch, at once or in pieces: they give objects or errors, the same ones
 * however the bytes are split. The first byte is the requested kind, the second selects how much arrives at once. */
#include "sync/watch_decode.h"
#include "sync/watched.h"

#include "fuzz/fuzz.h"

/* The objects and errors, for comparison. */
struct seen {
    uint64_t hash;
    int end; /* how the stream ended */
};

static void see(struct seen *seen, struct str text)
{
    seen->hash = hash_bytes(text.ptr, text.len, seen->hash + 1);
}

static void must_explain(const struct error *err)
{
    must(err->text[0] && !strchr(err->text, '\n'));
}

/* Checks that an object is of the kind and in one allocation, and frees it. */
static void check_live(struct seen *seen, struct live_object *live, enum api_kind kind, size_t size)
{
    must(live->object.kind == kind && live->object.meta == live->object.ptr);
    must(live->arena.total_bytes <= (1 << 20) + 512 * size);
    see(seen, live->object.meta->name);
    see(seen, live->object.meta->resource_version);
    live_object_free(live);
}

static struct seen watch_in_pieces(struct str bytes, enum api_kind kind, size_t step)
{
    struct seen seen = { 0 };
    struct watch_decoder watch;
    struct live_event event;
    struct arena scratch = { 0 };
    struct error err;
    watch_decoder_init(&watch, kind);
    for (size_t at = 0; at < bytes.len && seen.end >= 0; at += step) {
        watch_decoder_feed(&watch, str_slice(bytes, at, MIN(at + step, bytes.len)));
        err.text[0] = '\0';
        while ((seen.end = watch_decoder_next(&watch, &scratch, &event, &err)) > 0) {
            see(&seen, (struct str){ (const char *)&event.type, sizeof(event.type) });
            see(&seen, event.type == WATCH_ERROR ? event.status.message : event.resource_version);
            must(!event.object || event.type < WATCH_BOOKMARK);
            if (event.object)
                check_live(&seen, event.object, kind, bytes.len);
            else if (event.type < WATCH_BOOKMARK)
                must_explain(&err);
            err.text[0] = '\0';
        }
        if (seen.end < 0)
            must_explain(&err);
    }
    watch_decoder_release(&watch);
    arena_release(&scratch);
    return seen;
}

static void check_page(struct str bytes, enum api_kind kind)
{
    struct seen seen = { 0 };
    struct strbuf body = { 0 };
    struct list_page page;
    struct live_object *live;
    struct arena scratch = { 0 };
    struct error err = { 0 };
    strbuf_str(&body, bytes);
    int r = list_page_init(&page, kind, &body, &err);
    must(!body.text);
    if (r < 0)
        must_explain(&err);
    else
        must(page.resource_version.len);
    while (r == 0 && (r = list_page_next(&page, &scratch, &live, &err)) != 0) {
        if (r > 0)
            check_live(&seen, live, kind, bytes.len);
        else
            must_explain(&err);
        r = 0;
    }
    list_page_release(&page);
    arena_release(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct str bytes = { (const char *)data + 2, (uint32_t)(size - 2) };
    enum api_kind kind = watched_kinds[data[0] % watched_kind_count].kind;
    struct seen at_once = watch_in_pieces(bytes, kind, MAX(bytes.len, 1));
    struct seen pieces = watch_in_pieces(bytes, kind, 1 + data[1]);
    must(at_once.hash == pieces.hash && at_once.end == pieces.end);
    check_page(bytes, kind);
    return 0;
}
