/* The memory that a watch needs is that of its present event. */
#include "support/test.h"

#include "sync/watch_decode.h"

enum { GIANT = 4 << 20, SMALL = 128 << 10 };

static void read_all(struct watch_decoder *watch, struct str bytes, struct arena *scratch)
{
    struct live_event event;
    struct error err;
    watch_decoder_feed(watch, bytes);
    while (watch_decoder_next(watch, scratch, &event, &err) > 0) {
        assert_non_null(event.object);
        live_object_free(event.object);
    }
}

static struct strbuf json_event(size_t len)
{
    struct strbuf text = { 0 };
    strbuf_puts(
        &text,
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"p\",\"annotations\":{\"a\":\"");
    for (size_t i = 0; i < len; i++)
        strbuf_putc(&text, 'x');
    strbuf_puts(&text, "\"}}}}");
    return text;
}

static void test_memory_returns(void **state _unused_)
{
    struct watch_decoder watch;
    struct arena scratch = { 0 };
    struct strbuf giant = json_event(GIANT), small = json_event(1);
    watch_decoder_init(&watch, KIND_POD);
    read_all(&watch, strbuf_slice(&giant), &scratch);
    read_all(&watch, strbuf_slice(&small), &scratch);
    read_all(&watch, strbuf_slice(&small), &scratch);
    assert_true(watch.text.cap < SMALL && scratch.total_bytes < SMALL);
    watch_decoder_release(&watch);
    arena_release(&scratch);
    strbuf_release(&giant);
    strbuf_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_memory_returns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
