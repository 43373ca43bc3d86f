/* syntax.h: what Go's decoder says of JSON that is none.
 *
 * An extender's author reads these words in the events of pods, and knows them from kube-scheduler. They are looked for
 * only when a text could not be read; this reader makes nothing of a text but its verdict. */
#ifndef EXTENDER_SYNTAX_H
#define EXTENDER_SYNTAX_H

#include "base/error.h"
#include "base/str.h"

/* 0: the text begins with a whole value. Otherwise negative and the sentence. */
int syntax_check(struct str text, struct error *err);
/* The text with U+FFFD in place of each byte that is not UTF-8, and of each half of a character that stands alone, as
 * Go reads it. */
void syntax_repair(struct str text, struct strbuf *out);

#endif
