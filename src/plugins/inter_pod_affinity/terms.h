/* terms.h: what the two forms of InterPodAffinity share. */
#ifndef PLUGINS_INTER_POD_AFFINITY_TERMS_H
#define PLUGINS_INTER_POD_AFFINITY_TERMS_H

#include "index/table.h"

#define AFFINITY_NOT_MATCHED "node(s) didn't match pod affinity rules"
#define ANTI_AFFINITY_NOT_MATCHED "node(s) didn't match pod anti-affinity rules"
#define OTHERS_ANTI_AFFINITY "node(s) didn't satisfy existing pods anti-affinity rules"

struct affinity_self {
    int32_t hard_weight; /* of required affinity terms of running pods, in scoring */
    bool ignore_preferred_of_others;
};

extern const struct row_forms affinity_rows;

/* Do all of the incoming pod's terms select these labels? No terms select nothing. */
static inline bool terms_all_match(const struct cluster *cluster, const struct pod_terms *terms,
                                   const struct label_owner *owner)
{
    for (uint32_t i = 0; i < terms->len; i++)
        if (!pod_term_matches(cluster, &terms->items[i], owner, true))
            return false;
    return terms->len > 0;
}

#endif
