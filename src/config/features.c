/* features.c: the table of gates, its defaults, and what may be chosen. */
#include "config/features.h"

#include "base/utf8.h"
#include "config/flag_values.h"

const struct feature_info feature_infos[FEATURE_COUNT] = {
#define FEATURE(gate, on, level, fixed, what) \
    [FEATURE_##gate] = { #gate, on, FEATURE_##level, fixed, FEATURE_##what },
#include "config/features.def"
};

const char *const feature_stage_names[] = {
    [FEATURE_ALPHA] = "ALPHA",
    [FEATURE_BETA] = "BETA",
    [FEATURE_GA] = "GA",
    [FEATURE_DEPRECATED] = "DEPRECATED",
};

static const struct {
    enum feature feature, needed;
} needs[] = {
#define FEATURE_NEEDS(name, other) { FEATURE_##name, FEATURE_##other },
#include "config/features.def"
};

void features_default(struct features *ret)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        ret->enabled[i] = feature_infos[i].by_default;
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

int feature_choose(struct feature_choices *choices, struct str setting, struct error *err)
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
    if (feature < 0)
        return error_set(err, -EINVAL, "unrecognized feature gate: " STR_FMT, STR_ARG(name));
    choices->given[feature] = true;
    choices->value[feature] = value;
    return 0;
}

/* AllAlpha and AllBeta, for a gate of which nothing is said itself. */
static void choose_all(const struct feature_choices *choices, enum feature all, enum feature_stage stage,
                       struct features *features)
{
    for (size_t i = 0; i < FEATURE_COUNT && choices->given[all]; i++)
        if (!choices->given[i] && feature_infos[i].stage == stage && i != FEATURE_AllAlpha &&
            i != FEATURE_AllBeta)
            features->enabled[i] = choices->value[all];
}

static int check_choice(const struct feature_choices *choices, const struct features *features, size_t i,
                        struct error *err)
{
    const struct feature_info *info = &feature_infos[i];
    bool value = features->enabled[i];
    if (value == info->by_default)
        return 0;
    if (info->locked)
        return error_set(err, -EINVAL, "cannot set feature gate %s to %s, feature is locked to %s",
                         info->name, word(value), word(info->by_default));
    if (info->here == FEATURE_FIXED)
        return error_set(err, -EINVAL, "cannot set feature gate %s to %s%s: berth does not support that",
                         info->name, word(value),
                         choices->given[i] ? "" : ", which AllAlpha or AllBeta asks for");
    return 0;
}

int features_resolve(const struct feature_choices *choices, struct features *ret, struct error *err)
{
    struct features features;
    features_default(&features);
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        if (choices->given[i])
            features.enabled[i] = choices->value[i];
    choose_all(choices, FEATURE_AllAlpha, FEATURE_ALPHA, &features);
    choose_all(choices, FEATURE_AllBeta, FEATURE_BETA, &features);
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        int r = check_choice(choices, &features, i, err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        if (features.enabled[needs[i].feature] && !features.enabled[needs[i].needed])
            return error_set(err, -EINVAL, "%s is enabled, but depends on features that are disabled: [%s]",
                             feature_infos[needs[i].feature].name, feature_infos[needs[i].needed].name);
    *ret = features;
    return 0;
}
