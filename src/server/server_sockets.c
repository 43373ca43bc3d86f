/* server_sockets.c: what the server needs of sockets: one that listens, options, and addresses as texts. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server_impl.h"

enum { BACKLOG = 1024 };

void socket_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

void socket_describe(const struct sockaddr_storage *address, char *text, size_t size)
{
    char ip[INET6_ADDRSTRLEN] = "";
    uint16_t port = 0;
    bool brackets = false;
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
        port = ntohs(v4->sin_port);
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        port = ntohs(v6->sin6_port);
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
            inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], ip, sizeof(ip));
        } else {
            inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
            brackets = true;
        }
    }
    snprintf(text, size, brackets ? "[%s]:%u" : "%s:%u", ip, port);
}

static int bind_to(const struct sockaddr *address, socklen_t len, const struct server_options *options,
                   struct error *err)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, -errno, "failed to create listener: %s", strerror(errno));
    socket_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (options->reuse_port)
        socket_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (address->sa_family == AF_INET6)
        socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind(fd, address, len) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int r = error_set(err, -errno, "failed to create listener: failed to listen on %s:%u: %s",
                      options->address && *options->address ? options->address : "0.0.0.0", options->port,
                      strerror(errno));
    close(fd);
    return r;
}

int socket_listen(struct server *server, struct error *err)
{
    const struct server_options *options = &server->options;
    const char *text = options->address && *options->address ? options->address : "::";
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(options->port) };
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(options->port) };
    bool is_v4 = inet_pton(AF_INET, text, &v4.sin_addr) == 1;
    if (!is_v4 && inet_pton(AF_INET6, text, &v6.sin6_addr) != 1)
        return error_set(err, -EINVAL, "\"%s\" is not an IP address", text);
    bool all = is_v4 ? v4.sin_addr.s_addr == htonl(INADDR_ANY) : IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
    int fd = -1;
    if (all || !is_v4)
        fd = bind_to((struct sockaddr *)&v6, sizeof(v6), options, err);
    if (is_v4 ? fd < 0 : fd == -EAFNOSUPPORT && all)
        fd = bind_to((struct sockaddr *)&v4, sizeof(v4), options, err);
    if (fd < 0)
        return fd;
    struct sockaddr_storage bound;
    socklen_t len = sizeof(bound);
    if (getsockname(fd, (struct sockaddr *)&bound, &len) == 0)
        server->port = ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                                        : ((struct sockaddr_in6 *)&bound)->sin6_port);
    server->listener.fd = fd;
    return 0;
}
