/* amount.h: amounts of resources as a person reads them: "3.5" cpu, "1.5 GiB" of memory, "1,200" pods.
 *
 * The model counts cpu in thousandths of a core, memory and storage in bytes, and all else in units. */
#ifndef WHATIF_AMOUNT_H
#define WHATIF_AMOUNT_H

#include "base/arena.h"
#include "base/str.h"

/* In the arena. At most two digits after the point, three for cpu; what they cannot show is rounded. */
struct str amount_text(struct str resource, int64_t value, struct arena *arena);

#endif
