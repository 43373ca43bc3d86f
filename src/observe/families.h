/* families.h: which metrics there are (families.def), as a registry that is ready to count.
 *
 *     struct metrics *metrics = families_new(&flags, &features, &err);
 *     struct metric *victims = metric_get(metrics, FAMILY_PREEMPTION_VICTIMS, NULL);
 *
 * Facts about the program, its gates and the process fill themselves in. */
#ifndef OBSERVE_FAMILIES_H
#define OBSERVE_FAMILIES_H

#include "base/metrics.h"
#include "config/flags.h"

enum family {
#define FAMILY(id, ...) FAMILY_##id,
#include "observe/families.def"
    FAMILY_COUNT
};

/* The table of all releases, by enum family. */
const struct metric_info *families_table(void);

/* A registry of all of them that shows what the flags ask for. NULL: the manifest of --allow-metric-labels-manifest
 * cannot be read, and err says why. The flags need not outlive the call. */
struct metrics *families_new(const struct scheduler_flags *flags, const struct features *features,
                             struct error *err);

/* process.c: looks up the facts about this process. For metrics_on_write(); the context is the registry. */
void process_metrics_update(void *metrics);
/* When the process started, in seconds since 1970. */
double process_start(struct metrics *metrics);

#endif
