/* journal_extender.h: extenders whose words are written down; see journal_extenders() in journal.h. */
#ifndef LIVE_JOURNAL_EXTENDER_H
#define LIVE_JOURNAL_EXTENDER_H

#include "framework/extender.h"
#include "live/journal.h"

struct journal_extenders;

struct journal_extenders *journal_extenders_new(struct journal *journal, const struct extenders *extenders);
const struct extenders *journal_extenders_table(const struct journal_extenders *all);
void journal_extenders_free(struct journal_extenders *all);

/* Where an entry goes, or NULL: nothing is recorded. journal_wrote() follows. On the core thread. */
struct strbuf *journal_write(struct journal *journal);
void journal_wrote(struct journal *journal);

#endif
