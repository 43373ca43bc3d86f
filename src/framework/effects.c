/* effects.c: the names of effects and answers; see effects.h. */
#include "framework/effects.h"

const char *const effect_kind_names[EFFECT_KIND_COUNT] = {
#define X(name, text) [EFFECT_##name] = text,
    EFFECT_KINDS(X)
#undef X
};

const char *const answer_kind_names[ANSWER_KIND_COUNT] = {
#define X(name, text) [ANSWER_##name] = text,
    ANSWER_KINDS(X)
#undef X
};
