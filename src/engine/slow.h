/* slow.h: decisions that take long are traced in the log, as kube-scheduler traces them:
 *
 *     Trace[1298498081]: "Scheduling" namespace:default,name:web (16-Nov-2026 09:45:24.100) (total time: 132ms):
 *     Trace[1298498081]: ---"Computing predicates done" 130ms (09:45:24.230)
 *     Trace[1298498081]: [132.4ms] [132.4ms] END
 *
 * From 100 ms on and with -v=2; a step is named if it took its share of that, with -v=4 always. */
#ifndef ENGINE_SLOW_H
#define ENGINE_SLOW_H

#include "engine/decide.h"

/* By the clock of the probe; `ended_ns`: the node was chosen, or there is none. */
void slow_decision_log(const struct cycle *cycle, const struct choice *choice, int64_t begun_ns,
                       int64_t ended_ns);

#endif
