/* timestamp.h: times as Kubernetes writes them, RFC 3339. */
#ifndef API_TIMESTAMP_H
#define API_TIMESTAMP_H

#include "api/types.h"

/* "2006-01-02T15:04:05Z", with an optional fraction and an offset such as +02:00. 0 or -EINVAL. */
int timestamp_parse(struct str text, struct opt_time *ret);

enum { TIMESTAMP_LEN = 20 };
/* Whole seconds, UTC, as metav1.Time is written. Years outside 0 to 9999 are clamped. */
struct str timestamp_format(int64_t seconds, char buf[static TIMESTAMP_LEN + 1]);

#endif
