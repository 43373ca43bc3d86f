/* Extenders over HTTP: an honest one in Python (tests/extender/extender.py) has its say in the engine's decisions, and
 * one without manners (liar.py) never holds it up. */
#include "support/engine_fixture.h"
#include "support/pace.h"
#include "unit/net/harness.h"

#include "extender/extender.h"

struct stage {
    struct engine_fixture e;
    struct scheduler_config config; /* of the extenders */
    struct arena arena;
    struct server server;
    struct http_extenders *extenders;
    struct pending_requests *pending; /* NULL: they have their own */
    pthread_mutex_t lock;
    pthread_cond_t answered;
    bool has_answer;
    enum answer_kind kind; /* of the answer to a bind */
    char message[256];
};

enum { TICKET = 7 };

static void on_answer(void *user, uint64_t ticket, const struct answer *answer)
{
    struct stage *stage = user;
    pthread_mutex_lock(&stage->lock);
    stage->has_answer = ticket == TICKET;
    stage->kind = answer->kind;
    snprintf(stage->message, sizeof(stage->message), STR_FMT, STR_ARG(answer->message));
    pthread_cond_signal(&stage->answered);
    pthread_mutex_unlock(&stage->lock);
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

#define HONEST "tests/extender/extender.py"
#define LIAR "tests/extender/liar.py"
#define NODE(name) \
    "{kind: Node, metadata: {name: " name ", labels: {zone: z-" name "}}, " \
    "status: {allocatable: {cpu: 2, memory: 4Gi, pods: 20}}}\n---\n"
#define POD(name, cpu, annotations, more) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name ", annotations: {" annotations \
    "}}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]" more "}}"

/* Reads the extenders of a configuration, each "{...}" on a line of its own. */
static void load_config(struct stage *stage, const char *config)
{
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &stage->arena);
    size_t len = strlen(config);
    char *text = memcpy(xcalloc(len + 16, 1), config, len);
    struct error err;
    if (config_load_text("config", text, len, &(struct config_env){ .catalog = &catalog }, &stage->arena,
                         &stage->config, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

/* An engine with nodes a, b and c. The server runs already. */
static void stage_init(struct stage *stage, const char *extenders)
{
    struct strbuf config = { 0 };
    struct error err;
    strbuf_printf(&config, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n%s",
                  extenders);
    load_config(stage, config.text);
    pthread_mutex_init(&stage->lock, NULL);
    pthread_cond_init(&stage->answered, NULL);
    if (http_extenders_new(
            &(struct http_extenders_options){
                .config = &stage->config, .on_answer = on_answer, .user = stage, .pending = stage->pending },
            &stage->extenders, &err) < 0)
        fail_msg("%s", err.text);
    engine_fixture_init(&stage->e, config.text,
                        &(struct engine_options){ .extenders = http_extenders_table(stage->extenders) });
    fixture_load(&stage->e.f, NODE("a") NODE("b") NODE("c"));
    strbuf_release(&config);
}

static void stage_release(struct stage *stage)
{
    engine_fixture_release(&stage->e);
    http_extenders_free(stage->extenders);
    pending_requests_free(stage->pending);
    config_release(&stage->config);
    arena_release(&stage->arena);
    pthread_mutex_destroy(&stage->lock);
    pthread_cond_destroy(&stage->answered);
    server_stop(&stage->server);
}

/* One extender: its path and what else the configuration says of it. */
static void stage_one(struct stage *stage, const char *scheme, const char *path, const char *more)
{
    char text[8192];
    snprintf(text, sizeof(text), "extenders:\n- {urlPrefix: '%s://127.0.0.1:%d/%s', %s}\n", scheme,
             stage->server.port, path, more);
    stage_init(stage, text);
}

#define ALL_VERBS \
    "filterVerb: filter, prioritizeVerb: prioritize, preemptVerb: preempt, bindVerb: bind, weight: 5"

/* ---- an honest one ---- */
static const struct {
    const char *name, *pod, *node, *message;
} honest_cases[] = {
    { "refuses", POD("p", "1", "extender.example/refuse: 'a=no license,c'", ""), .node = "b" },
    { "scores", POD("p", "1", "extender.example/scores: 'a=1,c=9'", ""), .node = "c" },
    { "refuses and scores",
      POD("p", "1", "extender.example/refuse: c, extender.example/scores: 'a=1,c=9'", ""), .node = "a" },
    { "refuses all",
      POD("p", "1",
          "extender.example/refuse: 'a=no license,b=no license', extender.example/unresolvable: 'c=too old'",
          ""),
      .message = "0/3 nodes are available: 1 too old, 2 no license. " },
    { "fails", POD("p", "1", "extender.example/error: 'out of order'", ""), .message = "out of order" },
};

static void test_honest(void **state)
{
    static const char *const caches[] = { "nodeCacheCapable: true, " ALL_VERBS, ALL_VERBS };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
        struct stage stage = { 0 };
        start(&stage.server, HONEST, NULL);
        stage_one(&stage, "http", "scheduler///", caches[i]);
        for (size_t j = 0; j < ARRAY_SIZE(honest_cases); j++) {
            struct pod_info *pod = engine_fixture_add(&stage.e, honest_cases[j].pod);
            struct decision decision = engine_fixture_step(&stage.e);
            struct str node =
                decision.row == ROW_NONE ? STR("") : cluster_node_name(&stage.e.f.cluster, decision.row);
            if (!str_is(node, honest_cases[j].node ? honest_cases[j].node : ""))
                fail_msg("%s: " STR_FMT ": " STR_FMT, honest_cases[j].name, STR_ARG(node),
                         STR_ARG(decision.message));
            if (honest_cases[j].message &&
                !str_starts_with(decision.message, str_from(honest_cases[j].message)))
                fail_msg("%s: says " STR_FMT, honest_cases[j].name, STR_ARG(decision.message));
            engine_remove_pod(&stage.e.engine, pod, stage.e.now_ns);
        }
        stage_release(&stage);
    }
}

/* Both ways of naming victims. */
static void test_preempt(void **state)
{
    static const char *const caches[] = { "nodeCacheCapable: true, " ALL_VERBS, ALL_VERBS };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
        struct stage stage = { 0 };
        start(&stage.server, HONEST, NULL);
        stage_one(&stage, "http", "", caches[i]);
        fixture_load(&stage.e.f,
                     POD("a1", "2", "", ", nodeName: a") "\n---\n" POD("b1", "2", "", ", nodeName: b"));
        fixture_load(&stage.e.f, POD("c1", "2", "", ", nodeName: c"));
        engine_fixture_add(&stage.e, POD("p", "1", "extender.example/victims: b", ", priority: 9"));
        struct decision decision = engine_fixture_step(&stage.e);
        assert_int_equal(decision.nominated_row, fixture_row(&stage.e.f, "b"));
        assert_int_equal(decision.victims_len, 1);
        assert_str(decision.victims[0]->api->meta.name, "b1");
        stage_release(&stage);
    }
}

/* A pod that got its node a moment ago is on it, for the extender as well. */
static void test_assumed_victim(void **state)
{
    struct stage stage = { 0 };
    struct strbuf text = { 0 };
    struct error err;
    char dir[64], log[512];
    (void)state;
    dir_make(dir);
    in_dir(dir, "log", log);
    start(&stage.server, HONEST, (const char *const[]){ "--log", log, NULL });
    stage_one(&stage, "http", "", "preemptVerb: preempt");
    cluster_remove_node(&stage.e.f.cluster, STR("a"));
    cluster_remove_node(&stage.e.f.cluster, STR("b"));
    engine_fixture_add(&stage.e, POD("low", "2", "", ""));
    assert_int_equal(engine_fixture_step(&stage.e).row, fixture_row(&stage.e.f, "c"));
    engine_fixture_add(&stage.e, POD("high", "1", "", ", priority: 9"));
    assert_int_equal(engine_fixture_step(&stage.e).victims_len, 1);
    assert_int_equal(file_read(log, 1 << 20, &text, &err), 0);
    assert_non_null(strstr(text.text, "NodeNameToVictims"));
    assert_non_null(strstr(text.text, "\"nodeName\": \"c\""));
    strbuf_release(&text);
    stage_release(&stage);
    dir_remove(dir);
}

/* ---- bind ---- */
static void ask_to_bind(struct stage *stage)
{
    struct extender *extender = http_extenders_table(stage->extenders)->items[0];
    stage->has_answer = false;
    extender->calls->bind(extender, &(struct effect){ .kind = EFFECT_BIND,
                                                      .ticket = TICKET,
                                                      .namespace = STR("default"),
                                                      .name = STR("p"),
                                                      .uid = STR("u"),
                                                      .node = STR("a") });
    pthread_mutex_lock(&stage->lock);
    while (!stage->has_answer)
        pthread_cond_wait(&stage->answered, &stage->lock);
    pthread_mutex_unlock(&stage->lock);
}

static void test_bind(void **state)
{
    static const struct {
        const char *script, *path;
        enum answer_kind kind;
        const char *message; /* how it ends */
    } cases[] = {
        { HONEST, "", ANSWER_REFUSED, "binding is not my business" },
        { LIAR, "mild", ANSWER_DONE, "" },
        { LIAR, "broken", ANSWER_REFUSED, "/broken/bind, code 500" },
        { LIAR, "html", ANSWER_REFUSED, "invalid character '<' looking for beginning of value" },
        { LIAR, "slow", ANSWER_REFUSED, "(Client.Timeout exceeded while awaiting headers)" },
        { LIAR, "cut", ANSWER_REFUSED, "unexpected EOF" },
        { LIAR, "redirect", ANSWER_DONE, "" },
        { LIAR, "other", ANSWER_DONE, "" },
        { LIAR, "circle", ANSWER_REFUSED, "stopped after 10 redirects" },
        { LIAR, "packed", ANSWER_DONE, "" },
        { LIAR, "silent", ANSWER_REFUSED, "/silent/bind\": EOF" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct stage stage = { 0 };
        start(&stage.server, cases[i].script, NULL);
        stage_one(&stage, "http", cases[i].path,
                  strcmp(cases[i].path, "slow") == 0 ? "bindVerb: bind, httpTimeout: 1500ms"
                                                     : "bindVerb: bind, httpTimeout: 20s");
        ask_to_bind(&stage);
        if (stage.kind != cases[i].kind ||
            !str_ends_with(str_from(stage.message), str_from(cases[i].message)))
            fail_msg("%s: %s: %s", cases[i].path, answer_kind_names[stage.kind], stage.message);
        stage_release(&stage);
    }
}

/* ---- one without manners ---- */
static const struct {
    const char *manner;
    const char *filter; /* how the sentence ends; NULL: nothing is wrong */
    bool scores;        /* its scores count */
    bool stalls;        /* only the time-out ends it */
} manners[] = {
    { "fair", NULL, true },
    { "fickle", NULL, true },
    { "slow", "(Client.Timeout exceeded while awaiting headers)", false, true },
    { "late", "(Client.Timeout exceeded while awaiting headers)", false, true },
    { "drip", "(Client.Timeout or context cancellation while reading body)", false, true },
    { "endless", "", false },
    { "deep", "invalid character '[' exceeded max depth", false },
    { "silent", "/silent/filter\": EOF", false },
    { "cut", "unexpected EOF", false },
    { "redirect", NULL, true },
    { "moved", NULL, true },
    { "other", NULL, true },
    { "astray", "/astray/filter, code 307", false },
    { "circle", "\"/circle/filter\": stopped after 10 redirects", false },
    { "abroad", "Post \"file:///etc/passwd\": the URL cannot be understood", false },
    { "packed", NULL, true },
    { "crumpled", "", false },
    { "bomb", "bytes", false },
    { "chunked", NULL, true },
    { "polite", NULL, true },
    { "rude", NULL, true },
    { "lengthy", "/lengthy/filter, code 500", false },
    { "foreign", "claims a filtered node \"nowhere\" which is not found in the input node list", false },
    { "confused", "number into Go struct field ExtenderFilterResult.NodeNames of type string", false },
    { "excited", NULL, false }, /* numbers of 64 bits wrap around, as in Go */
    { "broken", "/broken/filter, code 500", false },
    { "created", "/created/filter, code 201", false },
    { "empty", "EOF", false },
    { "html", "invalid character '<' looking for beginning of value", false },
    { "wordy", NULL, true },
    { "garbage", "", false },
};

enum { STALL_MS = 1500, ANSWER_MS = 20000 };

/* What the configuration says of one. Who answers at all has time to do so, however busy the machine is. */
static const char *manner_config(size_t i, int64_t stall_ms, const char *more)
{
    static char text[256];
    snprintf(text, sizeof(text), "nodeCacheCapable: true, httpTimeout: %lldms, %s",
             (long long)(manners[i].stalls ? stall_ms : ANSWER_MS), more);
    return text;
}

static int64_t now_ms(void)
{
    return monotonic_ns() / 1000000;
}

/* Is the decision with this one what it should be? */
static bool filter_is_right(size_t i, int port, int64_t stall_ms)
{
    const char *filter = manners[i].filter;
    struct stage stage = { .server = { .port = port } };
    int64_t start_ms = now_ms();
    stage_one(&stage, "http", manners[i].manner, manner_config(i, stall_ms, "filterVerb: filter"));
    engine_fixture_add(&stage.e, POD("p", "1", "", ""));
    struct decision decision = engine_fixture_step(&stage.e);
    bool right = decision.is_error == (filter != NULL);
    if (filter)
        right &= filter[0] ? str_ends_with(decision.message, str_from(filter))
                           : str_starts_with(decision.message, STR("Post \"http://127.0.0.1:"));
    if (!right)
        print_message("%s: \"" STR_FMT "\"\n", manners[i].manner, STR_ARG(decision.message));
    if (now_ms() - start_ms > 2 * MAX(stall_ms, (int64_t)ANSWER_MS))
        fail_msg("%s: took %lld ms", manners[i].manner, (long long)(now_ms() - start_ms));
    stage_release(&stage);
    return right;
}

/* Filtering fails as an error of the scheduler, in time. */
static void test_bad_filter(void **state)
{
    struct server server = { 0 };
    (void)state;
    start(&server, LIAR, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(manners); i++) {
        /* Who stalls in the middle of an answer has not begun it in time where the machine is busy. */
        int64_t stall_ms = STALL_MS;
        while (!filter_is_right(i, server.port, stall_ms)) {
            stall_ms *= 2;
            if (!manners[i].stalls || stall_ms > ANSWER_MS)
                fail_msg("%s: it is another one", manners[i].manner);
        }
    }
    server_stop(&server);
}

/* One that may fail does no harm. */
static void test_bad_ignorable(void **state)
{
    struct server server = { 0 };
    (void)state;
    start(&server, LIAR, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(manners); i++) {
        struct stage stage = { .server = { .port = server.port } };
        stage_one(&stage, "http", manners[i].manner,
                  manner_config(i, STALL_MS, "filterVerb: filter, ignorable: true"));
        engine_fixture_add(&stage.e, POD("p", "1", "", ""));
        assert_int_not_equal(engine_fixture_step(&stage.e).row, ROW_NONE);
        stage_release(&stage);
    }
    server_stop(&server);
}

/* Scores that do not come do not count: the node is then as good as any other. */
static void test_bad_scores(void **state)
{
    struct server server = { 0 };
    (void)state;
    start(&server, LIAR, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(manners); i++) {
        struct stage stage = { .server = { .port = server.port } };
        stage_one(&stage, "http", manners[i].manner,
                  manner_config(i, STALL_MS, "prioritizeVerb: prioritize, weight: 1"));
        engine_fixture_add(&stage.e, POD("p", "1", "", ""));
        struct decision decision = engine_fixture_step(&stage.e);
        if (decision.row == ROW_NONE || (decision.ties == 1) != manners[i].scores)
            fail_msg("%s: %u ties", manners[i].manner, decision.ties);
        stage_release(&stage);
    }
    server_stop(&server);
}

static bool check_at_once(int64_t ms)
{
    enum { COUNT = 5 };
    struct server server = { 0 };
    struct stage stage = { 0 };
    struct strbuf text = { 0 };
    start(&server, LIAR, NULL);
    stage.server.port = server.port;
    strbuf_puts(&text, "extenders:\n");
    for (int i = 0; i < COUNT; i++)
        strbuf_printf(&text,
                      "- {urlPrefix: 'http://127.0.0.1:%d/slow', prioritizeVerb: p, weight: 1, "
                      "httpTimeout: %lldms}\n",
                      server.port, (long long)ms);
    stage_init(&stage, text.text);
    engine_fixture_add(&stage.e, POD("p", "1", "", ""));
    int64_t start_ms = now_ms();
    assert_int_not_equal(engine_fixture_step(&stage.e).row, ROW_NONE);
    int64_t took_ms = now_ms() - start_ms;
    assert_true(took_ms >= ms - ms / 10);
    stage_release(&stage);
    server_stop(&server);
    strbuf_release(&text);
    return took_ms < (COUNT - 1) * ms;
}

/* All are asked at once: two slow ones take as long as one. */
static void test_scores_at_once(void **state)
{
    (void)state;
    assert_at_some_pace(check_at_once, 1000);
}

/* ---- connections ---- */
/* Pod after pod over whatever the server leaves of a connection. */
static void test_again_and_again(void **state)
{
    static const char *const ways[] = { "fair", "polite", "rude", "chunked", "packed", "redirect" };
    struct server server = { 0 };
    (void)state;
    start(&server, LIAR, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct stage stage = { .server = { .port = server.port } };
        stage_one(&stage, "http", ways[i],
                  "filterVerb: filter, prioritizeVerb: prioritize, weight: 1, nodeCacheCapable: true");
        for (int left = 8; left > 0; left--) {
            struct pod_info *pod = engine_fixture_add(&stage.e, POD("p", "1", "", ""));
            struct decision decision = engine_fixture_step(&stage.e);
            if (decision.row != fixture_row(&stage.e.f, "b"))
                fail_msg("%s: " STR_FMT, ways[i], STR_ARG(decision.message));
            engine_remove_pod(&stage.e.engine, pod, stage.e.now_ns);
        }
        struct extender_share share = http_extender_share(stage.extenders, 0, EXTENDER_FILTER);
        assert_int_equal(share.calls, 8);
        assert_int_equal(share.failures, 0);
        assert_true(share.total_ns > 0);
        assert_int_equal(http_extender_share(stage.extenders, 0, EXTENDER_PRIORITIZE).calls, 8);
        assert_int_equal(http_extender_share(stage.extenders, 0, EXTENDER_BIND).calls, 0);
        stage_release(&stage);
    }
    server_stop(&server);
}

static void assert_reached(struct stage *stage)
{
    engine_fixture_add(&stage->e, POD("p", "1", "", ""));
    struct decision decision = engine_fixture_step(&stage->e);
    if (decision.row != fixture_row(&stage->e.f, "b"))
        fail_msg(STR_FMT, STR_ARG(decision.message));
}

#define FAIR_AT(place) \
    "extenders:\n- {urlPrefix: 'http://" place "/fair/', prioritizeVerb: prioritize, weight: 1, " \
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
    struct stage stage = { 0 };
    char text[512];
    (void)state;
    if (!has_ipv6())
        skip_because("this machine has no IPv6");
    start(&stage.server, LIAR, (const char *const[]){ "::1", NULL });
    snprintf(text, sizeof(text), FAIR_AT("[::1]:%d"), stage.server.port);
    stage_init(&stage, text);
    assert_reached(&stage);
    stage_release(&stage);
}

/* As everywhere in Go: the environment says how other hosts are reached. */
static void test_proxy(void **state)
{
    struct stage stage = { 0 };
    char url[64];
    (void)state;
    start(&stage.server, LIAR, NULL);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", stage.server.port);
    setenv("HTTP_PROXY", url, 1);
    stage_init(&stage, FAIR_AT("extender.invalid"));
    assert_reached(&stage);
    stage_release(&stage);
    unsetenv("HTTP_PROXY");
}

/* ---- the end ---- */
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

/* False: it ended before anybody was asked. */
static bool check_stop(int64_t ms)
{
    struct stage stage = { .pending = pending_requests_new() };
    struct stopper stopper = { stage.pending, ms };
    pthread_t thread;
    start(&stage.server, LIAR, NULL);
    stage_one(&stage, "http", "slow",
              "filterVerb: filter, bindVerb: bind, nodeCacheCapable: true, httpTimeout: 10m");
    engine_fixture_add(&stage.e, POD("p", "1", "", ""));
    engine_fixture_add(&stage.e, POD("q", "1", "", ""));
    int64_t start_ms = now_ms();
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, &stopper), 0);
    assert_true(engine_fixture_step(&stage.e).is_error);
    pthread_join(thread, NULL);
    struct decision decision = engine_fixture_step(&stage.e);
    assert_true(decision.is_error && str_ends_with(decision.message, STR("the scheduler is ending")));
    assert_in_range(now_ms() - start_ms, ms - 50, 60000);
    uint64_t failures = http_extender_share(stage.extenders, 0, EXTENDER_FILTER).failures;
    stage_release(&stage);
    return failures == 1;
}

/* Who waits for an extender when the process is told to end does not wait any longer; binds do. */
static void test_stop(void **state)
{
    (void)state;
    assert_at_some_pace(check_stop, 300);
}

static void test_nobody_there(void **state)
{
    int fd;
    struct stage stage = { .server = { .port = closed_port(&fd) } };
    (void)state;
    stage_one(&stage, "http", "x", ALL_VERBS);
    engine_fixture_add(&stage.e, POD("p", "1", "", ""));
    struct decision decision = engine_fixture_step(&stage.e);
    assert_true(decision.is_error && str_starts_with(decision.message, STR("Post \"http://127.0.0.1:")));
    ask_to_bind(&stage);
    assert_int_equal(stage.kind, ANSWER_REFUSED);
    stage_release(&stage);
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
    start(&server, HONEST, (const char *const[]){ "--cert", cert, "--key", key, "--client-ca", ca, NULL });
    static const struct {
        const char *name, *tls;
        bool works;
    } cases[] = {
        { "authority and certificate",
          "enableHTTPS: true, tlsConfig: {caFile: %1$s/ca.crt, certFile: %1$s/client.crt, keyFile: "
          "%1$s/client.key}",
          true },
        { "no certificate of our own", "enableHTTPS: true, tlsConfig: {caFile: %1$s/ca.crt}", false },
        { "no authority: everybody is believed",
          "enableHTTPS: true, tlsConfig: {certFile: %1$s/client.crt, keyFile: %1$s/client.key}", true },
        { "without enableHTTPS the system's authorities count",
          "tlsConfig: {certFile: %1$s/client.crt, keyFile: %1$s/client.key}", false },
        { "insecure", "tlsConfig: {insecure: true, certFile: %1$s/client.crt, keyFile: %1$s/client.key}",
          true },
        { "another name",
          "enableHTTPS: true, tlsConfig: {serverName: other.example, caFile: %1$s/ca.crt, certFile: "
          "%1$s/client.crt, "
          "keyFile: %1$s/client.key}",
          false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct stage stage = { .server = { .port = server.port } };
        struct strbuf text = { 0 };
        for (const char *at = cases[i].tls; *at; at++)
            if (strncmp(at, "%1$s", 4) == 0)
                strbuf_puts(&text, dir), at += 3;
            else
                strbuf_putc(&text, *at);
        snprintf(more, sizeof(more), "filterVerb: filter, nodeCacheCapable: true, %s", text.text);
        stage_one(&stage, "https", "", more);
        engine_fixture_add(&stage.e, POD("p", "1", "", ""));
        struct decision decision = engine_fixture_step(&stage.e);
        if (decision.is_error == cases[i].works)
            fail_msg("%s: " STR_FMT, cases[i].name, STR_ARG(decision.message));
        stage_release(&stage);
        strbuf_release(&text);
    }
    server_stop(&server);
    dir_remove(dir);
}

/* A certificate without its key is noticed before anything runs. */
static void test_refused(void **state)
{
    struct stage stage = { 0 };
    struct error err;
    (void)state;
    load_config(&stage,
                "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n"
                "- {urlPrefix: 'https://x', filterVerb: f, tlsConfig: {caFile: /nowhere/ca.crt}}\n");
    assert_true(http_extenders_new(&(struct http_extenders_options){ .config = &stage.config },
                                   &stage.extenders, &err) < 0);
    assert_null(stage.extenders);
    assert_true(str_starts_with(str_from(err.text), STR("couldn't build extenders: ")));
    config_release(&stage.config);
    arena_release(&stage.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),          cmocka_unit_test(test_preempt),
        cmocka_unit_test(test_assumed_victim),  cmocka_unit_test(test_bind),
        cmocka_unit_test(test_bad_filter),      cmocka_unit_test(test_bad_ignorable),
        cmocka_unit_test(test_bad_scores),      cmocka_unit_test(test_scores_at_once),
        cmocka_unit_test(test_again_and_again), cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_proxy),           cmocka_unit_test(test_stop),
        cmocka_unit_test(test_nobody_there),    cmocka_unit_test(test_tls),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
