/* host_weights.c: where plugins are enabled, weights of scores, and what became of pods, for plugins. */
#include "abi/host.h"
#include "framework/weights.h"

#define X(name) \
    static_assert((int)OBSERVED_##name == (int)BERTH_##name, "what the header calls observations: " #name);
OBSERVED_KINDS(X)
#undef X
static_assert((int)WEIGHT_MAX == (int)BERTH_WEIGHT_MAX, "the header has the same limit");

bool host_enabled_at(const struct berth_handle *handle, const char *point)
{
    for (int i = 0; handle && point && i < POINT_COUNT; i++) {
        const struct plugin_order *order = &handle->profile->points[i];
        for (uint32_t j = 0; strcmp(point_infos[i].field, point) == 0 && j < order->len; j++)
            if (order->items[j]->plugin == handle->plugin)
                return true;
    }
    return false;
}

static const struct plugin_instance *scorer_at(const struct berth_handle *handle, uint32_t scorer)
{
    const struct plugin_order *scorers = &handle->profile->points[POINT_SCORE];
    for (uint32_t i = 0; i < scorers->len; i++)
        if (scorers->items[i]->index == scorer)
            return scorers->items[i];
    return NULL;
}

uint32_t host_scorer(const struct berth_handle *handle, const char *name)
{
    const struct plugin_instance *instance = handle && name ? profile_find(handle->profile, name) : NULL;
    return instance && scorer_at(handle, instance->index) ? instance->index : BERTH_SCORER_NONE;
}

int32_t host_scorer_weight(const struct berth_handle *handle, uint32_t scorer)
{
    const struct plugin_instance *instance = handle ? scorer_at(handle, scorer) : NULL;
    return instance ? instance->weight : 0;
}

bool host_set_weight(struct berth_cycle *cycle, uint32_t scorer, int32_t weight, struct berth_str reason)
{
    return cycle && weights_set(in_cycle(cycle), scorer, weight, in_str(reason));
}

/* ---- what became of pods ---- */
enum berth_observed host_observed_kind(const struct berth_observation *what)
{
    return (enum berth_observed)in_observation(what)->kind;
}

const struct berth_pod_info *host_observed_pod(const struct berth_observation *what)
{
    return out_pod_info(in_observation(what)->pod);
}

const struct berth_cluster *host_observed_cluster(const struct berth_observation *what)
{
    return out_cluster(in_observation(what)->cluster);
}

int64_t host_observed_at(const struct berth_observation *what)
{
    return in_observation(what)->at_ns;
}

int64_t host_observed_wait(const struct berth_observation *what)
{
    return in_observation(what)->waited_ns;
}

bool host_observed_alone(const struct berth_observation *what)
{
    return in_observation(what)->is_alone;
}
