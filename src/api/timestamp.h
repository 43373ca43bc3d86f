/* timestamp.h: times of Kubernetes objects. */
#ifndef API_TIMESTAMP_H
#define API_TIMESTAMP_H

#include <errno.h>

#include "api/types.h"
#include "base/timestamp.h"

/* 0 or -EINVAL. */
static inline int opt_time_parse(struct str text, struct opt_time *ret)
{
    struct timestamp time;
    if (!timestamp_parse(text, &time))
        return -EINVAL;
    *ret = (struct opt_time){ true, time.seconds, time.nanos };
    return 0;
}

#endif
