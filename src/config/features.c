/* features.c: the table of gates and its defaults. */
#include "config/features.h"

const struct feature_info feature_infos[FEATURE_COUNT] = {
#define FEATURE(gate, on, level, fixed) [FEATURE_##gate] = { #gate, on, FEATURE_##level, fixed },
#include "config/features.def"
#undef FEATURE
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
