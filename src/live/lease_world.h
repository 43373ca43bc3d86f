/* lease_world.h: the world of a lease that is not a test: the API server, and the clocks of this machine. */
#ifndef LIVE_LEASE_WORLD_H
#define LIVE_LEASE_WORLD_H

#include "live/lease.h"

struct api_world;

struct api_world *api_world_new(struct api *api);
/* When no request is under way. NULL is fine. */
void api_world_free(struct api_world *world);
const struct lease_world *api_world_get(struct api_world *world);

#endif
