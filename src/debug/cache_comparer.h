/* cache_comparer.h: is the model what the API server has?
 *
 * kube-scheduler compares two copies that it keeps itself. berth keeps one, so it lists the API server: nodes by name
 * and pods by uid, page by page. What changes while the two are read would look like a difference. So a difference
 * counts if it is there COMPARE_LOOKS times, each time with new lists, COMPARE_PAUSE_MS apart.
 *
 *     missed      the API server has it, the model does not. Pods without a node that are for other schedulers do not
 *                 belong in the model
 *     redundant   the other way round */
#ifndef DEBUG_CACHE_COMPARER_H
#define DEBUG_CACHE_COMPARER_H

#include "base/arena.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "engine/engine.h"

enum { COMPARE_LOOKS = 3, COMPARE_PAUSE_MS = 1000 };

typedef VEC(struct str) text_vec;

/* What is compared: names of nodes, uids of pods. */
enum { COMPARED_NODES, COMPARED_PODS, COMPARED_KINDS };

struct compared {
    struct arena arena;
    text_vec lists[COMPARED_KINDS];
    text_vec schedulers; /* of the model: whose pods are in it before they have a node */
    size_t at;           /* of the model: how far the table of pods was read */
};

void compared_release(struct compared *compared);

/* What the model holds. On the core thread, from a zeroed one: returns true while there is more to do and step_ns are
 * over. A pod that comes or goes in between may be missed, or be there twice. */
bool held_read(struct compared *held, const struct engine *engine, int64_t step_ns);

/* What the API server has. Waits for it; one at a time for each lister. -ECANCELED: it was stopped. */
struct lister;
struct lister *lister_new(struct api *api);
void lister_free(struct lister *lister);
int lister_read(struct lister *lister, const struct compared *held, struct compared *ret, struct error *err);
/* Adds an object, if it should be in the model. */
void listed_add(struct compared *listed, const struct compared *held, const struct object *object);
/* A read that is under way, and any later one, fails at once. From any thread. */
void lister_stop(struct lister *lister);

/* Differences, sorted; texts in the arena. */
struct mismatch {
    struct arena arena;
    text_vec missed[COMPARED_KINDS], redundant[COMPARED_KINDS];
};

/* Keeps of a mismatch what is one now, too. The first time (`is_first`) everything that is one is taken. Sorts the
 * lists. */
void mismatch_look(struct mismatch *mismatch, bool is_first, struct compared *listed, struct compared *held);
bool mismatch_is_empty(const struct mismatch *mismatch);
/* Writes the lines of kube-scheduler's cache comparer. */
void mismatch_log(const struct mismatch *mismatch);
void mismatch_release(struct mismatch *mismatch);

#endif
