/* policy_folder.h: a folder of files with scheduling policies, as the ConfigMap that it could be mounted from. */
#ifndef INPUT_POLICY_FOLDER_H
#define INPUT_POLICY_FOLDER_H

#include "api/types.h"
#include "base/arena.h"
#include "base/error.h"

/* Its *.yaml, *.yml and *.json, by name; hidden files are passed over. The ConfigMap is named after the folder, has no
 * namespace, and lives in the arena. */
int policy_folder_read(const char *folder, struct arena *arena, struct config_map *ret, struct error *err);

#endif
