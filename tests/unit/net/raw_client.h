/* raw_client.h: a client that sends any bytes, plain or over TLS, and reads the response.
 *
 *     struct raw raw = raw_connect(port);
 *     raw_tls(&raw, &(struct raw_tls){ .cert = "alice.crt", .key = "alice.key" });
 *     raw_send(&raw, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
 *     struct reply_text reply = raw_reply(&raw, "GET");
 *     reply_text_release(&reply);
 *     raw_close(&raw); */
#ifndef UNIT_NET_RAW_CLIENT_H
#define UNIT_NET_RAW_CLIENT_H

#include "support/test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

struct raw {
    int fd;
    SSL *ssl;
    struct strbuf unread;
};

struct raw_tls {
    const char *cert, *key;  /* files of the client's certificate */
    const char *server_name; /* SNI */
    const char *alpn;        /* "\x02h2" */
    int max_version;
    const char *ciphers;
};

struct reply_text {
    int status; /* 0: the connection ended without a response */
    struct strbuf head, body;
};

static inline void sleep_ms(int64_t ms)
{
    struct timespec span = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&span, &span) < 0)
        ;
}

static inline int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline struct raw raw_connect(int port)
{
    struct raw raw = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    assert_true(raw.fd >= 0);
    if (connect(raw.fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail_msg("connect: %s", strerror(errno));
    setsockopt(raw.fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)); /* as Go and curl do */
    struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
    setsockopt(raw.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(raw.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    return raw;
}

/* False: the handshake failed. */
static inline bool raw_tls(struct raw *raw, const struct raw_tls *how)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    assert_non_null(context);
    SSL_CTX_set_security_level(context, 0);
    if (how && how->cert) {
        assert_int_equal(SSL_CTX_use_certificate_chain_file(context, how->cert), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(context, how->key, SSL_FILETYPE_PEM), 1);
    }
    if (how && how->max_version)
        SSL_CTX_set_max_proto_version(context, how->max_version);
    if (how && how->ciphers)
        assert_int_equal(SSL_CTX_set_cipher_list(context, how->ciphers), 1);
    raw->ssl = SSL_new(context);
    SSL_CTX_free(context);
    assert_int_equal(SSL_set_fd(raw->ssl, raw->fd), 1);
    if (how && how->server_name)
        SSL_set_tlsext_host_name(raw->ssl, how->server_name);
    if (how && how->alpn)
        SSL_set_alpn_protos(raw->ssl, (const unsigned char *)how->alpn, (unsigned)strlen(how->alpn));
    int r;
    do
        r = SSL_connect(raw->ssl);
    while (r < 0 && errno == EINTR);
    ERR_clear_error();
    return r == 1;
}

/* False: the connection is closed. */
static inline bool raw_send_bytes(struct raw *raw, const char *bytes, size_t len)
{
    while (len) {
        int n =
            raw->ssl ? SSL_write(raw->ssl, bytes, (int)len) : (int)send(raw->fd, bytes, len, MSG_NOSIGNAL);
        ERR_clear_error();
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static inline bool raw_send(struct raw *raw, const char *text)
{
    return raw_send_bytes(raw, text, strlen(text));
}

/* Appends the next bytes to `unread`; false: end of the stream. */
static inline bool raw_read(struct raw *raw)
{
    char buf[4096];
    int n;
    do { /* retries after a signal */
        n = raw->ssl ? SSL_read(raw->ssl, buf, sizeof(buf)) : (int)recv(raw->fd, buf, sizeof(buf), 0);
        ERR_clear_error();
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    strbuf_add(&raw->unread, buf, (size_t)n);
    return true;
}

/* Reads until the end of the connection. */
static inline void raw_read_all(struct raw *raw)
{
    while (raw_read(raw))
        ;
}

/* Whether the server closes the connection within that time. */
static inline bool raw_ends_within(struct raw *raw, int64_t ms)
{
    int64_t until = now_ms() + ms;
    char buf[4096];
    for (;;) {
        struct pollfd poll_fd = { .fd = raw->fd, .events = POLLIN };
        int64_t left = until - now_ms();
        if (left <= 0 || poll(&poll_fd, 1, (int)left) == 0)
            return false;
        ssize_t n = recv(raw->fd, buf, sizeof(buf), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return true;
    }
}

static inline bool raw_ends(struct raw *raw)
{
    return raw_ends_within(raw, PATIENCE_MS);
}

static inline size_t raw_content_length(const char *head)
{
    const char *at = strstr(head, "Content-Length: ");
    return at ? strtoul(at + 16, NULL, 10) : 0;
}

/* Reads one response; `method` HEAD: without a body. */
static inline struct reply_text raw_reply(struct raw *raw, const char *method)
{
    struct reply_text reply = { 0 };
    char *end;
    while (!raw->unread.text || !(end = strstr(raw->unread.text, "\r\n\r\n")))
        if (!raw_read(raw))
            return reply;
    size_t head = (size_t)(end - raw->unread.text) + 4;
    strbuf_add(&reply.head, raw->unread.text, head);
    reply.status = (int)strtol(reply.head.text + 9, NULL, 10);
    size_t len = strcmp(method, "HEAD") == 0 ? 0 : raw_content_length(reply.head.text);
    while (raw->unread.len < head + len)
        if (!raw_read(raw))
            fail_msg("the response is shorter than its Content-Length: %s", raw->unread.text);
    strbuf_add(&reply.body, raw->unread.text + head, len);
    memmove(raw->unread.text, raw->unread.text + head + len, raw->unread.len - head - len + 1);
    raw->unread.len -= head + len;
    return reply;
}

static inline void reply_text_release(struct reply_text *reply)
{
    strbuf_release(&reply->head);
    strbuf_release(&reply->body);
}

static inline void raw_close(struct raw *raw)
{
    SSL_free(raw->ssl);
    ERR_clear_error();
    close(raw->fd);
    strbuf_release(&raw->unread);
    *raw = (struct raw){ .fd = -1 };
}

/* A temporary directory. */
static inline void folder_make(char dir[64])
{
    snprintf(dir, 64, "/tmp/berth-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

static inline void folder_remove(const char *dir)
{
    DIR *folder = opendir(dir);
    assert_non_null(folder);
    struct dirent *entry;
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(dir);
}

static inline const char *in_folder(const char *dir, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", dir, name);
    return path;
}

#endif
