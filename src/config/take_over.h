/* take_over.h: schedulers whose pods this one takes over when their lease has ended (`--take-over`).
 *
 *     [NAMESPACE/]NAME              the Lease NAME, and pods whose schedulerName is NAME
 *     [NAMESPACE/]LEASE=SCHEDULER   where they have different names
 *
 * kube-scheduler and default-scheduler are both the Lease kube-scheduler and the name default-scheduler.
 *
 * A profile of that name is in effect only while its pods are taken over. Without one, a copy of the first profile
 * is. */
#ifndef CONFIG_TAKE_OVER_H
#define CONFIG_TAKE_OVER_H

#include "config/config.h"

enum { TAKE_OVERS_MAX = 64 };

struct take_over {
    struct str namespace; /* empty: that of the own lease */
    struct str lease, scheduler;
};

struct take_overs {
    struct take_over *items;
    uint32_t len;
};

int take_overs_read(const struct str_list *flag, struct arena *arena, struct take_overs *ret,
                    struct error *err);
/* The profiles as they are while those in `taken`, by number, are taken over. */
int take_overs_apply(const struct take_overs *overs, uint64_t taken, struct arena *arena,
                     struct scheduler_config *config, struct error *err);

#endif
