/* effects.c: the names of effects and answers, and the texts of failures; see effects.h. */
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

struct str answer_text(const struct answer *answer, const char *resource, struct str name,
                       struct arena *arena)
{
    if (answer->message.len)
        return answer->message;
    switch (answer->kind) {
    case ANSWER_GONE:
        return arena_printf(arena, "%s \"" STR_FMT "\" not found", resource, STR_ARG(name));
    case ANSWER_CONFLICT:
        return arena_printf(arena,
                            "Operation cannot be fulfilled on %s \"" STR_FMT
                            "\": the object has been modified; please apply your changes to the latest "
                            "version and try again",
                            resource, STR_ARG(name));
    default:
        return STR("the server rejected our request due to an error in our request");
    }
}
