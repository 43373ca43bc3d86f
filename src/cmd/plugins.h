/* plugins.h: plugins from shared objects: --plugin FILE.so and --plugin-dir DIR.
 *
 *     trial in a child process: open all, read the configuration, call each init() ──▶ a crash is a sentence
 *     then the same here, for good
 *
 * A configuration that comes while the scheduler runs is tried as well: reload_trial.h.
 *
 * A plugin that a configuration enables and that is in neither is looked for by its name: NAME.so in the folder of the
 * strategies that berth ships. What is not named is not opened.
 *
 * What is loaded stays until the process ends. Before other threads start, but for strategies. */
#ifndef CMD_PLUGINS_H
#define CMD_PLUGINS_H

#include "cmd/options.h"
#include "cmd/trial.h"
#include "config/config.h"
#include "framework/profile.h"

struct plugin_settings {
    struct texts files, dirs;
};

extern const struct option_row plugin_rows[];

/* Loads what the settings name, after a trial with the configuration at `config` (NULL, "" or "-": without one). */
int plugins_load(const struct plugin_settings *settings, const char *config, struct error *err);
/* Loads the strategies that the text of a configuration enables and that are not there yet. One thread at a time. */
int plugins_open_strategies(struct str config, struct error *err);
/* The two steps of a trial, in its process: loads, and calls each init() that a configuration enables. What they
 * return does not matter to the trial. */
int plugins_open(const struct plugin_settings *settings, struct trial *trial, struct error *err);
void plugins_try(const struct scheduler_config *config, struct trial *trial);
/* Does any profile enable a plugin that was loaded? */
bool plugins_used(const struct scheduler_config *config);
/* The files that were loaded, in their order; they live as long as the process. */
void plugins_list_files(struct texts *ret);
/* The built-in plugins, and what was loaded. */
const struct registry *plugins_registry(void);
/* The file that a plugin is from; NULL: it is built in. */
const char *plugins_file(const struct plugin *plugin);
/* Sentences about plugins that were loaded and that no profile enables. */
void plugins_warn(const struct scheduler_config *config, struct arena *arena, struct warnings *warnings);
void plugin_settings_release(struct plugin_settings *settings);

#endif
