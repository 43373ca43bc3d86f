/* process.c: what the kernel knows about this process, as client libraries of Prometheus report it. What cannot be read
 * stays as it was. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "serve/families.h"

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

static void update_usage(struct metrics *metrics)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        set(metrics, FAMILY_PROCESS_CPU_SECONDS_TOTAL,
            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages, resident;
    if (file && fscanf(file, "%llu %llu", &pages, &resident) == 2) {
        double page_bytes = (double)sysconf(_SC_PAGESIZE);
        set(metrics, FAMILY_PROCESS_VIRTUAL_MEMORY_BYTES, (double)pages * page_bytes);
        set(metrics, FAMILY_PROCESS_RESIDENT_MEMORY_BYTES, (double)resident * page_bytes);
    }
    if (file)
        fclose(file);
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
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[len] = '\0';
    char *at = strrchr(text, ')'); /* the name may have spaces */
    for (int field = STATE_FIELD - 1; at && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    struct timespec since_boot, now;
    if (!at || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return;
    double started = (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
    double booted =
        (double)(now.tv_sec - since_boot.tv_sec) + (double)(now.tv_nsec - since_boot.tv_nsec) / 1e9;
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
    char names[4096], values[4096];
    FILE *file = fopen("/proc/self/net/netstat", "re");
    while (file && fgets(names, sizeof(names), file) && fgets(values, sizeof(values), file)) {
        if (strncmp(names, "IpExt:", 6) != 0)
            continue;
        char *name_rest, *value_rest;
        char *name = strtok_r(names, " \n", &name_rest), *value = strtok_r(values, " \n", &value_rest);
        for (; name && value;
             name = strtok_r(NULL, " \n", &name_rest), value = strtok_r(NULL, " \n", &value_rest))
            for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
                if (strcmp(name, wanted[i].name) == 0)
                    raise_to(metrics, wanted[i].family, strtoull(value, NULL, 10));
    }
    if (file)
        fclose(file);
}

void process_metrics_update(void *metrics)
{
    update_usage(metrics);
    update_limits(metrics);
    update_start(metrics);
    update_network(metrics);
}
