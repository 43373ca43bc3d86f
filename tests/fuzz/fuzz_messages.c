/* Any bytes as an object in protobuf: they give JSON that can be read, or a reason. */
#include "apiserver/messages.h"
#include "apiserver/tree.h"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    struct arena arena = { 0 };
    struct str reason;
    if (messages_to_json((struct str){ (const char *)data, (uint32_t)size }, &json, &arena, &reason)) {
        yyjson_doc *doc = yyjson_read(json.text, json.len, 0);
        must(yyjson_is_obj(yyjson_doc_get_root(doc)));
        yyjson_doc_free(doc);
    } else {
        must(reason.len);
    }
    arena_release(&arena);
    return 0;
}
