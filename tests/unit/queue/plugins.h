/* plugins.h: plugins with rules for a few events, for tests of the queue.
 *
 *     Alpha   queues for nodes of the pod's app, and when the pod's own labels change
 *     Beta    queues when any pod is deleted, when the pod itself gets tolerations, and for claims, which are for the
 *             pods of their app
 *     Gamma   queues for pods of the pod's app, and when a node is deleted; used as a plugin that returns Pending
 *     Gate    gates pods with the label gate=closed; checks again when their labels or a node's taints change
 */
#ifndef QUEUE_TEST_PLUGINS_H
#define QUEUE_TEST_PLUGINS_H

#include "support/fixture.h"

#include "api/labels.h"
#include "framework/probe.h"
#include "queue/queue.h"

enum { ALPHA = 1, BETA = 2, GAMMA = 4, GATE = 8 }; /* bits in the order of TEST_PLUGINS */

static inline enum hint same_app(const struct pod *pod, const struct str_map *labels)
{
    const struct str *own = str_map_get(&pod->meta.labels, STR("app")),
                     *other = str_map_get(labels, STR("app"));
    return own && other && str_eq(*own, *other) ? HINT_QUEUE : HINT_SKIP;
}

static inline enum hint hint_node_app(const struct hint_context *context, const struct pod *pod,
                                      const struct cluster_event *event)
{
    (void)context;
    return same_app(pod, &((const struct node *)event->after)->meta.labels);
}

static inline enum hint hint_pod_app(const struct hint_context *context, const struct pod *pod,
                                     const struct cluster_event *event)
{
    (void)context;
    return same_app(pod, &((const struct pod *)event->after)->meta.labels);
}

static inline enum hint hint_own(const struct hint_context *context, const struct pod *pod,
                                 const struct cluster_event *event)
{
    (void)context;
    return pod_is(event->after, pod) ? HINT_QUEUE : HINT_SKIP;
}

static inline bool claim_is_for(const struct pod *pod, const struct cluster_event *event)
{
    return pod && same_app(pod, &((const struct pvc *)event->after)->meta.labels) == HINT_QUEUE;
}

static inline struct status pass_all(struct cycle *cycle, struct node_view node)
{
    (void)cycle, (void)node;
    return STATUS_OK;
}

static inline struct status gate_label(const void *self, const struct pod *pod, struct arena *arena)
{
    (void)self, (void)arena;
    const struct str *gate = str_map_get(&pod->meta.labels, STR("gate"));
    return gate && str_is(*gate, "closed") ? reject(STATUS_UNRESOLVABLE, "the gate is closed") : STATUS_OK;
}

static const struct event_rule alpha_rules[] = { { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL,
                                                   hint_node_app },
                                                 { EVENT_POD, ACTION_POD_LABEL, hint_own },
                                                 { 0 } };
/* What 1.36 adds to them by itself. */
static const struct event_rule alpha_explicit_rules[] = { { EVENT_NODE, ACTION_NODE_TAINT, NULL },
                                                          { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL,
                                                            hint_node_app },
                                                          { EVENT_POD, ACTION_POD_LABEL, hint_own },
                                                          { 0 } };
static const struct event_rule beta_rules[] = { { EVENT_POD, ACTION_DELETE, NULL },
                                                { EVENT_POD, ACTION_POD_TOLERATION, hint_own },
                                                { EVENT_PVC, ACTION_ADD, NULL, .affects = claim_is_for },
                                                { 0 } };
static const struct event_rule gamma_rules[] = { { EVENT_POD, ACTION_ADD, hint_pod_app },
                                                 { EVENT_NODE, ACTION_DELETE, NULL },
                                                 { 0 } };
static const struct event_rule gate_rules[] = { { EVENT_POD, ACTION_POD_LABEL, hint_own },
                                                { EVENT_NODE, ACTION_NODE_TAINT, NULL },
                                                { 0 } };

static const struct plugin plugin_alpha = { .name = "Alpha", .filter = pass_all, .events = alpha_rules };
static const struct plugin plugin_alpha_explicit = { .name = "Alpha",
                                                     .filter = pass_all,
                                                     .events = alpha_explicit_rules };
static const struct plugin plugin_beta = { .name = "Beta", .filter = pass_all, .events = beta_rules };
static const struct plugin plugin_gamma = {
    .name = "Gamma", .filter = pass_all, .events = gamma_rules, .reads = READS("metadata.labels")
};
static const struct plugin plugin_gate = { .name = "Gate", .pre_enqueue = gate_label, .events = gate_rules };

#define TEST_PLUGINS &plugin_alpha, &plugin_beta, &plugin_gamma, &plugin_gate
/* Decide the same in every release. */
#define TEST_PLUGINS_EXPLICIT &plugin_alpha_explicit, &plugin_beta, &plugin_gamma, &plugin_gate

static inline bool by_priority(_unused_ const void *self, const struct pod_info *a, const struct pod_info *b)
{
    return a->priority > b->priority;
}

static inline struct queue_options test_options(struct fixture *f, int64_t now_ns)
{
    return (struct queue_options){
        .profiles = &f->profile,
        .profiles_len = 1,
        .cluster = &f->cluster,
        .less = by_priority,
        .backoff_initial_ns = NS_PER_SECOND,
        .backoff_max_ns = 10 * NS_PER_SECOND,
        .now_ns = now_ns,
    };
}

#endif
