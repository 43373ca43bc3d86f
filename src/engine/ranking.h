/* ranking.h: the best nodes of a decision with the score of each plugin, to explain the choice later.
 *
 * Made only where it is wanted (engine_options.ranks): no decision depends on it. All paths give the same. */
#ifndef ENGINE_RANKING_H
#define ENGINE_RANKING_H

#include "framework/run.h"

enum { RANKING_MAX = 4 };

/* The chosen node, and behind it the best others: by total, and by row where that is equal. */
struct ranking {
    uint32_t len;     /* 0: no nodes were compared */
    uint32_t plugins; /* of the Score point */
    uint32_t rows[RANKING_MAX];
    int64_t totals[RANKING_MAX];
    /* Weighted, in the order of the Score point. What they lack of the total is from extenders. */
    int64_t scores[RANKING_MAX][PLUGINS_MAX];
};

void ranking_begin(struct ranking *ranking, const struct profile *profile, uint32_t chosen, int64_t total);
/* A feasible node; each at most once. */
void ranking_offer(struct ranking *ranking, uint32_t row, int64_t total);
/* Would a node with that total have a place, for all that is known of it? */
bool ranking_takes(const struct ranking *ranking, int64_t total);
/* All of it, from the rows of a table. */
void ranking_fill(struct ranking *ranking, const struct profile *profile, uint32_t chosen, int64_t total,
                  const struct score_table *table);

#endif
