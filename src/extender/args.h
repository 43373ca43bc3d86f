/* args.h: bodies of requests to an extender, as JSON: ExtenderArgs, ExtenderPreemptionArgs and ExtenderBindingArgs of
 * k8s.io/kube-scheduler/extender/v1, whose fields have Go's names. */
#ifndef EXTENDER_ARGS_H
#define EXTENDER_ARGS_H

#include "framework/extender.h"
#include "preempt/preempt.h"

/* Filter and prioritize. An extender that is nodeCacheCapable gets names, another one full nodes. */
int args_nodes(struct strbuf *out, const struct cycle *cycle, struct row_list nodes, bool node_names,
               struct error *err);
/* The same for victims. */
int args_preempt(struct strbuf *out, const struct cycle *cycle, const struct preempt_candidate *candidates,
                 uint32_t len, bool node_names, struct error *err);
void args_bind(struct strbuf *out, const struct effect *bind);

#endif
