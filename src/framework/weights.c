/* weights.c: see weights.h. */
#include "framework/weights.h"

#include "framework/profile.h"

void run_weigh(struct cycle *cycle)
{
    const struct profile *profile = cycle->profile;
    if (!profile->has_weighers)
        return;
    cycle->may_weigh = true;
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        cycle->current = &profile->plugins[i];
        if (cycle->current->plugin->weigh)
            cycle->current->plugin->weigh(cycle);
    }
    cycle->may_weigh = false;
}

static struct score_weights *as_configured(const struct cycle *cycle)
{
    const struct profile *profile = cycle->profile;
    struct score_weights *weights = arena_alloc(cycle->arena, sizeof(*weights));
    weights->set = 0;
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        weights->of[i] = profile->plugins[i].weight;
    return weights;
}

static bool scores(const struct profile *profile, const struct plugin_instance *instance)
{
    const struct plugin_order *scorers = &profile->points[POINT_SCORE];
    for (uint32_t i = 0; i < scorers->len; i++)
        if (scorers->items[i] == instance)
            return true;
    return false;
}

bool weights_set(struct cycle *cycle, uint32_t index, int32_t weight, struct str reason)
{
    const struct profile *profile = cycle->profile;
    if (!cycle->may_weigh || index >= profile->plugins_len || weight < 0 || weight > WEIGHT_MAX ||
        !scores(profile, &profile->plugins[index]))
        return false;
    if (weight_in_effect(cycle->weights, &profile->plugins[index]) == weight)
        return true;
    if (!cycle->weights)
        cycle->weights = as_configured(cycle);
    cycle->weights->of[index] = weight;
    cycle->weights->set &= ~((uint64_t)1 << index);
    cycle->weights->set |= (uint64_t)(weight != profile->plugins[index].weight) << index;
    cycle->weights->reasons[index] =
        (struct weight_reason){ cycle->current->plugin, arena_str(cycle->arena, reason) };
    return true;
}
