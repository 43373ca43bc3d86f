/* harness.h: servers that a test starts and stops, and a way to wait for a response.
 *
 *     server_start(&server, "--cert", ...);      // tests/unit/net/server.py
 *     send_to(client, &request, &reply);
 *     reply_wait(&reply);                        // for on_done
 *     reply_release(&reply);
 *     server_stop(&server); */
#ifndef UNIT_NET_HARNESS_H
#define UNIT_NET_HARNESS_H

#include "support/test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "http/http.h"
#include "net/file.h"
#include "unit/net/certs.h"

extern char **environ;

struct server {
    pid_t pid;
    int input, output; /* pipes to its standard input and output */
    int port;
};

static inline void sleep_ms(int64_t ms)
{
    struct timespec span = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&span, &span) < 0)
        ;
}

static inline pid_t spawn_program(char *const argv[], int input, int output, bool quiet)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (quiet)
        posix_spawn_file_actions_adddup2(&actions, output, 2);
    pid_t pid;
    int r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        fail_msg("%s: %s", argv[0], strerror(r));
    return pid;
}

/* Reads a line of the program's output, without its newline. */
static inline void server_line(const struct server *server, char *line, size_t size)
{
    size_t len = 0;
    char c;
    while (len + 1 < size && read(server->output, &c, 1) == 1 && c != '\n')
        line[len++] = c;
    line[len] = '\0';
}

static inline void server_start_args(struct server *server, const char *const *args)
{
    char *argv[16] = { "python3", "tests/unit/net/server.py" };
    for (size_t i = 0; args[i]; i++)
        argv[i + 2] = (char *)args[i];
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    server->pid = spawn_program(argv, in[0], out[1], false);
    close(in[0]);
    close(out[1]);
    server->input = in[1];
    server->output = out[0];
    char line[64];
    server_line(server, line, sizeof(line));
    server->port = (int)strtol(line, NULL, 10);
    assert_true(server->port > 0);
}

#define server_start(server, ...) server_start_args((server), (const char *const[]){ __VA_ARGS__, NULL })

static inline void server_stop(struct server *server)
{
    if (server->pid <= 0)
        return;
    close(server->input);
    close(server->output);
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

/* A port that refuses connections until the descriptor is closed. */
static inline int closed_port(int *ret_fd)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(address);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *ret_fd = fd;
    return ntohs(address.sin_port);
}

/* A port that was just free, outside the kernel's ephemeral range; another one each time. */
static inline int free_port(void)
{
    enum { FIRST = 12000, COUNT = 8000 };
    static unsigned next;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    next = next ? next + 1 : (unsigned)getpid() * 31 + (unsigned)now.tv_nsec;
    for (int i = 0; i < COUNT; i++, next++) {
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)(FIRST + next % COUNT)),
                                       .sin_addr.s_addr = htonl(INADDR_ANY) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_free = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
        close(fd);
        if (is_free)
            return ntohs(address.sin_port);
    }
    fail_msg("no port is free");
    return 0;
}

static inline bool port_answers(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    bool answers = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return answers;
}

/* Starts nghttpx as an HTTP/2 proxy for a server.py. False: it is not installed. */
static inline bool nghttpx_start(struct server *server, const char *dir, int backend_port)
{
    static const char *const places[] = { "/usr/sbin/nghttpx", "/usr/bin/nghttpx", "/usr/local/bin/nghttpx" };
    const char *program = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (access(places[i], X_OK) == 0)
            program = places[i];
    if (!program)
        return false;
    char front[64], back[64], key[512], cert[512];
    snprintf(back, sizeof(back), "--backend=127.0.0.1,%d", backend_port);
    snprintf(key, sizeof(key), "%s/server.key", dir);
    snprintf(cert, sizeof(cert), "%s/server.crt", dir);
    char *argv[] = { (char *)program,
                     front,
                     back,
                     "--conf=/dev/null",
                     "--errorlog-file=/dev/null",
                     "--accesslog-file=/dev/null",
                     "--workers=1",
                     "--single-process",
                     "--backend-read-timeout=10m", /* 1m: it ended silent streams where a test took longer */
                     "--backend-write-timeout=10m",
                     "--frontend-write-timeout=10m",
                     "--stream-write-timeout=10m",
                     key,
                     cert,
                     NULL };
    bool answers = false;
    for (int tries = 0; !answers; tries++) {
        assert_true(tries < 10);
        *server = (struct server){ .port = free_port(), .input = -1, .output = -1 };
        snprintf(front, sizeof(front), "--frontend=127.0.0.1,%d", server->port);
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        server->pid = spawn_program(argv, null, null, true);
        close(null);
        /* It exits at once if the port is taken. */
        bool runs = true;
        while (runs && !answers) {
            sleep_ms(10);
            runs = waitpid(server->pid, NULL, WNOHANG) == 0;
            answers = runs && port_answers(server->port);
        }
    }
    return true;
}

/* A temporary directory, with certificates. */
static inline void dir_make(char dir[64])
{
    snprintf(dir, 64, "/tmp/berth-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

/* Removes a directory and the files in it. */
static inline void dir_remove(const char *dir)
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

static inline const char *in_dir(const char *dir, const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", dir, name);
    return path;
}

/* A response, copied from the I/O thread, with a condition to wait for it. */
struct reply {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done, starts, chunks;
    int stop_after;     /* chunks; 0: never */
    struct strbuf text; /* the body, or all chunks */
    struct http_response response;
    char content_type[64], warnings[256];
};

static inline void reply_init(struct reply *reply)
{
    *reply = (struct reply){ 0 };
    pthread_mutex_init(&reply->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&reply->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static inline void reply_release(struct reply *reply)
{
    pthread_mutex_destroy(&reply->lock);
    pthread_cond_destroy(&reply->changed);
    strbuf_release(&reply->text);
}

static inline void reply_on_start(void *user, uint64_t id _unused_, int status _unused_)
{
    struct reply *reply = user;
    pthread_mutex_lock(&reply->lock);
    reply->starts++;
    pthread_cond_broadcast(&reply->changed);
    pthread_mutex_unlock(&reply->lock);
}

static inline int reply_on_chunk(void *user, uint64_t id _unused_, struct str chunk)
{
    struct reply *reply = user;
    pthread_mutex_lock(&reply->lock);
    strbuf_str(&reply->text, chunk);
    int stop = ++reply->chunks == reply->stop_after;
    pthread_cond_broadcast(&reply->changed);
    pthread_mutex_unlock(&reply->lock);
    return stop;
}

static inline void reply_on_done(void *user, struct http_response *response)
{
    struct reply *reply = user;
    pthread_mutex_lock(&reply->lock);
    reply->done++;
    reply->response = *response;
    if (response->body->len) {
        strbuf_release(&reply->text);
        reply->text = *response->body;
        *response->body = (struct strbuf){ 0 };
    }
    snprintf(reply->content_type, sizeof(reply->content_type), STR_FMT, STR_ARG(response->content_type));
    size_t len = 0;
    for (size_t i = 0; i < response->warning_count && len < sizeof(reply->warnings); i++)
        len += (size_t)snprintf(reply->warnings + len, sizeof(reply->warnings) - len, STR_FMT "|",
                                STR_ARG(response->warnings[i]));
    pthread_cond_broadcast(&reply->changed);
    pthread_mutex_unlock(&reply->lock);
}

static const struct http_callbacks reply_callbacks = { reply_on_start, reply_on_chunk, reply_on_done };

/* Waits until one of the counters has reached the value; fails after a timeout. */
static inline void reply_wait_for_either(struct reply *reply, const int *one, const int *other, int value)
{
    enum { PATIENCE_S = 240 };
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&reply->lock);
    int r = 0;
    while (*one < value && *other < value && r == 0)
        r = pthread_cond_timedwait(&reply->changed, &reply->lock, &until);
    bool got = *one >= value || *other >= value;
    pthread_mutex_unlock(&reply->lock);
    if (!got)
        fail_msg("waited for %d s", PATIENCE_S);
}

static inline void reply_wait_for(struct reply *reply, const int *counter, int value)
{
    reply_wait_for_either(reply, counter, counter, value);
}

/* Waits until the response has begun. False: it has failed. */
static inline bool reply_wait_for_start(struct reply *reply)
{
    reply_wait_for_either(reply, &reply->starts, &reply->done, 1);
    pthread_mutex_lock(&reply->lock);
    bool begun = reply->starts > 0;
    pthread_mutex_unlock(&reply->lock);
    return begun;
}

/* Waits until this text has arrived. */
static inline void reply_wait_for_text(struct reply *reply, const char *text)
{
    for (int chunks = 1;; chunks++) {
        reply_wait_for(reply, &reply->chunks, chunks);
        pthread_mutex_lock(&reply->lock);
        bool there = str_is(strbuf_slice(&reply->text), text);
        chunks = reply->chunks;
        pthread_mutex_unlock(&reply->lock);
        if (there)
            return;
    }
}

static inline void reply_wait(struct reply *reply)
{
    reply_wait_for(reply, &reply->done, 1);
}

/* Sends a request whose response goes to `reply`. */
static inline uint64_t send_to(struct http_client *client, struct http_request *request, struct reply *reply)
{
    struct error err;
    uint64_t id = 0;
    reply_init(reply);
    request->method = request->method ? request->method : "GET";
    request->callbacks = &reply_callbacks;
    request->user = reply;
    if (http_send(client, request, &id, &err) < 0)
        fail_msg("%s: %s", request->url, err.text);
    return id;
}

static inline struct http_client *client_of(struct http_options options)
{
    struct http_client *client;
    struct error err;
    if (http_client_new(&options, &client, &err) < 0)
        fail_msg("%s", err.text);
    return client;
}

static inline struct tls_config *tls_of(struct tls_options options)
{
    struct tls_config *tls;
    struct error err;
    if (tls_config_new(&options, &tls, &err) < 0)
        fail_msg("%s", err.text);
    return tls;
}

/* Trusts the test CA; `client` NULL: no client certificate. */
static inline struct tls_config *tls_in_dir(const char *dir, const char *client)
{
    char ca[512], cert[512] = "", key[512] = "";
    in_dir(dir, "ca.crt", ca);
    if (client) {
        snprintf(cert, sizeof(cert), "%s/%s.crt", dir, client);
        snprintf(key, sizeof(key), "%s/%s.key", dir, client);
    }
    return tls_of((struct tls_options){ .ca_file = ca, .cert_file = cert, .key_file = key });
}

#define assert_answer(reply, want_status, want_text) \
    do { \
        if ((reply)->response.outcome != HTTP_ANSWERED || (reply)->response.status != (want_status)) \
            fail_msg("status %d, outcome %d: %s", (reply)->response.status, (reply)->response.outcome, \
                     (reply)->response.error.text); \
        assert_str(strbuf_slice(&(reply)->text), (want_text)); \
    } while (0)

#define assert_failure(reply, want_outcome, want_failure) \
    do { \
        if ((reply)->response.outcome != (want_outcome) || (reply)->response.failure != (want_failure)) \
            fail_msg("outcome %d, failure %d, status %d: %s", (reply)->response.outcome, \
                     (reply)->response.failure, (reply)->response.status, (reply)->response.error.text); \
        assert_true((reply)->response.error.text[0] != '\0'); \
    } while (0)

#endif
