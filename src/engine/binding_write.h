/* binding_write.h: what plugins write for a pod on its way to a node, and above all the bind.
 *
 *     SENT ──fact──▶ ANSWERED
 *      │ ▲
 *      │ └── unbound, but a lost attempt may still arrive ──┐
 *      └── conflict, or an answer was lost ──▶ READING ─────┤
 *                                                           └── on its node, on another, unbound, gone ──▶ ANSWERED
 *
 * A bind that may have been done is not a failure: the pod is read until it is known where it is. */
#ifndef ENGINE_BINDING_WRITE_H
#define ENGINE_BINDING_WRITE_H

#include "engine/binding.h"

/* A write of the cycle and its answer; lives in the binding's arena. */
struct binding_write {
    struct binding_write *next;
    struct pod_binding *binding;
    struct answer answer;   /* ANSWER_PENDING until it is answered */
    struct write *write;    /* under way; NULL: answered */
    struct effect effect;   /* of a bind, to send it again; texts in the arena */
    struct answer bind;     /* of a bind, while the pod is read */
    uint32_t rounds;        /* how often it was sent again after a look at the pod */
    bool in_doubt;          /* an attempt to bind may have been done ... */
    int64_t doubt_until_ns; /* ... or may be until then */
    int64_t sent_ns;        /* when a bind was first sent; 0: it is none */
};

/* BINDING_ON_ANSWERED follows. */
const struct binding_write *binding_write(struct pod_binding *binding, const struct effect *effect);
/* The watch shows the pod on its node before there is an answer: for metrics. */
void binding_writes_shown(const struct pod_binding *binding, int64_t now_ns);
/* No answer is wanted any more. */
void binding_writes_cancel(struct pod_binding *binding);

#endif
