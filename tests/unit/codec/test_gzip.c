/* Compressed data is decompressed unchanged, whatever its contents and length. */
#include "support/test.h"

#include <errno.h>
#include <zlib.h>

#include "codec/gzip.h"

/* Decompresses with zlib, which checks the format and its end. */
static void unpack(const char *bytes, size_t len, struct strbuf *out)
{
    z_stream stream = { .next_in = (Bytef *)bytes, .avail_in = (uInt)len };
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    int r;
    do {
        char buf[4096];
        stream.next_out = (Bytef *)buf;
        stream.avail_out = sizeof(buf);
        r = inflate(&stream, Z_NO_FLUSH);
        assert_true(r == Z_OK || r == Z_STREAM_END);
        strbuf_add(out, buf, sizeof(buf) - stream.avail_out);
    } while (r != Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
}

static void check(const struct strbuf *plain)
{
    _cleanup_(strbuf_release) struct strbuf packed = { 0 }, unpacked = { 0 };
    strbuf_puts(&packed, "before");
    assert_int_equal(gzip_encode(plain->text, plain->len, &packed), 0);
    assert_memory_equal(packed.text, "before\x1f\x8b", 8);
    unpack(packed.text + 6, packed.len - 6, &unpacked);
    assert_int_equal(unpacked.len, plain->len);
    if (plain->len)
        assert_memory_equal(unpacked.text, plain->text, plain->len);
    strbuf_clear(&unpacked);
    assert_int_equal(gzip_decode(packed.text + 6, packed.len - 6, plain->len, &unpacked), 0);
    assert_int_equal(unpacked.len, plain->len);
    if (plain->len)
        assert_memory_equal(unpacked.text, plain->text, plain->len);
}

static void test_sizes(void **state _unused_)
{
    static const size_t sizes[] = { 0, 1, 100, 16383, 16384, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20 };
    struct rng rng = test_rng();
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        _cleanup_(strbuf_release) struct strbuf text = { 0 }, noise = { 0 };
        while (text.len < sizes[i]) {
            strbuf_putc(&text, "metric{a=\"b\"} 1\n"[text.len % 16]);
            strbuf_putc(&noise, (char)rng_next(&rng));
        }
        check(&text);
        check(&noise);
    }
}

/* Its purpose: metrics pages, which are repetitive. */
static void test_gain(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 }, packed = { 0 };
    for (int i = 0; i < 10000; i++)
        strbuf_printf(&text, "kube_pod_resource_request{namespace=\"default\",pod=\"pod-%d\"} %d\n", i,
                      i * 7);
    assert_int_equal(gzip_encode(text.text, text.len, &packed), 0);
    assert_true(packed.len < text.len / 5);
}

/* At every length the end is missing; with one byte more than allowed it is too long. */
static void test_refused(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf packed = { 0 }, out = { 0 };
    assert_int_equal(gzip_encode("0123456789", 10, &packed), 0);
    assert_true(gzip_is(packed.text, packed.len));
    assert_false(gzip_is(packed.text, 1));
    for (size_t len = 1; len < packed.len; len++) {
        assert_int_equal(gzip_decode(packed.text, len, 100, &out), -EINVAL);
        strbuf_clear(&out);
    }
    assert_int_equal(gzip_decode(packed.text, packed.len, 9, &out), -EFBIG);
    strbuf_clear(&out);
    packed.text[packed.len - 8] ^= 1; /* the checksum */
    assert_int_equal(gzip_decode(packed.text, packed.len, 100, &out), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_gain),
                                        cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
