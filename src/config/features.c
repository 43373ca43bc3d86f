/* features.c: the table of gates, its defaults, and what may be chosen. */
#include "config/features.h"

#include <limits.h>

#include "base/utf8.h"
#include "config/flag_values.h"

const struct feature_info feature_infos[FEATURE_COUNT] = {
#define STAGE(minor, on, level, fixed) { minor, 0, on, FEATURE_##level, fixed, false }
#define COMPATIBLE(minor, on, level, fixed) { minor, minor, on, FEATURE_##level, fixed, false }
#define GONE(minor) { minor, .gone = true }
#define FEATURE(gate, what, ...) [FEATURE_##gate] = { #gate, FEATURE_##what, { __VA_ARGS__ } },
#include "config/features.def"
#undef STAGE
#undef COMPATIBLE
#undef GONE
};

const char *const feature_stage_names[] = {
    [FEATURE_ALPHA] = "ALPHA",
    [FEATURE_BETA] = "BETA",
    [FEATURE_GA] = "GA",
    [FEATURE_DEPRECATED] = "DEPRECATED",
};

enum { LATEST = INT_MAX };

static const struct {
    enum feature feature, needed;
    int since, until;
} needs[] = {
#define FEATURE_NEEDS(name, other, since, until) { FEATURE_##name, FEATURE_##other, since, until },
#include "config/features.def"
};

const struct feature_state *feature_state(const struct features *features, enum feature feature)
{
    const struct feature_state *found = NULL, *states = feature_infos[feature].states;
    for (size_t i = 0; i < FEATURE_STATES_MAX && states[i].minor; i++)
        if (states[i].minor <= features->release->minor && states[i].compatible <= features->compatible)
            found = &states[i];
    return found && !found->gone ? found : NULL;
}

void features_default(struct features *ret, const struct release *release, int compatible)
{
    *ret = (struct features){ .release = release ? release : release_default() };
    ret->compatible = compatible ? compatible : ret->release->minor - 1;
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const struct feature_state *state = feature_state(ret, (enum feature)i);
        ret->enabled[i] = state && state->by_default;
    }
}

int feature_find(struct str name)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        if (str_is(name, feature_infos[i].name))
            return (int)i;
    return -1;
}

static const char *word(bool value)
{
    return value ? "true" : "false";
}

int feature_choose(struct feature_choices *choices, const struct features *features, struct str setting,
                   struct error *err)
{
    struct str text = setting, name = utf8_trim(str_cut(&text, '='));
    bool value;
    if (!text.ptr)
        return error_set(err, -EINVAL, "missing bool value for " STR_FMT, STR_ARG(name));
    text = utf8_trim(text);
    if (!flag_read_bool(text, &value))
        return error_set(err, -EINVAL, "invalid value of " STR_FMT "=" STR_FMT ": expected true or false",
                         STR_ARG(name), STR_ARG(text));
    int feature = feature_find(name);
    if (feature < 0 || !feature_state(features, (enum feature)feature))
        return error_set(err, -EINVAL, "unrecognized feature gate: " STR_FMT, STR_ARG(name));
    choices->given[feature] = true;
    choices->value[feature] = value;
    return 0;
}

/* AllAlpha and AllBeta, for a gate of which nothing is said itself. */
static void choose_all(const struct feature_choices *choices, enum feature all, enum feature_stage stage,
                       struct features *features)
{
    for (size_t i = 0; i < FEATURE_COUNT && choices->given[all]; i++) {
        const struct feature_state *state = feature_state(features, (enum feature)i);
        if (!choices->given[i] && state && state->stage == stage && i != FEATURE_AllAlpha &&
            i != FEATURE_AllBeta)
            features->enabled[i] = choices->value[all];
    }
}

static int check_choice(const struct feature_choices *choices, const struct features *features,
                        enum feature feature, struct error *err)
{
    const struct feature_info *info = &feature_infos[feature];
    const struct feature_state *state = feature_state(features, feature);
    bool value = features->enabled[feature];
    if (!state || value == state->by_default)
        return 0;
    if (state->locked)
        return error_set(err, -EINVAL, "cannot set feature gate %s to %s, feature is locked to %s",
                         info->name, word(value), word(state->by_default));
    if (info->here == FEATURE_FIXED)
        return error_set(err, -EINVAL, "cannot set feature gate %s to %s%s: berth does not support that",
                         info->name, word(value),
                         choices->given[feature] ? "" : ", which AllAlpha or AllBeta asks for");
    return 0;
}

static bool is_needed(const struct features *features, size_t i)
{
    return features->release->minor >= needs[i].since && features->release->minor <= needs[i].until;
}

int features_resolve(const struct feature_choices *choices, struct features *features, struct error *err)
{
    struct features chosen = *features;
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        if (choices->given[i])
            chosen.enabled[i] = choices->value[i];
    choose_all(choices, FEATURE_AllAlpha, FEATURE_ALPHA, &chosen);
    choose_all(choices, FEATURE_AllBeta, FEATURE_BETA, &chosen);
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        int r = check_choice(choices, &chosen, (enum feature)i, err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        if (is_needed(&chosen, i) && chosen.enabled[needs[i].feature] && !chosen.enabled[needs[i].needed])
            return error_set(err, -EINVAL, "%s is enabled, but depends on features that are disabled: [%s]",
                             feature_infos[needs[i].feature].name, feature_infos[needs[i].needed].name);
    *features = chosen;
    return 0;
}
