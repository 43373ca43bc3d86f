/* account.h: what a decision from a table has done, told to the probe as if it had been done plugin by plugin. */
#ifndef ENGINE_ACCOUNT_H
#define ENGINE_ACCOUNT_H

#include "engine/binding.h"
#include "engine/decide.h"

/* From where on `probe` is told what happens; NULL: nobody. Before the engine's first step. */
void engine_watch(struct engine *engine, const struct probe *probe);

/* decide_fast() was called at that time and has decided. */
void account_fast(const struct cycle *cycle, const struct choice *choice, int64_t begun_ns);
/* The stage that the binding is in is over, with that verdict of all its plugins. */
void account_stage(const struct pod_binding *binding, enum status_code code);

#endif
