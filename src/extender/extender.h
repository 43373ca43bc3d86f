/* extender.h: HTTP extenders of the configuration, behind the table of framework/extender.h.
 *
 *     struct extender_config ──▶ ask.h: what it is asked ──▶ call.h: the wait ──▶ reply.h: what it said
 *
 * As kube-scheduler v1.36 does it, with these differences, each for who would be harmed otherwise:
 *   - an answer has a longest length (call.h), and a redirect is an answer with a code that is not 200;
 *   - a node that was not asked about is an error in Nodes as it is in NodeNames; kube-scheduler would bind to it;
 *   - plugins score a node as it is; kube-scheduler forgets the pods of nodes that come back in Nodes;
 *   - a negative httpTimeout is the default one, not none;
 *   - a bind that failed is looked after: the room is given away when the pod was read and has no node. */
#ifndef EXTENDER_EXTENDER_H
#define EXTENDER_EXTENDER_H

#include "framework/extender.h"

struct http_extenders;

struct http_extenders_options {
    const struct scheduler_config *config; /* outlives the extenders */
    /* What came of a bind, on a thread of net/http. */
    void (*on_answer)(void *user, uint64_t ticket, const struct answer *answer);
    /* May a bind leave now? NULL: it may. On the same thread. */
    bool (*may_bind)(void *user);
    void *user;
};

/* Checks certificates, talks to nobody. *ret is NULL where the configuration has no extenders. */
int http_extenders_new(const struct http_extenders_options *options, struct http_extenders **ret,
                       struct error *err);
/* After the engine that uses them. Answers to binds end here. NULL is fine. */
void http_extenders_free(struct http_extenders *all);
/* For engine_options; NULL gives NULL. */
const struct extenders *http_extenders_table(const struct http_extenders *all);

/* The kinds (1 << enum api_kind) of objects that are handed on whole, so that they must keep their bytes. */
uint64_t extenders_whole_kinds(const struct scheduler_config *config);

#endif
