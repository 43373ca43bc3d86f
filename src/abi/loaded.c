/* loaded.c: from a module's descriptors to struct plugin; see loaded.h.
 *
 * A module may be older than this berth: its structs are then shorter, and what they do not have is zero. Each list is
 * read with the module's own stride. */
#include "abi/loaded.h"

#include <stdlib.h>

#include "abi/loaded_args.h"
#include "abi/loaded_plugin.h"
#include "api/extra_kinds.h"
#include "api/object.h"

static const struct loaded_plugin *loaded_of(const struct plugin *plugin)
{
    return container_of(plugin, struct loaded_plugin, plugin);
}

static int init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    const struct loaded_plugin *loaded = loaded_of(env->plugin);
    struct berth_handle *handle = arena_new(env->arena, struct berth_handle);
    struct loaded_self *self = arena_new(env->arena, struct loaded_self);
    *handle = (struct berth_handle){ &env->profile->mailbox, env->plugin, env->profile, env->wishes };
    *self = (struct loaded_self){ .plugin = loaded };
    *ret_self = self;
    struct berth_env outer = {
        .cluster = out_cluster(env->cluster),
        .scheduler_name = out_str(env->profile->scheduler_name),
        .arena = out_arena(env->arena),
        .handle = handle,
    };
    int r = loaded_args_decode(loaded->args, &loaded->outer, env->written_args, env->arena, &outer, err);
    if (r < 0 || !loaded->outer.init)
        return r;
    struct berth_error why = { "" };
    host_metrics_for(env->plugin);
    r = loaded->outer.init(&outer, &self->outer, &why);
    host_metrics_for(NULL);
    handle->wishes = NULL;
    if (r >= 0)
        return 0;
    why.text[sizeof(why.text) - 1] = '\0';
    return error_set(err, -EINVAL, "%s", why.text[0] ? why.text : "failed, and does not say why");
}

/* ---- a module of any age ---- */
/* What modules of revision 1 do not say. */
static const struct berth_module revision_1 = { .revision = 1,
                                                .env_size = 64,
                                                .event_rule_size = 16,
                                                .field_size = 40,
                                                .node_names_size = 24,
                                                .post_filter_result_size = 24 };
enum { MODULE_SIZE_1 = 40, ANY_UPDATE_1 = (1 << 13) - 1 - 3 };
static_assert(offsetof(struct berth_module, revision) == MODULE_SIZE_1, "a module of revision 1 ends here");

/* The structs whose sizes are exchanged. */
#define SIZES(X) \
    X(plugin) \
    X(host) \
    X(env) \
    X(event_rule) \
    X(field) \
    X(node_names) \
    X(post_filter_result)

static int check_module(const struct berth_module *module, const char *file, struct berth_module *ret,
                        struct error *err)
{
    if (module->abi != BERTH_ABI)
        return error_set(err, -EINVAL,
                         "%s: built for version %u of the plugin ABI; this berth has version %u", file,
                         module->abi, (unsigned)BERTH_ABI);
    *ret = revision_1;
    memcpy(ret, module, MIN(module->size, sizeof(*ret)));
    bool is_newer = module->size > sizeof(*ret) || ret->revision > BERTH_REVISION;
#define X(name) is_newer |= ret->name##_size > sizeof(struct berth_##name);
    SIZES(X)
#undef X
    if (is_newer)
        return error_set(err, -EINVAL, "%s: built against a newer berth/plugin.h than this berth has", file);
    if (module->size < MODULE_SIZE_1 || !ret->host || !ret->plugins || !ret->plugins_len)
        return error_set(err, -EINVAL, "%s: holds no plugin", file);
    if (!ret->event_rule_size || !ret->field_size)
        return error_set(err, -EINVAL, "%s: has lists whose items have no size", file);
    return 0;
}

/* ---- events ---- */
#define X(name, text) static_assert((int)EVENT_##name == (int)BERTH_EVENT_##name, text);
EVENT_RESOURCES(X)
#undef X
#define X(name, text) static_assert((int)ACTION_##name == (int)BERTH_##name, text);
EVENT_ACTIONS(X)
#undef X
static_assert((ACTION_ALL & ~BERTH_ALL_ACTIONS) == 0 && (ACTION_UPDATE & ~BERTH_UPDATE) == 0, "masks");

enum { RULES_MAX = 1024, REVISION_OF_TARGET_POD = 3 };

/* Rules about unscheduled pods were about the waiting pod itself, too, before TARGET_POD came. */
static bool means_target_too(const struct berth_event_rule *rule, uint32_t revision)
{
    return revision < REVISION_OF_TARGET_POD && rule->resource == BERTH_EVENT_UNSCHEDULED_POD;
}

/* In revision 1 "any update" named the actions of its time. */
static uint32_t actions_of(const struct berth_event_rule *rule, uint32_t revision)
{
    bool any_update = revision == 1 && (rule->actions & ANY_UPDATE_1) == ANY_UPDATE_1;
    return (rule->actions | (any_update ? (uint32_t)BERTH_UPDATE : 0)) & (uint32_t)ACTION_ALL;
}

static struct berth_event_rule rule_at(const struct berth_event_rule *list, size_t stride, size_t number)
{
    struct berth_event_rule rule = { 0 };
    memcpy(&rule, (const char *)list + stride * number, MIN(stride, sizeof(rule)));
    return rule;
}

static const char *make_rules(struct loaded_plugin *loaded, const struct berth_module *module,
                              struct arena *arena)
{
    const struct berth_event_rule *list = loaded->outer.events;
    size_t len = 0;
    if (!list)
        return NULL;
    while (rule_at(list, module->event_rule_size, len).actions)
        if (++len > RULES_MAX)
            return "has too many events, or a list of them that does not end";
    struct berth_event_rule *outer = arena_array(arena, struct berth_event_rule, len);
    struct event_rule *rules = arena_array(arena, struct event_rule, 2 * len + 1), *next = rules;
    for (size_t i = 0; i < len; i++) {
        outer[i] = rule_at(list, module->event_rule_size, i);
        uint32_t actions = actions_of(&outer[i], module->revision);
        if ((uint32_t)outer[i].resource >= EVENT_RESOURCE_COUNT || !actions)
            return "has an event that there is not";
        struct event_rule rule = { .resource = (enum event_resource)outer[i].resource,
                                   .actions = actions,
                                   .hint = outer[i].hint ? slots_hint : NULL,
                                   .number = (uint32_t)i };
        *next++ = rule;
        rule.resource = EVENT_TARGET_POD;
        rule.since = BEHAVIOUR_pod_events_are_divided;
        if (means_target_too(&outer[i], module->revision))
            *next++ = rule;
    }
    loaded->rules = outer;
    loaded->plugin.events = rules;
    return NULL;
}

/* ---- kinds ---- */
static int make_kinds(struct loaded_plugin *loaded, const char *file, struct error *err)
{
    for (const char *const *name = loaded->outer.kinds; name && *name; name++) {
        struct extra_kind extra = extra_kind_parse(str_from(*name));
        enum api_kind kind = host_kind(*name);
        struct error why;
        error_set(&why, 0,
                  "it is none that is fetched on demand: expected NodeMetrics, PodMetrics, or one with its "
                  "apiVersion, such as v1/ConfigMap");
        if (kind == KIND_UNKNOWN && extra.api_version.len && extra.kind.len && !extra.name.len &&
            !extra.namespace.len)
            kind = object_kind_from(extra.api_version, extra.kind);
        if (kind == KIND_CONFIG_MAP) /* the one of the tables is for the scheduler's own */
            kind = extra_kind_find(extra.api_version, extra.kind);
        if (kind == KIND_UNKNOWN && extra.api_version.len && !extra.name.len && !extra.namespace.len)
            kind = extra_kind_add(&extra, &why);
        if (!kind_is_sampled(kind) && !kind_is_extra(kind))
            return error_set(err, -EINVAL, "%s: plugin \"%s\": kinds: \"%s\": %s", file, loaded->outer.name,
                             *name, why.text);
        loaded->plugin.kinds |= (uint64_t)1 << kind;
    }
    return 0;
}

/* ---- what is checked ---- */
/* Slots that make sense together only. */
static const char *check_pairs(const struct berth_plugin *plugin)
{
    if (plugin->reserve && !plugin->unreserve)
        return "has reserve and no unreserve";
    if (!plugin->add_pod != !plugin->remove_pod)
        return "has one of add_pod and remove_pod: each needs the other";
    if (plugin->add_pod && !plugin->pre_filter)
        return "has add_pod and no pre_filter";
    if (plugin->normalize && !plugin->score)
        return "has normalize and no score";
    if (plugin->filter_nodes && !plugin->filter)
        return "has filter_nodes and no filter";
    if (plugin->score_nodes && !plugin->score)
        return "has score_nodes and no score";
    if (plugin->pre_bind_pre_flight && !plugin->pre_bind)
        return "has pre_bind_pre_flight and no pre_bind";
    return NULL;
}

static int check_plugin(const struct loaded *loaded, const struct berth_plugin *plugin, const char *file,
                        struct error *err)
{
    if (!plugin->name || !plugin->name[0])
        return error_set(err, -EINVAL, "%s: holds a plugin without a name", file);
    for (size_t i = 0; i < loaded->plugins.len; i++) {
        if (strcmp(loaded->plugins.items[i]->name, plugin->name) != 0)
            continue;
        const char *other = loaded->files.items[i];
        return error_set(err, -EEXIST, "%s: there is a plugin \"%s\" already, %s%s", file, plugin->name,
                         other ? "from " : "built in", other ? other : "");
    }
    for (const char *const *path = plugin->reads; path && *path; path++) {
        struct key_path resolved;
        struct error why;
        if (pod_key_resolve(*path, &resolved, &why) < 0)
            return error_set(err, -EINVAL, "%s: plugin \"%s\": reads: %s", file, plugin->name, why.text);
    }
    const char *wrong = check_pairs(plugin);
    return wrong ? error_set(err, -EINVAL, "%s: plugin \"%s\" %s", file, plugin->name, wrong) : 0;
}

static int add_plugin(struct loaded *loaded, const struct berth_module *module, uint32_t number,
                      const char *file, struct error *err)
{
    struct loaded_plugin *own = arena_new(&loaded->arena, struct loaded_plugin);
    if (!module->plugins[number])
        return error_set(err, -EINVAL, "%s: plugin number %u is NULL", file, number);
    memcpy(&own->outer, module->plugins[number], module->plugin_size);
    int r = check_plugin(loaded, &own->outer, file, err);
    if (r == 0)
        r = loaded_args_type(&own->outer, module->field_size, &loaded->arena, &own->args, file, err);
    if (r < 0)
        return r;
    const char *wrong = make_rules(own, module, &loaded->arena);
    if (wrong)
        return error_set(err, -EINVAL, "%s: plugin \"%s\" %s", file, own->outer.name, wrong);
    r = make_kinds(own, file, err);
    if (r < 0)
        return r;
    own->plugin.name = own->outer.name;
    own->plugin.doc = own->outer.doc ? own->outer.doc : "";
    own->plugin.init = init;
    slots_connect(own);
    if (!plugin_points(&own->plugin))
        return error_set(err, -EINVAL, "%s: plugin \"%s\" takes part in no extension point", file,
                         own->plugin.name);
    *vec_push(&loaded->plugins) = &own->plugin;
    *vec_push(&loaded->files) = arena_strndup(&loaded->arena, file, strlen(file));
    return 0;
}

int loaded_add(struct loaded *loaded, const struct berth_module *outer, const char *file, struct error *err)
{
    struct berth_module module;
    int r = check_module(outer, file, &module, err);
    if (r < 0)
        return r;
    if (module.plugins_len > PLUGINS_MAX - 1 - loaded->plugins.len) /* the last one: QUEUE_REJECTED_BY_NONE */
        return error_set(err, -E2BIG, "%s: more than %d plugins", file, PLUGINS_MAX - 1);
    for (uint32_t i = 0; i < module.plugins_len; i++) {
        r = add_plugin(loaded, &module, i, file, err);
        if (r < 0)
            return r;
    }
    *module.host = &host_table;
    loaded->registry = (struct registry){ loaded->plugins.items, (uint32_t)loaded->plugins.len };
    return 0;
}

void loaded_init(struct loaded *loaded, const struct registry *built_in)
{
    *loaded = (struct loaded){ 0 };
    vec_reserve(&loaded->plugins, PLUGINS_MAX); /* what is read elsewhere does not move when one is added */
    vec_reserve(&loaded->files, PLUGINS_MAX);
    for (uint32_t i = 0; i < built_in->len; i++) {
        *vec_push(&loaded->plugins) = built_in->items[i];
        *vec_push(&loaded->files) = NULL;
    }
    loaded->registry = (struct registry){ loaded->plugins.items, (uint32_t)loaded->plugins.len };
}

void loaded_release(struct loaded *loaded)
{
    vec_release(&loaded->plugins);
    vec_release(&loaded->files);
    arena_release(&loaded->arena);
    loaded->registry = (struct registry){ 0 };
}

const char *loaded_file(const struct loaded *loaded, const struct plugin *plugin)
{
    for (size_t i = 0; i < loaded->plugins.len; i++)
        if (loaded->plugins.items[i] == plugin)
            return loaded->files.items[i];
    return NULL;
}
