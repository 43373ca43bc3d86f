/* Any document as an object of a kind that a plugin names, and any path into it; the first line is the path, the rest
 * the document. What is decoded is the same after it was recorded and read again, and a read ends in a value or none.
 * The same bytes as the answer about the resources of a group: a resource that is found cannot leave its path. */
#include "api/extra_kinds.h"
#include "api/fields.h"
#include "api/protobuf.h"
#include "codec/json_tree.h"
#include "fuzz/documents.h"
#include "fuzz/objects.h"
#include "sync/watched.h"

static struct str path;

static void check_view(const struct object *object)
{
    const struct record_type *type = api_kinds[object->kind].type;
    struct record_view view = record_view(type, object->ptr, path);
    must(view.type == VIEW_TEXT || !view.text.ptr);
    for (uint32_t i = 0; i < MIN(view.len, 3u) && view.type == VIEW_OBJECT; i++)
        record_view_key(type, object->ptr, path, i);
    must(!record_view_key(type, object->ptr, path, UINT32_MAX).ptr);
}

static void write_json(const struct object *object, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    object_encode_json(object, NULL, &json);
}

static void check_object(struct object *object, struct arena *arena)
{
    struct strbuf bytes = { 0 }, before = { 0 }, after = { 0 };
    struct object again;
    struct error err;
    if (!object->ptr || !kind_is_extra(object->kind))
        return;
    check_view(object);
    object_encode_protobuf(object, &bytes);
    must(object_decode_protobuf(strbuf_slice(&bytes), STRINGS_COPIED, arena, &again, &err) == 0);
    must(record_equal(api_kinds[object->kind].type, object->ptr, again.ptr));
    write_json(object, &before);
    write_json(&again, &after);
    must(str_eq(strbuf_slice(&before), strbuf_slice(&after)));
    struct record_view a = record_view(api_kinds[object->kind].type, object->ptr, path),
                       b = record_view(api_kinds[object->kind].type, again.ptr, path);
    must(a.type == b.type && a.len == b.len && a.number == b.number && a.milli == b.milli &&
         str_eq(a.text, b.text));
    strbuf_release(&bytes);
    strbuf_release(&before);
    strbuf_release(&after);
}

static void visit(const struct doc *doc)
{
    fuzz_each_object(doc, check_object);
}

/* The bytes as what a recording has of an object. */
static void check_recorded(enum api_kind kind, struct str text)
{
    struct arena arena = { 0 };
    struct strbuf bytes = { 0 };
    struct object object = { 0 };
    struct error err = { 0 };
    strbuf_add(&bytes, "k8s", 4);
    size_t begun = protobuf_begin(&bytes, 1);
    protobuf_put_bytes(&bytes, 1, api_kinds[kind].api_version);
    protobuf_put_bytes(&bytes, 2, api_kinds[kind].kind);
    protobuf_end(&bytes, begun);
    begun = protobuf_begin(&bytes, 2);
    protobuf_put_bytes(&bytes, 2, text);
    protobuf_end(&bytes, begun);
    if (object_decode_protobuf(strbuf_slice(&bytes), STRINGS_COPIED, &arena, &object, &err) == 0)
        check_object(&object, &arena);
    else
        must(err.text[0]);
    strbuf_release(&bytes);
    arena_release(&arena);
}

static void check_lookup(enum api_kind kind, struct str text)
{
    const struct watched_kind watched = {
        .kind = kind, .resource = "x", .is_looked_up = true, .namespace = "a/b"
    };
    struct strbuf answer = { 0 }, found = { 0 };
    struct error err = { 0 };
    strbuf_str(&answer, text);
    int r = watched_look_up(&watched, &answer, &found, &err);
    must(!answer.text && (r == 1) == (found.len > 0) && (r >= 0 || err.text[0]));
    must(!found.len || (!strstr(found.text, "..") && !strchr(found.text, '?')));
    strbuf_release(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = { (const char *)data, (uint32_t)size };
    ptrdiff_t end = str_find(bytes, '\n');
    struct error err;
    enum api_kind kind =
        extra_kind_add(&(struct extra_kind){ .api_version = STR("v1"), .kind = STR("ConfigMap") }, &err);
    path = str_slice(bytes, 0, end < 0 ? 0 : (size_t)end);
    struct str text = str_slice(bytes, (size_t)(end + 1), bytes.len);
    fuzz_documents((const uint8_t *)text.ptr, text.len, false, visit);
    fuzz_documents((const uint8_t *)text.ptr, text.len, true, visit);
    check_recorded(kind, text);
    check_lookup(kind, text);
    return 0;
}
