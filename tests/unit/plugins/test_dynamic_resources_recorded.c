/* Which devices a claim gets, compared with the allocators of Kubernetes v1.36 and v1.37.
 *
 * devices.jsonl: each line is a release with feature gates, objects, and the result that was recorded from that release
 * (tests/record/devices). The objects come from a generator. Where the reference tries pools in random order, there is
 * one pool. */
#include "test_dynamic_resources.h"

static void load(struct fixture *f, yyjson_val *objects)
{
    size_t i, len;
    yyjson_val *object;
    yyjson_arr_foreach(objects, i, len, object) {
        char *text = yyjson_val_write(object, 0, NULL);
        fixture_load(f, text);
        free(text);
    }
}

static void test_recorded(void **state _unused_)
{
    struct doc_stream stream;
    struct doc doc;
    struct error err;
    int lines = 0, wrong = 0;
    if (doc_stream_open(&stream, "tests/unit/plugins/devices.jsonl", &err) < 0)
        fail_msg("%s", err.text);
    for (; doc_stream_next(&stream, &doc, &err) > 0; lines++) {
        yyjson_val *line = doc.root;
        const char *gates = yyjson_get_str(yyjson_obj_get(line, "gates"));
        const char *want = yyjson_get_str(yyjson_obj_get(line, "result"));
        int minor = yyjson_get_int(yyjson_obj_get(line, "release"));
        struct fixture f;
        begin(&f, minor, gates);
        fixture_load(&f, NODE("a", "z"));
        load(&f, yyjson_obj_get(line, "objects"));
        const char *got = outcome(&f);
        if (strcmp(got, want) != 0)
            print_error("line %d, 1.%d %s: got \"%s\", want \"%s\"\n", lines + 1, minor, gates, got, want);
        wrong += strcmp(got, want) != 0;
        fixture_release(&f);
        doc_release(&doc);
    }
    doc_stream_release(&stream);
    assert_true(lines > 100);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
