/* account.h: reports a decision from a table to the probe as if it had been made plugin by plugin. */
#ifndef ENGINE_ACCOUNT_H
#define ENGINE_ACCOUNT_H

#include "engine/binding.h"
#include "engine/decide.h"

/* The engine reports to `probe`; NULL: to none. Before its first step. */
void engine_watch(struct engine *engine, const struct probe *probe);

/* decide_fast() was called at that time and has decided. Returns when, by the same clock. */
int64_t account_fast(const struct cycle *cycle, const struct choice *choice, int64_t begun_ns);
/* The stage of the binding is over, with that status of its plugins. */
void account_stage(const struct pod_binding *binding, enum status_code code);

#endif
