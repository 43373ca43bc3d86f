/* profile.c: turns a profile of the configuration into plugin instances. */
#include "framework/profile.h"

#include <stdlib.h>
#include <string.h>

#include "framework/rule.h"
#include "framework/weights.h"

/* Which callback stands for which extension point. */
#define POINT_CALLBACKS(X) \
    X(PRE_ENQUEUE, pre_enqueue) \
    X(QUEUE_SORT, less) \
    X(PRE_FILTER, pre_filter) \
    X(FILTER, filter) \
    X(POST_FILTER, post_filter) \
    X(PRE_SCORE, pre_score) \
    X(SCORE, score) \
    X(RESERVE, unreserve) \
    X(PERMIT, permit) \
    X(PRE_BIND, pre_bind) \
    X(BIND, bind) \
    X(POST_BIND, post_bind)

static uint32_t callback_points(const struct plugin *plugin)
{
    uint32_t mask = 0;
#define X(point, callback) \
    if (plugin->callback) \
        mask |= POINT_BIT(POINT_##point);
    POINT_CALLBACKS(X)
#undef X
    return mask;
}

uint32_t plugin_points(const struct plugin *plugin)
{
    return callback_points(plugin) | plugin->silent_points;
}

struct plugin_catalog registry_catalog(const struct registry *registry, struct arena *arena)
{
    struct catalog_plugin *plugins = arena_array(arena, struct catalog_plugin, registry->len);
    for (uint32_t i = 0; i < registry->len; i++) {
        const struct plugin *plugin = registry->items[i];
        plugins[i] = (struct catalog_plugin){
            .name = plugin->name,
            .points_mask = plugin_points(plugin),
            .args = plugin->args,
            .newer = plugin->newer_points,
            .since = plugin->since,
            .needs_pre_filter = plugin->needs_pre_filter,
            .needs_pre_score = plugin->needs_pre_score,
        };
    }
    return (struct plugin_catalog){ registry->len, plugins };
}

static struct plugin_instance *instance_of(struct profile *profile, const struct plugin *plugin)
{
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if (profile->plugins[i].plugin == plugin)
            return &profile->plugins[i];
    struct plugin_instance *instance = &profile->plugins[profile->plugins_len];
    *instance = (struct plugin_instance){ .plugin = plugin, .index = profile->plugins_len++ };
    return instance;
}

bool plugin_reads(const struct plugin *plugin, struct cluster *cluster)
{
    bool changed = false;
    for (const char *const *path = plugin->reads; path && *path; path++)
        changed |= pod_key_extend(cluster, *path);
    return changed;
}

static void profile_reads(const struct profile *profile, struct cluster *cluster)
{
    bool changed = false;
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        changed |= plugin_reads(profile->plugins[i].plugin, cluster);
    if (changed)
        pod_classes_renew(cluster);
}

/* What rules take for granted: see framework/rule.h. */
static void check_rules(const struct plugin *plugin)
{
    const struct node_rule *filter = plugin->filter_rule, *score = plugin->score_rule;
    assert(!filter || !score || filter->column == score->column);
    for (const struct event_rule *event = plugin->events; event && event->actions; event++)
        assert(event->hint != rule_hint || (filter && rule_column_is_of_object(filter->column)));
}

static int make_instance(struct profile *profile, struct plugin_instance *instance,
                         const struct profile_config *config, const void *args, struct cluster *cluster,
                         struct error *err)
{
    const struct plugin *plugin = instance->plugin;
    if (!plugin->init)
        return 0;
    struct plugin_env env = {
        .plugin = plugin,
        .cluster = cluster,
        .arena = &profile->arena,
        .args = args,
        .written_args = profile_plugin_args(config, str_from(plugin->name)),
        .profile = profile,
        .wishes = &instance->wishes,
    };
    int r = plugin->init(&env, &instance->self, err);
    if (r < 0)
        error_prefix(err, "initializing plugin \"%s\"", plugin->name);
    instance->is_made = r >= 0;
    return r;
}

static int init_instance(struct profile *profile, struct plugin_instance *instance,
                         const struct profile_config *config, struct cluster *cluster, struct error *err)
{
    const struct plugin *plugin = instance->plugin;
    check_rules(plugin);
    instance->rules = event_rules_for(plugin, &cluster->features, &profile->arena);
    return make_instance(profile, instance, config, profile_args(config, plugin->name), cluster, err);
}

static void fill_point(struct profile *profile, const struct registry *registry, enum extension_point point,
                       const struct enabled_list *enabled)
{
    struct plugin_order *order = &profile->points[point];
    order->items = arena_array(&profile->arena, struct plugin_instance *, enabled->len);
    for (uint32_t i = 0; i < enabled->len; i++) {
        const struct plugin *plugin = registry->items[enabled->items[i].index];
        struct plugin_instance *instance = instance_of(profile, plugin);
        if (!(callback_points(plugin) & POINT_BIT(point)))
            continue;
        order->items[order->len++] = instance;
        if (point == POINT_SCORE)
            instance->weight = enabled->items[i].weight;
    }
}

/* The reference takes any weight of 32 bits and adds in 64. */
static bool has_wide_scores(const struct profile *profile)
{
    const struct plugin_order *scorers = &profile->points[POINT_SCORE];
    int64_t most = 0;
    for (uint32_t i = 0; i < scorers->len; i++)
        most += MAX(llabs((long long)scorers->items[i]->weight), profile->has_weighers ? WEIGHT_MAX : 0) *
                SCORE_MAX;
    return most > INT32_MAX;
}

int profile_init(struct profile *profile, const struct registry *registry,
                 const struct profile_config *config, struct cluster *cluster, struct error *err)
{
    *profile = (struct profile){ .percentage = config->percentage_of_nodes_to_score };
    profile->scheduler_name = arena_str(&profile->arena, config->scheduler_name);
    profile->plugins = arena_array(&profile->arena, struct plugin_instance, PLUGINS_MAX);
    if (registry->len > PLUGINS_MAX)
        return error_set(err, -E2BIG, "more than %d plugins", PLUGINS_MAX);
    for (int point = 0; point < POINT_COUNT; point++)
        fill_point(profile, registry, (enum extension_point)point, &config->points[point]);
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        profile->has_weighers |= profile->plugins[i].plugin->weigh != NULL;
        profile->has_observers |= profile->plugins[i].plugin->observe != NULL;
    }
    profile->wide_scores = has_wide_scores(profile);
    profile_reads(profile, cluster);
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        int r = init_instance(profile, &profile->plugins[i], config, cluster, err);
        if (r < 0)
            return r;
    }
    cluster_settle_resources(cluster); /* plugins may have named resources that pods ask for */
    return 0;
}

/* ---- variants ---- */
static const struct named_weight *weight_of(const struct weight_map *weights, const char *name)
{
    list_for(weights, weight)
        if (str_is(weight->name, name))
            return weight;
    return NULL;
}

/* A plugin of weight 0 does not score, and prepares no score. */
static void copy_point(struct profile *ret, enum extension_point point, const struct plugin_order *from,
                       const struct weight_map *weights)
{
    struct plugin_order *order = &ret->points[point];
    order->items = arena_array(&ret->arena, struct plugin_instance *, from->len);
    for (uint32_t i = 0; i < from->len; i++) {
        struct plugin_instance *instance = &ret->plugins[from->items[i]->index];
        const struct named_weight *weight = weight_of(weights, instance->plugin->name);
        bool scores = point == POINT_SCORE || point == POINT_PRE_SCORE;
        if (scores && weight && !weight->weight)
            continue;
        order->items[order->len++] = instance;
        if (point == POINT_SCORE && weight)
            instance->weight = (int32_t)weight->weight;
    }
}

int profile_init_variant(struct profile *ret, const struct profile *profile,
                         const struct profile_config *config, const struct profile_variant *variant,
                         struct cluster *cluster, struct error *err)
{
    *ret = (struct profile){ .percentage = profile->percentage };
    ret->scheduler_name = arena_str(&ret->arena, profile->scheduler_name);
    ret->variant = arena_str(&ret->arena, variant->name);
    ret->plugins_len = profile->plugins_len;
    ret->plugins = arena_copy(&ret->arena, struct plugin_instance, profile->plugins, profile->plugins_len,
                              profile->plugins_len);
    for (uint32_t i = 0; i < ret->plugins_len; i++)
        ret->plugins[i].is_made = false;
    for (int point = 0; point < POINT_COUNT; point++)
        copy_point(ret, (enum extension_point)point, &profile->points[point], &variant->plugins);
    ret->has_weighers = profile->has_weighers;
    ret->has_observers = profile->has_observers;
    ret->wide_scores = has_wide_scores(ret);
    int r = 0;
    for (uint32_t i = 0; i < ret->plugins_len && variant->resources.len && r == 0; i++) {
        const struct plugin *plugin = ret->plugins[i].plugin;
        if (!plugin->args || !plugin->args->reweigh)
            continue;
        const void *args =
            plugin->args->reweigh(profile_args(config, plugin->name), &variant->resources, &ret->arena);
        r = make_instance(ret, &ret->plugins[i], config, args, cluster, err);
    }
    cluster_settle_resources(cluster);
    return r;
}

void profile_release(struct profile *profile)
{
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if (profile->plugins[i].plugin->release && profile->plugins[i].is_made)
            profile->plugins[i].plugin->release(profile->plugins[i].self);
    mailbox_release(&profile->mailbox);
    arena_release(&profile->arena);
    *profile = (struct profile){ 0 };
}

uint32_t profile_number(const struct profile *profiles, uint32_t len, struct str scheduler_name)
{
    uint32_t number = 0;
    while (number < len && !str_eq(profiles[number].scheduler_name, scheduler_name))
        number++;
    return number;
}

uint32_t profile_of_pod(const struct profile *profiles, uint32_t len, const struct pod *pod)
{
    uint32_t number = profile_number(profiles, len, pod->spec.scheduler_name);
    if (!pod->policy || !pod->policy->weighs)
        return number;
    for (uint32_t i = number + 1; i < len; i++)
        if (str_eq(profiles[i].scheduler_name, pod->spec.scheduler_name) &&
            str_eq(profiles[i].variant, pod->policy->name))
            return i;
    return number;
}

const struct plugin_instance *profile_find(const struct profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if (strcmp(profile->plugins[i].plugin->name, name) == 0)
            return &profile->plugins[i];
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct str profile_plugin_names(const struct profile *profile, uint64_t mask, struct arena *arena)
{
    const char *names[PLUGINS_MAX];
    size_t len = 0;
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if (mask >> i & 1)
            names[len++] = profile->plugins[i].plugin->name;
    qsort(names, len, sizeof(*names), by_text);
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    for (size_t i = 0; i < len; i++)
        strbuf_printf(&out, "%s%s", i ? " " : "", names[i]);
    return arena_str(arena, strbuf_slice(&out));
}

uint64_t plugin_wanted_kinds(const struct plugin_instance *instance)
{
    return (instance->plugin->kinds & ~instance->wishes.narrowed) | instance->wishes.kinds;
}
