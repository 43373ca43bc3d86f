/* The server's TLS handshakes: certificates generated, given, replaced and chosen by name; versions, ciphers and
 * curves; client certificates; and clients without TLS. */
#include "unit/server/server_host.h"

#include "base/tls_names.h"
#include "unit/net/certs.h"

static char dir[64];

static struct server_tls_options tls_files(const char *name, char cert[512], char key[512])
{
    snprintf(cert, 512, "%s/%s.crt", dir, name);
    snprintf(key, 512, "%s/%s.key", dir, name);
    return (
        struct server_tls_options){ .cert_file = cert, .key_file = key, .request_client_certificate = true };
}

static struct reply_text get_over_tls(struct host *host, const struct raw_tls *how)
{
    struct raw raw = raw_connect(server_port(host->server));
    struct reply_text reply = { 0 };
    if (raw_tls(&raw, how)) {
        raw_send(&raw, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
        reply = raw_reply(&raw, "GET");
    }
    raw_close(&raw);
    return reply;
}

static void test_tls(void **state _unused_)
{
    struct host host;
    char cert[512], key[512], client_cert[512], client_key[512];
    struct server_tls_options tls = tls_files("server", cert, key);
    host_start(&host, (struct server_options){ .tls = &tls });
    in_folder(dir, "client.crt", client_cert);
    in_folder(dir, "client.key", client_key);
    static const char plain[] = "GET path=/a query= body= x=";
    const struct {
        struct raw_tls how;
        const char *want; /* NULL: no handshake */
    } cases[] = {
        { { 0 }, plain },
        { { .cert = client_cert, .key = client_key }, "GET path=/a query= body= x= peer=alice" },
        { { .max_version = TLS1_2_VERSION }, plain },
        { { .max_version = TLS1_2_VERSION, .cert = client_cert, .key = client_key },
          "GET path=/a query= body= x= peer=alice" },
        { { .max_version = TLS1_1_VERSION }, NULL },
        { { .max_version = TLS1_2_VERSION, .ciphers = "AES128-GCM-SHA256" }, NULL },
        { { .alpn = "\x08http/1.1" }, plain },
        { { .alpn = "\x08http/1.1\x04spdy" }, plain },
        { { .server_name = "named.test" }, plain },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct reply_text reply = get_over_tls(&host, &cases[i].how);
        if (cases[i].want ? reply.status != 200 || strcmp(reply.body.text, cases[i].want) != 0
                          : reply.status != 0)
            fail_msg("case %zu: %d %s", i, reply.status, reply.body.text);
        reply_text_release(&reply);
    }
    host_stop(&host);
}

/* ALPN: the server's order decides. */
static void test_protocols(void **state _unused_)
{
    static const struct {
        const char *offered, *http2, *http1; /* chosen with and without HTTP/2; NULL: no handshake */
    } cases[] = {
        { NULL, "", "" },
        { "\x02h2", "h2", NULL },
        { "\x08http/1.1", "http/1.1", "http/1.1" },
        { "\x02h2\x08http/1.1", "h2", "http/1.1" },
        { "\x08http/1.1\x02h2", "h2", "http/1.1" },
        { "\x04spdy\x02h2", "h2", NULL },
        { "\x04spdy", NULL, NULL },
        { "\x03h2c", NULL, NULL },
        { "\x08http/1.0", NULL, NULL },
    };
    char cert[512], key[512];
    for (int http1_only = 0; http1_only < 2; http1_only++) {
        struct host host;
        struct server_tls_options tls = tls_files("server", cert, key);
        tls.http1_only = http1_only;
        host_start(&host, (struct server_options){ .tls = &tls });
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
            const char *want = http1_only ? cases[i].http1 : cases[i].http2;
            const unsigned char *chosen = NULL;
            unsigned int len = 0;
            struct raw raw = raw_connect(server_port(host.server));
            bool ok = raw_tls(&raw, &(struct raw_tls){ .alpn = cases[i].offered });
            if (ok)
                SSL_get0_alpn_selected(raw.ssl, &chosen, &len);
            if (ok != (want != NULL) || (len && (len != strlen(want) || memcmp(chosen, want, len) != 0)))
                fail_msg("case %zu: %d %.*s", i, ok, (int)len, (const char *)chosen);
            raw_close(&raw);
        }
        host_stop(&host);
    }
}

/* HTTP/2 over TLS that RFC 9113 forbids ends with a GOAWAY, INADEQUATE_SECURITY. */
static void test_inadequate(void **state _unused_)
{
    static const struct {
        const char *ciphers;
        int version;
        bool adequate;
    } cases[] = {
        { "ECDHE-ECDSA-AES128-GCM-SHA256", TLS1_2_VERSION, true },
        { "ECDHE-ECDSA-CHACHA20-POLY1305", TLS1_2_VERSION, true },
        { "ECDHE-ECDSA-AES128-SHA", TLS1_2_VERSION, false },
        { NULL, TLS1_1_VERSION, false },
        { NULL, TLS1_3_VERSION, true },
    };
    static const char goaway[] = "\0\0\x8\x7\0\0\0\0\0\0\0\0\0\0\0\0\xc";
    char cert[512], key[512];
    struct host host;
    struct server_tls_options tls = tls_files("server", cert, key);
    tls.min_version = STR("VersionTLS10");
    host_start(&host, (struct server_options){ .tls = &tls });
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct raw raw = raw_connect(server_port(host.server));
        assert_true(raw_tls(&raw, &(struct raw_tls){ .alpn = "\x02h2",
                                                     .max_version = cases[i].version,
                                                     .ciphers = cases[i].ciphers }));
        assert_true(raw_read(&raw));
        if (cases[i].adequate ? raw.unread.text[3] != 4
                              : raw.unread.len != 17 || memcmp(raw.unread.text, goaway, 17) != 0)
            fail_msg("case %zu: %zu bytes", i, raw.unread.len);
        raw_close(&raw);
    }
    host_stop(&host);
}

static void test_tls_hostile(void **state _unused_)
{
    struct host host;
    char cert[512], key[512];
    struct server_tls_options tls = tls_files("server", cert, key);
    /* Plain HTTP to a TLS port. */
    host_start(&host, (struct server_options){ .tls = &tls });
    struct raw raw = raw_connect(server_port(host.server));
    raw_send(&raw, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read_all(&raw);
    assert_non_null(strstr(raw.unread.text, "Client sent an HTTP request to an HTTPS server."));
    raw_close(&raw);
    host_stop(&host);
    host_start(&host, (struct server_options){ .tls = &tls, .limits = { .handshake_ms = 300 } });
    int port = server_port(host.server);
    /* Garbage in place of a handshake, and a handshake that is never finished. */
    struct rng rng = test_rng();
    for (int i = 0; i < 100; i++) {
        raw = raw_connect(port);
        char text[300] = "\x16\x03\x01\x01\x20\x01\x00\x01\x1c\x03\x03";
        for (size_t j = i % 2 ? 11 : 0; j < sizeof(text); j++)
            text[j] = (char)rng_next(&rng);
        raw_send_bytes(&raw, text, sizeof(text));
        assert_true(raw_ends(&raw));
        raw_close(&raw);
    }
    raw = raw_connect(port);
    raw_send_bytes(&raw, "\x16\x03\x01", 3);
    assert_true(raw_ends(&raw));
    raw_close(&raw);
    assert_true(server_stats(host.server).handshakes_failed > 50);
    for (int status = 0; status != 200;) {
        int64_t begin = now_ms();
        struct reply_text reply = get_over_tls(&host, NULL);
        status = reply.status;
        assert_true(status == 200 || now_ms() - begin >= 300); /* or the machine is too slow */
        reply_text_release(&reply);
    }
    host_stop(&host);
}

static void test_tls_pipelining(void **state _unused_)
{
    struct host host;
    char cert[512], key[512];
    struct server_tls_options tls = tls_files("server", cert, key);
    host_start(&host, (struct server_options){ .tls = &tls });
    struct raw raw = raw_connect(server_port(host.server));
    assert_true(raw_tls(&raw, NULL));
    struct strbuf all = { 0 };
    enum { COUNT = 200 };
    for (int i = 0; i < COUNT; i++)
        strbuf_puts(&all,
                    i % 50 ? "GET /a HTTP/1.1\r\nHost: x\r\n\r\n" : "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(raw_send_bytes(&raw, all.text, all.len));
    for (int i = 0; i < COUNT; i++) {
        struct reply_text reply = raw_reply(&raw, "GET");
        assert_int_equal(reply.status, 200);
        reply_text_release(&reply);
    }
    raw_send(&raw, "GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    struct reply_text reply = raw_reply(&raw, "GET");
    assert_int_equal(reply.body.len, 1000000);
    reply_text_release(&reply);
    strbuf_release(&all);
    raw_close(&raw);
    host_stop(&host);
}

/* The common name of the server's certificate. */
static void shown_name(struct host *host, const char *server_name, char name[128])
{
    struct raw raw = raw_connect(server_port(host->server));
    assert_true(raw_tls(&raw, &(struct raw_tls){ .server_name = server_name }));
    X509 *cert = SSL_get1_peer_certificate(raw.ssl);
    assert_non_null(cert);
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, 128);
    X509_free(cert);
    raw_close(&raw);
}

static void copy_file(const char *from, const char *to)
{
    char text[8192];
    FILE *in = fopen(from, "r");
    assert_non_null(in);
    size_t len = fread(text, 1, sizeof(text), in);
    fclose(in);
    /* Replaced atomically: the server reads it at any time. */
    char new[600];
    snprintf(new, sizeof(new), "%s.new", to);
    FILE *out = fopen(new, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, len, out), len);
    fclose(out);
    assert_int_equal(rename(new, to), 0);
}

static void test_certificate_reload(void **state _unused_)
{
    char from_cert[512], from_key[512], cert[512], key[512], name[128];
    in_folder(dir, "live.crt", cert);
    in_folder(dir, "live.key", key);
    copy_file(in_folder(dir, "server.crt", from_cert), cert);
    copy_file(in_folder(dir, "server.key", from_key), key);
    struct host host;
    struct server_tls_options tls = { .cert_file = cert, .key_file = key };
    host_start(&host, (struct server_options){ .tls = &tls, .reload_ms = 20 });
    shown_name(&host, NULL, name);
    assert_string_equal(name, "server");
    struct raw before = raw_connect(server_port(host.server));
    assert_true(raw_tls(&before, NULL));

    /* A new certificate with the old key: one problem is reported, and nothing changes. */
    copy_file(in_folder(dir, "named.crt", from_cert), cert);
    while (!atomic_load(&host.problems))
        sleep_ms(10);
    sleep_ms(200); /* time for another report */
    shown_name(&host, NULL, name);
    assert_string_equal(name, "server");
    assert_int_equal(atomic_load(&host.problems), 1);
    assert_int_equal(atomic_load(&host.reloads), 0);

    copy_file(in_folder(dir, "named.key", from_key), key);
    while (!atomic_load(&host.reloads))
        sleep_ms(10);
    shown_name(&host, NULL, name);
    assert_string_equal(name, "named");
    /* An existing connection continues. */
    raw_send(&before, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    struct reply_text reply = raw_reply(&before, "GET");
    assert_int_equal(reply.status, 200);
    reply_text_release(&reply);
    raw_close(&before);
    host_stop(&host);
}

static void test_sni(void **state _unused_)
{
    char cert[512], key[512], named_cert[512], named_key[512], bob_cert[512], bob_key[512], name[128];
    struct server_tls_options tls = tls_files("server", cert, key);
    static struct str patterns[] = { STR("*.example.com"), STR("exact.org") };
    const struct server_sni snis[] = {
        { in_folder(dir, "named.crt", named_cert), in_folder(dir, "named.key", named_key), { 0 } },
        { in_folder(dir, "bob.crt", bob_cert), in_folder(dir, "bob.key", bob_key), { patterns, 2 } },
    };
    tls.snis = snis;
    tls.sni_count = 2;
    struct host host;
    host_start(&host, (struct server_options){ .tls = &tls });
    static const struct {
        const char *server_name, *shown;
    } cases[] = {
        { NULL, "server" },          { "elsewhere.net", "server" }, { "named.test", "named" },
        { "NAMED.test", "named" },   { "a.example.com", "bob" },    { "a.b.example.com", "server" },
        { "example.com", "server" }, { "exact.org", "bob" },        { "x.exact.org", "server" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        shown_name(&host, cases[i].server_name, name);
        assert_string_equal(name, cases[i].shown);
    }
    host_stop(&host);
}

static void test_self_signed(void **state _unused_)
{
    struct host host;
    host_start(&host, (struct server_options){ .tls = &(struct server_tls_options){ 0 } });
    char name[128], first[128], cert_dir[512], path[512];
    shown_name(&host, NULL, name);
    assert_memory_equal(name, "localhost@", 10);
    host_stop(&host);

    /* With a directory: written once, then reused. */
    in_folder(dir, "made", cert_dir);
    struct server_tls_options tls = { .cert_dir = cert_dir,
                                      .pair_name = "kube-scheduler",
                                      .bind_address = "127.0.0.1" };
    for (int i = 0; i < 2; i++) {
        host_start(&host, (struct server_options){ .tls = &tls });
        shown_name(&host, NULL, i ? name : first);
        host_stop(&host);
        sleep_ms(1100);
    }
    assert_string_equal(name, first);
    struct stat st;
    snprintf(path, sizeof(path), "%s/made/kube-scheduler.key", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* A certificate without its key, or the opposite, is an error. */
    unlink(path);
    struct server *server;
    struct error err;
    assert_int_equal(server_new(&(struct server_options){ .tls = &tls }, &server, &err), -EINVAL);
    assert_non_null(strstr(err.text, "certificate and key must be supplied as a pair"));
    folder_remove(cert_dir);
}

#define NO_HTTP2_SUITE \
    "error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required " \
    "AES_128_GCM_SHA256 cipher " \
    "(need at least one of TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or " \
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)"

static void test_tls_settings(void **state _unused_)
{
    char cert[512], key[512];
    static struct str unknown[] = { STR("TLS_NO_SUCH") };
    static struct str gcm[] = { STR("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384") };
    static struct str only13[] = { STR("TLS_AES_128_GCM_SHA256") };
    static const int32_t p384[] = { 24 }, strange[] = { 9999 }, twice[] = { 23, 23 }, range[] = { 0 };
    static const struct {
        const char *min_version;
        struct str *suites;
        const int32_t *curves;
        size_t curve_count;
        bool http1_only;
        const char *problem;       /* NULL: the server starts */
        int max_version, answered; /* by a client up to that version; 0: no limit */
        const char *client_ciphers;
    } cases[] = {
        { .min_version = "VersionTLS99", .problem = "unknown tls version \"VersionTLS99\"" },
        { .suites = unknown, .problem = "Cipher suite TLS_NO_SUCH not supported or doesn't exist" },
        { .curves = strange, .curve_count = 1, .problem = "curve preference 9999 is not supported" },
        { .curves = twice, .curve_count = 2, .problem = "duplicate curve preference 23" },
        { .curves = range,
          .curve_count = 1,
          .problem = "curve preference 0 is out of range (must be 1-65535)" },
        { .min_version = "VersionTLS13", .max_version = TLS1_2_VERSION, .answered = 0 },
        { .min_version = "VersionTLS13", .answered = 200 },
        { .min_version = "VersionTLS12", .max_version = TLS1_2_VERSION, .answered = 200 },
        { .min_version = "VersionTLS10", .max_version = TLS1_VERSION, .answered = 200 },
        { .suites = gcm, .problem = NO_HTTP2_SUITE },
        { .suites = only13, .problem = NO_HTTP2_SUITE },
        { .suites = gcm, .min_version = "VersionTLS13", .answered = 200 },
        { .suites = gcm, .http1_only = true, .max_version = TLS1_2_VERSION, .answered = 200 },
        { .suites = gcm,
          .http1_only = true,
          .max_version = TLS1_2_VERSION,
          .client_ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256",
          .answered = 0 },
        { .suites = only13, .http1_only = true, .max_version = TLS1_2_VERSION, .answered = 0 },
        { .suites = only13, .http1_only = true, .answered = 200 },
        { .curves = p384, .curve_count = 1, .answered = 200 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct server_tls_options tls = tls_files("server", cert, key);
        tls.min_version = str_from(cases[i].min_version);
        tls.cipher_suites = (struct str_list){ cases[i].suites, cases[i].suites ? 1 : 0 };
        tls.http1_only = cases[i].http1_only;
        tls.curves = cases[i].curves;
        tls.curve_count = cases[i].curve_count;
        if (cases[i].problem) {
            struct server_tls *made;
            struct error err;
            assert_int_equal(server_tls_new(&tls, &made, &err), -EINVAL);
            assert_string_equal(err.text, cases[i].problem);
            continue;
        }
        struct host host;
        host_start(&host, (struct server_options){ .tls = &tls });
        struct raw_tls how = { .max_version = cases[i].max_version, .ciphers = cases[i].client_ciphers };
        struct reply_text reply = get_over_tls(&host, &how);
        if (reply.status != cases[i].answered)
            fail_msg("case %zu: %d", i, reply.status);
        reply_text_release(&reply);
        host_stop(&host);
    }
    assert_true(tls_suite_find(STR("TLS_RSA_WITH_AES_128_CBC_SHA"))->insecure);
    assert_false(tls_suite_find(STR("TLS_AES_128_GCM_SHA256"))->insecure);
}

struct verification {
    struct ca_pool *pool;
    struct error err;
    int r;
    struct server *server;
};

static void verify_request(void *user, struct server_request *request)
{
    struct verification *verification = user;
    verification->r = request->peer ? peer_verify(request->peer, verification->pool, &verification->err) : 1;
    server_respond(verification->server, request->id, &(struct server_response){ .status = 200 });
    server_request_free(request);
}

static void test_verify(void **state _unused_)
{
    static const struct {
        const char *ca, *client;
        bool is_trusted;
    } cases[] = { { "ca", "client", true }, { "other-ca", "client", false }, { "ca", "bob", true } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char path[512], text[8192], cert[512], key[512], server_cert[512], server_key[512];
        snprintf(path, sizeof(path), "%s/%s.crt", dir, cases[i].ca);
        FILE *file = fopen(path, "r");
        size_t len = fread(text, 1, sizeof(text), file);
        fclose(file);
        struct verification verification = { .r = 1 };
        struct error err;
        assert_int_equal(ca_pool_new((struct str){ text, (uint32_t)len }, &verification.pool, &err), 0);
        struct server_tls_options tls = tls_files("server", server_cert, server_key);
        struct server_options options = {
            .address = "127.0.0.1", .tls = &tls, .on_request = verify_request, .user = &verification
        };
        assert_int_equal(server_new(&options, &verification.server, &err), 0);
        assert_int_equal(server_start(verification.server, &err), 0);
        struct raw raw = raw_connect(server_port(verification.server));
        snprintf(cert, sizeof(cert), "%s/%s.crt", dir, cases[i].client);
        snprintf(key, sizeof(key), "%s/%s.key", dir, cases[i].client);
        assert_true(raw_tls(&raw, &(struct raw_tls){ .cert = cert, .key = key }));
        raw_send(&raw, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        struct reply_text reply = raw_reply(&raw, "GET");
        assert_int_equal(reply.status, 200);
        reply_text_release(&reply);
        raw_close(&raw);
        server_free(verification.server);
        assert_int_equal(verification.r, cases[i].is_trusted ? 0 : -EACCES);
        if (!cases[i].is_trusted)
            assert_memory_equal(verification.err.text, "verifying certificate SN=", 25);
        ca_pool_free(verification.pool);
    }
    struct ca_pool *pool;
    struct error err;
    assert_int_equal(ca_pool_new(STR("nothing"), &pool, &err), -EINVAL);
}

static int setup(void **state _unused_)
{
    signal(SIGPIPE, SIG_IGN); /* for writes of the test clients through libssl */
    folder_make(dir);
    certs_make(dir);
    return 0;
}

static int teardown(void **state _unused_)
{
    folder_remove(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_inadequate),
        cmocka_unit_test(test_tls_hostile),
        cmocka_unit_test(test_tls_pipelining),
        cmocka_unit_test(test_certificate_reload),
        cmocka_unit_test(test_sni),
        cmocka_unit_test(test_self_signed),
        cmocka_unit_test(test_tls_settings),
        cmocka_unit_test(test_verify),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
