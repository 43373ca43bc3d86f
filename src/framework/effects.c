/* effects.c: names and copies of effects; see effects.h. */
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

struct effect effect_copy(struct arena *arena, const struct effect *from)
{
    struct effect copy = *from;
    struct str *texts[] = { &copy.namespace,        &copy.name, &copy.uid,
                            &copy.resource_version, &copy.node, &copy.body };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        *texts[i] = arena_str(arena, *texts[i]);
    copy.claim = event_subject_copy(arena, from->claim);
    if (!from->condition)
        return copy;
    struct wanted_condition *condition = arena_new(arena, struct wanted_condition);
    *condition = *from->condition;
    struct str *words[] = { &condition->type, &condition->status, &condition->reason, &condition->message };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        *words[i] = arena_str(arena, *words[i]);
    copy.condition = condition;
    return copy;
}
