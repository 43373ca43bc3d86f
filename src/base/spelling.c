/* spelling.c: see spelling.h. */
#include "base/spelling.h"

#include "base/str.h"

const char *nearest_name(const char *wanted, const char *const *names, size_t len)
{
    const char *best = NULL;
    size_t near = MAX(strlen(wanted) / 3, (size_t)1) + 1, begins = 0;
    for (size_t i = 0; i < len && strlen(wanted) > 1; i++) {
        if (strncmp(names[i], wanted, strlen(wanted)) == 0) {
            best = names[i];
            begins++;
        }
    }
    if (begins == 1)
        return best;
    best = NULL;
    for (size_t i = 0; i < len; i++) {
        size_t d = str_distance(str_from(wanted), str_from(names[i]), false);
        if (d < near) {
            near = d;
            best = names[i];
        }
    }
    return best;
}
