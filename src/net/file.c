/* file.c: files, read up to a bound and written. */
#include "net/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES_MIN = 8192 };

/* What is read may be a secret. */
static int read_all(int fd, const char *path, size_t bytes_max, struct strbuf *ret, struct error *err)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return error_set(err, -EINVAL, "%s: is not a regular file", path);
    /* Files of /proc have no size. */
    size_t room = MIN(info.st_size > 0 ? (size_t)info.st_size + 1 : (size_t)READ_BYTES_MIN, bytes_max + 1);
    _cleanup_(strbuf_release) struct strbuf text = { .secret = true };
    for (;;) {
        if (text.len == room)
            room = MIN(2 * room, bytes_max + 1);
        strbuf_reserve(&text, room - text.len);
        ssize_t got = read(fd, text.text + text.len, room - text.len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, -errno, "%s: %s", path, strerror(errno));
        if (got == 0)
            break;
        text.len += (size_t)got;
        text.text[text.len] = '\0';
        if (text.len > bytes_max)
            return error_set(err, -EFBIG, "%s: is longer than %zu bytes", path, bytes_max);
    }
    if (!ret->text) {
        *ret = text;
        text = (struct strbuf){ 0 };
    } else {
        strbuf_str(ret, strbuf_slice(&text));
    }
    return 0;
}

int file_read(const char *path, size_t bytes_max, struct strbuf *ret, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    int r = read_all(fd, path, bytes_max, ret, err);
    close(fd);
    return r;
}

static int write_all(int fd, struct str bytes)
{
    while (bytes.len) {
        ssize_t done = write(fd, bytes.ptr, bytes.len);
        if (done >= 0)
            bytes = str_slice(bytes, (size_t)done, bytes.len);
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

int file_write(const char *path, struct str bytes, mode_t mode, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int r = fd < 0 ? -errno : write_all(fd, bytes);
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    return r < 0 ? error_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

/* Gives a file its name, if that is free. Not every file system has links. */
static int take_name(const char *from, const char *path)
{
    if (link(from, path) == 0)
        return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return -errno;
    return renameat2(AT_FDCWD, from, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : -errno;
}

int file_create(const char *path, struct str bytes, mode_t mode, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf own = { 0 };
    uint64_t number = 0;
    (void)!getrandom(&number, sizeof(number), 0);
    strbuf_printf(&own, "%s.%016llx", path, (unsigned long long)number);
    int fd = open(own.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    int r = fd < 0 ? -errno : write_all(fd, bytes);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0)
        r = take_name(own.text, path);
    if (fd >= 0)
        unlink(own.text);
    return r < 0 ? error_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}
