/* Requests to the API server: headers and bodies, rate limits, fencing by the lease, and exactly one answer each,
 * whatever happens to them. */
#include "support/pace.h"
#include "unit/net/harness.h"

#include <stdatomic.h>
#include <sys/stat.h>

#include "base/log.h"
#include "client/api.h"

static char dir[64], ca[512], crt[512], key[512], program[512];
static struct server server;
static char server_url[64];
static atomic_bool writes_allowed;
static atomic_int allowed_checks = INT32_MAX; /* number of times that a write is allowed */

static int setup(void **state _unused_)
{
    dir_make(dir);
    certs_make(dir);
    in_dir(dir, "ca.crt", ca);
    in_dir(dir, "program", program);
    server_start(&server, "--cert", in_dir(dir, "server.crt", crt), "--key", in_dir(dir, "server.key", key));
    snprintf(server_url, sizeof(server_url), "https://127.0.0.1:%d", server.port);
    return 0;
}

static int teardown(void **state _unused_)
{
    server_stop(&server);
    dir_remove(dir);
    return 0;
}

static struct kube_access access_with(struct kube_user user)
{
    return (struct kube_access){
        .cluster = { .server = str_from(server_url), .certificate_authority = str_from(ca) },
        .user = user,
        .https = true,
    };
}

static bool may_write(void *user _unused_)
{
    return atomic_load(&writes_allowed) && atomic_fetch_sub(&allowed_checks, 1) > 0;
}

static struct api *api_of(const struct kube_access *access, double qps, int32_t burst)
{
    struct api *api;
    struct error err;
    struct api_options options = { .access = access, .qps = qps, .burst = burst, .may_write = may_write };
    if (api_new(&options, &api, &err) < 0)
        fail_msg("%s", err.text);
    return api;
}

static uint64_t send_api(struct api *api, struct api_request request, struct reply *reply)
{
    struct error err;
    uint64_t id = 0;
    reply_init(reply);
    request.method = request.method ? request.method : "GET";
    request.callbacks = &reply_callbacks;
    request.user = reply;
    if (api_send(api, &request, &id, &err) < 0)
        fail_msg("%s", err.text);
    return id;
}

static void test_headers_and_body(void **state _unused_)
{
    struct kube_access access = access_with((struct kube_user){ .token = STR("secret") });
    struct api *api = api_of(&access, -1, 0);
    struct reply reply;
    uint64_t id = send_api(api,
                           (struct api_request){ .method = "POST",
                                                 .path = STR("/echo/api/v1/pods?x=1"),
                                                 .content_type = API_PROTOBUF,
                                                 .accept = "application/json;as=Table",
                                                 .body = STR("k8s") },
                           &reply);
    reply_wait(&reply);
    assert_int_equal(reply.response.status, 200);
    assert_int_equal(reply.response.id, id);
    static const char *const parts[] = {
        "\"method\": \"POST\"",
        "\"path\": \"/echo/api/v1/pods?x=1\"",
        "\"body\": \"k8s\"",
        "\"authorization\": \"Bearer secret\"",
        "\"content-type\": \"application/vnd.kubernetes.protobuf\"",
        "\"accept\": \"application/json;as=Table\"",
        "\"user-agent\": \"berth/",
    };
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (!strstr(reply.text.text, parts[i]))
            fail_msg("%s is not in %s", parts[i], reply.text.text);
    reply_release(&reply);
    api_free(api);
}

static void test_stream(void **state _unused_)
{
    struct kube_access access = access_with((struct kube_user){ 0 });
    struct api *api = api_of(&access, -1, 0);
    struct reply reply;
    send_api(api, (struct api_request){ .path = STR("/stream/3/1"), .stream = true }, &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "line 0\nline 1\nline 2\n");
    assert_int_equal(reply.starts, 1);
    reply_release(&reply);
    uint64_t id =
        send_api(api, (struct api_request){ .path = STR("/stream/1/1?hang"), .stream = true }, &reply);
    reply_wait_for(&reply, &reply.chunks, 1);
    assert_int_equal(api_stats(api).streams, 1);
    api_cancel(api, id);
    api_cancel(api, id + 1000);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_LOST, HTTP_FAILURE_CANCELLED);
    reply_release(&reply);
    api_free(api);
}

static void test_fence(void **state _unused_)
{
    struct kube_access access = access_with((struct kube_user){ 0 });
    struct api *api = api_of(&access, -1, 0);
    struct reply reply;
    struct api_request write = { .method = "POST", .path = STR("/echo/fenced"), .fenced = true };
    struct {
        bool allowed, fenced;
        int64_t delay_ms;
        bool sent;
    } cases[] = {
        { true, true, 0, true },
        { false, true, 0, false },
        { false, false, 0, true },
        { true, true, 30, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        atomic_store(&writes_allowed, cases[i].allowed);
        write.fenced = cases[i].fenced;
        write.delay_ms = cases[i].delay_ms;
        send_api(api, write, &reply);
        reply_wait(&reply);
        if (cases[i].sent)
            assert_int_equal(reply.response.status, 200);
        else
            assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CANCELLED);
        reply_release(&reply);
    }
    /* Checked again when the connection is established. */
    api_drop_connections(api);
    atomic_store(&writes_allowed, true);
    write.fenced = true;
    atomic_store(&allowed_checks, 1);
    write.delay_ms = 0;
    send_api(api, write, &reply);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CANCELLED);
    assert_true(atomic_load(&allowed_checks) < 0);
    atomic_store(&allowed_checks, INT32_MAX);
    reply_release(&reply);
    send_api(api, (struct api_request){ .path = STR("/seen/echo/fenced") }, &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "3");
    reply_release(&reply);
    api_free(api);
}

/* The lease is checked when the request is sent, not when it is queued. False: it was sent before the lease ended. */
static bool check_late_fence(int64_t ms)
{
    struct kube_access access = access_with((struct kube_user){ 0 });
    struct api *api = api_of(&access, -1, 0);
    struct reply reply;
    atomic_store(&writes_allowed, true);
    int64_t before_ns = monotonic_ns();
    send_api(
        api,
        (struct api_request){ .method = "POST", .path = STR("/echo/late"), .fenced = true, .delay_ms = ms },
        &reply);
    sleep_ms(ms / 10);
    atomic_store(&writes_allowed, false);
    bool in_time = monotonic_ns() - before_ns < ms * INT64_C(1000000);
    reply_wait(&reply);
    if (in_time)
        assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CANCELLED);
    atomic_store(&writes_allowed, true);
    reply_release(&reply);
    api_free(api);
    return in_time;
}

static void test_late_fence(void **state _unused_)
{
    assert_at_some_pace(check_late_fence, 200);
}

static void test_rate(void **state _unused_)
{
    struct kube_access access = access_with((struct kube_user){ 0 });
    struct api *api = api_of(&access, 20, 2);
    enum { LIMITED = 5 };
    struct reply replies[LIMITED], free_reply;
    int64_t start_ns = monotonic_ns();
    for (size_t i = 0; i < LIMITED; i++)
        send_api(api, (struct api_request){ .path = STR("/hello") }, &replies[i]);
    for (size_t i = 0; i < LIMITED; i++) {
        reply_wait(&replies[i]);
        reply_release(&replies[i]);
    }
    /* Two at once, then three more at 20 per second. */
    assert_true(monotonic_ns() - start_ns >= 140 * INT64_C(1000000));
    api_free(api);

    /* An unlimited request overtakes one that waits for minutes. */
    api = api_of(&access, 0.01, 1);
    for (size_t i = 0; i < 2; i++)
        send_api(api, (struct api_request){ .path = STR("/hello") }, &replies[i]);
    send_api(api, (struct api_request){ .path = STR("/hello"), .unlimited = true }, &free_reply);
    reply_wait(&free_reply);
    assert_answer(&free_reply, 200, "hello");
    assert_int_equal(replies[1].done, 0);
    api_free(api);
    reply_release(&free_reply);
    for (size_t i = 0; i < 2; i++)
        reply_release(&replies[i]);
}

/* A program that prints the token tN, N being the number of its run, after a pause. */
static struct kube_exec token_program(const char *before)
{
    FILE *file = fopen(program, "w");
    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\necho x >> %s/runs\nn=$(wc -l < %s/runs)\n%s\n"
            "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
            "\"status\":{\"token\":\"t'$n'\"}}'\n",
            dir, dir, before);
    fclose(file);
    char runs[512];
    unlink(in_dir(dir, "runs", runs));
    assert_int_equal(chmod(program, 0700), 0);
    return (struct kube_exec){ .api_version = STR("client.authentication.k8s.io/v1"),
                               .command = str_from(program),
                               .interactive = EXEC_INTERACTIVE_NEVER };
}

/* A program does not run more often than that. */
enum { PROGRAM_MS = 1000 };

/* False: so slow that the program may run again. */
static bool check_another_credential_after_401(int64_t ms)
{
    struct kube_exec exec = token_program("");
    struct kube_access access = access_with((struct kube_user){ .exec = &exec });
    struct api *api = api_of(&access, -1, 0);
    struct reply reply;
    char path[64], seen[80];
    snprintf(path, sizeof(path), "/guarded/wrong-%lld", (long long)ms);
    snprintf(seen, sizeof(seen), "/seen%s", path);
    send_api(api, (struct api_request){ .path = STR("/guarded/t1") }, &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "welcome");
    reply_release(&reply);
    sleep_ms(PROGRAM_MS + 100);
    int64_t before_ns = monotonic_ns();
    send_api(api, (struct api_request){ .method = "POST", .path = STR("/guarded/t2"), .body = STR("x") },
             &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "welcome");
    assert_int_equal(reply.starts, 1);
    reply_release(&reply);
    /* The credential is new: another run would not help, so the 401 is the answer. */
    send_api(api, (struct api_request){ .path = str_from(path), .stream = true }, &reply);
    reply_wait(&reply);
    bool in_time = monotonic_ns() - before_ns < PROGRAM_MS * INT64_C(1000000);
    assert_answer(&reply, 401, "who are you?");
    assert_true(!in_time || reply.starts == 1);
    assert_int_equal(reply.done, 1);
    reply_release(&reply);
    /* The next credential is rejected as well: one retry is enough. */
    sleep_ms(PROGRAM_MS + 100);
    send_api(api, (struct api_request){ .path = str_from(path) }, &reply);
    reply_wait(&reply);
    assert_answer(&reply, 401, "who are you?");
    reply_release(&reply);
    send_api(api, (struct api_request){ .path = str_from(seen) }, &reply);
    reply_wait(&reply);
    if (in_time)
        assert_answer(&reply, 200, "3");
    reply_release(&reply);
    api_free(api);
    return in_time;
}

static void test_another_credential_after_401(void **state _unused_)
{
    assert_at_some_pace(check_another_credential_after_401, 1);
}

static void test_no_new_credential_after_401(void **state _unused_)
{
    struct kube_access access = access_with((struct kube_user){ .token = STR("wrong") });
    struct api *api = api_of(&access, -1, 0);
    struct reply reply;
    send_api(api, (struct api_request){ .path = STR("/guarded/static") }, &reply);
    reply_wait(&reply);
    assert_answer(&reply, 401, "who are you?");
    reply_release(&reply);
    send_api(api, (struct api_request){ .path = STR("/seen/guarded/static") }, &reply);
    reply_wait(&reply);
    assert_answer(&reply, 200, "1");
    reply_release(&reply);
    api_free(api);
}

static void test_no_credential(void **state _unused_)
{
    struct kube_exec exec = token_program("exit 3");
    struct kube_access access = access_with((struct kube_user){ .exec = &exec });
    struct api *api = api_of(&access, -1, 0);
    struct reply reply;
    send_api(api, (struct api_request){ .path = STR("/hello") }, &reply);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CONNECT);
    assert_int_equal(strncmp(reply.response.error.text, "no credential: ", 15), 0);
    reply_release(&reply);
    api_free(api);
}

/* The answer comes while the program still runs: what was sent before it waits. */
static void test_cancelled_while_waiting_for_a_credential(void **state _unused_)
{
    struct kube_exec exec = token_program("sleep 600");
    struct kube_access access = access_with((struct kube_user){ .exec = &exec });
    struct api *api = api_of(&access, -1, 0);
    struct reply before, reply;
    send_api(api, (struct api_request){ .path = STR("/hello") }, &before);
    uint64_t id = send_api(api, (struct api_request){ .path = STR("/hello") }, &reply);
    api_cancel(api, id);
    api_cancel(api, id);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CANCELLED);
    assert_int_equal(before.done, 0);
    api_free(api);
    assert_int_equal(before.done, 1);
    assert_int_equal(reply.done, 1);
    reply_release(&before);
    reply_release(&reply);
}

static void test_end_answers_everything(void **state _unused_)
{
    struct kube_exec exec = token_program("sleep 600");
    struct kube_access with_program = access_with((struct kube_user){ .exec = &exec });
    struct kube_access plain = access_with((struct kube_user){ 0 });
    enum { REQUESTS = 20 };
    struct reply waiting[REQUESTS], in_flight[REQUESTS];
    struct api *a = api_of(&with_program, -1, 0), *b = api_of(&plain, 5, 1);
    for (size_t i = 0; i < REQUESTS; i++) {
        send_api(a, (struct api_request){ .path = STR("/hello") }, &waiting[i]);
        send_api(b, (struct api_request){ .path = STR("/stall"), .unlimited = i % 2 }, &in_flight[i]);
    }
    sleep_ms(50);
    api_free(a);
    api_free(b);
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(waiting[i].done, 1);
        assert_failure(&waiting[i], HTTP_UNSENT, waiting[i].response.failure);
        assert_int_equal(in_flight[i].done, 1);
        reply_release(&waiting[i]);
        reply_release(&in_flight[i]);
    }
}

static void test_rejected_requests(void **state _unused_)
{
    struct kube_access access = access_with((struct kube_user){ 0 });
    struct api *api = api_of(&access, -1, 0), *stuck = api_of(&access, 1, -1);
    struct reply reply;
    struct error err;
    struct api_request request = { .method = "GET", .path = STR("hello"), .callbacks = &reply_callbacks };
    assert_int_equal(api_send(api, &request, NULL, &err), -EINVAL);
    request.path = STR("/hello");
    request.callbacks = NULL;
    assert_int_equal(api_send(api, &request, NULL, &err), -EINVAL);
    request.callbacks = &reply_callbacks;
    assert_int_equal(api_send(stuck, &request, NULL, &err), -EINVAL);
    /* A request that only http/ rejects is answered on its thread. */
    send_api(api, (struct api_request){ .path = STR("/hello"), .accept = "a\nb" }, &reply);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CONNECT);
    reply_release(&reply);
    api_free(api);
    api_free(stuck);
    api_free(NULL);
    struct kube_access nowhere = { 0 };
    struct api_options options = { .access = &nowhere };
    assert_int_equal(api_new(&options, &api, &err), -EINVAL);
}

static void test_server_unreachable(void **state _unused_)
{
    char url[64];
    int fd;
    snprintf(url, sizeof(url), "https://127.0.0.1:%d", closed_port(&fd));
    struct kube_access access = access_with((struct kube_user){ .token = STR("t") });
    access.cluster.server = str_from(url);
    struct api *api = api_of(&access, -1, 0);
    struct reply reply;
    send_api(api, (struct api_request){ .path = STR("/hello") }, &reply);
    reply_wait(&reply);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CONNECT);
    reply_release(&reply);
    api_free(api);
    close(fd);
}

static void test_warnings_once_each(void **state _unused_)
{
    char path[512], text[4096] = "";
    int fd = open(in_dir(dir, "log", path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(log_init(&(struct log_options){ .fd = fd }, NULL), 0);
    struct kube_access access = access_with((struct kube_user){ 0 });
    struct api *api = api_of(&access, -1, 0);
    for (int i = 0; i < 3; i++) {
        struct reply reply;
        send_api(api, (struct api_request){ .path = STR("/advice") }, &reply);
        reply_wait(&reply);
        assert_int_equal(reply.response.retry_after_ms, 3000);
        reply_release(&reply);
    }
    api_free(api);
    assert_int_equal(log_init(&(struct log_options){ 0 }, NULL), 0);
    assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
    close(fd);
    const char *one = strstr(text, "\"Warning from the API server\" warning=\"one\"\n");
    const char *two = strstr(text, "\"Warning from the API server\" warning=\"two\"\n");
    assert_non_null(one);
    assert_non_null(two);
    assert_null(strstr(strchr(one, '\n'), "\"one\""));
    assert_null(strstr(strchr(two, '\n'), "\"two\""));
}

enum { THREADS = 3, EACH = 200 };

struct counted {
    struct api *api;
    atomic_int done;
};

static void count_done(void *user, struct http_response *response _unused_)
{
    atomic_fetch_add(&((struct counted *)user)->done, 1);
}

static const struct http_callbacks counting = { .on_done = count_done };

static void *send_many(void *user)
{
    struct counted *counted = user;
    for (int i = 0; i < EACH; i++) {
        struct api_request request = {
            .method = "GET", .path = STR("/hello"), .callbacks = &counting, .user = counted
        };
        uint64_t id;
        assert_int_equal(api_send(counted->api, &request, &id, NULL), 0);
        if (i % 7 == 0)
            api_cancel(counted->api, id);
    }
    return NULL;
}

static void test_many_threads(void **state _unused_)
{
    struct kube_access access = access_with((struct kube_user){ .token = STR("t") });
    struct counted counted = { .api = api_of(&access, -1, 0) };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, send_many, &counted);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    api_free(counted.api); /* while requests are in flight */
    assert_int_equal(atomic_load(&counted.done), THREADS * EACH);
}

/* Every request has an identity and the program's name, also the probe of a connection that is silent. With a token
 * of a file, and of a program. */
static void check_every_request(struct kube_user user, struct server *front)
{
    char url[64];
    snprintf(url, sizeof(url), "https://127.0.0.1:%d", front->port);
    struct kube_access access = access_with(user);
    access.cluster.server = str_from(url);
    struct api *api = api_of(&access, -1, 0);
    struct reply stream, heard;
    send_api(api, (struct api_request){ .path = STR("/stream/1/1?hang"), .stream = true }, &stream);
    reply_wait_for(&stream, &stream.chunks, 1);
    while (!api_stats(api).probes_sent)
        sleep_ms(20);
    do {
        send_api(api, (struct api_request){ .path = STR("/heard") }, &heard);
        reply_wait(&heard);
        if (strstr(heard.text.text, "/version "))
            break;
        reply_release(&heard);
    } while (true);
    int count = 0;
    for (struct str rest = strbuf_slice(&heard.text); rest.len; count++) {
        struct str line = str_cut(&rest, '\n');
        ptrdiff_t space = str_find(line, ' ');
        if (!str_starts_with(str_slice(line, (size_t)space, line.len), STR(" Bearer t1 berth/")))
            fail_msg(STR_FMT, STR_ARG(line));
    }
    assert_true(count >= 2);
    reply_release(&heard);
    api_free(api);
    reply_release(&stream);
}

static void write_token(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("t1", file);
    fclose(file);
}

static void test_every_request_has_an_identity(void **state _unused_)
{
    char token[512];
    for (int exec = 0; exec < 2; exec++) {
        struct server backend = { 0 }, front = { 0 };
        server_start_args(&backend, (const char *const[]){ NULL });
        if (!nghttpx_start(&front, dir, backend.port)) {
            server_stop(&backend);
            skip_because("nghttpx is not installed (tools/install-deps test)");
        }
        struct kube_exec by_program = token_program("");
        struct kube_user by_file = { .token_file = str_from(in_dir(dir, "token", token)) };
        write_token(token);
        check_every_request(exec ? (struct kube_user){ .exec = &by_program } : by_file, &front);
        server_stop(&front);
        server_stop(&backend);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_request_has_an_identity),
        cmocka_unit_test(test_headers_and_body),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_fence),
        cmocka_unit_test(test_late_fence),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_another_credential_after_401),
        cmocka_unit_test(test_no_new_credential_after_401),
        cmocka_unit_test(test_no_credential),
        cmocka_unit_test(test_cancelled_while_waiting_for_a_credential),
        cmocka_unit_test(test_end_answers_everything),
        cmocka_unit_test(test_rejected_requests),
        cmocka_unit_test(test_server_unreachable),
        cmocka_unit_test(test_warnings_once_each),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
