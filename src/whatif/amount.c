/* amount.c: see amount.h. */
#include "whatif/amount.h"

#include <math.h>
#include <stdio.h>

#include "base/term.h"

static bool is_bytes(struct str resource)
{
    return str_is(resource, "memory") || str_is(resource, "ephemeral-storage") ||
           str_starts_with(resource, STR("hugepages-")) || str_is(resource, "storage");
}

/* With so many digits after the point at most, and none that says nothing. */
static struct str decimal(double value, int digits, const char *unit, struct arena *arena)
{
    char fraction[16];
    double whole = trunc(value), step = pow(10, digits);
    double rest = round(fabs(value - whole) * step);
    if (rest >= step) {
        whole += value < 0 ? -1 : 1;
        rest = 0;
    }
    int len = snprintf(fraction, sizeof(fraction), ".%0*d", digits, (int)rest);
    while (len > 0 && (fraction[len - 1] == '0' || fraction[len - 1] == '.'))
        if (fraction[--len] == '.')
            break;
    return arena_printf(arena, "%s%s%.*s%s", value < 0 && whole == 0 && rest > 0 ? "-" : "",
                        grouped((int64_t)whole), len, fraction, unit);
}

struct str amount_text(struct str resource, int64_t value, struct arena *arena)
{
    static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
    if (str_is(resource, "cpu"))
        return decimal((double)value / 1000, 3, "", arena);
    if (!is_bytes(resource))
        return arena_printf(arena, "%s", grouped(value));
    double scaled = (double)value;
    size_t unit = 0;
    /* Up to some thousands of GiB: the nodes of a cluster are compared in one unit. */
    for (; unit + 1 < ARRAY_SIZE(units) && fabs(scaled) >= (unit < 3 ? 1024 : 100 * 1024); unit++)
        scaled /= 1024;
    return decimal(scaled, fabs(scaled) >= 100 ? 1 : 2, units[unit], arena);
}
