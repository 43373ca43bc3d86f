/* plugin_mail.h: what threads of plugins have to say becomes true, on the core thread. */
#ifndef ENGINE_PLUGIN_MAIL_H
#define ENGINE_PLUGIN_MAIL_H

#include "engine/engine.h"

/* The engine reads the box of the profile from now on. */
void plugin_mail_open(struct engine *engine, struct profile *profile);
/* Reads all there is. */
void plugin_mail_read(struct engine *engine, int64_t now_ns);
/* What was said when it was recorded: it is read before the next decision, in the order of these calls. Takes the mail
 * over. */
void plugin_mail_replay(struct engine *engine, struct mail *mail);
bool plugin_mail_waits(const struct engine *engine);

#endif
