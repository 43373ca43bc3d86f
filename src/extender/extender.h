/* extender.h: HTTP extenders of the configuration, behind the table of framework/extender.h.
 *
 *     struct extender_config ──▶ ask.h: what it is asked ──▶ call.h: the wait ──▶ reply.h: what it said
 *
 * As kube-scheduler v1.36 does it, with these differences, each for who would be harmed otherwise:
 *   - an answer has a longest length (exchange.h);
 *   - a question whose connection breaks before the answer begins is asked once more;
 *   - a node that was not asked about is an error in Nodes as it is in NodeNames; kube-scheduler would bind to it;
 *   - plugins score a node as it is; kube-scheduler forgets the pods of nodes that come back in Nodes;
 *   - a negative httpTimeout is the default one, not none;
 *   - a bind that failed is looked after: the room is given away when the pod was read and has no node. */
#ifndef EXTENDER_EXTENDER_H
#define EXTENDER_EXTENDER_H

#include "framework/extender.h"

struct http_extenders;

/* Where everybody is who waits for an answer; for all extenders of a process. Once it is closed, who waits waits no
 * longer and no question is asked any more; binds go on. */
struct call_desk;
struct call_desk *extender_desk_new(void);
/* From any thread. */
void extender_desk_close(struct call_desk *desk);
/* After the extenders. NULL is fine. */
void extender_desk_free(struct call_desk *desk);

struct http_extenders_options {
    const struct scheduler_config *config; /* outlives the extenders */
    /* What came of a bind, on a thread of net/http. */
    void (*on_answer)(void *user, uint64_t ticket, const struct answer *answer);
    /* May a bind leave now? NULL: it may. On the same thread. */
    bool (*may_bind)(void *user);
    void *user;
    struct call_desk *desk; /* NULL: one of their own */
    bool binds_nothing;     /* their bind verb is left alone: the Bind plugins have the say */
};

/* How an extender can be asked. */
enum extender_verb {
    EXTENDER_FILTER,
    EXTENDER_PRIORITIZE,
    EXTENDER_PREEMPT,
    EXTENDER_BIND,
    EXTENDER_VERBS_LEN
};
extern const char *const extender_verb_names[EXTENDER_VERBS_LEN];

/* What that came to since the start; a failure is an error in place of an answer, also where it is ignored. */
struct extender_share {
    uint64_t calls, failures;
    int64_t total_ns; /* from the question to the answer; of those asked at once, of each */
};

/* Checks certificates, talks to nobody. *ret is NULL where the configuration has no extenders. */
int http_extenders_new(const struct http_extenders_options *options, struct http_extenders **ret,
                       struct error *err);
/* After the engine that uses them. Answers to binds end here. NULL is fine. */
void http_extenders_free(struct http_extenders *all);
/* For engine_options; NULL gives NULL. */
const struct extenders *http_extenders_table(const struct http_extenders *all);

/* From any thread; `index` as in the table. */
struct extender_share http_extender_share(const struct http_extenders *all, uint32_t index,
                                          enum extender_verb verb);

/* The kinds (1 << enum api_kind) of objects that are handed on whole, so that they must keep their bytes. */
uint64_t extenders_whole_kinds(const struct scheduler_config *config);

#endif
