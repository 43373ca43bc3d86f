/* go_time.h: times in the formats of Go's time.Parse(), in which scheduler-plugins describe them.
 *
 * A layout shows how the reference time, Mon Jan 2 15:04:05 MST 2006, would be written. */
#ifndef STRATEGIES_GO_TIME_H
#define STRATEGIES_GO_TIME_H

#include <berth/plugin.h>

#define GO_TIME_RFC3339 "2006-01-02T15:04:05Z07:00"

/* Whether the layout has any part of the reference time. */
bool go_time_layout_ok(const char *layout);
/* Seconds since 1970, without fractions. False: the text is not in that layout, or there is no such time. */
bool go_time_parse(const char *layout, struct berth_str text, int64_t *ret_seconds);

#endif
