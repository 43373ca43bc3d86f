/* Which proxy the environment selects for a host, as in Go; and a request through a
 * proxy. */
#include "unit/net/harness.h"

#include "net/proxy.h"

static const struct proxy_case {
    const char *no_proxy;
    const char *host;
    unsigned port;
    bool direct;
} cases[] = {
    { NULL, "api.example.com", 443, false },
    { "", "api.example.com", 443, false },
    { NULL, "localhost", 443, true },
    { NULL, "LOCALHOST", 443, true },
    { NULL, "127.0.0.1", 443, true },
    { NULL, "127.8.9.1", 443, true },
    { NULL, "::1", 443, true },
    { NULL, "128.0.0.1", 443, false },
    { "*", "api.example.com", 443, true },
    { "*", "10.0.0.1", 443, true },
    { "example.com", "example.com", 443, true },
    { "example.com", "api.example.com", 443, true },
    { "EXAMPLE.com", "api.Example.COM", 443, true },
    { "example.com", "notexample.com", 443, false },
    { ".example.com", "api.example.com", 443, true },
    { ".example.com", "example.com", 443, false },
    { "*.example.com", "api.example.com", 443, true },
    { "*.example.com", "example.com", 443, false },
    { "example.com:443", "example.com", 443, true },
    { "example.com:443", "example.com", 6443, false },
    { "a.test, b.test ,c.test", "b.test", 1, true },
    { " ,,b.test", "b.test", 1, true },
    { "a.test", "b.test", 1, false },
    { "10.0.0.0/8", "10.1.2.3", 443, true },
    { "10.0.0.0/8", "11.1.2.3", 443, false },
    { "10.0.0.0/8", "10.example.com", 443, false },
    { "10.128.0.0/9", "10.127.0.1", 443, false },
    { "10.128.0.0/9", "10.129.0.1", 443, true },
    { "0.0.0.0/0", "1.2.3.4", 443, true },
    { "0.0.0.0/0", "fd00::1", 443, false },
    { "fd00::/8", "fd12::1", 443, true },
    { "fd00::/8", "fe80::1", 443, false },
    { "::/0", "fd00::1", 443, true },
    { "10.0.0.1", "10.0.0.1", 443, true },
    { "10.0.0.1:443", "10.0.0.1", 443, true },
    { "10.0.0.1:443", "10.0.0.1", 444, false },
    { "10.0.0.1", "10.0.0.11", 443, false },
    { "fd00::1", "fd00::1", 443, true },
    { "[fd00::1]:443", "fd00::1", 443, true },
    { "[fd00::1]:443", "fd00::1", 444, false },
    { "10.0.0.0/33", "10.0.0.1", 443, false },
    { "10.0.0.0/-1", "10.0.0.1", 443, false },
    { ":443", "a.test", 443, false },
    { ".", "a.test", 443, false },
    { "*.", "a.test", 443, false },
    { "[", "a.test", 443, false },
    { "a.test:", "a.test", 443, true },
};

static void test_no_proxy(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct proxy_case *c = &cases[i];
        _cleanup_(arena_release) struct arena arena = { 0 };
        struct proxy_rules rules;
        rules = proxy_rules(&arena, NULL, "http://proxy:3128", c->no_proxy);
        const char *got = proxy_for(&rules, true, c->host, c->port);
        if (c->direct != !got)
            fail_msg("NO_PROXY=%s, %s:%u: %s", c->no_proxy, c->host, c->port, got ? got : "direct");
    }
}

static void test_schemes(void **state _unused_)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct proxy_rules rules;
    rules = proxy_rules(&arena, "plain:1", "socks5://secure:2", NULL);
    assert_string_equal(proxy_for(&rules, false, "a.test", 80), "http://plain:1");
    assert_string_equal(proxy_for(&rules, true, "a.test", 443), "socks5://secure:2");
    rules = proxy_rules(&arena, "", NULL, NULL);
    assert_null(proxy_for(&rules, false, "a.test", 80));
    assert_null(proxy_for(&rules, true, "a.test", 443));
}

static void test_environment(void **state _unused_)
{
    static const char *const names[] = { "HTTPS_PROXY", "https_proxy", "HTTP_PROXY",    "http_proxy",
                                         "NO_PROXY",    "no_proxy",    "REQUEST_METHOD" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        unsetenv(names[i]);
    setenv("https_proxy", "lower:1", 1);
    setenv("HTTP_PROXY", "plain:1", 1);
    setenv("NO_PROXY", "b.test", 1);
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct proxy_rules rules;
    rules = proxy_rules_from_environment(&arena);
    assert_string_equal(proxy_for(&rules, true, "a.test", 443), "http://lower:1");
    assert_null(proxy_for(&rules, true, "b.test", 443));
    assert_string_equal(proxy_for(&rules, false, "a.test", 80), "http://plain:1");
    setenv("HTTPS_PROXY", "upper:1", 1);
    setenv("REQUEST_METHOD", "GET", 1); /* as a CGI program: HTTP_PROXY may come from a request header */
    rules = proxy_rules_from_environment(&arena);
    assert_string_equal(proxy_for(&rules, true, "a.test", 443), "http://upper:1");
    assert_null(proxy_for(&rules, false, "a.test", 80));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        unsetenv(names[i]);
}

static struct reply get_through(struct http_client *client, const char *url, struct tls_config *tls)
{
    struct reply *reply = xcalloc(1, sizeof(*reply));
    struct http_request request = { .url = url, .tls = tls };
    send_to(client, &request, reply);
    reply_wait(reply);
    struct reply copy = *reply;
    free(reply);
    return copy;
}

static void test_through_a_proxy(void **state _unused_)
{
    char dir[64], cert[512], key[512], url[256], proxy_url[128], line[128], want[128];
    struct server server, proxy, tls_proxy;
    dir_make(dir);
    certs_make(dir);
    server_start(&server, "--cert", in_dir(dir, "server.crt", cert), "--key", in_dir(dir, "server.key", key));
    server_start(&proxy, "--password", "Basic dXNlcjpwYXNz");
    server_start(&tls_proxy, "--cert", cert, "--key", key);
    struct tls_config *tls = tls_in_dir(dir, NULL);
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/hello", server.port);
    snprintf(want, sizeof(want), "tunnel 127.0.0.1:%d", server.port);

    /* From the options, with a password. */
    snprintf(proxy_url, sizeof(proxy_url), "http://user:pass@127.0.0.1:%d", proxy.port);
    struct http_client *client = client_of((struct http_options){ .proxy_url = proxy_url });
    struct reply reply = get_through(client, url, tls);
    assert_answer(&reply, 200, "hello");
    reply_release(&reply);
    server_line(&proxy, line, sizeof(line));
    assert_string_equal(line, want);
    http_client_free(client);

    /* With a wrong one: the server is not reached, and the error does not contain the password. */
    snprintf(proxy_url, sizeof(proxy_url), "http://user:wrong-secret@127.0.0.1:%d", proxy.port);
    client = client_of((struct http_options){ .proxy_url = proxy_url });
    reply = get_through(client, url, tls);
    assert_failure(&reply, HTTP_UNSENT, HTTP_FAILURE_CONNECT);
    assert_null(strstr(reply.response.error.text, "secret"));
    reply_release(&reply);
    http_client_free(client);

    /* A proxy over TLS, with a certificate of the same CA. */
    snprintf(proxy_url, sizeof(proxy_url), "https://127.0.0.1:%d", tls_proxy.port);
    client = client_of((struct http_options){ .proxy_url = proxy_url });
    reply = get_through(client, url, tls);
    assert_answer(&reply, 200, "hello");
    reply_release(&reply);
    server_line(&tls_proxy, line, sizeof(line));
    assert_string_equal(line, want);
    http_client_free(client);

    /* From the environment, to a name that only the proxy can resolve. */
    snprintf(proxy_url, sizeof(proxy_url), "user:pass@127.0.0.1:%d", proxy.port);
    setenv("HTTPS_PROXY", proxy_url, 1);
    client = client_of((struct http_options){ 0 });
    unsetenv("HTTPS_PROXY");
    snprintf(url, sizeof(url), "https://named.test:%d/hello", server.port);
    reply = get_through(client, url, tls);
    assert_answer(&reply, 200, "hello");
    reply_release(&reply);
    http_client_free(client);

    tls_config_unref(tls);
    server_stop(&server);
    server_stop(&proxy);
    server_stop(&tls_proxy);
    dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_proxy),
        cmocka_unit_test(test_schemes),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_through_a_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
