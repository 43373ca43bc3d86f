/* render.h: from facts to the object that an API server would show. */
#ifndef SIM_RENDER_H
#define SIM_RENDER_H

#include "sim/store.h"

extern const char sim_kind_letters[SIM_KIND_COUNT];
extern const enum api_kind sim_api_kinds[SIM_KIND_COUNT];

#define SIM_NAMESPACE "default"
#define SIM_SCHEDULER "default-scheduler"
#define SIM_ZONE_KEY "zone"
#define SIM_GPU "example.com/gpu"
enum { VOLUME_BYTES = 1 << 30 };

struct version *render(enum sim_kind kind, const struct stored *stored);

#endif
