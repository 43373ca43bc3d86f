/* compare.h: is the model what the API server has?
 *
 * kube-scheduler compares two copies that it keeps itself. berth keeps one, so that the API server is asked: nodes by
 * name and pods by uid, page by page. What is on its way while the two are read would look like a difference. So a
 * difference counts if it is there COMPARE_LOOKS times, each time with new lists, COMPARE_PAUSE_MS apart.
 *
 *     missed      the API server has it, the model does not. Pods without a node that are for other schedulers are
 *                 none of the model's business
 *     redundant   the other way round */
#ifndef DEBUG_CACHE_COMPARER_H
#define DEBUG_CACHE_COMPARER_H

#include "base/arena.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "engine/engine.h"

enum { COMPARE_LOOKS = 3, COMPARE_PAUSE_MS = 1000 };

typedef VEC(struct str) text_vec;

/* What the model holds. Texts in the arena. */
struct held {
    struct arena arena;
    text_vec nodes, pods, schedulers;
    size_t at; /* how far the table of pods was read */
};

/* On the core thread, from a zeroed one: returns true while there is more to do and step_ns are over. A pod that comes
 * or goes in between may be missed, or be there twice. */
bool held_read(struct held *held, const struct engine *engine, int64_t step_ns);
void held_release(struct held *held);

/* What the API server has. */
struct listed {
    struct arena arena;
    text_vec nodes;
    VEC(struct listed_pod {
        struct str uid;
        struct str scheduler; /* absent: it has a node */
    }) pods;
};

void listed_release(struct listed *listed);

/* Asks the API server, and waits. One at a time for each. -ECANCELED: it was stopped. */
struct lister;
struct lister *lister_new(struct api *api);
void lister_free(struct lister *lister);
int lister_read(struct lister *lister, struct listed *ret, struct error *err);
/* A read that is under way, and any later one, fails at once. From any thread. */
void lister_stop(struct lister *lister);

/* Differences, sorted; texts in the arena. */
struct mismatch {
    struct arena arena;
    text_vec missed_nodes, redundant_nodes, missed_pods, redundant_pods;
};

/* Keeps of a mismatch what is one now, too. The first time (`is_first`) everything that is one is taken. Sorts the
 * lists. */
void mismatch_look(struct mismatch *mismatch, bool is_first, struct listed *listed, struct held *held);
bool mismatch_is_empty(const struct mismatch *mismatch);
/* Writes the lines of kube-scheduler's cache comparer. */
void mismatch_log(const struct mismatch *mismatch);
void mismatch_release(struct mismatch *mismatch);

#endif
