/* duration.h: durations as Go reads and writes them: "1m30s", "1.5h", "250ms", "-2s", "0". */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include "base/common.h"
#include "base/str.h"

#define NS_PER_SECOND INT64_C(1000000000)

/* False where the text is no duration or does not fit. */
bool duration_parse(struct str text, int64_t *ret_ns);

enum { DURATION_TEXT_MAX = 40 };
/* The shortest spelling that parses back, in hours, minutes and seconds: "1h31m0.25s", "250ms", "0s". */
void duration_format(int64_t ns, char ret[DURATION_TEXT_MAX]);

#endif
