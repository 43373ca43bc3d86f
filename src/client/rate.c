/* rate.c: the token bucket. A negative number of tokens is what is promised to requests that wait. */
#include "client/rate.h"

static const double ns_per_second = 1e9;

void rate_init(struct rate *rate, double qps, int32_t burst)
{
    enum { QPS_DEFAULT = 5, BURST_DEFAULT = 10 };
    *rate = (struct rate){ .qps = qps == 0 ? QPS_DEFAULT : (double)(float)qps };
    rate->burst = rate->tokens = burst == 0 ? BURST_DEFAULT : burst;
    pthread_mutex_init(&rate->lock, NULL);
}

void rate_release(struct rate *rate)
{
    pthread_mutex_destroy(&rate->lock);
}

/* The tokens at this time; a clock that steps back adds none. */
static double tokens_at(const struct rate *rate, int64_t now_ns)
{
    double seconds = now_ns > rate->last_ns ? (double)(now_ns - rate->last_ns) / ns_per_second : 0;
    return MIN(rate->tokens + seconds * rate->qps, rate->burst);
}

static int64_t wait_for(const struct rate *rate, double missing)
{
    double ns = missing / rate->qps * ns_per_second;
    return ns < 9e18 ? (int64_t)ns : RATE_FOREVER - 1;
}

int64_t rate_reserve(struct rate *rate, int64_t now_ns)
{
    if (rate->qps < 0)
        return 0;
    if (rate->burst < 1)
        return RATE_FOREVER;
    pthread_mutex_lock(&rate->lock);
    double tokens = tokens_at(rate, now_ns) - 1;
    int64_t wait_ns = tokens < 0 ? wait_for(rate, -tokens) : 0;
    rate->last_ns = now_ns;
    rate->tokens = tokens;
    rate->newest_ns = __builtin_add_overflow(now_ns, wait_ns, &rate->newest_ns) ? INT64_MAX : rate->newest_ns;
    pthread_mutex_unlock(&rate->lock);
    return wait_ns;
}

void rate_cancel(struct rate *rate, int64_t now_ns, int64_t at_ns)
{
    if (rate->qps < 0 || at_ns < now_ns)
        return;
    pthread_mutex_lock(&rate->lock);
    /* What was promised for later times counts on this token having been used. */
    double back = 1 - (double)(rate->newest_ns - at_ns) / ns_per_second * rate->qps;
    if (back > 0) {
        rate->tokens = MIN(tokens_at(rate, now_ns) + back, rate->burst);
        rate->last_ns = now_ns;
        int64_t before_ns = at_ns - wait_for(rate, 1);
        if (at_ns == rate->newest_ns && before_ns >= now_ns)
            rate->newest_ns = before_ns;
    }
    pthread_mutex_unlock(&rate->lock);
}
