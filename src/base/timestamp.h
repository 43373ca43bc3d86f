/* timestamp.h: times of RFC 3339, read and written as Go's time package does, and the calendar behind them: the
 * Gregorian one, also for the years before it, without a time zone database. */
#ifndef BASE_TIMESTAMP_H
#define BASE_TIMESTAMP_H

#include "base/str.h"

struct timestamp {
    int64_t seconds; /* since 1970, UTC */
    int32_t nanos;
    int32_t offset_seconds; /* of the zone it was written in */
};

/* "2006-01-02T15:04:05Z", with an optional fraction and an offset such as +02:00. As in Go an hour may have one digit,
 * a comma may stand for the point, and an offset may have 24 hours and 60 minutes. */
bool timestamp_parse(struct str text, struct timestamp *ret);

enum { TIMESTAMP_LEN = 20, TIMESTAMP_LEN_MAX = TIMESTAMP_LEN + 10 };
/* Whole seconds, UTC, as metav1.Time is written. Years outside 0 to 9999 are clamped. */
struct str timestamp_format(int64_t seconds, char buf[static TIMESTAMP_LEN + 1]);
/* The same with a fraction of so many digits, 9 at most: 6 for metav1.MicroTime. What is beyond them is cut off. */
struct str timestamp_format_fraction(int64_t seconds, int32_t nanos, int digits,
                                     char buf[static TIMESTAMP_LEN_MAX + 1]);

struct calendar {
    int64_t year;
    int month, day; /* from 1 */
    int hour, minute, second;
    int weekday; /* 0: Sunday */
    int yearday; /* from 0 */
};

struct calendar calendar_of(int64_t seconds);

#endif
