/* Events go some time after they were written last; what keeps them keeps them. */
#include "support/test.h"

#include <unistd.h>

#include "apiserver/apiserver_impl.h"
#include "apiserver/bootstrap.h"
#include "apiserver/tree.h"

enum { TTL_MS = 50, LONG_MS = 3600000 };

static struct store *open_store(struct apiserver *server)
{
    struct error err;
    assert_int_equal(loop_new(NULL, &server->loop, &err), 0);
    assert_int_equal(apiserver_open_store(server, &(struct apiserver_options){ 0 }, &err), 0);
    server->registry = registry_new(&(struct registry_options){ .store = server->store, .seed = 1 });
    assert_int_equal(bootstrap_objects(server->registry, 1, &err), 0);
    return server->store;
}

static void close_store(struct apiserver *server)
{
    registry_free(server->registry);
    store_close(server->store);
    loop_free(server->loop);
}

static void create(struct apiserver *server, const char *name, const char *meta)
{
    struct registry_result result = { 0 };
    struct api_error err = { 0 };
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    strbuf_printf(&json, "{\"metadata\":{\"name\":\"%s\"%s},\"involvedObject\":{\"namespace\":\"default\"}}",
                  name, meta);
    yyjson_doc *doc = yyjson_read(json.text, json.len, 0);
    yyjson_mut_doc *object = yyjson_doc_mut_copy(doc, NULL);
    assert_int_equal(registry_create(server->registry, resource_named("", "events"), STR("default"), object,
                                     &(struct write_options){ 0 }, &result, &err),
                     0);
    registry_result_release(&result);
    api_error_release(&err);
    yyjson_mut_doc_free(object);
    yyjson_doc_free(doc);
}

static bool is_there(struct apiserver *server, const char *name)
{
    return store_get(server->store, resource_named("", "events")->storage, STR("default"), str_from(name));
}

static void test_expiry(void **state _unused_)
{
    struct apiserver server = { 0 };
    open_store(&server);
    create(&server, "before", "");
    struct event_expiry *expiry = event_expiry_new(server.registry, server.loop, TTL_MS);
    create(&server, "after", "");
    create(&server, "kept", ",\"finalizers\":[\"example.com/f\"]");
    while (is_there(&server, "before") || is_there(&server, "after")) {
        usleep(1000);
        loop_turn(server.loop);
    }
    assert_true(is_there(&server, "kept"));
    event_expiry_free(expiry);
    close_store(&server);
}

/* What is written again, or deleted by others, is no matter of the first time. */
static void test_not_yet(void **state _unused_)
{
    struct apiserver server = { 0 };
    open_store(&server);
    struct event_expiry *expiry = event_expiry_new(server.registry, server.loop, LONG_MS);
    create(&server, "a", "");
    create(&server, "b", "");
    loop_turn(server.loop);
    assert_true(is_there(&server, "a"));
    struct registry_result result = { 0 };
    struct api_error err = { 0 };
    assert_int_equal(registry_delete(server.registry, resource_named("", "events"), STR("default"), STR("a"),
                                     &(struct delete_options){ 0 }, &result, &err),
                     0);
    registry_result_release(&result);
    api_error_release(&err);
    create(&server, "a", "");
    loop_turn(server.loop);
    assert_true(is_there(&server, "a") && is_there(&server, "b"));
    event_expiry_free(expiry);
    close_store(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_expiry), cmocka_unit_test(test_not_yet) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
