/* koord_pod.c: see koord_pod.h. */
#include "koord_pod.h"

#include <math.h>

#include "json_scan.h"
#include "pod_amounts.h"

#define ANNOTATION(name) "scheduling.koordinator.sh/" name

/* By priority; what Koordinator calls cpu and memory of such pods. NULL: their use is not estimated. */
static const struct {
    const char *label;
    int32_t priority_min, priority_max;
    const char *resources[LOAD_RESOURCES];
    bool has_defaults;
} classes[] = {
    [KOORD_PROD] = { "koord-prod", 9000, 9999, { "cpu", "memory" }, true },
    [KOORD_MID] = { "koord-mid", 7000, 7999, { "kubernetes.io/mid-cpu", "kubernetes.io/mid-memory" }, false },
    [KOORD_BATCH] = { "koord-batch",
                      5000,
                      5999,
                      { "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory" },
                      true },
    [KOORD_FREE] = { "koord-free", 3000, 3999, { NULL, NULL }, false },
};
static const char *const resource_names[] = { "cpu", "memory" };
static const int64_t unset_amounts[] = { 250, 200 << 20 };

void koord_init(struct koord *koord, const struct berth_cluster *cluster, const uint32_t *numbers)
{
    koord->numbers = numbers;
    for (int i = 0; i < KOORD_CLASSES; i++)
        for (int j = 0; j < LOAD_RESOURCES; j++)
            if (classes[i].resources[j])
                koord->more_numbers[i][j] = berth_resource(cluster, classes[i].resources[j]);
}

/* ---- classes ---- */
static int class_by_label(struct berth_str label)
{
    for (int i = 0; label.len && i < KOORD_CLASSES; i++)
        if (berth_is(label, classes[i].label))
            return i;
    return -1;
}

static int class_by_priority(int32_t priority)
{
    for (int i = 0; i < KOORD_CLASSES; i++)
        if (priority >= classes[i].priority_min && priority <= classes[i].priority_max)
            return i;
    return -1;
}

static bool is_best_effort(const struct koord *koord, const struct berth_pod_info *pod)
{
    for (int i = 0; i < LOAD_RESOURCES; i++)
        if (berth_pod_request(pod, koord->numbers[i]) || amount_limit(berth_info_pod(pod), resource_names[i]))
            return false;
    return true;
}

static enum koord_class class_by_quality(const struct koord *koord, const struct berth_pod_info *pod)
{
    static const char *const prod[] = { "LSE", "LSR", "LS", "SYSTEM" };
    struct berth_str label = berth_object_label(berth_info_pod(pod), "koordinator.sh/qosClass");
    for (size_t i = 0; i < sizeof(prod) / sizeof(prod[0]); i++)
        if (berth_is(label, prod[i]))
            return KOORD_PROD;
    return berth_is(label, "BE") || is_best_effort(koord, pod) ? KOORD_BATCH : KOORD_PROD;
}

enum koord_class koord_class(const struct koord *koord, const struct berth_pod_info *pod)
{
    struct berth_str label = berth_object_label(berth_info_pod(pod), "koordinator.sh/priority-class");
    int found = label.ptr ? class_by_label(label) : class_by_priority(berth_info_priority(pod));
    return found >= 0 ? (enum koord_class)found : class_by_quality(koord, pod);
}

/* ---- estimates ---- */
static bool read_factor(void *context, const struct berth_str *keys, uint32_t depth, struct berth_str value,
                        bool is_text)
{
    int64_t factor;
    if (depth != 1 || is_text || !berth_to_int(value, &factor))
        return false;
    for (int i = 0; i < LOAD_RESOURCES; i++)
        if (berth_is(keys[0], resource_names[i]))
            ((int64_t *)context)[i] = factor;
    return true;
}

static void factors_of(const struct koord *koord, const struct berth_pod *pod, int64_t ret[LOAD_RESOURCES])
{
    int64_t own[] = { koord->factors[LOAD_CPU], koord->factors[LOAD_MEMORY] };
    memcpy(ret, koord->factors, sizeof(own));
    if (koord->is_customizable &&
        json_scan(berth_object_annotation(pod, ANNOTATION("load-estimated-scaling-factors")), read_factor,
                  own))
        memcpy(ret, own, sizeof(own));
}

static int64_t estimate(int64_t request, int64_t limit, int64_t factor, int64_t unset)
{
    int64_t amount = limit > request ? limit : request;
    if (!amount)
        return unset;
    int64_t use = (int64_t)round((double)amount * (double)factor / 100);
    return limit > 0 && use > limit ? limit : use;
}

void koord_estimate(const struct koord *koord, const struct berth_pod_info *pod, int64_t ret[LOAD_RESOURCES])
{
    enum koord_class class = koord_class(koord, pod);
    int64_t factors[LOAD_RESOURCES];
    factors_of(koord, berth_info_pod(pod), factors);
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        const char *name = classes[class].resources[i];
        ret[i] = name ? estimate(berth_pod_request(pod, koord->more_numbers[class][i]),
                                 amount_limit(berth_info_pod(pod), name), factors[i],
                                 classes[class].has_defaults ? unset_amounts[i] : 0)
                      : 0;
    }
}

/* When the condition became true, in seconds since 1970; 0: it is not true. */
static int64_t condition_since(const struct berth_pod *pod, const char *type)
{
    static const char *const members[] = { "type", "status", "lastTransitionTime" };
    char path[64];
    uint32_t len = berth_read("Pod", pod, "status.conditions").len;
    for (uint32_t i = 0; i < len; i++) {
        struct berth_value values[3];
        for (int j = 0; j < 3; j++) {
            snprintf(path, sizeof(path), "status.conditions[%u].%s", i, members[j]);
            values[j] = berth_read("Pod", pod, path);
        }
        if (berth_is(values[0].text, type) && berth_is(values[1].text, "True"))
            return values[2].number;
    }
    return 0;
}

static int64_t seconds_of(const struct koord *koord, const struct berth_pod *pod, const char *annotation,
                          int64_t argument)
{
    int64_t seconds;
    bool is_own = koord->is_customizable &&
                  berth_to_int(berth_object_annotation(pod, annotation), &seconds) && seconds >= 0;
    return is_own ? seconds : argument;
}

int64_t koord_estimated_until(const struct koord *koord, const struct berth_pod_info *info)
{
    const struct berth_pod *pod = berth_info_pod(info);
    if (!koord->is_customizable && koord->after_scheduled_s <= 0 && koord->after_initialized_s <= 0)
        return 0;
    int64_t scheduled_s = seconds_of(koord, pod, ANNOTATION("load-estimated-seconds-after-pod-scheduled"),
                                     koord->after_scheduled_s);
    int64_t initialized_s = seconds_of(koord, pod, ANNOTATION("load-estimated-seconds-after-initialized"),
                                       koord->after_initialized_s);
    int64_t since_s = initialized_s > 0 ? condition_since(pod, "Initialized") : 0;
    if (since_s)
        return (since_s + initialized_s) * LOAD_SECOND_NS;
    return scheduled_s > 0 ? berth_info_placed_at(info) + scheduled_s * LOAD_SECOND_NS : 0;
}

bool koord_is_daemon(const struct berth_pod *pod)
{
    char path[64];
    uint32_t len = berth_read("Pod", pod, "metadata.ownerReferences").len;
    for (uint32_t i = 0; i < len; i++) {
        snprintf(path, sizeof(path), "metadata.ownerReferences[%u].kind", i);
        if (berth_is(berth_read("Pod", pod, path).text, "DaemonSet"))
            return true;
    }
    return false;
}
