/* ranking.c: see ranking.h. */
#include "engine/ranking.h"

void ranking_begin(struct ranking *ranking, const struct profile *profile, uint32_t chosen, int64_t total)
{
    ranking->len = 1;
    ranking->plugins = profile->points[POINT_SCORE].len;
    ranking->rows[0] = chosen;
    ranking->totals[0] = total;
    memset(ranking->scores, 0, sizeof(ranking->scores));
}

bool ranking_takes(const struct ranking *ranking, int64_t total)
{
    return ranking->len < RANKING_MAX || total >= ranking->totals[ranking->len - 1];
}

void ranking_offer(struct ranking *ranking, uint32_t row, int64_t total)
{
    uint32_t at = ranking->len;
    if (row == ranking->rows[0])
        return;
    while (at > 1 && (total > ranking->totals[at - 1] ||
                      (total == ranking->totals[at - 1] && row < ranking->rows[at - 1])))
        at--;
    if (at == RANKING_MAX)
        return;
    ranking->len = MIN(ranking->len + 1, (uint32_t)RANKING_MAX);
    for (uint32_t i = ranking->len - 1; i > at; i--) {
        ranking->rows[i] = ranking->rows[i - 1];
        ranking->totals[i] = ranking->totals[i - 1];
    }
    ranking->rows[at] = row;
    ranking->totals[at] = total;
}

void ranking_fill(struct ranking *ranking, const struct profile *profile, uint32_t chosen, int64_t total,
                  const struct score_table *table)
{
    ranking_begin(ranking, profile, chosen, total);
    for (uint32_t i = 0; i < table->rows.len; i++)
        if (ranking_takes(ranking, table->totals[i]))
            ranking_offer(ranking, table->rows.items[i], table->totals[i]);
    for (uint32_t i = 0; table->scores && i < table->rows.len; i++)
        for (uint32_t k = 0; k < ranking->len; k++)
            if (table->rows.items[i] == ranking->rows[k])
                memcpy(ranking->scores[k], table->scores + (size_t)i * table->plugins,
                       table->plugins * sizeof(*table->scores));
}
