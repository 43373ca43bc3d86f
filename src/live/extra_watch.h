/* extra_watch.h: lists and watches the kinds that plugins of the present configuration name (api/extra_kinds.h).
 *
 *     kinds that plugins want ──extra_watch_want()──▶ reflectors of their own ──▶ inbox
 *
 * They have reflectors beside those of the kinds that every scheduler watches, and are watched in the same way. What
 * the API server does not have, or does not show, counts as empty; it is logged once, and looked for again. A kind that
 * is no longer wanted becomes empty. */
#ifndef LIVE_EXTRA_WATCH_H
#define LIVE_EXTRA_WATCH_H

#include "sync/reflector.h"

struct extra_watch {
    struct api *api;
    struct inbox *inbox;
    struct reflector_options options; /* for all kinds; set by the owner */
    uint64_t wanted;                  /* 1 << enum api_kind, or'ed */
    struct reflectors *reflectors;    /* NULL: nothing is wanted */
    struct watched_kind kinds[EXTRA_KINDS_MAX];
    struct arena texts;
};

/* Of these kinds, those that plugins have named are watched from now on. On the core thread, as the next one. */
void extra_watch_want(struct extra_watch *watch, uint64_t kinds);
/* Ends everything and waits for it. What is known of the kinds stays. */
void extra_watch_stop(struct extra_watch *watch);

#endif
