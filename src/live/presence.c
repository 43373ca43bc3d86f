/* presence.c: sockets that tell others of this machine that a process runs. */
#include "live/presence.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/rest.h"
#include "net/file.h"

enum { HERE_LEN = 18, VERSION_AT = 14 }; /* of a UUID: "xxxxxxxx-xxxx-8xxx" */
enum { BOOT_ID_BYTES_MAX = 64 };

/* ---- identities ---- */

/* The boot, the network namespace and the host's name, as a number; 0: that cannot be told. */
static uint64_t here(const char *host)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct stat namespace;
    struct error err;
    if (file_read("/proc/sys/kernel/random/boot_id", BOOT_ID_BYTES_MAX, &text, &err) < 0 || !text.len ||
        stat("/proc/self/ns/net", &namespace) < 0)
        return 0;
    strbuf_printf(&text, "%llu %s", (unsigned long long)namespace.st_ino, host);
    return str_hash(strbuf_slice(&text));
}

/* A UUID of version 8 (RFC 9562): its first 60 bits say where it was made, the others are random. */
static void make_uuid(uint64_t where, char uuid[PRESENCE_UUID_LEN + 1])
{
    unsigned char tail[8];
    arc4random_buf(tail, sizeof(tail));
    snprintf(uuid, PRESENCE_UUID_LEN + 1, "%08x-%04x-8%03x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             (unsigned)(where >> 32), (unsigned)(where >> 16 & 0xffff), (unsigned)(where & 0xfff),
             (tail[0] & 0x3fu) | 0x80u, tail[1], tail[2], tail[3], tail[4], tail[5], tail[6], tail[7]);
}

static struct str uuid_of(struct str identity)
{
    bool has_one =
        identity.len > PRESENCE_UUID_LEN && identity.ptr[identity.len - PRESENCE_UUID_LEN - 1] == '_';
    return has_one ? str_slice(identity, identity.len - PRESENCE_UUID_LEN, identity.len) : (struct str){ 0 };
}

/* ---- sockets ---- */

static socklen_t address_of(const char *uuid, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int len = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "berth/%s", uuid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Its descriptor is not kept: nothing but the end of the process closes it. Nobody accepts a connection either: that
 * there is one is all that is said. */
static bool show(const char *uuid)
{
    struct sockaddr_un address;
    socklen_t len = address_of(uuid, &address);
    int fd = new_socket();
    if (fd < 0)
        return false;
    if (bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, SOMAXCONN) == 0)
        return true;
    close(fd);
    return false;
}

void presence_begin(struct strbuf *identity)
{
    char host[256] = "", uuid[PRESENCE_UUID_LEN + 1];
    gethostname(host, sizeof(host) - 1);
    uint64_t where = here(host);
    strbuf_printf(identity, "%s_", host);
    make_uuid(where, uuid);
    if (where && show(uuid))
        strbuf_puts(identity, uuid);
    else
        rest_uuid(identity);
}

/* ---- another process ---- */

static void disconnect(struct presence_watch *watch)
{
    if (watch->state != PRESENCE_RUNS)
        return;
    loop_remove(watch->loop, &watch->connection);
    close(watch->connection.fd);
}

static void on_closed(struct loop_fd *connection, uint32_t events)
{
    struct presence_watch *watch = container_of(connection, struct presence_watch, connection);
    if (!(events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)))
        return;
    disconnect(watch);
    watch->state = PRESENCE_ENDED;
    watch->on_end(watch);
}

/* A name that nobody has: the process has ended. Any other failure says nothing. */
static enum presence connect_to(struct presence_watch *watch)
{
    struct sockaddr_un address;
    socklen_t len = address_of(watch->uuid, &address);
    int fd = new_socket();
    if (fd < 0)
        return PRESENCE_UNKNOWN;
    int code = connect(fd, (struct sockaddr *)&address, len) < 0 ? errno : 0;
    watch->connection = (struct loop_fd){ fd, EPOLLRDHUP, on_closed };
    if (code == 0 && loop_add(watch->loop, &watch->connection) == 0)
        return PRESENCE_RUNS;
    close(fd);
    return code == ECONNREFUSED ? PRESENCE_ENDED : PRESENCE_UNKNOWN;
}

enum presence presence_look(struct presence_watch *watch, struct str own, struct str other)
{
    struct str mine = uuid_of(own), uuid = uuid_of(other);
    if (watch->state != PRESENCE_UNKNOWN && str_eq(uuid, str_from(watch->uuid)))
        return watch->state;
    presence_forget(watch);
    if (!mine.len || !uuid.len || memcmp(mine.ptr, uuid.ptr, HERE_LEN) != 0 || uuid.ptr[VERSION_AT] != '8')
        return PRESENCE_UNKNOWN;
    memcpy(watch->uuid, uuid.ptr, PRESENCE_UUID_LEN);
    watch->state = connect_to(watch);
    return watch->state;
}

void presence_forget(struct presence_watch *watch)
{
    disconnect(watch);
    watch->state = PRESENCE_UNKNOWN;
    watch->uuid[0] = '\0';
}
