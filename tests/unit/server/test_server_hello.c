/* The first TLS record: in pieces, incomplete, or from a client that disconnects in the middle of it. */
#include "unit/server/server_host.h"

/* The beginning of a ClientHello of 500 bytes. */
static const char hello_head[] = { 22, 3, 1, 1, (char)244, 1, 0, 1, (char)240, 3, 3 };

static void host_with_tls(struct host *host)
{
    host_start(host, (struct server_options){ .tls = &(struct server_tls_options){ 0 },
                                              .limits.handshake_ms = 3600000 });
}

static void send_request(struct raw *raw)
{
    raw_send(raw, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    struct reply_text reply = raw_reply(raw, "GET");
    assert_int_equal(reply.status, 200);
    reply_text_release(&reply);
}

static void test_half_a_hello(void **state _unused_)
{
    enum { CLIENTS = 100, OTHERS = 10 };
    struct raw clients[CLIENTS];
    struct host host;
    host_with_tls(&host);
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = raw_connect(server_port(host.server));
        raw_send_bytes(&clients[i], hello_head, i % (sizeof(hello_head) + 1));
    }
    /* Other clients are served meanwhile. */
    for (int i = 0; i < OTHERS; i++) {
        struct raw other = raw_connect(server_port(host.server));
        assert_true(raw_tls(&other, NULL));
        send_request(&other);
        raw_close(&other);
    }
    wait_for_connections(&host, CLIENTS);
    /* A client that shuts down gets no response and is closed before the time limit. */
    for (size_t i = 0; i < CLIENTS; i++)
        shutdown(clients[i].fd, SHUT_WR);
    wait_for_connections(&host, 0);
    assert_int_equal(server_stats(host.server).handshakes_failed, CLIENTS);
    for (size_t i = 0; i < CLIENTS; i++)
        raw_close(&clients[i]);
    host_stop(&host);
}

/* A handshake whose ClientHello is in a memory BIO, to be sent by hand. */
static SSL *new_handshake(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    assert_int_equal(SSL_connect(ssl), -1);
    return ssl;
}

static void send_hello(struct raw *raw, SSL *ssl, size_t step)
{
    char *bytes;
    size_t len = (size_t)BIO_get_mem_data(SSL_get_wbio(ssl), &bytes);
    assert_true(len > 100);
    for (size_t sent = 0; sent < len; sent += step) {
        raw_send_bytes(raw, bytes + sent, MIN(step, len - sent));
        sleep_ms(1);
    }
    SSL_set_fd(ssl, raw->fd);
    raw->ssl = ssl;
}

/* The first pieces are shorter than a record header. */
static void test_hello_in_pieces(void **state _unused_)
{
    struct host host;
    host_with_tls(&host);
    for (size_t step = 1; step < 200; step = step * 3 + 1) {
        struct raw raw = raw_connect(server_port(host.server));
        send_hello(&raw, new_handshake(), step);
        assert_int_equal(SSL_connect(raw.ssl), 1);
        send_request(&raw);
        raw_close(&raw);
    }
    host_stop(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_a_hello),
        cmocka_unit_test(test_hello_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
