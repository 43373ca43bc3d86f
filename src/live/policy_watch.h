/* policy_watch.h: what policies come from, as messages to the core: the ConfigMap of --policy-configmap, and the
 * PriorityClasses that policies name.
 *
 * Neither is among what the stock role of a scheduler may read. A refusal is logged once; it is asked again more and
 * more slowly (sync/reflector.h), and scheduling goes on with what is known. */
#ifndef LIVE_POLICY_WATCH_H
#define LIVE_POLICY_WATCH_H

#include "policy/policies.h"
#include "sync/mirror.h"
#include "sync/reflector.h"

struct policy_watch;

struct policy_watch_options {
    struct api *api;
    struct inbox *inbox;
    const char *namespace, *name; /* of the ConfigMap; NULL: policies come from elsewhere */
    bool plain_lists;             /* as in struct reflector_options */
};

/* Options are copied. */
struct policy_watch *policy_watch_start(const struct policy_watch_options *options);
/* Ends everything and waits for it. NULL is fine. */
void policy_watch_stop(struct policy_watch *watch);
/* Is all there that can be had: each kind was listed, or refused? On the core thread. NULL is fine. */
bool policy_watch_settled(const struct policy_watch *watch, const struct mirror *mirror);
/* Logs which policies name a PriorityClass that is not there. NULL: there are no policies. */
void policy_watch_warn(const struct policy_set *set, const struct cluster *cluster);

#endif
