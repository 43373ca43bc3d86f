/* extender.h: HTTP extenders of the configuration, behind the table of framework/extender.h.
 *
 *     struct extender_config ──▶ args.h: the request ──▶ pending.h: the wait ──▶ reply.h: the answer
 *
 * As kube-scheduler does it, with these differences, each of which prevents harm:
 *   - an answer has a longest length (round_trip.h);
 *   - a request whose connection breaks before the answer begins is sent once more;
 *   - a node that was not in the request is an error in Nodes as it is in NodeNames; kube-scheduler would bind to it;
 *   - plugins score a node as it is; kube-scheduler forgets the pods of nodes that come back in Nodes;
 *   - a negative httpTimeout is the default one, not none;
 *   - after a bind that failed the pod is read: the resources on its node are free only if it has no node. */
#ifndef EXTENDER_EXTENDER_H
#define EXTENDER_EXTENDER_H

#include "framework/extender.h"

struct http_extenders;

/* The requests that the core thread waits for; for all extenders of a process. Once they are closed, they end at once
 * and no new one is sent; binds go on. */
struct pending_requests;
struct pending_requests *pending_requests_new(void);
/* From any thread. */
void pending_requests_close(struct pending_requests *pending);
/* After the extenders. NULL is fine. */
void pending_requests_free(struct pending_requests *pending);

struct http_extenders_options {
    const struct scheduler_config *config; /* outlives the extenders */
    /* What came of a bind, on a thread of http/. */
    void (*on_answer)(void *user, uint64_t ticket, const struct answer *answer);
    /* May a bind leave now? NULL: it may. On the same thread. */
    bool (*may_bind)(void *user);
    void *user;
    struct pending_requests *pending; /* NULL: one of their own */
    bool binds_nothing;               /* bind verbs are ignored: the Bind plugins bind */
};

/* Kinds of requests. */
enum extender_verb {
    EXTENDER_FILTER,
    EXTENDER_PRIORITIZE,
    EXTENDER_PREEMPT,
    EXTENDER_BIND,
    EXTENDER_VERBS_LEN
};
extern const char *const extender_verb_names[EXTENDER_VERBS_LEN];

/* Requests of one kind since the start; a failure is an error in place of an answer, also one that is ignored. */
struct extender_share {
    uint64_t calls, failures;
    int64_t total_ns; /* from request to answer; parallel ones count each */
};

/* Reads certificates, sends nothing. *ret is NULL if the configuration has no extenders. */
int http_extenders_new(const struct http_extenders_options *options, struct http_extenders **ret,
                       struct error *err);
/* After the engine that uses them. Answers to binds end here. NULL is fine. */
void http_extenders_free(struct http_extenders *all);
/* For engine_options; NULL gives NULL. */
const struct extenders *http_extenders_table(const struct http_extenders *all);

/* From any thread; `index` as in the table. */
struct extender_share http_extender_share(const struct http_extenders *all, uint32_t index,
                                          enum extender_verb verb);

/* The kinds (1 << enum api_kind) of objects that are sent as full objects, so that they must keep their bytes. */
uint64_t extenders_source_kinds(const struct scheduler_config *config);

#endif
