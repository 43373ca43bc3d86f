/* match_index.h: finds the pods that a selector matches, and the terms that match a pod, by label.
 *
 * Owners of labels are listed under each of their labels; owners of affinity terms under one label that each term
 * requires. A selector that requires a label looks at the owners of that label only, and a pod's labels lead to the
 * terms that may select it: candidates, which the caller still has to match. */
#ifndef CLUSTER_MATCH_INDEX_H
#define CLUSTER_MATCH_INDEX_H

#include "base/map.h"
#include "cluster/labels.h"

struct label_owner;
struct term_owner;

typedef VEC(struct label_owner *) owner_vec;
typedef VEC(struct term_owner *) term_vec;

struct match_index {
    struct idmap owners; /* key << 32 | value to owner_vec */
    owner_vec all_owners;
    struct idmap terms;   /* key << 32 | value to term_vec; an owner is there once */
    term_vec loose_terms; /* with a term that requires no label value */
    uint32_t visits;
    owner_vec found_owners; /* by the last search; kept so that a search allocates nothing */
    term_vec found_terms;
};

void match_index_add_owner(struct match_index *index, struct label_owner *owner);
void match_index_remove_owner(struct match_index *index, struct label_owner *owner);
void match_index_add_terms(struct match_index *index, struct term_owner *owner);
void match_index_remove_terms(struct match_index *index, struct term_owner *owner);
void match_index_release(struct match_index *index);

/* Every owner of labels that the selector matches, in any namespace, each once. Valid until the next search. */
const owner_vec *match_owners(struct match_index *index, const struct selector *selector,
                              const struct intern *syms);
/* Every owner of terms of which one may select these labels, each once. Valid until the next search. */
const term_vec *match_terms(struct match_index *index, const struct label_set *labels);

#endif
