/* config_folder.h: --config that names a folder.
 *
 * A ConfigMap that is mounted at the path of a file makes that path a folder, with a file per key. If exactly one of
 * its files is a KubeSchedulerConfiguration, there is no doubt which one is meant. */
#ifndef INPUT_CONFIG_FOLDER_H
#define INPUT_CONFIG_FOLDER_H

#include "config/config.h"

/* *ret is the path, or that of the only configuration in the folder, which lives in the arena, with a warning. A folder
 * with none or several is an error that names them. `path` may be NULL; so may `warnings`. */
int config_folder_resolve(const char *path, struct arena *arena, const char **ret, struct warnings *warnings,
                          struct error *err);

#endif
