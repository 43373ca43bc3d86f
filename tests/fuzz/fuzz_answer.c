/* Any bytes as the answer to a request other than lists and watches: a Status, an object, one sentence, a time to wait.
 * The first byte selects the format and the status code. */
#include "client/rest.h"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    static const struct str types[] = { { "application/json", 16 },
                                        { "application/vnd.kubernetes.protobuf", 35 },
                                        { "text/plain", 10 },
                                        { NULL, 0 } };
    struct strbuf body = { 0 };
    struct arena arena = { 0 };
    struct error err = { 0 };
    struct object object = { 0 };
    struct api_status status = { 0 };
    strbuf_add(&body, (const char *)data + 1, size - 1);
    const struct http_response response = { .outcome = HTTP_ANSWERED,
                                            .status = data[0] & 4 ? 409 : 200,
                                            .content_type = types[data[0] & 3],
                                            .retry_after_ms = data[0] & 8 ? 1000 : -1,
                                            .body = &body };
    rest_status(&response, &arena, &status);
    must(rest_sentence(&response, &status, &arena).len);
    int64_t wait_ms = rest_retry_after_ms(&response, &status);
    must(wait_ms >= 0 && wait_ms <= INT64_C(3600) * 1000);
    if (rest_object(&response, &arena, &object, &err) < 0)
        must(err.text[0] && !strchr(err.text, '\n'));
    else
        must((object.kind == KIND_UNKNOWN) == !object.ptr);
    arena_release(&arena);
    strbuf_release(&body);
    return 0;
}
