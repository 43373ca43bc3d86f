/* Records of every kind in codec/: read strictly and leniently, written, copied, compared and viewed. */
#include "codec/record_rows.h"
#include "support/test.h"

struct inner {
    struct str name;
    int32_t weight;
};
struct entry {
    struct str key;
    int64_t value;
};
struct all {
    struct str text, opt_text, bytes, raw;
    bool flag;
    int32_t small;
    int64_t big;
    double number;
    struct opt_bool opt_flag;
    struct opt_int32 opt_small;
    struct opt_int64 opt_big;
    struct int_or_str either;
    yyjson_val *any;
    struct str_list names, keys;
    struct str_map map;
    struct inner inner, *pointer;
    LIST(struct inner) list;
    LIST(struct entry) entries;
    struct str part_text; /* part.text */
    bool is_finished;
};

#define T struct inner
static const struct record_field inner_fields[] = {
    F("name", 1, STR, name, RECORD_ALWAYS),
    F("weight", 2, INT32, weight),
};
TYPE(inner)
#undef T

#define T struct entry
static const struct record_field entry_fields[] = { F("value", 1, INT64, value) };
TYPE(entry)
#undef T

static void finish(void *record, yyjson_val *val _unused_)
{
    ((struct all *)record)->is_finished = true;
}

#define T struct all
static const struct record_field part_fields[] = { F("text", 1, STR, part_text) };
TYPE(part)

static const struct record_field all_fields[] = {
    F("text", 1, STR, text),
    F("optText", 2, OPT_STR, opt_text),
    F("bytes", 0, BYTES, bytes),
    F("raw", 3, RAW, raw),
    F("flag", 4, BOOL, flag),
    F("small", 5, INT32, small, RECORD_ALWAYS),
    F("big", 6, INT64, big),
    F("number", 0, FLOAT, number),
    F("optFlag", 7, OPT_BOOL, opt_flag),
    F("optSmall", 8, OPT_INT32, opt_small, RECORD_ALWAYS),
    F("optBig", 9, OPT_INT64, opt_big),
    F("either", 10, INT_OR_STR, either),
    F("any", 0, VALUE, any),
    F("names", 11, STRS, names),
    F("keys", 12, KEYS, keys),
    F("map", 13, PAIRS, map),
    F_STRUCT("inner", 14, inner, inner),
    F_PTR("pointer", 15, pointer, inner),
    F_LIST("list", 16, list, inner),
    F_MAP("entries", 17, entries, entry),
    F_PART("part", 18, part),
};
TYPE_WITH(all, .finish = finish, .has_type_meta = true)
#undef T

struct fixture {
    struct doc_stream stream;
    struct doc doc;
    struct arena arena;
    struct all all;
    struct error err;
};

static int read_text(struct fixture *f, const char *text, unsigned mode)
{
    size_t len = strlen(text);
    char *copy = memcpy(xcalloc(len + YYJSON_PADDING_SIZE, 1), text, len);
    *f = (struct fixture){ .all = { .small = 7 } };
    doc_stream_init(&f->stream, "test", copy, len);
    assert_int_equal(doc_stream_next(&f->stream, &f->doc, &f->err), 1);
    struct record_reader reader = {
        .arena = &f->arena, .keep = arena_str, .err = &f->err, .doc = &f->doc, .mode = mode
    };
    return record_read(&reader, NULL, f->doc.root, &all_type, &f->all);
}

static void release(struct fixture *f)
{
    doc_release(&f->doc);
    doc_stream_release(&f->stream);
    arena_release(&f->arena);
}

#define EVERYTHING \
    "{\"text\":\"a\",\"optText\":\"\",\"bytes\":\"YWI=\",\"raw\":{\"x\":[1]},\"flag\":true,\"small\":-1," \
    "\"big\":5000000000," \
    "\"number\":0.1,\"optFlag\":false,\"optSmall\":3,\"optBig\":4,\"either\":\"25%\",\"any\":{\"y\":[null," \
    "1.5]}," \
    "\"names\":[\"n\",\"m\"],\"keys\":{\"k\":\"1970-01-01T00:00:00Z\"},\"map\":{\"a\":\"1\",\"b\":\"2\"}," \
    "\"inner\":{\"name\":\"i\",\"weight\":2},\"pointer\":{\"name\":\"\"},\"list\":[{\"name\":\"x\"},{" \
    "\"name\":\"\"}]," \
    "\"entries\":{\"e\":{\"value\":9}},\"part\":{\"text\":\"p\"}}"

static void assert_written(const struct all *all, const char *want)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_COMPACT);
    record_write(&(struct record_writer){ .json = &json }, &all_type, all);
    assert_string_equal(out.text, want);
}

static void test_json(void **state _unused_)
{
    struct fixture f;
    if (read_text(&f, EVERYTHING, RECORD_STRICT) < 0)
        fail_msg("%s", f.err.text);
    assert_true(f.all.is_finished);
    assert_written(&f.all, EVERYTHING);
    release(&f);
    /* Absent and null fields keep their value; fields that are always written are null if possible. */
    assert_int_equal(read_text(&f, "{\"text\":null,\"kind\":\"K\"}", RECORD_STRICT), 0);
    assert_written(&f.all, "{\"small\":7,\"optSmall\":null}");
    release(&f);
}

static void test_errors(void **state _unused_)
{
    static const struct {
        const char *text, *want;
        unsigned mode;
    } cases[] = {
        { "quota: x\n", "test:1:1: quota: unknown field", RECORD_STRICT },
        { "list:\n- nam: x\n", "test:2:3: list[0].nam: unknown field; did you mean \"name\"?",
          RECORD_STRICT },
        { "{\"text\": \"a\",\n \"text\": \"b\"}", "test:2:2: text: the field is given twice", RECORD_STRICT },
        { "{\"map\": {\"a\": \"\",\n \"a\": \"\"}}", "test:1:2: map: the key \"a\" is given twice",
          RECORD_STRICT },
        { "quota: x\n", NULL, 0 },
        { "{\"text\": \"a\",\n \"text\": \"b\"}", NULL, 0 },
        { "text: 5\n", "test:1:7: text: expected a string, got the number 5", 0 },
        { "text: 5\n", "test:1:7: text: expected a string, got a number", RECORD_SECRET },
        { "text: \"a\\0b\"\n", "test:1:7: text: a zero byte is not allowed", RECORD_C_STRINGS },
        { "small: 1.0\n", NULL, 0 }, /* the same as 1 in YAML */
        { "{\"small\": 1.0}", "test:1:2: small: expected a whole number, got the number 1.0", 0 },
        { "bytes: a\n", "test:1:8: bytes: expected base64 text, got a string", RECORD_SECRET },
        { "map: {a: 1}\n", "test:1:10: map[a]: expected a string, got the number 1", 0 },
        { "names: {}\n", "test:1:8: names: expected a list of strings, got an object", 0 },
        { "either: []\n", "test:1:9: either: expected a whole number or a string, got a list", 0 },
        { "flag: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\n",
          "test:1:7: flag: expected true or false, got the string "
          "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmn...\"",
          0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        int r = read_text(&f, cases[i].text, cases[i].mode);
        assert_int_equal(r, cases[i].want ? -EINVAL : 0);
        if (cases[i].want)
            assert_string_equal(f.err.text, cases[i].want);
        release(&f);
    }
}

static void test_protobuf(void **state _unused_)
{
    struct fixture f;
    struct strbuf bytes = { 0 };
    struct all got = { 0 };
    assert_int_equal(read_text(&f, EVERYTHING, 0), 0);
    record_write_protobuf(&bytes, &all_type, &f.all);
    struct record_reader reader = { .arena = &f.arena,
                                    .err = &f.err,
                                    .budget_bytes = record_budget(bytes.len) };
    if (record_read_protobuf(&reader, NULL, strbuf_slice(&bytes), &all_type, &got) < 0)
        fail_msg("%s", f.err.text);
    /* Kinds without a protobuf form. */
    got.bytes = f.all.bytes;
    got.number = f.all.number;
    got.any = f.all.any;
    assert_true(record_equal(&all_type, &f.all, &got));
    strbuf_release(&bytes);
    release(&f);
}

/* A copy outlives its source; records have equal keys if and only if they are equal. */
static void test_values(void **state _unused_)
{
    static const char *const others[] = {
        "{\"text\":\"b\"}",         "{\"optText\":\"x\"}", "{\"optFlag\":true}",
        "{\"names\":[\"nm\"]}",     "{\"pointer\":null}",  "{\"list\":[]}",
        "{\"map\":{\"a\":\"12\"}}", "{\"either\":25}",     "{\"part\":{}}",
        "{\"entries\":{\"e\":{}}}", "{\"inner\":{}}"
    };
    struct fixture f, again;
    struct arena arena = { 0 };
    struct all copy;
    struct strbuf key = { 0 }, other = { 0 };
    assert_int_equal(read_text(&f, EVERYTHING, 0), 0);
    assert_int_equal(read_text(&again, EVERYTHING, 0), 0);
    record_copy(&all_type, &f.all, &arena, &copy);
    copy.any = again.all.any; /* still owned by the document */
    release(&f);
    assert_true(record_equal(&all_type, &copy, &again.all));
    record_put_key(&key, &all_type, &copy);
    record_put_key(&other, &all_type, &again.all);
    assert_true(str_eq(strbuf_slice(&key), strbuf_slice(&other)));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_int_equal(read_text(&f, others[i], 0), 0);
        strbuf_clear(&other);
        record_put_key(&other, &all_type, &f.all);
        assert_false(record_equal(&all_type, &copy, &f.all));
        assert_false(str_eq(strbuf_slice(&key), strbuf_slice(&other)));
        release(&f);
    }
    release(&again);
    arena_release(&arena);
    strbuf_release(&key);
    strbuf_release(&other);
}

static void test_views(void **state _unused_)
{
    static const struct {
        const char *path;
        struct record_view want;
    } cases[] = {
        { "text", { .type = VIEW_TEXT, .text = { "a", 1 } } },
        { "optSmall", { .type = VIEW_NUMBER, .number = 3 } },
        { "flag", { .type = VIEW_FLAG, .number = 1 } },
        { "names", { .type = VIEW_TEXTS, .len = 2 } },
        { "names[1]", { .type = VIEW_TEXT, .text = { "m", 1 } } },
        { "names[2]", { 0 } },
        { "keys[0]", { .type = VIEW_TEXT, .text = { "k", 1 } } },
        { "map", { .type = VIEW_ENTRIES, .len = 2 } },
        { "map[b]", { .type = VIEW_TEXT, .text = { "2", 1 } } },
        { "map[c]", { 0 } },
        { "inner.weight", { .type = VIEW_NUMBER, .number = 2 } },
        { "inner", { .type = VIEW_OBJECT } },
        { "pointer", { .type = VIEW_OBJECT } },
        { "list[0].name", { .type = VIEW_TEXT, .text = { "x", 1 } } },
        { "list.name", { 0 } },
        { "entries[e].value", { .type = VIEW_NUMBER, .number = 9 } },
        { "part.text", { .type = VIEW_TEXT, .text = { "p", 1 } } },
        { "text.more", { 0 } },
        { "list[", { 0 } },
        { "", { 0 } },
    };
    struct fixture f;
    assert_int_equal(read_text(&f, EVERYTHING, 0), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct record_view got = record_view(&all_type, &f.all, str_from(cases[i].path));
        if (got.type != cases[i].want.type || got.len != cases[i].want.len ||
            got.number != cases[i].want.number || !str_eq(got.text, cases[i].want.text))
            fail_msg("%s", cases[i].path);
    }
    struct record_member member = record_member(&all_type, STR("inner.weight"));
    assert_non_null(member.field);
    assert_int_equal(member.offset, offsetof(struct all, inner.weight));
    assert_null(record_member(&all_type, STR("pointer.weight")).field);
    release(&f);
}

/* A table without a C struct: its fields are laid out one after the other. */
static void test_layout(void **state _unused_)
{
    struct record_field fields[] = {
        { "a", 1, 1, 0, 0, &record_BOOL, NULL },
        { "b", 1, 2, 0, 0, &record_STRS, NULL },
        { "c", 1, 3, 0, 0, &record_STRUCT, &inner_type },
    };
    struct record_index index;
    struct record_type type = { .fields = fields, .len = ARRAY_SIZE(fields), .index = &index };
    record_lay_out(&type, fields);
    assert_int_equal(fields[1].offset, 8);
    assert_int_equal(fields[2].offset, 24);
    assert_int_equal(type.size, 24 + sizeof(struct inner));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),   cmocka_unit_test(test_errors), cmocka_unit_test(test_protobuf),
        cmocka_unit_test(test_values), cmocka_unit_test(test_views),  cmocka_unit_test(test_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
