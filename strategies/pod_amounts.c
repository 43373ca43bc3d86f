/* pod_amounts.c: see pod_amounts.h. */
#include "pod_amounts.h"

#include <math.h>
#include <stdlib.h>

enum { PATH_BYTES = 256 };

static bool read_amount(const struct berth_pod *pod, const char *path, bool is_cpu, int64_t *ret)
{
    struct berth_value value = berth_read("Pod", pod, path);
    if (value.type != BERTH_AMOUNT)
        return false;
    *ret = is_cpu ? value.milli : value.number;
    return true;
}

static bool is_cpu(const char *resource)
{
    return strcmp(resource, "cpu") == 0;
}

uint32_t amount_containers(const struct berth_pod *pod, const char *list)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "spec.%s", list);
    return berth_read("Pod", pod, path).len;
}

bool amount_of_container(const struct berth_pod *pod, const char *list, uint32_t number, const char *side,
                         const char *resource, int64_t *ret)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "spec.%s[%u].resources.%s[%s]", list, number, side, resource);
    return read_amount(pod, path, is_cpu(resource), ret);
}

int64_t amount_overhead(const struct berth_pod *pod, const char *resource)
{
    char path[PATH_BYTES];
    int64_t amount = 0;
    snprintf(path, sizeof(path), "spec.overhead[%s]", resource);
    read_amount(pod, path, is_cpu(resource), &amount);
    return amount;
}

static bool keeps_running(const struct berth_pod *pod, uint32_t number)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "spec.initContainers[%u].restartPolicy", number);
    return berth_is(berth_read("Pod", pod, path).text, "Always");
}

int64_t amount_limit(const struct berth_pod *pod, const char *resource)
{
    char path[PATH_BYTES];
    int64_t amount, sum = 0, running = 0, most = 0;
    for (uint32_t i = 0, len = amount_containers(pod, "containers"); i < len; i++)
        if (amount_of_container(pod, "containers", i, "limits", resource, &amount))
            sum += amount;
    for (uint32_t i = 0, len = amount_containers(pod, "initContainers"); i < len; i++) {
        bool stays = keeps_running(pod, i);
        amount = 0;
        amount_of_container(pod, "initContainers", i, "limits", resource, &amount);
        if (stays)
            running += amount;
        int64_t needed = running + (stays ? 0 : amount);
        most = needed > most ? needed : most;
    }
    sum += running;
    sum = most > sum ? most : sum;
    snprintf(path, sizeof(path), "spec.resources.limits[%s]", resource);
    if (read_amount(pod, path, is_cpu(resource), &amount))
        sum = amount;
    return sum ? sum + amount_overhead(pod, resource) : 0;
}

static bool suffix_factor(const char *suffix, double *ret)
{
    static const struct {
        const char *suffix;
        double factor;
    } table[] = {
        { "", 1 },        { "m", 1e-3 },    { "u", 1e-6 },    { "n", 1e-9 },
        { "k", 1e3 },     { "M", 1e6 },     { "G", 1e9 },     { "T", 1e12 },
        { "P", 1e15 },    { "E", 1e18 },    { "Ki", 0x1p10 }, { "Mi", 0x1p20 },
        { "Gi", 0x1p30 }, { "Ti", 0x1p40 }, { "Pi", 0x1p50 }, { "Ei", 0x1p60 },
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(suffix, table[i].suffix) == 0) {
            *ret = table[i].factor;
            return true;
        }
    return false;
}

bool amount_parse(struct berth_str text, double *ret_milli)
{
    char copy[64], *end;
    double factor;
    if (!text.len || text.len >= sizeof(copy) || !strchr("+-.0123456789", text.ptr[0]))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    double number = strtod(copy, &end); /* "1e3" and "1E3" are quantities, "1E" is one of 10^18 */
    if (end == copy || strlen(copy) != text.len || strpbrk(copy, "xX") || !isfinite(number) ||
        !suffix_factor(end, &factor))
        return false;
    *ret_milli = number * factor * 1000;
    return true;
}
