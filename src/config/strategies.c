/* strategies.c: see strategies.h. */
#include "config/strategies.h"

static const struct {
    const char *name;
    bool scores;
} strategies[] = {
#define STRATEGY(name, scores) { #name, scores },
#include "config/strategies.def"
#undef STRATEGY
};

bool strategy_scores(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(strategies); i++)
        if (str_is(name, strategies[i].name))
            return strategies[i].scores;
    return false;
}

enum { SLIPS_MAX = 2, NAME_LEN_MIN = 4 };

static struct str without_suffix(struct str name)
{
    const struct str suffix = STR("Plugin");
    if (str_ends_with(name, suffix))
        name.len -= suffix.len;
    return name;
}

static void compare(const char *name, struct str wanted, size_t *best, const char **ret)
{
    size_t apart = str_distance(wanted, without_suffix(str_from(name)), true);
    if (apart < *best) {
        *best = apart;
        *ret = name;
    }
}

const char *plugin_name_near(const struct plugin_catalog *catalog, struct str name)
{
    struct str wanted = without_suffix(name);
    size_t best = SLIPS_MAX + 1;
    const char *found = NULL;
    if (wanted.len < NAME_LEN_MIN)
        return NULL;
    for (size_t i = 0; i < catalog->count; i++)
        compare(catalog->plugins[i].name, wanted, &best, &found);
    for (size_t i = 0; i < ARRAY_SIZE(strategies); i++)
        compare(strategies[i].name, wanted, &best, &found);
    return found;
}
