/* rate.h: how fast requests may go out: a bucket that holds `burst` tokens and gets `qps` new ones per second.
 *
 * The same arithmetic as the limiter of client-go, so that a given QPS and burst mean the same here. It knows
 * no clock: the caller says what time it is, in nanoseconds of any clock that does not run backwards. From any
 * thread.
 *
 *     int64_t wait_ns = rate_reserve(&rate, now_ns);      // the token is taken; use it that much later
 *     request.not_before_ns = now_ns + wait_ns; */
#ifndef CLIENT_RATE_H
#define CLIENT_RATE_H

#include <pthread.h>

#include "base/common.h"

#define RATE_FOREVER INT64_MAX

struct rate {
    pthread_mutex_t lock;
    double qps; /* negative: no limit */
    double burst, tokens;
    int64_t last_ns;   /* when `tokens` was true */
    int64_t newest_ns; /* of the times for which tokens were given out, the latest */
};

/* Negative: unlimited. 0 takes client-go's defaults: 5 per second, bursts of 10. */
void rate_init(struct rate *rate, double qps, int32_t burst);
void rate_release(struct rate *rate);

/* Takes a token, now or in advance: how long to wait before it may be used. RATE_FOREVER: the bucket holds
 * none at all (a negative burst), and nothing was taken. */
int64_t rate_reserve(struct rate *rate, int64_t now_ns);
/* Gives back one that was reserved for `at_ns` and is not needed; what was reserved after it stays as it is. */
void rate_cancel(struct rate *rate, int64_t now_ns, int64_t at_ns);

#endif
