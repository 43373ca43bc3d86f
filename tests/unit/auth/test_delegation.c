/* Authentication and authorization of clients by tokens, certificates and headers, also while the API server is slow,
 * broken or gone. */
#include "support/pace.h"
#include "unit/serve/scheduler.h"

/* False: a cached review may have expired before it was used. */
static bool check_cache(int64_t ms)
{
    struct scheduler scheduler;
    char tokens[64], accesses[64];
    snprintf(tokens, sizeof(tokens), "--authentication-token-webhook-cache-ttl=%lldms", (long long)ms);
    snprintf(accesses, sizeof(accesses), "--authorization-webhook-cache-authorized-ttl=%lldms",
             (long long)ms);
    scheduler_start(
        &scheduler, true,
        (const char *[]){ tokens, accesses, "--authorization-webhook-cache-unauthorized-ttl=0s", NULL });
    struct fake_api *api = &scheduler.api;
    int64_t begin = now_ms();
    for (int i = 0; i < 5; i++)
        assert_int_equal(status_of(&scheduler, "/metrics", MON), 200);
    bool in_time = now_ms() - begin < ms;
    if (in_time) {
        assert_int_equal(atomic_load(&api->tokens), 1);
        assert_int_equal(atomic_load(&api->accesses), 1);
    }
    pthread_mutex_lock(&api->lock);
    assert_string_equal(
        api->last_access.text,
        "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},"
        "\"spec\":{\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":\"get\"},\"user\":\"mon\","
        "\"groups\":[\"system:monitoring\",\"system:authenticated\"],\"extra\":{\"k\":[\"v\",\"w\"]},"
        "\"uid\":\"7\"}}");
    pthread_mutex_unlock(&api->lock);
    sleep_ms(ms + 50);
    int token_count = atomic_load(&api->tokens), access_count = atomic_load(&api->accesses);
    assert_int_equal(status_of(&scheduler, "/metrics", MON), 200);
    assert_int_equal(atomic_load(&api->tokens), token_count + 1);
    assert_int_equal(atomic_load(&api->accesses), access_count + 1);
    /* A denial with a TTL of 0 is reviewed every time, and so is an error. */
    begin = now_ms();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(status_of(&scheduler, "/metrics", ""), 403);
        assert_int_equal(status_of(&scheduler, "/metrics", "Authorization: Bearer wrong\r\n"), 401);
        assert_int_equal(status_of(&scheduler, "/metrics", "Authorization: Bearer plain-no\r\n"), 401);
    }
    in_time &= now_ms() - begin < ms;
    assert_int_equal(atomic_load(&api->accesses), access_count + 1 + 3);
    if (in_time)
        assert_int_equal(atomic_load(&api->tokens), token_count + 1 + 3 + 1);
    scheduler_stop(&scheduler);
    return in_time;
}

static void test_reviews_are_cached(void **state _unused_)
{
    assert_at_some_pace(check_cache, 400);
}

static void test_concurrent_requests_share_a_review(void **state _unused_)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, NULL);
    atomic_store(&scheduler.api.delay_ms, 300);
    struct raw raws[20];
    for (size_t i = 0; i < ARRAY_SIZE(raws); i++) {
        raws[i] = raw_connect(serve_port(scheduler.serve));
        raw_send(&raws[i], "GET /metrics HTTP/1.1\r\nHost: x\r\n" MON "\r\n");
    }
    /* One of them closes its connection. */
    raw_close(&raws[7]);
    for (size_t i = 0; i < ARRAY_SIZE(raws); i++) {
        if (i == 7)
            continue;
        struct reply_text reply = raw_reply(&raws[i], "GET");
        assert_int_equal(reply.status, 200);
        reply_text_release(&reply);
        raw_close(&raws[i]);
    }
    assert_int_equal(atomic_load(&scheduler.api.tokens), 1);
    assert_int_equal(atomic_load(&scheduler.api.accesses), 1);
    scheduler_stop(&scheduler);
}

static void test_failing_api_server(void **state _unused_)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, NULL);
    struct fake_api *api = &scheduler.api;
    /* It fails twice, then succeeds: the client only sees a delay. */
    atomic_store(&api->fail, 2);
    assert_int_equal(status_of(&scheduler, "/metrics", MON), 200);
    assert_int_equal(atomic_load(&api->tokens), 3);
    /* A client error is final. */
    atomic_store(&api->fail_status, 403);
    atomic_store(&api->fail, 1);
    struct reply_text reply = get(&scheduler, "/some", "");
    assert_int_equal(reply.status, 500);
    assert_non_null(strstr(reply.body.text, "Internal Server Error: \"/some\": "));
    assert_non_null(strstr(reply.body.text, "out of &lt;order&gt;"));
    reply_text_release(&reply);
    atomic_store(&api->fail, 1);
    assert_int_equal(status_of(&scheduler, "/some", BOB), 401);
    /* The API server is gone. */
    fake_api_stop(api);
    assert_int_equal(status_of(&scheduler, "/other", ""), 500);
    assert_int_equal(status_of(&scheduler, "/metrics", "Authorization: Bearer new\r\n"), 401);
    assert_int_equal(status_of(&scheduler, "/healthz", ""), 200);
    scheduler_stop(&scheduler);
}

static void test_no_delegation(void **state _unused_)
{
    unsetenv("KUBERNETES_SERVICE_HOST");
    struct scheduler scheduler = { 0 };
    struct error err;
    assert_int_equal(start_with(&scheduler, true, NULL, &err), 0);
    assert_int_equal(status_of(&scheduler, "/healthz", ""), 200);
    assert_int_equal(status_of(&scheduler, "/metrics", ""), 403);
    assert_int_equal(status_of(&scheduler, "/metrics", "Authorization: Bearer wrong\r\n"), 403);
    scheduler_stop(&scheduler);

    /* Paths of the flag need no authorization. */
    scheduler = (struct scheduler){ 0 };
    assert_int_equal(
        start_with(&scheduler, true,
                   (const char *[]){ "--authorization-always-allow-paths=metrics,/below/*,/", NULL }, &err),
        0);
    static const struct {
        const char *path;
        int status;
    } cases[] = { { "/metrics", 200 }, { "/metrics/slis", 403 },
                  { "/below/x", 200 }, { "/below", 403 },
                  { "/", 404 },        { "//", 403 },
                  { "/healthz", 403 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (status_of(&scheduler, cases[i].path, "") != cases[i].status)
            fail_msg("%s", cases[i].path);
    scheduler_stop(&scheduler);
}

static void test_lookup_failure(void **state _unused_)
{
    struct fake_api api;
    fake_api_start(&api);
    atomic_store(&api.hide_map, true);
    fake_api_kubeconfig(&api, kubeconfig);
    char authn[600];
    snprintf(authn, sizeof(authn), "--authentication-kubeconfig=%s", kubeconfig);
    static const struct {
        const char *flag;
        bool starts, looks_up;
    } cases[] = {
        { "--authentication-tolerate-lookup-failure=false", false, true },
        { "--authentication-tolerate-lookup-failure=true", true, true },
        { "--authentication-skip-lookup=true", true, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scheduler scheduler = { 0 };
        struct error err;
        int before = atomic_load(&api.maps);
        int r = start_with(&scheduler, true, (const char *[]){ authn, cases[i].flag, NULL }, &err);
        if ((r == 0) != cases[i].starts)
            fail_msg("%s: %s", cases[i].flag, err.text);
        if (r < 0)
            assert_non_null(
                strstr(err.text, "unable to load configmap based request-header-client-ca-file: "));
        for (int64_t until = now_ms() + PATIENCE_MS;
             cases[i].looks_up && atomic_load(&api.maps) == before && now_ms() < until;)
            sleep_ms(10);
        assert_int_equal(atomic_load(&api.maps) > before, cases[i].looks_up);
        if (r == 0)
            assert_int_equal(status_of(&scheduler, "/healthz", ""), 200);
        serve_stop(scheduler.serve, 100);
        flags_release(&scheduler.flags);
    }
    fake_api_stop(&api);
}

static struct raw_tls as(const char *client, char cert[512], char key[512])
{
    snprintf(cert, 512, "%s/%s.crt", dir, client);
    snprintf(key, 512, "%s/%s.key", dir, client);
    return (struct raw_tls){ .cert = cert, .key = key };
}

/* The status, and the name of the authenticated user. */
static int get_as(struct scheduler *scheduler, const char *client, const char *headers, char name[64])
{
    char cert[512], key[512];
    struct raw_tls tls = client ? as(client, cert, key) : (struct raw_tls){ 0 };
    struct reply_text reply = request_with(scheduler, &tls, "GET", "/nosuch", headers, "");
    int status = reply.status;
    const char *at = reply.body.text ? strstr(reply.body.text, "User \\\"") : NULL;
    snprintf(name, 64, "%.*s", at ? (int)strcspn(at + 7, "\\") : 0, at ? at + 7 : "");
    reply_text_release(&reply);
    return status;
}

static void wait_for_trust(struct scheduler *scheduler, const char *client, int status)
{
    char name[64];
    int got = get_as(scheduler, client, "", name);
    for (int64_t until = now_ms() + PATIENCE_MS; got != status && now_ms() < until;) {
        sleep_ms(50);
        got = get_as(scheduler, client, "", name);
    }
    assert_int_equal(got, status);
}

static const struct cert_case {
    const char *client, *headers;
    int status;
    const char *name;
} cert_cases[] = {
    { NULL, "", 403, "system:anonymous" },
    { "client", "", 403, "alice" },
    { "client", MON, 403, "alice" },
    { "root", "", 404, "" },
    { "stranger", "", 401, "" },
    { "stranger", MON, 404, "" },
    { "stranger", "X-Remote-User: eve\r\n", 401, "" },
    { "client", "X-Remote-User: eve\r\nX-Remote-Group: system:masters\r\n", 403, "alice" },
    { "proxy", "", 401, "" },
    { "proxy", "X-Remote-User: carol\r\n", 403, "carol" },
    { "proxy", "X-Remote-User: carol\r\nX-Remote-Group: a\r\nx-remote-group: system:masters\r\n", 404, "" },
    { NULL, "X-Remote-User: eve\r\nX-Remote-Group: system:masters\r\n", 403, "system:anonymous" },
};

/* They change nothing. */
static const char *const invalid_maps[] = {
    "{\"data\":{\"client-ca-file\":\"nonsense\"}}",
    "{\"data\":{\"requestheader-allowed-names\":\"[[\\\"a\\\"]]\"}}",
};

static void test_certificates(void **state _unused_)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, false,
                    (const char *[]){ "--authorization-webhook-cache-unauthorized-ttl=0s", NULL });
    wait_for_trust(&scheduler, "root", 404);
    for (size_t i = 0; i < ARRAY_SIZE(cert_cases); i++) {
        char name[64];
        int status = get_as(&scheduler, cert_cases[i].client, cert_cases[i].headers, name);
        if (status != cert_cases[i].status || strcmp(name, cert_cases[i].name) != 0)
            fail_msg("case %zu: %d \"%s\"", i, status, name);
    }
    char name[64];
    get_as(&scheduler, "proxy",
           "X-Remote-User: carol\r\nX-Remote-Extra-Scopes%2fa: b\r\nX-Remote-Extra-Scopes%2fa: c\r\n", name);
    pthread_mutex_lock(&scheduler.api.lock);
    assert_non_null(strstr(
        scheduler.api.last_access.text,
        "\"user\":\"carol\",\"groups\":[\"system:authenticated\"],\"extra\":{\"scopes/a\":[\"b\",\"c\"]}"));
    pthread_mutex_unlock(&scheduler.api.lock);
    get_as(&scheduler, "client", "", name);
    pthread_mutex_lock(&scheduler.api.lock);
    assert_non_null(strstr(scheduler.api.last_access.text,
                           "\"extra\":{\"authentication.kubernetes.io/credential-id\":[\"X509SHA256="));
    pthread_mutex_unlock(&scheduler.api.lock);

    /* The ConfigMap gets another CA. */
    fake_api_trust(&scheduler.api, dir, "proxy-ca.crt", "ca.crt");
    wait_for_trust(&scheduler, "root", 401);
    assert_int_equal(get_as(&scheduler, "stranger", "", name), 403);
    assert_string_equal(name, "stranger");
    for (size_t i = 0; i < ARRAY_SIZE(invalid_maps); i++) {
        pthread_mutex_lock(&scheduler.api.lock);
        strbuf_clear(&scheduler.api.map);
        strbuf_puts(&scheduler.api.map, invalid_maps[i]);
        pthread_mutex_unlock(&scheduler.api.lock);
        int before = atomic_load(&scheduler.api.maps);
        for (int64_t until = now_ms() + PATIENCE_MS;
             atomic_load(&scheduler.api.maps) < before + 2 && now_ms() < until;)
            sleep_ms(20);
        assert_int_equal(get_as(&scheduler, "stranger", "", name), 403);
    }
    scheduler_stop(&scheduler);
}

static void test_certificates_by_files(void **state _unused_)
{
    struct scheduler scheduler = { 0 };
    struct error err;
    char client[600], proxy[600], name[64];
    snprintf(client, sizeof(client), "--client-ca-file=%s/ca.crt", dir);
    snprintf(proxy, sizeof(proxy), "--requestheader-client-ca-file=%s/proxy-ca.crt", dir);
    assert_int_equal(start_with(&scheduler, false,
                                (const char *[]){ client, proxy, "--requestheader-allowed-names=front-proxy",
                                                  "--requestheader-uid-headers=X-Uid", NULL },
                                &err),
                     0);
    assert_int_equal(get_as(&scheduler, "root", "", name), 404);
    assert_int_equal(get_as(&scheduler, "client", "", name), 403);
    assert_string_equal(name, "alice");
    assert_int_equal(get_as(&scheduler, "stranger", "X-Remote-User: x\r\n", name), 401);
    assert_int_equal(get_as(&scheduler, "proxy", "x-remote-user: dora\r\n", name), 403);
    assert_string_equal(name, "dora");
    scheduler_stop(&scheduler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reviews_are_cached),
        cmocka_unit_test(test_concurrent_requests_share_a_review),
        cmocka_unit_test(test_failing_api_server),
        cmocka_unit_test(test_no_delegation),
        cmocka_unit_test(test_lookup_failure),
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_certificates_by_files),
    };
    return cmocka_run_group_tests(tests, scheduler_setup, scheduler_teardown);
}
