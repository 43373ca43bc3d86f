/* policy_files.h: the folder of --policy-dir, as messages to the core: a ConfigMap that changes when a file does.
 *
 *     worker pool: read all files, twice a second ──▶ other bytes, and the same a while later ──▶ SET ConfigMap
 *
 * The folder may be a mounted ConfigMap, whose files change together. A folder that cannot be read changes nothing. */
#ifndef CMD_POLICY_FILES_H
#define CMD_POLICY_FILES_H

#include "framework/profile.h"
#include "net/loop.h"
#include "sync/inbox.h"

struct policy_files;

/* Reads the folder and checks what is in it. */
int policy_files_new(const char *folder, const struct registry *registry, struct policy_files **ret,
                     struct error *err);
/* What is in effect is posted whenever the core is empty. From any thread. */
void policy_files_post(struct policy_files *files, struct inbox *inbox);
/* Watches from now on. */
void policy_files_start(struct policy_files *files, struct loop *loop, struct inbox *inbox);
/* Nothing is posted when this returns. NULL is fine. */
void policy_files_free(struct policy_files *files);

#endif
