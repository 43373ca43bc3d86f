/* plugins.c: opens shared objects; see plugins.h. */
#include "cmd/plugins.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/host.h"
#include "abi/loaded.h"
#include "cmd/crash.h"
#include "input/config_folder.h"
#include "net/file.h"
#include "observe/families.h"
#include "plugins/registry.h"

const struct option_row plugin_rows[] = {
    { 0, "plugin", "FILE.so", OPTION_TEXTS, offsetof(struct plugin_settings, files),
      "Load the plugins of a shared object; the configuration enables them. May be given again." },
    { 0, "plugin-dir", "DIR", OPTION_TEXTS, offsetof(struct plugin_settings, dirs),
      "The same for every .so file of a folder." },
    { 0 },
};

enum { CONFIG_BYTES_MAX = 16 << 20 };

/* One for the process, as what dlopen() brings in is. A plugin that is found by name may be added while other threads
 * ask for the file of one. */
static struct loaded loaded;
static bool loaded_ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void prepare(void)
{
    if (loaded_ready)
        return;
    loaded_init(&loaded, &builtin_plugins);
    host_metrics_reserve(families_table(), FAMILY_COUNT);
    loaded_ready = true;
}

const struct registry *plugins_registry(void)
{
    prepare();
    return &loaded.registry;
}

const char *plugins_file(const struct plugin *plugin)
{
    prepare();
    pthread_mutex_lock(&lock);
    const char *file = loaded_file(&loaded, plugin);
    pthread_mutex_unlock(&lock);
    return file;
}

/* ---- files ---- */
/* What dlopen() says, without the path that it begins with more often than not. */
static int open_failed(const char *file, const char *opened, struct error *err)
{
    const char *why = dlerror();
    size_t len = strlen(opened);
    if (why && strncmp(why, opened, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2;
    return error_set(err, -EINVAL, "%s: cannot be loaded: %s", file, why ? why : "no reason is given");
}

static int open_file(const char *file, struct trial *trial, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    trial_note(trial, "while it was loaded", "%s:", file);
    /* A name without a slash would be looked for in the system's folders. */
    strbuf_printf(&path, "%s%s", strchr(file, '/') ? "" : "./", file);
    if (access(path.text, R_OK) < 0)
        return error_set(err, -errno, "%s: cannot be read: %s", file, strerror(errno));
    void *handle = dlopen(path.text, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return open_failed(file, path.text, err);
    const struct berth_module *module = dlsym(handle, "berth_module");
    if (!module)
        return error_set(err, -EINVAL, "%s: has no symbol berth_module: no BERTH_PLUGINS() in it", file);
    pthread_mutex_lock(&lock);
    int r = loaded_add(&loaded, module, file, err);
    pthread_mutex_unlock(&lock);
    if (r == 0 && !trial)
        crash_watch(module, file);
    return r;
}

static int is_shared_object(const struct dirent *entry)
{
    return str_ends_with(str_from(entry->d_name), STR(".so"));
}

/* Another name of a file in the same folder: the plugins in it are opened once. */
static bool is_alias(const char *dir, const char *path)
{
    char target[PATH_MAX];
    struct stat info;
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    if (len <= 0 || memchr(target, '/', (size_t)len))
        return false;
    target[len] = '\0';
    _cleanup_(strbuf_release) struct strbuf other = { 0 };
    strbuf_printf(&other, "%s/%s", dir, target);
    return str_ends_with(strbuf_slice(&other), STR(".so")) && stat(other.text, &info) == 0;
}

static int open_dir(const char *dir, struct trial *trial, struct error *err)
{
    struct dirent **entries;
    int len = scandir(dir, &entries, is_shared_object, alphasort);
    if (len < 0)
        return error_set(err, -errno, "%s: cannot be read: %s", dir, strerror(errno));
    int r = len ? 0 : error_set(err, -ENOENT, "%s: holds no .so file", dir);
    for (int i = 0; i < len; i++) {
        _cleanup_(strbuf_release) struct strbuf path = { 0 };
        strbuf_printf(&path, "%s/%s", dir, entries[i]->d_name);
        if (r == 0 && !is_alias(dir, path.text))
            r = open_file(path.text, trial, err);
        free(entries[i]);
    }
    free(entries);
    return r;
}

int plugins_open(const struct plugin_settings *settings, struct trial *trial, struct error *err)
{
    int r = 0;
    prepare();
    for (size_t i = 0; i < settings->files.len && r == 0; i++)
        r = open_file(settings->files.items[i], trial, err);
    for (size_t i = 0; i < settings->dirs.len && r == 0; i++)
        r = open_dir(settings->dirs.items[i], trial, err);
    return r;
}

/* ---- plugins that berth ships ---- */
/* Built, but not installed: the folder is beside the program. */
static const char *strategies_dir(void)
{
    static const char name[] = "strategies";
    static char beside[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", beside, sizeof(beside) - sizeof(name));
    char *slash = len > 0 ? memrchr(beside, '/', (size_t)len) : NULL;
    if (slash)
        memcpy(slash + 1, name, sizeof(name));
    return slash && access(beside, X_OK) == 0 ? beside : BERTH_STRATEGIES_DIR;
}

static bool is_loaded(struct str name)
{
    for (uint32_t i = 0; i < loaded.registry.len; i++)
        if (str_is(name, loaded.registry.items[i]->name))
            return true;
    return false;
}

/* The file of a strategy that is not loaded yet; empty: there is none. */
static void find_strategy(struct str name, struct strbuf *ret)
{
    strbuf_clear(ret);
    if (is_loaded(name) || memchr(name.ptr, '/', name.len))
        return;
    strbuf_printf(ret, "%s/" STR_FMT ".so", strategies_dir(), STR_ARG(name));
    if (access(ret->text, R_OK) < 0)
        strbuf_clear(ret);
}

static int open_strategies(struct str config, struct trial *trial, bool only_look, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    struct config_names names = { 0 };
    struct arena arena = { 0 };
    int r = 0;
    prepare();
    config_plugin_names(config, &arena, &names);
    vec_for(&names, name) {
        find_strategy(*name, &path);
        if (path.len && r == 0)
            r = only_look ? 1 : open_file(path.text, trial, err);
    }
    vec_release(&names);
    arena_release(&arena);
    return r;
}

int plugins_open_strategies(struct str config, struct error *err)
{
    return open_strategies(config, NULL, false, err);
}

static bool is_strategy(const char *file)
{
    char path[PATH_MAX], dir[PATH_MAX];
    return realpath(file, path) && realpath(strategies_dir(), dir) &&
           str_starts_with(str_from(path), str_from(dir));
}

/* ---- the trial ---- */
static bool is_enabled(const struct profile_config *profile, uint32_t plugin)
{
    for (int point = 0; point < POINT_COUNT; point++)
        for (uint32_t i = 0; i < profile->points[point].len; i++)
            if (profile->points[point].items[i].index == plugin)
                return true;
    return false;
}

static void try_profile(const struct profile_config *config, struct trial *trial)
{
    struct cluster cluster;
    struct profile profile = { .scheduler_name = config->scheduler_name };
    cluster_init(&cluster);
    for (uint32_t i = 0; i < loaded.plugins.len; i++) {
        const struct plugin *plugin = loaded.plugins.items[i];
        void *self = NULL;
        struct error ignored;
        if (!loaded.files.items[i] || !is_enabled(config, i))
            continue;
        trial_note(trial, "in init()", "%s: plugin \"%s\"", loaded.files.items[i], plugin->name);
        const struct plugin_env env = {
            .plugin = plugin,
            .cluster = &cluster,
            .arena = &profile.arena,
            .written_args = profile_plugin_args(config, str_from(plugin->name)),
            .profile = &profile,
        };
        (void)plugin->init(&env, &self, &ignored);
    }
}

void plugins_try(const struct scheduler_config *config, struct trial *trial)
{
    list_for(&config->profiles, profile)
        try_profile(profile, trial);
}

struct rehearsal {
    const struct plugin_settings *settings;
    const char *config;
    struct str text; /* of the configuration */
};

/* In the child. What is wrong in other ways than a crash is found again here, by the parent. */
static void rehearse(struct trial *trial, void *context)
{
    const struct rehearsal *rehearsal = context;
    struct arena arena = { 0 };
    struct scheduler_config config;
    struct error ignored;
    if (plugins_open(rehearsal->settings, trial, &ignored) < 0 ||
        open_strategies(rehearsal->text, trial, false, &ignored) < 0 || !rehearsal->text.len)
        return;
    struct plugin_catalog catalog = registry_catalog(&loaded.registry, &arena);
    const struct config_env env = { .catalog = &catalog };
    if (config_load(rehearsal->config, &env, &arena, &config, NULL, &ignored) < 0)
        return;
    plugins_try(&config, trial);
}

/* The text of a configuration file. One that cannot be read is reported where it is read as a configuration. */
static const char *read_config(const char *path, struct arena *arena, struct strbuf *ret)
{
    struct error ignored;
    const char *file = NULL;
    if (path && path[0] && strcmp(path, "-") != 0 &&
        config_folder_resolve(path, arena, &file, NULL, &ignored) == 0)
        (void)file_read(file, CONFIG_BYTES_MAX, ret, &ignored);
    return file;
}

int plugins_load(const struct plugin_settings *settings, const char *config, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    _cleanup_(arena_release) struct arena arena = { 0 };
    const char *file = read_config(config, &arena, &text);
    struct rehearsal rehearsal = { settings, file, strbuf_slice(&text) };
    if (!settings->files.len && !settings->dirs.len && !open_strategies(rehearsal.text, NULL, true, err))
        return 0;
    int r = trial_run(rehearse, &rehearsal, err);
    if (r == 0)
        r = plugins_open(settings, NULL, err);
    return r < 0 ? r : open_strategies(rehearsal.text, NULL, false, err);
}

static bool enables(const struct scheduler_config *config, uint32_t plugin)
{
    list_for(&config->profiles, profile)
        if (is_enabled(profile, plugin))
            return true;
    return false;
}

bool plugins_used(const struct scheduler_config *config)
{
    for (uint32_t i = 0; i < loaded.plugins.len; i++)
        if (loaded.files.items[i] && enables(config, i))
            return true;
    return false;
}

void plugins_list_files(struct texts *ret)
{
    for (uint32_t i = 0; i < loaded.files.len; i++) {
        const char *file = loaded.files.items[i];
        bool same = file && i && loaded.files.items[i - 1] && strcmp(file, loaded.files.items[i - 1]) == 0;
        if (file && !same)
            *vec_push(ret) = file;
    }
}

void plugins_warn(const struct scheduler_config *config, struct arena *arena, struct warnings *warnings)
{
    prepare();
    for (uint32_t i = 0; i < loaded.plugins.len; i++) {
        if (loaded.files.items[i] && !is_strategy(loaded.files.items[i]) && !enables(config, i))
            *vec_push(&warnings->list) =
                arena_printf(arena, "plugin \"%s\" of %s is loaded, but no profile enables it",
                             loaded.plugins.items[i]->name, loaded.files.items[i]);
    }
}

void plugin_settings_release(struct plugin_settings *settings)
{
    texts_release(&settings->files);
    texts_release(&settings->dirs);
}
