/* process.c: what the kernel knows about this process, as client libraries of Prometheus report it. What cannot be read
 * stays as it was. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/file.h"
#include "observe/families.h"

static void set(struct metrics *metrics, enum family family, double value)
{
    gauge_set(metric_get(metrics, family, NULL), value);
}

/* A counter that the kernel keeps. */
static void raise_to(struct metrics *metrics, enum family family, uint64_t value)
{
    struct metric *metric = metric_get(metrics, family, NULL);
    uint64_t now = counter_value(metric);
    if (value > now)
        counter_add(metric, value - now);
}

static int read_proc(const char *path, struct strbuf *ret, struct error *err)
{
    enum { PROC_BYTES_MAX = 1 << 16 };
    int r = file_read(path, PROC_BYTES_MAX, ret, err);
    return r == 0 && !ret->len ? -ENODATA : r;
}

static void update_usage(struct metrics *metrics)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        set(metrics, FAMILY_PROCESS_CPU_SECONDS_TOTAL,
            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct error ignored;
    if (read_proc("/proc/self/statm", &text, &ignored) == 0) {
        char *rest;
        double page_bytes = (double)sysconf(_SC_PAGESIZE);
        set(metrics, FAMILY_PROCESS_VIRTUAL_MEMORY_BYTES,
            (double)strtoull(text.text, &rest, 10) * page_bytes);
        set(metrics, FAMILY_PROCESS_RESIDENT_MEMORY_BYTES, (double)strtoull(rest, NULL, 10) * page_bytes);
    }
}

static void update_limits(struct metrics *metrics)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        set(metrics, FAMILY_PROCESS_MAX_FDS, (double)limit.rlim_cur);
    if (getrlimit(RLIMIT_AS, &limit) == 0)
        set(metrics, FAMILY_PROCESS_VIRTUAL_MEMORY_MAX_BYTES, (double)limit.rlim_cur);
    DIR *folder = opendir("/proc/self/fd");
    size_t open_fds = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        open_fds += entry->d_name[0] != '.';
    if (folder) {
        closedir(folder);
        set(metrics, FAMILY_PROCESS_OPEN_FDS, (double)(open_fds - 1)); /* not the folder itself */
    }
}

/* The 22nd field of stat: clock ticks between the start of the machine and ours. */
static void update_start(struct metrics *metrics)
{
    enum { STATE_FIELD = 3, START_FIELD = 22 };
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct error ignored;
    if (read_proc("/proc/self/stat", &text, &ignored) < 0)
        return;
    char *at = strrchr(text.text, ')'); /* the name may have spaces */
    for (int field = STATE_FIELD - 1; at && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return;
    double started = (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
    double booted = (double)(clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_BOOTTIME)) / 1e9;
    struct metric *metric = metric_get(metrics, FAMILY_PROCESS_START_TIME_SECONDS, NULL);
    if (gauge_value(metric) == 0) /* once: the clock may be set, the start does not move */
        gauge_set(metric, floor((booted + started) * 100) / 100);
}

/* "IpExt: InOctets OutOctets ..." and a line of numbers in the same order. */
static void update_network(struct metrics *metrics)
{
    static const struct {
        const char *name;
        enum family family;
    } wanted[] = {
        { "InOctets", FAMILY_PROCESS_NETWORK_RECEIVE_BYTES_TOTAL },
        { "OutOctets", FAMILY_PROCESS_NETWORK_TRANSMIT_BYTES_TOTAL },
    };
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct error ignored;
    if (read_proc("/proc/self/net/netstat", &text, &ignored) < 0)
        return;
    struct str rest = strbuf_slice(&text);
    while (rest.len) {
        struct str names = str_cut(&rest, '\n'), values = str_cut(&rest, '\n');
        if (!str_starts_with(names, STR("IpExt:")))
            continue;
        while (names.len && values.len) {
            struct str name = str_cut(&names, ' '), value = str_cut(&values, ' ');
            int64_t number;
            for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
                if (str_is(name, wanted[i].name) && str_to_int64(value, &number) && number > 0)
                    raise_to(metrics, wanted[i].family, (uint64_t)number);
        }
    }
}

void process_metrics_update(void *metrics)
{
    update_usage(metrics);
    update_limits(metrics);
    update_start(metrics);
    update_network(metrics);
}

double process_start(struct metrics *metrics)
{
    update_start(metrics);
    return gauge_value(metric_get(metrics, FAMILY_PROCESS_START_TIME_SECONDS, NULL));
}
