/* Messages are read field by field and never past their end; written messages are read back; frames are complete
 * however the stream is split. */
#include "codec/protobuf.h"
#include "support/test.h"

/* "08 96 01" as bytes in its own allocation, so that a sanitizer detects a read past the end. */
static struct str from_hex(const char *hex)
{
    char *bytes = xmalloc(strlen(hex) + 1);
    uint32_t len = 0;
    for (char *end; *hex; hex = end) {
        bytes[len] = (char)strtol(hex, &end, 16);
        if (end == hex)
            break;
        len++;
    }
    return (struct str){ xrealloc(bytes, len ? len : 1), len };
}

/* "1=150 2:testing" for a varint and bytes; an error ends it with its text. */
static void describe(struct str message, struct strbuf *ret)
{
    struct protobuf_reader reader = protobuf_reader(message);
    struct protobuf_field field;
    int r;
    while ((r = protobuf_next(&reader, &field)) > 0) {
        strbuf_puts(ret, ret->len ? " " : "");
        if (field.wire == WIRE_BYTES)
            strbuf_printf(ret, "%u:" STR_FMT, field.tag, STR_ARG(field.bytes));
        else
            strbuf_printf(ret, "%u=%llu", field.tag, (unsigned long long)field.number);
    }
    if (r < 0)
        strbuf_printf(ret, "%s%s", ret->len ? " " : "", protobuf_problem(r));
}

#define ENDS "the message ends in the middle of a field"
#define LONG "a number has more than 64 bits"
#define GROUP "a group, which is not supported"
#define NONE "no protobuf message"

static void test_read(void **state)
{
    (void)state;
    static const struct {
        const char *hex, *want;
    } cases[] = {
        { "", "" },
        { "08 96 01", "1=150" },
        { "12 07 74 65 73 74 69 6e 67", "2:testing" },
        { "12 00 08 00", "2: 1=0" },
        { "09 01 00 00 00 00 00 00 80", "1=9223372036854775809" },
        { "0d 01 00 00 80", "1=2147483649" },
        { "08 ff ff ff ff ff ff ff ff ff 01", "1=18446744073709551615" },
        { "08 ff ff ff ff ff ff ff ff ff 7f", "1=18446744073709551615" }, /* higher bits are dropped */
        { "08 81 00", "1=1" },                                            /* longer than necessary */
        { "88 00 05", "1=5" },
        { "f8 ff ff ff 0f 01", "536870911=1" }, /* the highest tag */
        /* truncated */
        { "08", ENDS },
        { "08 80", ENDS },
        { "80", ENDS },
        { "12", ENDS },
        { "12 05 61", ENDS },
        { "12 80", ENDS },
        { "12 ff ff ff ff 0f 61", ENDS },
        { "12 ff ff ff ff ff ff ff ff ff 01 61", ENDS },
        { "09 00 00 00 00 00 00 00", ENDS },
        { "0d 00 00 00", ENDS },
        { "08 01 12 02 61", "1=1 " ENDS },
        /* numbers of more than ten bytes */
        { "08 80 80 80 80 80 80 80 80 80 80 01", LONG },
        { "12 80 80 80 80 80 80 80 80 80 80 01", LONG },
        { "80 80 80 80 80 80 80 80 80 80 01", LONG },
        /* invalid fields */
        { "00", NONE },
        { "02 00", NONE },
        { "0e 00", NONE },
        { "0f 00", NONE },
        { "f8 ff ff ff 1f 01", NONE },
        { "f8 ff ff ff ff ff ff ff ff 01 01", NONE },
        { "0b 0c", GROUP },
        { "0c", GROUP },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf got = { 0 };
        struct str message = from_hex(cases[i].hex);
        describe(message, &got);
        if (strcmp(got.len ? got.text : "", cases[i].want) != 0)
            fail_msg("%s: got \"%s\", want \"%s\"", cases[i].hex, got.len ? got.text : "", cases[i].want);
        strbuf_release(&got);
        free((char *)message.ptr);
    }
    struct protobuf_reader none = protobuf_reader((struct str){ 0 });
    assert_int_equal(protobuf_next(&none, &(struct protobuf_field){ 0 }), 0);
}

static void test_numbers(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct strbuf out = { 0 };
    for (int i = 0; i < 20000; i++) {
        uint64_t value = rng_next(&rng) >> rng_below(&rng, 64);
        uint32_t tag = 1 + (uint32_t)(rng_next(&rng) % PROTOBUF_TAG_MAX >> rng_below(&rng, 29));
        strbuf_clear(&out);
        protobuf_put_number(&out, tag, value);
        struct protobuf_reader reader = protobuf_reader(strbuf_slice(&out));
        struct protobuf_field field;
        assert_int_equal(protobuf_next(&reader, &field), 1);
        assert_int_equal(field.tag, tag);
        assert_int_equal(field.wire, WIRE_VARINT);
        assert_true(field.number == value);
        assert_int_equal(protobuf_next(&reader, &field), 0);
    }
    strbuf_release(&out);
}

/* Lengths that need one byte, two, three; one message in another. */
static void test_nested(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 0, 1, 119, 120, 121, 127, 128, 16370, 16383, 16384, 70000, 2100000 };
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        char *text = xmalloc(lens[i] + 1);
        memset(text, 'x', lens[i]);
        struct strbuf out = { 0 };
        size_t outer = protobuf_begin(&out, 3);
        size_t inner = protobuf_begin(&out, 500);
        protobuf_put_bytes(&out, 1, (struct str){ text, lens[i] });
        protobuf_end(&out, inner);
        protobuf_put_number(&out, 2, 7);
        protobuf_end(&out, outer);
        protobuf_put_number(&out, 4, 8);

        struct protobuf_field field;
        struct protobuf_reader reader = protobuf_reader(strbuf_slice(&out));
        assert_int_equal(protobuf_next(&reader, &field), 1);
        assert_int_equal(field.tag, 3);
        struct protobuf_reader deep = protobuf_reader(field.bytes);
        assert_int_equal(protobuf_next(&reader, &field), 1);
        assert_int_equal(field.number, 8);
        assert_int_equal(protobuf_next(&reader, &field), 0);

        assert_int_equal(protobuf_next(&deep, &field), 1);
        assert_int_equal(field.tag, 500);
        struct protobuf_reader deepest = protobuf_reader(field.bytes);
        assert_int_equal(protobuf_next(&deep, &field), 1);
        assert_int_equal(field.number, 7);
        assert_int_equal(protobuf_next(&deepest, &field), 1);
        assert_true(str_eq(field.bytes, (struct str){ text, lens[i] }));
        strbuf_release(&out);
        free(text);
    }
}

/* ---- frames ---- */

static void put_frame(struct strbuf *out, char fill, uint32_t len)
{
    const char head[] = { (char)(len >> 24), (char)(len >> 16), (char)(len >> 8), (char)len };
    strbuf_add(out, head, sizeof(head));
    for (uint32_t i = 0; i < len; i++)
        strbuf_putc(out, fill);
}

static void test_frames(void **state)
{
    (void)state;
    static const uint32_t lens[] = { 3, 0, 1, 300, 0, 70000, 2 };
    struct rng rng = test_rng();
    struct strbuf stream = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
        put_frame(&stream, (char)('a' + i), lens[i]);
    for (int round = 0; round < 300; round++) {
        /* Byte by byte, all at once, and anything between. */
        size_t step_max = round == 0   ? 1
                          : round == 1 ? stream.len
                                       : 1 + rng_below(&rng, 1 << (1 + round % 17));
        struct protobuf_frames frames = { .bytes_max = 70000 };
        size_t got = 0;
        for (size_t at = 0; at < stream.len;) {
            size_t step = 1 + rng_below(&rng, step_max);
            step = MIN(step, stream.len - at);
            protobuf_frames_feed(&frames, stream.text + at, step);
            at += step;
            struct str frame;
            while (protobuf_frames_next(&frames, &frame, NULL) == 1) {
                assert_int_equal(frame.len, lens[got]);
                for (uint32_t i = 0; i < frame.len; i++)
                    assert_int_equal(frame.ptr[i], 'a' + got);
                got++;
            }
        }
        assert_int_equal(got, ARRAY_SIZE(lens));
        assert_true(protobuf_frames_empty(&frames));
        protobuf_frames_release(&frames);
    }
    strbuf_release(&stream);
}

/* A length is rejected as soon as it is known, before memory is allocated for it. */
static void test_frame_too_long(void **state)
{
    (void)state;
    struct protobuf_frames frames = { .bytes_max = 10 };
    struct str frame;
    struct error err = { 0 };
    protobuf_frames_feed(&frames, "\0\0\0\2ab\0\0\0\13", 10);
    assert_int_equal(protobuf_frames_next(&frames, &frame, &err), 1);
    assert_str(frame, "ab");
    assert_int_equal(protobuf_frames_next(&frames, &frame, &err), -EMSGSIZE);
    assert_string_equal(err.text, "a message of 11 bytes, of which at most 10 are allowed");
    protobuf_frames_feed(&frames, "hello", 5);
    assert_int_equal(protobuf_frames_next(&frames, &frame, &err), -EMSGSIZE);
    protobuf_frames_release(&frames);

    protobuf_frames_feed(&frames, "\377\377\377\377", 4);
    assert_int_equal(protobuf_frames_next(&frames, &frame, NULL), -EMSGSIZE);
    protobuf_frames_release(&frames);
}

/* After a huge frame the buffer is small again. */
static void test_frames_memory(void **state)
{
    (void)state;
    struct strbuf stream = { 0 };
    struct protobuf_frames frames = { .bytes_max = 8 << 20 };
    struct str frame;
    put_frame(&stream, 'x', 8 << 20);
    protobuf_frames_feed(&frames, stream.text, stream.len);
    assert_int_equal(protobuf_frames_next(&frames, &frame, NULL), 1);
    for (int i = 0; i < 1000; i++) {
        strbuf_clear(&stream);
        put_frame(&stream, 'y', 100);
        protobuf_frames_feed(&frames, stream.text, stream.len);
        assert_int_equal(protobuf_frames_next(&frames, &frame, NULL), 1);
        assert_int_equal(protobuf_frames_next(&frames, &frame, NULL), 0);
    }
    assert_true(frames.buf.cap < 4096);
    protobuf_frames_release(&frames);
    strbuf_release(&stream);
}

/* The last of each part counts, other fields are skipped, and a part of another wire type is an error. */
static void test_parts(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        int want;
        const char *text;
        uint64_t number;
        bool has_number;
    } cases[] = {
        { "", 0, "", 0, false },
        { "0a 01 61 10 05", 0, "a", 5, true },
        { "0a 01 61 0a 01 62 10 00 18 07", 0, "b", 0, true },
        { "08 01", -EBADMSG, "", 0, false },
        { "12 00", -EBADMSG, "", 0, false },
        { "0a 05 61", -ENODATA, "", 0, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct protobuf_field parts[] = { { .wire = WIRE_BYTES }, { .wire = WIRE_VARINT } };
        struct str message = from_hex(cases[i].hex);
        assert_int_equal(protobuf_parts(message, parts, ARRAY_SIZE(parts)), cases[i].want);
        if (cases[i].want == 0) {
            assert_str(parts[0].bytes, cases[i].text);
            assert_int_equal(parts[1].number, cases[i].number);
            assert_int_equal(parts[1].tag != 0, cases[i].has_number);
        }
        free((char *)message.ptr);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),           cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nested),         cmocka_unit_test(test_frames),
        cmocka_unit_test(test_frame_too_long), cmocka_unit_test(test_frames_memory),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
