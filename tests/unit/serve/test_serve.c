/* The pages. Texts and headers were recorded from kube-scheduler v1.36.4. */
#include "unit/serve/scheduler.h"

#define FORBIDDEN(user, verb, path) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":" \
    "\"forbidden: User " \
    "\\\"" user "\\\" cannot " verb " path \\\"" path \
    "\\\"\",\"reason\":\"Forbidden\",\"details\":{},\"code\":403}\n"
#define UNAUTHORIZED \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":" \
    "\"Unauthorized\"," \
    "\"reason\":\"Unauthorized\",\"code\":401}\n"
#define NOSNIFF "X-Content-Type-Options: nosniff"
#define PLAIN "Content-Type: text/plain; charset=utf-8"

static const struct page_case {
    const char *method, *target, *headers, *body;
    int status;
    const char *want;        /* NULL: any */
    const char *want_header; /* NULL: any */
} page_cases[] = {
    { "GET", "/healthz", "", "", 200, "ok", NOSNIFF },
    { "HEAD", "/healthz", "", "", 200, "", "Content-Length: 2" },
    { "POST", "/healthz", "", "", 200, "ok", PLAIN },
    { "GET", "/healthz?verbose", "", "", 200, "[+]leaderElection ok\nhealthz check passed\n", PLAIN },
    { "GET", "/livez?verbose=1", "", "", 200, "[+]ping ok\nlivez check passed\n", PLAIN },
    { "GET", "/readyz?verbose&exclude=shutdown&exclude=nope&exclude=a%22c&exclude=nope", "", "", 200,
      "[+]leaderElection ok\n[+]shutdown excluded: ok\n[+]sched-handler-sync ok\nwarn: some health checks "
      "cannot be "
      "excluded: no matches for \"a\\\"c\",\"nope\"\nreadyz check passed\n",
      NOSNIFF },
    { "GET", "/%68ealthz", "", "", 200, "ok", NULL },
    { "GET", "/livez/ping", "", "", 403, FORBIDDEN("system:anonymous", "get", "/livez/ping"), NOSNIFF },
    { "GET", "/livez/ping", MON, "", 200, "ok", PLAIN },
    { "GET", "/readyz/leaderElection", MON, "", 200, "ok", PLAIN },
    { "GET", "/readyz/nosuch", MON, "", 404, "404 page not found\n", NOSNIFF },
    { "GET", "/healthz/", MON, "", 404, "404 page not found\n", PLAIN },
    { "GET", "//healthz", MON, "", 404, "404 page not found\n", PLAIN },
    { "GET", "/metrics", "", "", 403, FORBIDDEN("system:anonymous", "get", "/metrics"),
      "Content-Type: application/json" },
    { "HEAD", "/metrics", BOB, "", 403, "", NULL },
    { "POST", "/a<b>&\"c\"", "", "", 403,
      FORBIDDEN("system:anonymous", "post", "/a\\u0026lt;b\\u0026gt;\\u0026amp;\\\\\\\"c\\\\\\\""), NOSNIFF },
    { "GET", "/metrics", "User-Agent: curl/8\r\n", "", 403,
      "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n  \"status\": "
      "\"Failure\",\n"
      "  \"message\": \"forbidden: User \\\"system:anonymous\\\" cannot get path \\\"/metrics\\\"\",\n"
      "  \"reason\": \"Forbidden\",\n  \"details\": {},\n  \"code\": 403\n}",
      NULL },
    { "GET", "/metrics", "Accept: application/yaml\r\n", "", 403,
      "apiVersion: v1\ncode: 403\ndetails: {}\nkind: Status\nmessage: 'forbidden: User \"system:anonymous\" "
      "cannot get "
      "path \"/metrics\"'\nmetadata: {}\nreason: Forbidden\nstatus: Failure\n",
      "Content-Type: application/yaml" },
    { "GET", "/metrics", BOB, "", 403, FORBIDDEN("bob", "get", "/metrics"), NULL },
    { "GET", "/metrics", "Authorization: Bearer wrong\r\n", "", 401, UNAUTHORIZED,
      "Content-Type: application/json" },
    { "GET", "/healthz", "Authorization: Bearer wrong\r\n", "", 401, UNAUTHORIZED, NULL },
    { "GET", "/metrics", "Authorization: Bearer plain-no\r\n", "", 401, UNAUTHORIZED, NULL },
    { "GET", "/metrics", "Authorization: Bearer nonsense\r\n", "", 401, UNAUTHORIZED, NULL },
    { "GET", "/metrics", "Authorization: Basic abc\r\n", "", 403,
      FORBIDDEN("system:anonymous", "get", "/metrics"), NULL },
    { "GET", "/metrics", "Authorization: Bearer  mon\r\n", "", 403,
      FORBIDDEN("system:anonymous", "get", "/metrics"), NULL },
    { "GET", "/metrics", "authorization: bEARER mon extra\r\n", "", 200, "# TYPE a counter\na 1\n", NULL },
    { "GET", "/metrics", MON, "", 200, "# TYPE a counter\na 1\n",
      "Content-Type: text/plain; version=0.0.4; charset=utf-8; escaping=underscores" },
    { "GET", "/metrics", MON, "", 200, NULL, "Process-Start-Time-Unix: " },
    { "DELETE", "/metrics", MON, "", 200, "metrics reset\n", PLAIN },
    { "GET", "/metrics/resources", MON, "", 200, "r 1\n", "Content-Type: text/plain; version=0.0.4" },
    { "DELETE", "/metrics/slis", MON, "", 200, "metrics reset\n", PLAIN },
    { "GET", "/readyz", "", "", 200, "ok", NULL },
    { "GET", "/metrics/slis", MON, "", 200,
      "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n"
      "# TYPE kubernetes_healthcheck gauge\n"
      "kubernetes_healthcheck{name=\"leaderElection\",type=\"readyz\"} 1\n"
      "kubernetes_healthcheck{name=\"sched-handler-sync\",type=\"readyz\"} 1\n"
      "kubernetes_healthcheck{name=\"shutdown\",type=\"readyz\"} 1\n"
      "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n"
      "# TYPE kubernetes_healthchecks_total counter\n"
      "kubernetes_healthchecks_total{name=\"leaderElection\",status=\"success\",type=\"readyz\"} 1\n"
      "kubernetes_healthchecks_total{name=\"sched-handler-sync\",status=\"success\",type=\"readyz\"} 1\n"
      "kubernetes_healthchecks_total{name=\"shutdown\",status=\"success\",type=\"readyz\"} 1\n",
      NULL },
    { "GET", "/configz", MON, "", 200, "{\"componentconfig\":{\"kind\":\"KubeSchedulerConfiguration\"}}",
      NOSNIFF },
    { "GET", "/", MON, "", 404, "404 page not found\n", NULL },
    { "GET", "/denied", BOB, "", 403,
      "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
      "\"forbidden: User "
      "\\\"bob\\\" cannot get path \\\"/denied\\\": because "
      "\\u003cso\\u003e\",\"reason\":\"Forbidden\",\"details\":{},"
      "\"code\":403}\n",
      NULL },
    { "GET", "/both?x=<y>", BOB, "", 500,
      "Internal Server Error: \"/both?x=&lt;y&gt;\": webhook subject access review returned both allow and "
      "deny response\n",
      NOSNIFF },
    { "GET", "/later", MON, "", 202, "late", "Content-Type: text/later" },
    { "GET", "/below/a/b", MON, "", 200, "/below/a/b of mon in 2 groups", PLAIN },
    { "GET", "/below", MON, "", 404, NULL, NULL },
    { "GET", "/broken", MON, "", 500, "Internal Server Error\n", PLAIN },
    { "GET", "/debug/flags", MON, "", 200, NULL, "Content-Type: text/html; charset=utf-8" },
    { "GET", "/debug/flags/v", MON, "", 406, "unsupported http method\n", "Content-Type: text/plain\r\n" },
    { "PUT", "/debug/flags/v", MON, "x", 400, "strconv.ParseUint: parsing \"x\": invalid syntax\n", NOSNIFF },
    { "PUT", "/debug/flags/v", MON, "99999999999", 400,
      "strconv.ParseUint: parsing \"99999999999\": value out of range\n", NULL },
    { "PUT", "/debug/flags/v", MON, "0", 200, "successfully set klog.logging.verbosity to 0\n", NULL },
    { "GET", "/debug/pprof", MON, "", 302, "<a href=\"/debug/pprof/\">Found</a>.\n\n",
      "Location: /debug/pprof/\r\nContent-Type: text/html; charset=utf-8\r\n" },
    { "GET", "/debug/pprof/", MON, "", 200, NULL, "Content-Type: text/html; charset=utf-8" },
    { "GET", "/debug/pprof/goroutine?debug=2", MON, "", 404, "a C program has no goroutine profile\n",
      NOSNIFF },
    { "GET", "/debug/pprof/trace", MON, "", 404, "a C program has no trace profile\n", "X-Go-Pprof: 1" },
    { "GET", "/debug/pprof/nothing", MON, "", 404, "Unknown profile\n", "X-Go-Pprof: 1" },
    { "GET", "/debug/pprof/heap", MON, "", 404, NULL, "X-Go-Pprof: 1" },
    { "GET", "/debug/pprof/heap?debug=1", MON, "", 200, NULL, PLAIN },
    { "GET", "/debug/pprof/symbol", MON, "", 200, "num_symbols: 1\n", PLAIN },
    { "POST", "/debug/pprof/symbol", MON, "0+x+0x1+", 200, "num_symbols: 1\n", PLAIN },
};

static void test_pages(void **state _unused_)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(page_cases); i++) {
        const struct page_case *c = &page_cases[i];
        struct reply_text reply = request_with(&scheduler, NULL, c->method, c->target, c->headers, c->body);
        const char *body = reply.body.text ? reply.body.text : "";
        if (reply.status != c->status || (c->want && strcmp(body, c->want) != 0) ||
            (c->want_header && !strstr(reply.head.text, c->want_header)) ||
            !strstr(reply.head.text, "Cache-Control: no-cache, private"))
            fail_msg("%s %s %s: %s\n%s", c->method, c->target, c->headers, reply.head.text, body);
        reply_text_release(&reply);
    }
    assert_int_equal(atomic_load(&scheduler.resets), 1);
    scheduler_stop(&scheduler);
}

static void test_failing_checks(void **state _unused_)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, NULL);
    atomic_store(&scheduler.ill, true);
    struct reply_text reply = get(&scheduler, "/readyz?exclude=shutdown", "");
    assert_int_equal(reply.status, 500);
    assert_string_equal(reply.body.text,
                        "[-]leaderElection failed: reason withheld\n[+]shutdown excluded: ok\n"
                        "[+]sched-handler-sync ok\nreadyz check failed\n");
    assert_non_null(strstr(reply.head.text, PLAIN));
    reply_text_release(&reply);
    reply = get(&scheduler, "/readyz/leaderElection", MON);
    assert_int_equal(reply.status, 500);
    assert_string_equal(reply.body.text, "internal server error: lost <lease>\n");
    reply_text_release(&reply);
    assert_int_equal(status_of(&scheduler, "/healthz", ""), 500);
    assert_int_equal(status_of(&scheduler, "/livez", ""), 200);
    assert_int_equal(status_of(&scheduler, "/readyz?exclude=leaderElection", ""), 200);
    reply = get(&scheduler, "/metrics/slis", MON);
    assert_non_null(
        strstr(reply.body.text, "kubernetes_healthcheck{name=\"leaderElection\",type=\"healthz\"} 0\n"));
    assert_non_null(strstr(reply.body.text, "status=\"error\",type=\"healthz\"} 1\n"));
    reply_text_release(&reply);
    /* Without leadership the page is empty. */
    reply = get(&scheduler, "/metrics/resources", MON);
    assert_int_equal(reply.status, 200);
    assert_int_equal(reply.body.len, 0);
    assert_null(strstr(reply.head.text, "Content-Type"));
    reply_text_release(&reply);
    atomic_store(&scheduler.ill, false);
    assert_int_equal(status_of(&scheduler, "/healthz", ""), 200);
    scheduler_stop(&scheduler);
}

static void test_zpages(void **state _unused_)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, (const char *[]){ "--v=3", "--tls-sni-cert-key=a,b:c,d", NULL });
    static const struct {
        const char *target, *accept;
        int status;
        const char *type, *part;
    } cases[] = {
        { "/flagz", "", 200, PLAIN, "\nkube-scheduler flagz\nWarning: This endpoint" },
        { "/flagz", "*/*", 200, PLAIN, "\nv:3\n" },
        { "/flagz", "*/*", 200, PLAIN, "\nauthorization-always-allow-paths:[/healthz,/readyz,/livez]\n" },
        { "/flagz", "*/*", 200, PLAIN, "\ntls-sni-cert-key:[a,b:c,d]\n" },
        { "/flagz", "*/*", 200, PLAIN, "\npod-max-in-unschedulable-pods-duration:5m0s\n" },
        { "/flagz", "*/*", 200, PLAIN, "\nkube-api-qps:50\n" },
        { "/flagz", "text/html, text/*;q=0.1", 200, PLAIN, "flagz" },
        { "/flagz", "application/json", 406, "Content-Type: application/json",
          "only the following media types are accepted: application/json, application/yaml, text/plain" },
        { "/flagz", "text/html", 406, "Content-Type: application/json", "NotAcceptable" },
        { "/flagz", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz", 200,
          "Content-Type: application/json;g=config.k8s.io;v=v1beta1;as=Flagz",
          "{\"kind\":\"Flagz\",\"apiVersion\":\"config.k8s.io/"
          "v1beta1\",\"metadata\":{\"name\":\"kube-scheduler\"},"
          "\"flags\":{\"allow-metric-labels\":\"[]\"" },
        { "/flagz", "application/json;v=v1alpha1;g=config.k8s.io;as=Flagz", 200,
          "Warning: 299 - \"This version of the flagz endpoint is deprecated. Please use a newer version.\"",
          "v1alpha1" },
        { "/flagz", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz", 406, NULL, NULL },
        { "/flagz", "application/yaml;v=v1beta1;g=config.k8s.io;as=Flagz", 200,
          "Content-Type: application/yaml;",
          "apiVersion: config.k8s.io/v1beta1\nflags:\n  allow-metric-labels: '[]'\n" },
        { "/statusz", "", 200, PLAIN,
          "\nEmulation version: 1.37\nPaths: /below /configz /flagz /healthz /later /livez /metrics "
          "/readyz\n" },
        { "/statusz", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz", 200, "as=Statusz",
          "\"paths\":[\"/below\",\"/configz\"," },
        { "/statusz", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz;stream=watch", 406, NULL, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char headers[256];
        snprintf(headers, sizeof(headers), "%s%s%s\r\n", MON,
                 *cases[i].accept ? "Accept: " : "X: ", cases[i].accept);
        struct reply_text reply = get(&scheduler, cases[i].target, headers);
        if (reply.status != cases[i].status || (cases[i].type && !strstr(reply.head.text, cases[i].type)) ||
            (cases[i].part && !strstr(reply.body.text, cases[i].part)))
            fail_msg("case %zu: %s\n%s", i, reply.head.text, reply.body.text);
        reply_text_release(&reply);
    }
    scheduler_stop(&scheduler);
}

static void test_wrong_flags(void **state _unused_)
{
    static const struct {
        const char *flag, *sentence;
    } cases[] = {
        { "--authorization-always-allow-paths=/a*b", "only trailing * allowed in \"a*b\"" },
        { "--tls-min-version=VersionTLS1", "unknown tls version \"VersionTLS1\"" },
        { "--tls-cert-file=/nowhere.crt", "must be given together" },
        { "--client-ca-file=/nowhere.crt", "/nowhere.crt" },
        { "--authentication-kubeconfig=/nowhere.conf", "failed to get delegated authentication kubeconfig" },
        { "--authorization-kubeconfig=/nowhere.conf", "failed to get delegated authorization kubeconfig" },
        { "--bind-address=203.0.113.1", "failed to listen" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scheduler scheduler = { 0 };
        struct error err;
        assert_true(start_with(&scheduler, false, (const char *[]){ cases[i].flag, NULL }, &err) < 0);
        if (!strstr(err.text, cases[i].sentence))
            fail_msg("%s: %s", cases[i].flag, err.text);
        assert_null(scheduler.serve);
        flags_release(&scheduler.flags);
    }
    struct scheduler off = { 0 };
    struct error err;
    char *argv[] = { "berth", "--secure-port=0" };
    assert_int_equal(flags_parse(&off.flags, 2, argv, &err), 0);
    assert_int_equal(serve_start(&(struct serve_options){ .flags = &off.flags }, &off.serve, &err), 0);
    assert_null(off.serve);
    serve_stop(off.serve, 0);
    flags_release(&off.flags);
}

/* Requests in progress at shutdown. */
static void test_stop_while_busy(void **state _unused_)
{
    for (int round = 0; round < 2; round++) {
        struct scheduler scheduler;
        scheduler_start(&scheduler, true, NULL);
        struct raw raws[10];
        assert_int_equal(status_of(&scheduler, "/metrics", MON), 200);
        atomic_store(&scheduler.slow_view, true);
        atomic_store(&scheduler.api.delay_ms, 2 * PATIENCE_MS);
        for (size_t i = 0; i < ARRAY_SIZE(raws); i++) {
            char text[128];
            raws[i] = raw_connect(serve_port(scheduler.serve));
            snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t%zu\r\n\r\n",
                     round ? "/later" : "/metrics", i);
            raw_send(&raws[i], text);
        }
        sleep_ms(100);
        int64_t begin = now_ms();
        serve_stop(scheduler.serve, 200);
        assert_true(now_ms() - begin < PATIENCE_MS); /* the server does not wait for the answer */
        for (size_t i = 0; i < ARRAY_SIZE(raws); i++)
            raw_close(&raws[i]);
        flags_release(&scheduler.flags);
        fake_api_stop(&scheduler.api);
    }
}

static void test_unanswered_view(void **state _unused_)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, NULL);
    atomic_store(&scheduler.slow_view, true);
    struct raw raw = raw_connect(serve_port(scheduler.serve));
    raw_send(&raw, "GET /later HTTP/1.1\r\nHost: x\r\n" MON "\r\n");
    for (int64_t until = now_ms() + PATIENCE_MS; !atomic_load(&scheduler.view_calls) && now_ms() < until;)
        sleep_ms(10);
    assert_int_equal(atomic_load(&scheduler.view_calls), 1);
    /* An answer to an unknown request is dropped. */
    struct serve_reply reply = { 0 };
    strbuf_puts(&reply.body, "dropped");
    serve_answer(scheduler.serve, 12345, &reply);
    assert_int_equal(status_of(&scheduler, "/healthz", ""), 200);
    scheduler_stop(&scheduler);
    raw_close(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),           cmocka_unit_test(test_failing_checks),
        cmocka_unit_test(test_zpages),          cmocka_unit_test(test_wrong_flags),
        cmocka_unit_test(test_stop_while_busy), cmocka_unit_test(test_unanswered_view),
    };
    return cmocka_run_group_tests(tests, scheduler_setup, scheduler_teardown);
}
