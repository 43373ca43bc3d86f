/* stepping_clock.c: a program's time of day, ahead of the machine's by what a test writes to a file: the seconds, as an
 * int64_t. STEPPING_CLOCK names the file. Loaded by LD_PRELOAD. Other clocks are the machine's. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t *ahead_s;

__attribute__((constructor)) static void map_file(void)
{
    const char *path = getenv("STEPPING_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *file = mmap(NULL, sizeof(*ahead_s), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (file != MAP_FAILED)
        ahead_s = file;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int r = (int)syscall(SYS_clock_gettime, clock, ret);
    if (r == 0 && ahead_s && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret->tv_sec += atomic_load(ahead_s);
    return r;
}
