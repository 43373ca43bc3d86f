/* amounts.h: quantities for tests. */
#ifndef SUPPORT_AMOUNTS_H
#define SUPPORT_AMOUNTS_H

#include "api/quantity.h"

/* Thousandths, not negative. */
static inline struct quantity quantity_from_milli(int64_t milli)
{
    enum { MILLI = 1000, NANO_PER_MILLI = 1000000 };
    return (struct quantity){ .units = milli / MILLI, .nano = (uint32_t)(milli % MILLI * NANO_PER_MILLI) };
}

#endif
