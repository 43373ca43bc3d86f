/* words.h: texts that most objects have, such as "Exists" and "kubernetes.io/hostname".
 *
 * A scheduler keeps thousands of objects whose strings are for the most part the same few words: those are not copied
 * with each object. From any thread. */
#ifndef API_WORDS_H
#define API_WORDS_H

#include "base/arena.h"

/* The same text: a word that is always there, or a copy in the arena. */
struct str words_keep(struct arena *arena, struct str text);

#endif
