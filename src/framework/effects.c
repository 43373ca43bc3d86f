/* effects.c: names and copies of effects, and the texts of failures; see effects.h. */
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

struct event_subject event_subject_of(const struct meta *meta)
{
    return (struct event_subject){ meta->namespace, meta->name, meta->uid, meta->resource_version };
}

struct event_subject event_subject_copy(struct arena *arena, struct event_subject from)
{
    return (struct event_subject){ arena_str(arena, from.namespace), arena_str(arena, from.name),
                                   arena_str(arena, from.uid), arena_str(arena, from.resource_version) };
}

struct wanted_condition condition_copy(struct arena *arena, const struct wanted_condition *from)
{
    struct wanted_condition copy = *from;
    struct str *texts[] = { &copy.type, &copy.status, &copy.reason, &copy.message };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        *texts[i] = arena_str(arena, *texts[i]);
    return copy;
}

struct effect effect_copy(struct arena *arena, const struct effect *from)
{
    struct effect copy = *from;
    struct str *texts[] = { &copy.namespace,        &copy.name, &copy.uid,
                            &copy.resource_version, &copy.node, &copy.body };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        *texts[i] = arena_str(arena, *texts[i]);
    copy.claim = event_subject_copy(arena, from->claim);
    if (from->condition) {
        struct wanted_condition *condition = arena_new(arena, struct wanted_condition);
        *condition = condition_copy(arena, from->condition);
        copy.condition = condition;
    }
    return copy;
}

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
