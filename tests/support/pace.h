/* pace.h: checks that depend on time, on a machine that may be busy.
 *
 *     static bool check_silence(int64_t ms)      // derives all its times from `ms`
 *     {
 *         ...
 *         return chunks == 4;
 *     }
 *
 *     assert_at_some_pace(check_silence, 100);
 *
 * A check returns false if a result is wrong, which may be because the machine was too slow. It is then repeated with
 * twice the time: a real error fails at every pace. */
#ifndef SUPPORT_PACE_H
#define SUPPORT_PACE_H

#include "support/test.h"

typedef bool pace_check(int64_t ms);

static inline void assert_check_at_some_pace(pace_check *check, const char *name, int64_t ms)
{
    enum { TRIES = 6 };
    for (int i = 0; i < TRIES; i++, ms *= 2) {
        if (check(ms))
            return;
        print_message("%s: not with %lld ms\n", name, (long long)ms);
    }
    fail_msg("%s: at no pace", name);
}

#define assert_at_some_pace(check, ms) assert_check_at_some_pace((check), #check, (ms))

#endif
