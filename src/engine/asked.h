/* asked.h: plugins without row forms in a fast decision: asked one node at a time, about the nodes that matter only.
 *
 *     table of the others ──▶ rows that they let through ──▶ filter(row) of the asked ──▶ ballot, scores, best row
 *
 * PreFilter and PreScore of the asked run once per decision, as on the plain path. A pod that PreFilter refuses, or
 * whose nodes it narrows, takes the plain path; so does one for which an asked plugin fails: that path says which
 * failure came first. */
#ifndef ENGINE_ASKED_H
#define ENGINE_ASKED_H

#include "index/table.h"

struct asked_filter {
    const struct plugin_instance *instance;
    uint32_t place; /* in the order of the Filter point */
};

struct asked {
    uint64_t plugins; /* that are asked, by index in the profile */
    struct asked_filter filters[PLUGINS_MAX];
    uint32_t filters_len;
    bool
        filters_last; /* behind all filters that have forms: rows that those refuse need not be asked about */
    bool scores;      /* somebody may score */
};

#define PLACE_LAST UINT32_MAX

/* Asks PreFilter. False: the pod needs the plain path. */
bool asked_begin(struct asked *asked, const struct table *table, struct cycle *cycle);
/* The place of a part's filter. */
uint32_t asked_place(const struct table *table, const struct table_part *part);
/* Asks the filters that come before `place`: Success, or the first that is not. */
struct status asked_row(const struct asked *asked, struct cycle *cycle, uint32_t row, uint32_t place);
/* Asks PreScore; `lister` makes the rows if anybody wants them. Clears asked->scores where nobody will score. False:
 * the pod needs the plain path. */
bool asked_pre_scores(struct asked *asked, struct cycle *cycle, struct row_lister *lister);
/* Adds what the asked give to the rows' totals. `ret_given` (may be NULL) gets it by the place of the plugin in the
 * Score point, row by row and not weighted, in the cycle's arena; NULL: it was not asked. False: likewise. */
bool asked_scores(const struct asked *asked, struct cycle *cycle, struct row_list rows, int64_t *totals,
                  int64_t **ret_given);

#endif
