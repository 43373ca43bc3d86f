/* change.h: one configuration after another, in a process that goes on.
 *
 * Most of a configuration says how pods are placed, and counts from the next decision on. Some of it says how the
 * process was set up when it began, and counts after a restart only: change.c has the table. */
#ifndef CONFIG_CHANGE_H
#define CONFIG_CHANGE_H

#include "config/config.h"

/* Copies what counts after a restart only, and nothing else. */
void config_copy_fixed(const struct scheduler_config *from, struct arena *arena,
                       struct scheduler_config *ret);
/* Gives `next` those values of `running`, so that it says what is in effect. Adds the names of the fields that `next`
 * wanted otherwise, with ", " between them, as in "leaderElection.leaseDuration". */
void config_keep_fixed(const struct scheduler_config *running, struct arena *arena,
                       struct scheduler_config *next, struct strbuf *names);

/* What is different, in words: "profile gold added; profile default-scheduler changed; podMaxBackoffSeconds". Nothing
 * is added where they mean the same. Both are what config_write_json() gives. */
void config_describe_change(struct str before, struct str after, struct strbuf *out);

#endif
