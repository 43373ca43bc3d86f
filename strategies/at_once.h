/* at_once.h: the slots for one node and for many, from one function.
 *
 *     AT_ONCE int64_t score_of(const struct state *state, struct berth_node_view node) { ... }
 *     SCORE_SLOTS(state_of, score_of)                  score, score_nodes
 *
 * state_of(cycle) is what score_of() gets; it is called once for many nodes. */
#ifndef STRATEGIES_AT_ONCE_H
#define STRATEGIES_AT_ONCE_H

#include <berth/plugin.h>

/* Inlined into both slots: a view that is passed on by value is written in parts and read at once, which is slow. */
#define AT_ONCE static inline __attribute__((always_inline))

#define SCORE_SLOTS(state_of, score_of) \
    static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret) \
    { \
        *ret = score_of(state_of(cycle), node); \
        return BERTH_OK; \
    } \
    static void score_nodes(struct berth_cycle *cycle, struct berth_rows rows, int64_t *ret) \
    { \
        __auto_type state_ = state_of(cycle); \
        struct berth_node_view node_ = { berth_cycle_cluster(cycle), 0, NULL }; \
        for (uint32_t i_ = 0; i_ < rows.len; i_++) { \
            node_.row = rows.items[i_]; \
            ret[i_] = score_of(state_, node_); \
        } \
    }

/* judge() returns a struct berth_status. */
#define FILTER_SLOTS(state_of, judge) \
    static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node) \
    { \
        return judge(state_of(cycle), node); \
    } \
    static void filter_nodes(struct berth_cycle *cycle, struct berth_rows rows, bool *ret_fits) \
    { \
        __auto_type state_ = state_of(cycle); \
        struct berth_node_view node_ = { berth_cycle_cluster(cycle), 0, NULL }; \
        for (uint32_t i_ = 0; i_ < rows.len; i_++) { \
            node_.row = rows.items[i_]; \
            ret_fits[i_] = judge(state_, node_).code == BERTH_SUCCESS; \
        } \
    }

/* The plugin is enabled at Score but not at Filter, so that it rejects nothing. */
static inline bool scores_only(const struct berth_handle *handle)
{
    return berth_enabled_at(handle, "score") && !berth_enabled_at(handle, "filter");
}

#endif
