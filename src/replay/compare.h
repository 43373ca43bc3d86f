/* compare.h: a recording under another configuration: what would have been decided instead?
 *
 * Nodes, pods and all else come, change and go as recorded, at the recorded times; where pods go is decided by the
 * other configuration, and stays so: a pod that the recorded scheduler placed is, from then on, where it was placed
 * here, or waits here. Binds, conditions and evictions succeed at once; a pod that the recorded decision evicted as
 * well leaves when it did then. Chance decides among equals as it did then, where they are the same ones.
 *
 * As long as every decision is the recorded one, the engine receives all that the recorded engine did: the same
 * configuration decides the same. From the first decision on that differs, effects are answered here.
 *
 * What it cannot know: pods that the recorded scheduler evicted leave here too, since their end is part of the
 * recording, and those that took their places come here too. Volumes are bound as they were. Where the recorded
 * configuration was changed on the way, the other one stays. Answers come at once here, so times
 * are not compared. */
#ifndef REPLAY_COMPARE_H
#define REPLAY_COMPARE_H

#include "replay/recording.h"

/* One side of the comparison of a pod. */
struct compare_side {
    struct str node;   /* the last one it was sent to; empty: none */
    int64_t placed_ns; /* the first time */
    uint32_t tries;
    struct str message; /* of the last try that failed */
};

struct compare_pod {
    struct str namespace, name, uid;
    struct compare_side recorded, here;
    /* while it goes on */
    struct str bytes;            /* the newest version */
    struct str nominated, bound; /* here */
    bool foreign;                /* another scheduler bound it */
    bool gone;
};

struct compare_sum {
    uint64_t pods, same, moved, only_recorded, only_here, neither;
    uint64_t tries[2], evictions[2], nodes[2]; /* recorded, here */
    uint64_t left_out;    /* pods that were decided and that the other configuration has no profile for */
    struct str scheduler; /* of one of them */
};

struct replay;
struct comparison;

struct comparison *compare_new(struct replay *replay);
void compare_free(struct comparison *comparison);
/* Takes the effects of the engine; an effect_emit. */
void compare_emit(void *comparison, const struct effect *effect);
/* PreBind and Bind of plugins from shared objects are not called, and count as done; an engine_host.takes_work. */
void compare_take_work(void *comparison, struct cycle_work *work);
int compare_entry(struct comparison *comparison, const struct recording_entry *entry, struct error *err);
/* The recording is over: what could still be decided is. */
void compare_end(struct comparison *comparison, int64_t now_ns);
/* Pods that waited for a decision, in the order in which they came. */
const struct compare_pod *const *compare_pods(const struct comparison *comparison, size_t *ret_len);
struct compare_sum compare_sum(const struct comparison *comparison);

#endif
