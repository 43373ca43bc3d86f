/* Any bytes as an object, a list, a status or a watch in protobuf: they are decoded, or rejected with an error. The
 * result is the same whether strings are copied or not, and after it is written and read again. */
#include "api/protobuf.h"

#include "fuzz/fuzz.h"
#include "support/same.h"

static void must_explain(const struct error *err)
{
    must(err->text[0] && !strchr(err->text, '\n'));
}

static void must_be_same(const struct object *a, const struct object *b)
{
    struct same same = { 0 };
    must(a->kind == b->kind);
    if (a->ptr && !same_struct(&same, api_kinds[a->kind].type, a->ptr, b->ptr)) {
        fprintf(stderr, "differs at%s\n", same.path.text);
        abort();
    }
    same_release(&same);
}

static void check_again(const struct object *object, struct arena *arena)
{
    struct object again;
    struct error err = { 0 };
    struct strbuf out = { 0 };
    object_encode_protobuf(object, &out);
    must(object_decode_protobuf(strbuf_slice(&out), STRINGS_BORROWED, arena, &again, &err) == 0);
    must_be_same(object, &again);
    strbuf_release(&out);
}

static void check_object(struct str bytes, struct arena *arena)
{
    struct object copied = { 0 }, borrowed = { 0 };
    struct error err = { 0 };
    int r = object_decode_protobuf(bytes, STRINGS_COPIED, arena, &copied, &err);
    must(object_decode_protobuf(bytes, STRINGS_BORROWED, arena, &borrowed, NULL) == r);
    if (r < 0) {
        must_explain(&err);
        must(!copied.ptr == !borrowed.ptr && copied.is_partial == !!copied.ptr);
        if (copied.ptr) { /* what could be read is an object */
            must_be_same(&copied, &borrowed);
            check_again(&copied, arena);
        }
        return;
    }
    must((copied.kind == KIND_UNKNOWN) == !copied.ptr);
    must_be_same(&copied, &borrowed);
    if (copied.ptr)
        check_again(&copied, arena);
}

/* Without an envelope, so that a mutation need not fix the outer length as well; the first byte is the kind. */
static void check_raw(struct str bytes, struct arena *arena)
{
    if (!bytes.len)
        return;
    int kind = (unsigned char)bytes.ptr[0] % KIND_EXTRA_FIRST;
    struct strbuf out = { 0 };
    strbuf_add(&out, "k8s", 4);
    size_t begun = protobuf_begin(&out, 1);
    protobuf_put_bytes(&out, 1, kind ? api_kinds[kind].api_version : STR("v1"));
    protobuf_put_bytes(&out, 2, kind ? api_kinds[kind].kind : STR("Status"));
    protobuf_end(&out, begun);
    protobuf_put_bytes(&out, 2, str_slice(bytes, 1, bytes.len));
    check_object(strbuf_slice(&out), arena);
    struct api_status status;
    if (!kind)
        status_decode_protobuf(strbuf_slice(&out), STRINGS_COPIED, arena, &status, NULL);
    strbuf_release(&out);
}

static void check_list(struct str bytes, struct arena *arena)
{
    struct object_list_protobuf list;
    struct object object;
    struct error err = { 0 };
    uint32_t items = 0;
    int r = object_list_protobuf_init(&list, bytes, &err);
    if (r < 0)
        must_explain(&err);
    while ((r = object_list_protobuf_next(&list, STRINGS_COPIED, arena, &object, &err)) != 0) {
        must(r == 1 || r < 0);
        if (r < 0)
            must_explain(&err);
        items++;
    }
    must(items == list.len);
}

/* The first byte selects how much arrives at once. */
static void check_watch(struct str bytes, struct arena *arena)
{
    struct protobuf_frames frames = { .bytes_max = 4096 };
    struct error err = { 0 };
    struct str frame;
    size_t step = bytes.len ? 1 + (unsigned char)bytes.ptr[0] : 1;
    for (size_t at = 0; at < bytes.len; at += step) {
        struct str piece = str_slice(bytes, at, at + step);
        protobuf_frames_feed(&frames, piece.ptr, piece.len);
        int r;
        while ((r = protobuf_frames_next(&frames, &frame, &err)) == 1) {
            struct watch_event event;
            must(frame.len <= frames.bytes_max);
            if (watch_event_decode_protobuf(frame, STRINGS_COPIED, arena, &event, &err) < 0)
                must_explain(&err);
            else
                must(event.type < WATCH_TYPE_COUNT);
        }
        if (r < 0) {
            must_explain(&err);
            break;
        }
        must(frames.buf.len - frames.at < 4 + frames.bytes_max);
    }
    protobuf_frames_release(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = { (const char *)data, (uint32_t)size };
    struct arena arena = { 0 };
    struct error err = { 0 };
    struct api_status status;
    check_object(bytes, &arena);
    check_raw(bytes, &arena);
    check_list(bytes, &arena);
    check_watch(bytes, &arena);
    if (status_decode_protobuf(bytes, STRINGS_BORROWED, &arena, &status, &err) < 0)
        must_explain(&err);
    /* Memory is bounded by the input: strings, arrays, and what a list and a watch repeat of them. */
    must(arena.total_bytes <= (16 << 20) + 512 * size);
    arena_release(&arena);
    return 0;
}
