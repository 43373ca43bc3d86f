/* loaded.c: from a module's descriptors to struct plugin; see loaded.h. */
#include "abi/loaded.h"

#include <stdlib.h>

#include "abi/host.h"
#include "abi/loaded_args.h"
#include "framework/blocking_work.h"

struct loaded_plugin {
    struct plugin plugin;
    struct berth_plugin outer; /* as large as we know it; what an older plugin does not have is NULL */
    const struct record_type *args;
};

static const struct loaded_plugin *loaded_of(const struct plugin *plugin)
{
    return container_of(plugin, struct loaded_plugin, plugin);
}

/* ---- slots with a step between ---- */
static int init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    const struct loaded_plugin *loaded = loaded_of(env->plugin);
    struct berth_handle *handle = arena_new(env->arena, struct berth_handle);
    *handle = (struct berth_handle){ &env->profile->mailbox, env->plugin };
    struct berth_env outer = {
        .cluster = env->cluster,
        .scheduler_name = { env->profile->scheduler_name.ptr, env->profile->scheduler_name.len },
        .arena = env->arena,
        .handle = handle,
    };
    int r = loaded_args_decode(loaded->args, &loaded->outer, env->written_args, env->arena, &outer, err);
    if (r < 0 || !loaded->outer.init)
        return r;
    struct berth_error why = { "" };
    host_metrics_for(env->plugin);
    r = loaded->outer.init(&outer, ret_self, &why);
    host_metrics_for(NULL);
    if (r >= 0)
        return 0;
    why.text[sizeof(why.text) - 1] = '\0';
    return error_set(err, -EINVAL, "%s", why.text[0] ? why.text : "failed, and does not say why");
}

static struct status pre_bind(struct cycle *cycle, uint32_t row)
{
    return work_run(cycle, row, false, (work_call)(void *)loaded_of(cycle->current->plugin)->outer.pre_bind);
}

static struct status bind(struct cycle *cycle, uint32_t row)
{
    return work_run(cycle, row, true, (work_call)(void *)loaded_of(cycle->current->plugin)->outer.bind);
}

/* Slots that go through as they are, by name. */
#define DIRECT_SLOTS(X) \
    X(release) \
    X(forget) \
    X(pre_enqueue) \
    X(less) \
    X(pre_filter) \
    X(add_pod) \
    X(remove_pod) \
    X(filter) \
    X(post_filter) \
    X(pre_score) \
    X(score) \
    X(normalize) \
    X(reserve) \
    X(unreserve) \
    X(permit) \
    X(pre_bind_pre_flight) \
    X(post_bind) \
    X(events) \
    X(reads)

static void translate(struct loaded_plugin *loaded)
{
    const struct berth_plugin *outer = &loaded->outer;
    loaded->plugin = (struct plugin){ .name = outer->name,
                                      .doc = outer->doc ? outer->doc : "",
                                      .init = init,
                                      .pre_bind = outer->pre_bind ? pre_bind : NULL,
                                      .bind = outer->bind ? bind : NULL,
#define X(slot) .slot = (__typeof__(loaded->plugin.slot))(void *)outer->slot,
                                      DIRECT_SLOTS(X)
#undef X
    };
}

/* ---- what is checked ---- */
static int check_module(const struct berth_module *module, const char *file, struct error *err)
{
    if (module->abi != BERTH_ABI)
        return error_set(err, -EINVAL,
                         "%s: built for version %u of the plugin ABI; this berth has version %u", file,
                         module->abi, (unsigned)BERTH_ABI);
    if (module->host_size > sizeof(struct berth_host) || module->plugin_size > sizeof(struct berth_plugin) ||
        module->size > sizeof(struct berth_module))
        return error_set(err, -EINVAL, "%s: built against a newer berth/plugin.h than this berth has", file);
    if (!module->host || !module->plugins || !module->plugins_len)
        return error_set(err, -EINVAL, "%s: holds no plugin", file);
    return 0;
}

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
        r = loaded_args_type(&own->outer, &loaded->arena, &own->args, file, err);
    if (r < 0)
        return r;
    translate(own);
    if (!plugin_points(&own->plugin))
        return error_set(err, -EINVAL, "%s: plugin \"%s\" takes part in no extension point", file,
                         own->plugin.name);
    *vec_push(&loaded->plugins) = &own->plugin;
    *vec_push(&loaded->files) = arena_strndup(&loaded->arena, file, strlen(file));
    return 0;
}

int loaded_add(struct loaded *loaded, const struct berth_module *module, const char *file, struct error *err)
{
    int r = check_module(module, file, err);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < module->plugins_len; i++) {
        r = add_plugin(loaded, module, i, file, err);
        if (r < 0)
            return r;
    }
    if (loaded->plugins.len > PLUGINS_MAX)
        return error_set(err, -E2BIG, "%s: more than %d plugins", file, PLUGINS_MAX);
    *module->host = &host_table;
    loaded->registry = (struct registry){ loaded->plugins.items, (uint32_t)loaded->plugins.len };
    return 0;
}

void loaded_init(struct loaded *loaded, const struct registry *built_in)
{
    *loaded = (struct loaded){ 0 };
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
