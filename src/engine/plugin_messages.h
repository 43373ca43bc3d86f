/* plugin_messages.h: messages of plugins' threads take effect, on the core thread. */
#ifndef ENGINE_PLUGIN_MESSAGES_H
#define ENGINE_PLUGIN_MESSAGES_H

#include "engine/engine.h"

/* The engine reads the mailbox of the profile from now on. */
void plugin_messages_open(struct engine *engine, struct profile *profile);
/* Reads all there is. */
void plugin_messages_read(struct engine *engine, int64_t now_ns);
/* Is a message there that has not been read? */
bool plugin_messages_wait(const struct engine *engine);

#endif
