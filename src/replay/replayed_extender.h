/* replayed_extender.h: extenders that give the recorded answers again. */
#ifndef REPLAY_REPLAYED_EXTENDER_H
#define REPLAY_REPLAYED_EXTENDER_H

#include "framework/extender.h"

struct replayed_extenders;

struct replayed_extenders *replayed_extenders_new(const struct extenders *extenders);
void replayed_extenders_free(struct replayed_extenders *all);
const struct extenders *replayed_extenders_table(const struct replayed_extenders *all);
/* The body of a JOURNAL_OPINION, which stays the caller's: the answer to the call after those that have one. */
void replayed_extenders_add(struct replayed_extenders *all, struct str opinion);

#endif
