/* Any text gives a configuration that satisfies the invariants of config.h, or an error that names a place. */
#include "fuzz/fuzz.h"

#include "unit/config/catalog.h"

static void check_profile(const struct profile_config *profile)
{
    must(profile->scheduler_name.len > 0);
    must(profile->points[POINT_QUEUE_SORT].len == 1);
    must(profile->points[POINT_BIND].len >= 1);
    for (size_t point = 0; point < POINT_COUNT; point++) {
        const struct enabled_list *list = &profile->points[point];
        uint64_t seen = 0;
        for (uint32_t i = 0; i < list->len; i++) {
            uint32_t index = list->items[i].index;
            bool weighed = point == POINT_SCORE || point == POINT_PLACEMENT_SCORE;
            must(index < stock_catalog.count);
            must(stock_plugins[index].points_mask & POINT_BIT(point));
            must(!(seen >> index & 1));
            must(weighed == (list->items[i].weight != 0));
            must(!stock_plugins[index].args || profile_args(profile, stock_plugins[index].name));
            seen |= UINT64_C(1) << index;
        }
    }
}

static void check_config(const struct scheduler_config *config)
{
    must(config->parallelism > 0);
    must(config->pod_initial_backoff_seconds > 0);
    must(config->pod_max_backoff_seconds >= config->pod_initial_backoff_seconds);
    must(config->percentage_of_nodes_to_score.set);
    must(config->profiles.len > 0);
    list_for(&config->profiles, profile) {
        check_profile(profile);
        must(config_profile(config, profile->scheduler_name) == profile);
    }
    list_for(&config->extenders, extender)
        must(extender->http_timeout_ns != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xcalloc(size + YYJSON_PADDING_SIZE, 1);
    if (size)
        memcpy(text, data, size);
    struct loaded loaded = { 0 };
    int r = config_load_text("input", text, size, &stock_env, &loaded.arena, &loaded.config, &loaded.warnings,
                             &loaded.err);
    if (r < 0)
        fuzz_must_explain(&loaded.err);
    else
        check_config(&loaded.config);
    loaded_release(&loaded);
    return 0;
}
