/* protobuf_text.h: protobuf messages written by hand in a test.
 *
 *     2{ 2{ 1"app" 8{} } 25=-5 }     tag 2, a message: tag 2, a message: ...; tag 25, the number -5
 *
 * "!" puts an invalid byte (a group), to make the message malformed in that place. */
#ifndef SUPPORT_PROTOBUF_TEXT_H
#define SUPPORT_PROTOBUF_TEXT_H

#include "codec/protobuf.h"
#include "support/test.h"

/* Returns what follows the message. */
static inline const char *protobuf_text_put(struct strbuf *out, const char *text)
{
    while (*text && *text != '}') {
        if (*text == ' ') {
            text++;
            continue;
        }
        if (*text == '!') {
            strbuf_putc(out, '\x0b');
            text++;
            continue;
        }
        char *at;
        uint32_t tag = (uint32_t)strtoul(text, &at, 10);
        assert_true(at > text);
        if (*at == '=') {
            protobuf_put_number(out, tag, (uint64_t)strtoll(at + 1, &at, 10));
            text = at;
        } else if (*at == '"') {
            const char *end = strchr(at + 1, '"');
            assert_non_null(end);
            protobuf_put_bytes(out, tag, (struct str){ at + 1, (uint32_t)(end - at - 1) });
            text = end + 1;
        } else {
            assert_int_equal(*at, '{');
            size_t begun = protobuf_begin(out, tag);
            text = protobuf_text_put(out, at + 1);
            assert_int_equal(*text, '}');
            protobuf_end(out, begun);
            text++;
        }
    }
    return text;
}

/* The envelope of Kubernetes around it. */
static inline void protobuf_text_object(struct strbuf *out, const char *api_version, const char *kind,
                                        const char *text)
{
    strbuf_add(out, "k8s", 4);
    size_t begun = protobuf_begin(out, 1);
    protobuf_put_bytes(out, 1, str_from(api_version));
    protobuf_put_bytes(out, 2, str_from(kind));
    protobuf_end(out, begun);
    begun = protobuf_begin(out, 2);
    assert_int_equal(*protobuf_text_put(out, text), '\0');
    protobuf_end(out, begun);
}

#endif
