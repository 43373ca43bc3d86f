/* render.h: from facts to the API object. */
#ifndef SIM_RENDER_H
#define SIM_RENDER_H

#include "store.h"
#include "sync/inbox.h"

#define SIM_NAMESPACE "default"
#define SIM_SCHEDULER "default-scheduler"
#define SIM_ZONE_KEY "zone"
#define SIM_GPU "example.com/gpu"
enum { VOLUME_BYTES = 1 << 30 };

extern const enum api_kind sim_api_kinds[SIM_KIND_COUNT];

/* The caller owns it. */
struct live_object *render(const struct version *version);

#endif
