/* notes.c: see notes.h. A note never goes around the end of the ring: what is left there is filled. */
#include "observe/notes.h"

#include <stdlib.h>

enum { ALIGNMENT = 32, FINDERS = 512 };

/* What stands before each note. */
struct note {
    uint32_t bytes; /* of everything, padding included */
    uint32_t own_len, body_len;
    bool is_filler, shares;
    uint64_t body_at; /* the position of the note that has the body, where it shares */
};

static_assert(sizeof(struct note) <= ALIGNMENT, "a filler fits in the smallest rest of the ring");

/* Where a body with some hash was written last. */
struct finder {
    uint64_t hash, position;
};

struct notes {
    char *ring;
    size_t bytes, head_bytes;
    uint64_t head, tail;
    struct finder finders[FINDERS];
};

struct notes *notes_new(size_t bytes, size_t head_bytes)
{
    struct notes *notes = xcalloc(1, sizeof(*notes));
    assert(bytes % ALIGNMENT == 0 && head_bytes % 8 == 0);
    notes->bytes = bytes;
    notes->head_bytes = head_bytes;
    notes->ring = xcalloc(1, bytes);
    return notes;
}

void notes_free(struct notes *notes)
{
    if (!notes)
        return;
    free(notes->ring);
    free(notes);
}

static struct note *note_at(const struct notes *notes, uint64_t position)
{
    return (struct note *)(void *)(notes->ring + position % notes->bytes);
}

static struct str own_of(const struct notes *notes, const struct note *note)
{
    return (struct str){ (const char *)(note + 1) + notes->head_bytes, note->own_len };
}

static struct str body_of(const struct notes *notes, const struct note *note)
{
    return (struct str){ (const char *)(note + 1) + notes->head_bytes + note->own_len, note->body_len };
}

/* Whoever is in the way goes. */
static struct note *make_room(struct notes *notes, size_t bytes)
{
    while (notes->head + bytes - notes->tail > notes->bytes)
        notes->tail += note_at(notes, notes->tail)->bytes;
    struct note *note = note_at(notes, notes->head);
    *note = (struct note){ .bytes = (uint32_t)bytes };
    notes->head += bytes;
    return note;
}

/* A body that is about to be pushed out is not worth to be shared. */
static bool find_body(const struct notes *notes, struct str body, uint64_t hash, uint64_t *ret)
{
    const struct finder *finder = &notes->finders[hash % FINDERS];
    if (finder->hash != hash || finder->position < notes->tail || finder->position >= notes->head ||
        notes->head - finder->position > notes->bytes / 2)
        return false;
    *ret = finder->position;
    return str_eq(body_of(notes, note_at(notes, finder->position)), body);
}

bool notes_add(struct notes *notes, const void *head, struct str own, struct str body)
{
    uint64_t hash = str_hash(body), found = 0;
    bool shares = body.len && find_body(notes, body, hash, &found);
    size_t len = sizeof(struct note) + notes->head_bytes + own.len + (shares ? 0 : body.len);
    size_t bytes = (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
           left = notes->bytes - notes->head % notes->bytes;
    if (bytes >= notes->bytes / 4)
        return false;
    if (left < bytes)
        make_room(notes, left)->is_filler = true;
    if (!shares)
        notes->finders[hash % FINDERS] = (struct finder){ hash, notes->head };
    struct note *note = make_room(notes, bytes);
    note->own_len = own.len;
    note->body_len = shares ? 0 : body.len;
    note->shares = shares;
    note->body_at = found;
    char *at = (char *)(note + 1);
    memcpy(at, head, notes->head_bytes);
    if (own.len)
        memcpy(at + notes->head_bytes, own.ptr, own.len);
    if (note->body_len)
        memcpy(at + notes->head_bytes + own.len, body.ptr, body.len);
    return true;
}

void notes_each(const struct notes *notes, void (*visit)(void *context, const struct note_text *note),
                void *context)
{
    for (uint64_t position = notes->tail; position != notes->head;) {
        const struct note *note = note_at(notes, position);
        position += note->bytes;
        if (note->is_filler)
            continue;
        struct note_text text = { .head = note + 1,
                                  .own = own_of(notes, note),
                                  .body_gone = note->shares && note->body_at < notes->tail };
        if (!text.body_gone)
            text.body = body_of(notes, note->shares ? note_at(notes, note->body_at) : note);
        visit(context, &text);
    }
}
