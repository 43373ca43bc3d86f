/* rates.h: how much the scheduler decides and how many pods wait, now and in the last half hour, for authorized
 * clients: GET /debug/berth/rates.
 *
 * {"time":..., "everySeconds":5, "rates":{"scheduled":12.4,...}, "queue":{"active":3,...},
 * "totals":{"scheduled":71234,...}, "samples":{"time":[...], "rates":{"scheduled":[...],...},
 * "queue":{"active":[...],...}}}: rates are per second, those at the top over the last minute. Samples are from the
 * oldest to the newest, their times in seconds since 1970.
 *
 * The metrics are read every five seconds on the server's thread: neither this nor the page costs the core thread
 * anything. A reset of the metrics counts as no change. */
#ifndef DEBUG_RATES_H
#define DEBUG_RATES_H

#include "base/metrics.h"
#include "net/loop.h"
#include "serve/serve.h"

#define VIEW_RATES_PATH "/debug/berth/rates"

struct rates;

/* The metrics are of families.h, and outlive it. */
struct rates *rates_new(struct metrics *metrics);
/* On the loop of the server. From now on there are samples. */
void rates_start(struct rates *rates, struct loop *loop);
/* After the loop. NULL is fine. */
void rates_free(struct rates *rates);

/* For serve_options, with the rates as user. */
int rates_view(void *rates, const struct serve_request *request, struct serve_reply *reply);

/* For tests: takes a sample at this time, by both clocks; writes the page. */
void rates_sample(struct rates *rates, int64_t wall_s, int64_t now_ns);
void rates_write(const struct rates *rates, int64_t wall_s, int64_t now_ns, struct strbuf *out);

#endif
