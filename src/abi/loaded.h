/* loaded.h: plugins from outside, as plugins of the registry.
 *
 *     shared object ── struct berth_module ──loaded_add()──▶ struct plugin, beside the built-in ones
 *
 * Slots go through as they are: the public types are ours by another name (host.c), so a filter from outside costs what
 * a built-in one costs. Only what differs has a step between: init() (arguments, handle), PreBind and
 * Bind (they may block and run elsewhere, see framework/blocking_work.h).
 *
 * The caller opens the file: this layer does no I/O. */
#ifndef ABI_LOADED_H
#define ABI_LOADED_H

#include "framework/profile.h"

struct berth_module;

struct loaded {
    VEC(const struct plugin *) plugins; /* the built-in ones first */
    VEC(const char *) files;            /* as many: where each is from; NULL: built in */
    struct registry registry;           /* of all of them */
    struct arena arena;
};

void loaded_init(struct loaded *loaded, const struct registry *built_in);
/* Adds the plugins of a module, which stays for as long as `loaded`. `file` is for messages. -EINVAL: one sentence. */
int loaded_add(struct loaded *loaded, const struct berth_module *module, const char *file, struct error *err);
void loaded_release(struct loaded *loaded);
/* The file that a plugin is from; NULL: built in. */
const char *loaded_file(const struct loaded *loaded, const struct plugin *plugin);

#endif
