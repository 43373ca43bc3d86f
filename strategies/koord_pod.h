/* koord_pod.h: pods as Koordinator sees them: their class, and the use that is expected of them. */
#ifndef STRATEGIES_KOORD_POD_H
#define STRATEGIES_KOORD_POD_H

#include "load.h"

enum koord_class { KOORD_PROD, KOORD_MID, KOORD_BATCH, KOORD_FREE, KOORD_CLASSES };

struct koord {
    const uint32_t *numbers; /* of cpu and memory */
    uint32_t more_numbers[KOORD_CLASSES]
                         [LOAD_RESOURCES];          /* of the resources that a class has instead of them */
    int64_t factors[LOAD_RESOURCES];                /* percent of the request or limit */
    bool is_customizable;                           /* by annotations of the pod */
    int64_t after_scheduled_s, after_initialized_s; /* negative: not set */
};

void koord_init(struct koord *koord, const struct berth_cluster *cluster, const uint32_t *numbers);

/* By label, priority or quality of service. */
enum koord_class koord_class(const struct koord *koord, const struct berth_pod_info *pod);

/* The larger one of limit and request times the factor, at most the limit; without both 0.25 cores and 200 MiB. */
void koord_estimate(const struct koord *koord, const struct berth_pod_info *pod, int64_t ret[LOAD_RESOURCES]);

/* Until when the estimate counts although there is a measurement; 0: no longer than that. */
int64_t koord_estimated_until(const struct koord *koord, const struct berth_pod_info *pod);

bool koord_is_daemon(const struct berth_pod *pod);

#endif
