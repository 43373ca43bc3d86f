/* Extenders over HTTP: a correct one (tests/extender/extender.py) takes part in the engine's decisions, and a
 * misbehaving one (tests/extender/misbehaving.py) never blocks them. */
#include "support/engine_fixture.h"
#include "support/pace.h"
#include "unit/net/harness.h"

#include "extender/extender.h"

struct setup {
    struct engine_fixture e;
    struct scheduler_config config; /* of the extenders */
    struct arena arena;
    struct server server;
    struct http_extenders *extenders;
    struct pending_requests *pending; /* NULL: the extenders create their own */
    pthread_mutex_t lock;
    pthread_cond_t answered;
    bool has_answer;
    enum answer_kind kind; /* of the answer to a bind */
    char message[256];
};

enum { TICKET = 7 };

static void on_answer(void *user, uint64_t ticket, const struct answer *answer)
{
    struct setup *setup = user;
    pthread_mutex_lock(&setup->lock);
    setup->has_answer = ticket == TICKET;
    setup->kind = answer->kind;
    snprintf(setup->message, sizeof(setup->message), STR_FMT, STR_ARG(answer->message));
    pthread_cond_signal(&setup->answered);
    pthread_mutex_unlock(&setup->lock);
}

static void start(struct server *server, const char *script, const char *const *args)
{
    char *argv[16] = { "python3", (char *)script };
    char line[64];
    int in[2], out[2];
    for (size_t i = 0; args && args[i]; i++)
        argv[i + 2] = (char *)args[i];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    server->pid = spawn_program(argv, in[0], out[1], false);
    close(in[0]);
    close(out[1]);
    server->input = in[1];
    server->output = out[0];
    server_line(server, line, sizeof(line));
    server->port = (int)strtol(line, NULL, 10);
    assert_true(server->port > 0);
}

#define CORRECT "tests/extender/extender.py"
#define MISBEHAVING "tests/extender/misbehaving.py"
#define NODE(name) \
    "{kind: Node, metadata: {name: " name ", labels: {zone: z-" name "}}, " \
    "status: {allocatable: {cpu: 2, memory: 4Gi, pods: 20}}}\n---\n"
#define POD(name, cpu, annotations, more) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name ", annotations: {" annotations \
    "}}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]" more "}}"

/* Reads the extenders of a configuration, each "{...}" on a line of its own. */
static void load_config(struct setup *setup, const char *config)
{
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &setup->arena);
    size_t len = strlen(config);
    char *text = memcpy(xcalloc(len + 16, 1), config, len);
    struct error err;
    if (config_load_text("config", text, len, &(struct config_env){ .catalog = &catalog }, &setup->arena,
                         &setup->config, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

/* An engine with nodes a, b and c. The server runs already. */
static void setup_init(struct setup *setup, const char *extenders)
{
    struct strbuf config = { 0 };
    struct error err;
    strbuf_printf(&config, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n%s",
                  extenders);
    load_config(setup, config.text);
    pthread_mutex_init(&setup->lock, NULL);
    pthread_cond_init(&setup->answered, NULL);
    if (http_extenders_new(
            &(struct http_extenders_options){
                .config = &setup->config, .on_answer = on_answer, .user = setup, .pending = setup->pending },
            &setup->extenders, &err) < 0)
        fail_msg("%s", err.text);
    engine_fixture_init(&setup->e, config.text,
                        &(struct engine_options){ .extenders = http_extenders_table(setup->extenders) });
    fixture_load(&setup->e.f, NODE("a") NODE("b") NODE("c"));
    strbuf_release(&config);
}

static void setup_release(struct setup *setup)
{
    engine_fixture_release(&setup->e);
    http_extenders_free(setup->extenders);
    pending_requests_free(setup->pending);
    config_release(&setup->config);
    arena_release(&setup->arena);
    pthread_mutex_destroy(&setup->lock);
    pthread_cond_destroy(&setup->answered);
    server_stop(&setup->server);
}

/* One extender: its path and the rest of its configuration. */
static void setup_one(struct setup *setup, const char *scheme, const char *path, const char *more)
{
    char text[8192];
    snprintf(text, sizeof(text), "extenders:\n- {urlPrefix: '%s://127.0.0.1:%d/%s', %s}\n", scheme,
             setup->server.port, path, more);
    setup_init(setup, text);
}

#define ALL_VERBS \
    "filterVerb: filter, prioritizeVerb: prioritize, preemptVerb: preempt, bindVerb: bind, weight: 5"

/* ---- a correct extender ---- */
static const struct {
    const char *name, *pod, *node, *message;
} correct_cases[] = {
    { "rejects", POD("p", "1", "extender.example/refuse: 'a=no license,c'", ""), .node = "b" },
    { "scores", POD("p", "1", "extender.example/scores: 'a=1,c=9'", ""), .node = "c" },
    { "rejects and scores",
      POD("p", "1", "extender.example/refuse: c, extender.example/scores: 'a=1,c=9'", ""), .node = "a" },
    { "rejects all",
      POD("p", "1",
          "extender.example/refuse: 'a=no license,b=no license', extender.example/unresolvable: 'c=too old'",
          ""),
      .message = "0/3 nodes are available: 1 too old, 2 no license. " },
    { "fails", POD("p", "1", "extender.example/error: 'out of order'", ""), .message = "out of order" },
};

static void test_correct(void **state)
{
    static const char *const caches[] = { "nodeCacheCapable: true, " ALL_VERBS, ALL_VERBS };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
        struct setup setup = { 0 };
        start(&setup.server, CORRECT, NULL);
        setup_one(&setup, "http", "scheduler///", caches[i]);
        for (size_t j = 0; j < ARRAY_SIZE(correct_cases); j++) {
            struct pod_info *pod = engine_fixture_add(&setup.e, correct_cases[j].pod);
            struct decision decision = engine_fixture_step(&setup.e);
            struct str node =
                decision.row == ROW_NONE ? STR("") : cluster_node_name(&setup.e.f.cluster, decision.row);
            if (!str_is(node, correct_cases[j].node ? correct_cases[j].node : ""))
                fail_msg("%s: " STR_FMT ": " STR_FMT, correct_cases[j].name, STR_ARG(node),
                         STR_ARG(decision.message));
            if (correct_cases[j].message &&
                !str_starts_with(decision.message, str_from(correct_cases[j].message)))
                fail_msg("%s: says " STR_FMT, correct_cases[j].name, STR_ARG(decision.message));
            engine_remove_pod(&setup.e.engine, pod, setup.e.now_ns);
        }
        setup_release(&setup);
    }
}

/* Victims by name and as full objects. */
static void test_preempt(void **state)
{
    static const char *const caches[] = { "nodeCacheCapable: true, " ALL_VERBS, ALL_VERBS };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
        struct setup setup = { 0 };
        start(&setup.server, CORRECT, NULL);
        setup_one(&setup, "http", "", caches[i]);
        fixture_load(&setup.e.f,
                     POD("a1", "2", "", ", nodeName: a") "\n---\n" POD("b1", "2", "", ", nodeName: b"));
        fixture_load(&setup.e.f, POD("c1", "2", "", ", nodeName: c"));
        engine_fixture_add(&setup.e, POD("p", "1", "extender.example/victims: b", ", priority: 9"));
        struct decision decision = engine_fixture_step(&setup.e);
        assert_int_equal(decision.nominated_row, fixture_row(&setup.e.f, "b"));
        assert_int_equal(decision.victims_len, 1);
        assert_str(decision.victims[0]->api->meta.name, "b1");
        setup_release(&setup);
    }
}

/* The extender sees an assumed pod on its node. */
static void test_assumed_victim(void **state)
{
    struct setup setup = { 0 };
    struct strbuf text = { 0 };
    struct error err;
    char dir[64], log[512];
    (void)state;
    dir_make(dir);
    in_dir(dir, "log", log);
    start(&setup.server, CORRECT, (const char *const[]){ "--log", log, NULL });
    setup_one(&setup, "http", "", "preemptVerb: preempt");
    cluster_remove_node(&setup.e.f.cluster, STR("a"));
    cluster_remove_node(&setup.e.f.cluster, STR("b"));
    engine_fixture_add(&setup.e, POD("low", "2", "", ""));
    assert_int_equal(engine_fixture_step(&setup.e).row, fixture_row(&setup.e.f, "c"));
    engine_fixture_add(&setup.e, POD("high", "1", "", ", priority: 9"));
    assert_int_equal(engine_fixture_step(&setup.e).victims_len, 1);
    assert_int_equal(file_read(log, 1 << 20, &text, &err), 0);
    assert_non_null(strstr(text.text, "NodeNameToVictims"));
    assert_non_null(strstr(text.text, "\"nodeName\": \"c\""));
    strbuf_release(&text);
    setup_release(&setup);
    dir_remove(dir);
}

/* ---- bind ---- */
static void bind_and_wait(struct setup *setup)
{
    struct extender *extender = http_extenders_table(setup->extenders)->items[0];
    setup->has_answer = false;
    extender->calls->bind(extender, &(struct effect){ .kind = EFFECT_BIND,
                                                      .ticket = TICKET,
                                                      .namespace = STR("default"),
                                                      .name = STR("p"),
                                                      .uid = STR("u"),
                                                      .node = STR("a") });
    pthread_mutex_lock(&setup->lock);
    while (!setup->has_answer)
        pthread_cond_wait(&setup->answered, &setup->lock);
    pthread_mutex_unlock(&setup->lock);
}

static void test_bind(void **state)
{
    static const struct {
        const char *script, *path;
        enum answer_kind kind;
        const char *message; /* suffix */
    } cases[] = {
        { CORRECT, "", ANSWER_REFUSED, "binding is not my business" },
        { MISBEHAVING, "empty-object", ANSWER_DONE, "" },
        { MISBEHAVING, "broken", ANSWER_REFUSED, "/broken/bind, code 500" },
        { MISBEHAVING, "html", ANSWER_REFUSED, "invalid character '<' looking for beginning of value" },
        { MISBEHAVING, "slow", ANSWER_REFUSED, "(Client.Timeout exceeded while awaiting headers)" },
        { MISBEHAVING, "cut", ANSWER_REFUSED, "unexpected EOF" },
        { MISBEHAVING, "redirect", ANSWER_DONE, "" },
        { MISBEHAVING, "redirect-to-get", ANSWER_DONE, "" },
        { MISBEHAVING, "redirect-loop", ANSWER_REFUSED, "stopped after 10 redirects" },
        { MISBEHAVING, "gzip", ANSWER_DONE, "" },
        { MISBEHAVING, "close", ANSWER_REFUSED, "/close/bind\": EOF" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup = { 0 };
        start(&setup.server, cases[i].script, NULL);
        setup_one(&setup, "http", cases[i].path,
                  strcmp(cases[i].path, "slow") == 0 ? "bindVerb: bind, httpTimeout: 1500ms"
                                                     : "bindVerb: bind, httpTimeout: 20s");
        bind_and_wait(&setup);
        if (setup.kind != cases[i].kind ||
            !str_ends_with(str_from(setup.message), str_from(cases[i].message)))
            fail_msg("%s: %s: %s", cases[i].path, answer_kind_names[setup.kind], setup.message);
        setup_release(&setup);
    }
}

/* ---- a misbehaving extender ---- */
static const struct {
    const char *fault;
    const char *filter; /* suffix of the error; NULL: the filter succeeds */
    bool scores;        /* its scores are used */
    bool stalls;        /* only the timeout ends the request */
} faults[] = {
    { "correct", NULL, true },
    { "close-first", NULL, true },
    { "slow", "(Client.Timeout exceeded while awaiting headers)", false, true },
    { "late", "(Client.Timeout exceeded while awaiting headers)", false, true },
    { "drip", "(Client.Timeout or context cancellation while reading body)", false, true },
    { "endless", "", false },
    { "deep", "invalid character '[' exceeded max depth", false },
    { "close", "/close/filter\": EOF", false },
    { "cut", "unexpected EOF", false },
    { "redirect", NULL, true },
    { "redirect-absolute", NULL, true },
    { "redirect-to-get", NULL, true },
    { "redirect-nowhere", "/redirect-nowhere/filter, code 307", false },
    { "redirect-loop", "\"/redirect-loop/filter\": stopped after 10 redirects", false },
    { "redirect-to-file", "Post \"file:///etc/passwd\": the URL cannot be understood", false },
    { "gzip", NULL, true },
    { "bad-gzip", "", false },
    { "bomb", "bytes", false },
    { "chunked", NULL, true },
    { "connection-close", NULL, true },
    { "close-after", NULL, true },
    { "long-error", "/long-error/filter, code 500", false },
    { "unknown-node", "claims a filtered node \"nowhere\" which is not found in the input node list", false },
    { "wrong-types", "number into Go struct field ExtenderFilterResult.NodeNames of type string", false },
    { "extreme-scores", NULL, false }, /* 64-bit numbers wrap around, as in Go */
    { "broken", "/broken/filter, code 500", false },
    { "created", "/created/filter, code 201", false },
    { "empty", "EOF", false },
    { "html", "invalid character '<' looking for beginning of value", false },
    { "short-body", NULL, true },
    { "garbage", "", false },
};

enum { STALL_MS = 1500, ANSWER_MS = 20000 };

/* The configuration for a fault. Only an extender that stalls gets a short timeout, since the machine may be busy. */
static const char *fault_config(size_t i, int64_t stall_ms, const char *more)
{
    static char text[256];
    snprintf(text, sizeof(text), "nodeCacheCapable: true, httpTimeout: %lldms, %s",
             (long long)(faults[i].stalls ? stall_ms : ANSWER_MS), more);
    return text;
}

static int64_t now_ms(void)
{
    return monotonic_ns() / 1000000;
}

/* Whether the decision with this fault is the expected one. */
static bool filter_is_right(size_t i, int port, int64_t stall_ms)
{
    const char *filter = faults[i].filter;
    struct setup setup = { .server = { .port = port } };
    int64_t start_ms = now_ms();
    setup_one(&setup, "http", faults[i].fault, fault_config(i, stall_ms, "filterVerb: filter"));
    engine_fixture_add(&setup.e, POD("p", "1", "", ""));
    struct decision decision = engine_fixture_step(&setup.e);
    bool right = decision.is_error == (filter != NULL);
    if (filter)
        right &= filter[0] ? str_ends_with(decision.message, str_from(filter))
                           : str_starts_with(decision.message, STR("Post \"http://127.0.0.1:"));
    if (!right)
        print_message("%s: \"" STR_FMT "\"\n", faults[i].fault, STR_ARG(decision.message));
    if (now_ms() - start_ms > 2 * MAX(stall_ms, (int64_t)ANSWER_MS))
        fail_msg("%s: took %lld ms", faults[i].fault, (long long)(now_ms() - start_ms));
    setup_release(&setup);
    return right;
}

/* A failed filter is an error of the scheduler, before the timeout has passed twice. */
static void test_bad_filter(void **state)
{
    struct server server = { 0 };
    (void)state;
    start(&server, MISBEHAVING, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        /* On a busy machine a reply that is to stall in its body may not have begun before the timeout. */
        int64_t stall_ms = STALL_MS;
        while (!filter_is_right(i, server.port, stall_ms)) {
            stall_ms *= 2;
            if (!faults[i].stalls || stall_ms > ANSWER_MS)
                fail_msg("%s: unexpected decision", faults[i].fault);
        }
    }
    server_stop(&server);
}

/* An ignorable extender that fails does not prevent a decision. */
static void test_bad_ignorable(void **state)
{
    struct server server = { 0 };
    (void)state;
    start(&server, MISBEHAVING, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct setup setup = { .server = { .port = server.port } };
        setup_one(&setup, "http", faults[i].fault,
                  fault_config(i, STALL_MS, "filterVerb: filter, ignorable: true"));
        engine_fixture_add(&setup.e, POD("p", "1", "", ""));
        assert_int_not_equal(engine_fixture_step(&setup.e).row, ROW_NONE);
        setup_release(&setup);
    }
    server_stop(&server);
}

/* Scores that do not arrive are ignored: all nodes tie. */
static void test_bad_scores(void **state)
{
    struct server server = { 0 };
    (void)state;
    start(&server, MISBEHAVING, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct setup setup = { .server = { .port = server.port } };
        setup_one(&setup, "http", faults[i].fault,
                  fault_config(i, STALL_MS, "prioritizeVerb: prioritize, weight: 1"));
        engine_fixture_add(&setup.e, POD("p", "1", "", ""));
        struct decision decision = engine_fixture_step(&setup.e);
        if (decision.row == ROW_NONE || (decision.ties == 1) != faults[i].scores)
            fail_msg("%s: %u ties", faults[i].fault, decision.ties);
        setup_release(&setup);
    }
    server_stop(&server);
}

static bool check_at_once(int64_t ms)
{
    enum { COUNT = 5 };
    struct server server = { 0 };
    struct setup setup = { 0 };
    struct strbuf text = { 0 };
    start(&server, MISBEHAVING, NULL);
    setup.server.port = server.port;
    strbuf_puts(&text, "extenders:\n");
    for (int i = 0; i < COUNT; i++)
        strbuf_printf(&text,
                      "- {urlPrefix: 'http://127.0.0.1:%d/slow', prioritizeVerb: p, weight: 1, "
                      "httpTimeout: %lldms}\n",
                      server.port, (long long)ms);
    setup_init(&setup, text.text);
    engine_fixture_add(&setup.e, POD("p", "1", "", ""));
    int64_t start_ms = now_ms();
    assert_int_not_equal(engine_fixture_step(&setup.e).row, ROW_NONE);
    int64_t took_ms = now_ms() - start_ms;
    assert_true(took_ms >= ms - ms / 10);
    setup_release(&setup);
    server_stop(&server);
    strbuf_release(&text);
    return took_ms < (COUNT - 1) * ms;
}

/* Extenders score concurrently: several slow ones take as long as one. */
static void test_scores_at_once(void **state)
{
    (void)state;
    assert_at_some_pace(check_at_once, 1000);
}

/* ---- connections ---- */
/* Many pods in a row, whether the server keeps or closes the connection. */
static void test_many_pods(void **state)
{
    static const char *const kinds[] = { "correct", "connection-close", "close-after", "chunked",
                                         "gzip",    "redirect" };
    struct server server = { 0 };
    (void)state;
    start(&server, MISBEHAVING, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct setup setup = { .server = { .port = server.port } };
        setup_one(&setup, "http", kinds[i],
                  "filterVerb: filter, prioritizeVerb: prioritize, weight: 1, nodeCacheCapable: true");
        for (int left = 8; left > 0; left--) {
            struct pod_info *pod = engine_fixture_add(&setup.e, POD("p", "1", "", ""));
            struct decision decision = engine_fixture_step(&setup.e);
            if (decision.row != fixture_row(&setup.e.f, "b"))
                fail_msg("%s: " STR_FMT, kinds[i], STR_ARG(decision.message));
            engine_remove_pod(&setup.e.engine, pod, setup.e.now_ns);
        }
        struct extender_share share = http_extender_share(setup.extenders, 0, EXTENDER_FILTER);
        assert_int_equal(share.calls, 8);
        assert_int_equal(share.failures, 0);
        assert_true(share.total_ns > 0);
        assert_int_equal(http_extender_share(setup.extenders, 0, EXTENDER_PRIORITIZE).calls, 8);
        assert_int_equal(http_extender_share(setup.extenders, 0, EXTENDER_BIND).calls, 0);
        setup_release(&setup);
    }
    server_stop(&server);
}

static void assert_reached(struct setup *setup)
{
    engine_fixture_add(&setup->e, POD("p", "1", "", ""));
    struct decision decision = engine_fixture_step(&setup->e);
    if (decision.row != fixture_row(&setup->e.f, "b"))
        fail_msg(STR_FMT, STR_ARG(decision.message));
}

#define CORRECT_AT(place) \
    "extenders:\n- {urlPrefix: 'http://" place "/correct/', prioritizeVerb: prioritize, weight: 1, " \
    "nodeCacheCapable: true}\n"

static bool has_ipv6(void)
{
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return has;
}

static void test_ipv6(void **state)
{
    struct setup setup = { 0 };
    char text[512];
    (void)state;
    if (!has_ipv6())
        skip_because("this machine has no IPv6");
    start(&setup.server, MISBEHAVING, (const char *const[]){ "::1", NULL });
    snprintf(text, sizeof(text), CORRECT_AT("[::1]:%d"), setup.server.port);
    setup_init(&setup, text);
    assert_reached(&setup);
    setup_release(&setup);
}

/* The proxy comes from the environment, as in Go. */
static void test_proxy(void **state)
{
    struct setup setup = { 0 };
    char url[64];
    (void)state;
    start(&setup.server, MISBEHAVING, NULL);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", setup.server.port);
    setenv("HTTP_PROXY", url, 1);
    setup_init(&setup, CORRECT_AT("extender.invalid"));
    assert_reached(&setup);
    setup_release(&setup);
    unsetenv("HTTP_PROXY");
}

/* ---- shutdown ---- */
struct stopper {
    struct pending_requests *pending;
    int64_t ms;
};

static void *stop_soon(void *user)
{
    const struct stopper *stopper = user;
    sleep_ms(stopper->ms);
    pending_requests_close(stopper->pending);
    return NULL;
}

/* False: it ended before the extender was called. */
static bool check_stop(int64_t ms)
{
    struct setup setup = { .pending = pending_requests_new() };
    struct stopper stopper = { setup.pending, ms };
    pthread_t thread;
    start(&setup.server, MISBEHAVING, NULL);
    setup_one(&setup, "http", "slow",
              "filterVerb: filter, bindVerb: bind, nodeCacheCapable: true, httpTimeout: 10m");
    engine_fixture_add(&setup.e, POD("p", "1", "", ""));
    engine_fixture_add(&setup.e, POD("q", "1", "", ""));
    int64_t start_ms = now_ms();
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, &stopper), 0);
    assert_true(engine_fixture_step(&setup.e).is_error);
    pthread_join(thread, NULL);
    struct decision decision = engine_fixture_step(&setup.e);
    assert_true(decision.is_error && str_ends_with(decision.message, STR("the scheduler is ending")));
    assert_in_range(now_ms() - start_ms, ms - 50, 60000);
    uint64_t failures = http_extender_share(setup.extenders, 0, EXTENDER_FILTER).failures;
    setup_release(&setup);
    return failures == 1;
}

/* Shutdown ends pending filter calls; bind calls are completed. */
static void test_stop(void **state)
{
    (void)state;
    assert_at_some_pace(check_stop, 300);
}

static void test_connection_refused(void **state)
{
    int fd;
    struct setup setup = { .server = { .port = closed_port(&fd) } };
    (void)state;
    setup_one(&setup, "http", "x", ALL_VERBS);
    engine_fixture_add(&setup.e, POD("p", "1", "", ""));
    struct decision decision = engine_fixture_step(&setup.e);
    assert_true(decision.is_error && str_starts_with(decision.message, STR("Post \"http://127.0.0.1:")));
    bind_and_wait(&setup);
    assert_int_equal(setup.kind, ANSWER_REFUSED);
    setup_release(&setup);
    close(fd);
}

/* ---- TLS ---- */
static void test_tls(void **state)
{
    char dir[64], cert[512], key[512], ca[512], more[2048];
    (void)state;
    dir_make(dir);
    certs_make(dir);
    in_dir(dir, "server.crt", cert);
    in_dir(dir, "server.key", key);
    in_dir(dir, "ca.crt", ca);
    struct server server = { 0 };
    start(&server, CORRECT, (const char *const[]){ "--cert", cert, "--key", key, "--client-ca", ca, NULL });
    static const struct {
        const char *name, *tls;
        bool works;
    } cases[] = {
        { "CA and client certificate",
          "enableHTTPS: true, tlsConfig: {caFile: %1$s/ca.crt, certFile: %1$s/client.crt, keyFile: "
          "%1$s/client.key}",
          true },
        { "no client certificate", "enableHTTPS: true, tlsConfig: {caFile: %1$s/ca.crt}", false },
        { "no CA: the server is not verified",
          "enableHTTPS: true, tlsConfig: {certFile: %1$s/client.crt, keyFile: %1$s/client.key}", true },
        { "without enableHTTPS the system's CAs are used",
          "tlsConfig: {certFile: %1$s/client.crt, keyFile: %1$s/client.key}", false },
        { "insecure", "tlsConfig: {insecure: true, certFile: %1$s/client.crt, keyFile: %1$s/client.key}",
          true },
        { "another server name",
          "enableHTTPS: true, tlsConfig: {serverName: other.example, caFile: %1$s/ca.crt, certFile: "
          "%1$s/client.crt, "
          "keyFile: %1$s/client.key}",
          false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup = { .server = { .port = server.port } };
        struct strbuf text = { 0 };
        for (const char *at = cases[i].tls; *at; at++)
            if (strncmp(at, "%1$s", 4) == 0)
                strbuf_puts(&text, dir), at += 3;
            else
                strbuf_putc(&text, *at);
        snprintf(more, sizeof(more), "filterVerb: filter, nodeCacheCapable: true, %s", text.text);
        setup_one(&setup, "https", "", more);
        engine_fixture_add(&setup.e, POD("p", "1", "", ""));
        struct decision decision = engine_fixture_step(&setup.e);
        if (decision.is_error == cases[i].works)
            fail_msg("%s: " STR_FMT, cases[i].name, STR_ARG(decision.message));
        setup_release(&setup);
        strbuf_release(&text);
    }
    server_stop(&server);
    dir_remove(dir);
}

/* A bad TLS configuration is reported at construction. */
static void test_bad_tls(void **state)
{
    struct setup setup = { 0 };
    struct error err;
    (void)state;
    load_config(&setup,
                "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n"
                "- {urlPrefix: 'https://x', filterVerb: f, tlsConfig: {caFile: /nowhere/ca.crt}}\n");
    assert_true(http_extenders_new(&(struct http_extenders_options){ .config = &setup.config },
                                   &setup.extenders, &err) < 0);
    assert_null(setup.extenders);
    assert_true(str_starts_with(str_from(err.text), STR("couldn't build extenders: ")));
    config_release(&setup.config);
    arena_release(&setup.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_correct),
        cmocka_unit_test(test_preempt),
        cmocka_unit_test(test_assumed_victim),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_bad_filter),
        cmocka_unit_test(test_bad_ignorable),
        cmocka_unit_test(test_bad_scores),
        cmocka_unit_test(test_scores_at_once),
        cmocka_unit_test(test_many_pods),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_proxy),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_connection_refused),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_bad_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
