/* file.c: files, read up to a bound and written. */
#include "net/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, const char *path, size_t bytes_max, struct strbuf *ret, struct error *err)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return error_set(err, -EINVAL, "%s: is not a regular file", path);
    _cleanup_(strbuf_wipe) struct strbuf text = { 0 };
    char chunk[8192];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, -errno, "%s: %s", path, strerror(errno));
        if (got == 0)
            break;
        if (text.len + (size_t)got > bytes_max)
            return error_set(err, -EFBIG, "%s: is longer than %zu bytes", path, bytes_max);
        strbuf_add(&text, chunk, (size_t)got);
    }
    strbuf_str(ret, strbuf_slice(&text));
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

int file_write(const char *path, struct str bytes, mode_t mode, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int r = fd < 0 ? -errno : 0;
    while (r == 0 && bytes.len) {
        ssize_t done = write(fd, bytes.ptr, bytes.len);
        if (done >= 0)
            bytes = str_slice(bytes, (size_t)done, bytes.len);
        else if (errno != EINTR)
            r = -errno;
    }
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    return r < 0 ? error_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}
