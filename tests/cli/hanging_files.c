/* hanging_files.c: makes files of a program hang, as on a mount that does not answer. Loaded by LD_PRELOAD.
 *
 * A file hangs in open() while there is a FIFO beside it, PATH.hangs, until a writer opens that FIFO. Every open() of
 * such a file adds a byte to PATH.opens. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

typedef int (*open_function)(const char *path, int flags, ...);

static void hang(open_function real, const char *path)
{
    char beside[PATH_MAX];
    snprintf(beside, sizeof(beside), "%s.hangs", path);
    if (access(beside, F_OK) != 0)
        return;
    char opens[PATH_MAX];
    snprintf(opens, sizeof(opens), "%s.opens", path);
    int fd = real(opens, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)!write(fd, ".", 1);
    close(fd);
    close(real(beside, O_RDONLY | O_CLOEXEC));
}

static int open_as(const char *name, const char *path, int flags, mode_t mode)
{
    open_function real;
    *(void **)&real = dlsym(RTLD_NEXT, name);
    hang(real, path);
    return real(path, flags, mode);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...); \
    int name(const char *path, int flags, ...) \
    { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0; \
        va_end(arguments); \
        return open_as(#name, path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
