/* ask.h: what an extender is asked, as JSON: ExtenderArgs, ExtenderPreemptionArgs and ExtenderBindingArgs of
 * k8s.io/kube-scheduler/extender/v1, whose fields have no names but Go's. */
#ifndef EXTENDER_ASK_H
#define EXTENDER_ASK_H

#include "framework/extender.h"
#include "preempt/preempt.h"

/* Filter and prioritize. An extender with a cache of its own is told names, another one gets the nodes whole. */
int ask_nodes(struct strbuf *out, const struct cycle *cycle, struct row_list nodes, bool node_names,
              struct error *err);
/* Likewise with the victims. */
int ask_preempt(struct strbuf *out, const struct cycle *cycle, const struct preempt_candidate *candidates,
                uint32_t len, bool node_names, struct error *err);
void ask_bind(struct strbuf *out, const struct effect *bind);

#endif
