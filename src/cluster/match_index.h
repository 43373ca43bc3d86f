/* match_index.h: who may match whom, without asking everybody.
 *
 * Owners of labels are listed under each of their labels; owners of affinity terms under one label that each term
 * requires. A selector that requires a label looks at the owners of that label only, and a pod's labels lead to the
 * terms that may select it. What is found are candidates: the full match is still asked. */
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
    struct idmap terms;   /* key << 32 | value to term_vec; an owner may be there several times */
    term_vec loose_terms; /* with a term that requires no label value */
    uint32_t visits;
};

void match_index_add_owner(struct match_index *index, struct label_owner *owner);
void match_index_remove_owner(struct match_index *index, struct label_owner *owner);
void match_index_add_terms(struct match_index *index, struct term_owner *owner);
void match_index_remove_terms(struct match_index *index, struct term_owner *owner);
void match_index_release(struct match_index *index);

/* Appends every owner of labels that the selector matches (namespaces are the caller's business), each once. */
void match_owners(const struct match_index *index, const struct selector *selector, const struct intern *syms,
                  owner_vec *ret);
/* Appends every owner of terms of which one may select these labels, each once. */
void match_terms(struct match_index *index, const struct label_set *labels, term_vec *ret);

#endif
