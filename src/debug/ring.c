/* ring.c: see ring.h. An item never goes around the end of the ring: what is left there is filled. */
#include "debug/ring.h"

#include <stdlib.h>

enum { ALIGNMENT = 32, FINDERS = 512 };

/* What stands before each item. */
struct item_head {
    uint32_t bytes; /* of everything, padding included */
    uint32_t own_len, body_len;
    bool is_filler, shares;
    uint64_t body_at; /* the position of the item that has the body, where it shares */
};

static_assert(sizeof(struct item_head) <= ALIGNMENT, "a filler fits in the smallest rest of the ring");

/* Where a body with some hash was written last. */
struct finder {
    uint64_t hash, position;
};

struct ring {
    char *bytes_at;
    size_t bytes, head_bytes;
    uint64_t head, tail;
    struct finder finders[FINDERS];
};

struct ring *ring_new(size_t bytes, size_t head_bytes)
{
    struct ring *ring = xcalloc(1, sizeof(*ring));
    assert(bytes % ALIGNMENT == 0 && head_bytes % 8 == 0);
    ring->bytes = bytes;
    ring->head_bytes = head_bytes;
    ring->bytes_at = xcalloc(1, bytes);
    return ring;
}

void ring_free(struct ring *ring)
{
    if (!ring)
        return;
    free(ring->bytes_at);
    free(ring);
}

static struct item_head *item_at(const struct ring *ring, uint64_t position)
{
    return (struct item_head *)(void *)(ring->bytes_at + position % ring->bytes);
}

static struct str own_of(const struct ring *ring, const struct item_head *item)
{
    return (struct str){ (const char *)(item + 1) + ring->head_bytes, item->own_len };
}

static struct str body_of(const struct ring *ring, const struct item_head *item)
{
    return (struct str){ (const char *)(item + 1) + ring->head_bytes + item->own_len, item->body_len };
}

/* The oldest items go where they are in the way. */
static struct item_head *make_space(struct ring *ring, size_t bytes)
{
    while (ring->head + bytes - ring->tail > ring->bytes)
        ring->tail += item_at(ring, ring->tail)->bytes;
    struct item_head *item = item_at(ring, ring->head);
    *item = (struct item_head){ .bytes = (uint32_t)bytes };
    ring->head += bytes;
    return item;
}

/* A body that will soon be overwritten is not shared. */
static bool find_body(const struct ring *ring, struct str body, uint64_t hash, uint64_t *ret)
{
    const struct finder *finder = &ring->finders[hash % FINDERS];
    if (finder->hash != hash || finder->position < ring->tail || finder->position >= ring->head ||
        ring->head - finder->position > ring->bytes / 2)
        return false;
    *ret = finder->position;
    return str_eq(body_of(ring, item_at(ring, finder->position)), body);
}

bool ring_add(struct ring *ring, const void *head, struct str own, struct str body)
{
    uint64_t hash = str_hash(body), found = 0;
    bool shares = body.len && find_body(ring, body, hash, &found);
    size_t len = sizeof(struct item_head) + ring->head_bytes + own.len + (shares ? 0 : body.len);
    size_t bytes = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
           left = ring->bytes - ring->head % ring->bytes;
    if (bytes >= ring->bytes / 4)
        return false;
    if (left < bytes)
        make_space(ring, left)->is_filler = true;
    if (!shares && body.len)
        ring->finders[hash % FINDERS] = (struct finder){ hash, ring->head };
    struct item_head *item = make_space(ring, bytes);
    item->own_len = own.len;
    item->body_len = shares ? 0 : body.len;
    item->shares = shares;
    item->body_at = found;
    char *at = (char *)(item + 1);
    memcpy(at, head, ring->head_bytes);
    if (own.len)
        memcpy(at + ring->head_bytes, own.ptr, own.len);
    if (item->body_len)
        memcpy(at + ring->head_bytes + own.len, body.ptr, body.len);
    return true;
}

void ring_each(const struct ring *ring, void (*visit)(void *context, const struct ring_item *item),
               void *context)
{
    for (uint64_t position = ring->tail; position != ring->head;) {
        const struct item_head *item = item_at(ring, position);
        position += item->bytes;
        if (item->is_filler)
            continue;
        struct ring_item text = { .head = item + 1,
                                  .own = own_of(ring, item),
                                  .body_gone = item->shares && item->body_at < ring->tail };
        if (!text.body_gone)
            text.body = body_of(ring, item->shares ? item_at(ring, item->body_at) : item);
        visit(context, &text);
    }
}
