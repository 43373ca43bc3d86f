/* syntax.h: the sentence with which Go's decoder rejects malformed JSON.
 *
 * Authors of extenders see these sentences in events of pods, and know them from kube-scheduler. A text is checked only
 * after it could not be decoded. */
#ifndef EXTENDER_SYNTAX_H
#define EXTENDER_SYNTAX_H

#include "base/error.h"
#include "base/str.h"

/* 0: the text begins with a complete value. Otherwise negative and the sentence. */
int syntax_check(struct str text, struct error *err);
/* The text with U+FFFD in place of each byte that is not UTF-8, and of each half of a character that stands alone, as
 * Go reads it. */
void syntax_repair(struct str text, struct strbuf *out);

#endif
