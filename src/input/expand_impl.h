/* expand_impl.h: what the files of the expansion share. */
#ifndef INPUT_EXPAND_IMPL_H
#define INPUT_EXPAND_IMPL_H

#include "input/expand.h"

/* The index that an Indexed Job gave the pod. */
bool expand_parse_index(const struct pod *pod, int64_t *ret);
/* How names of its pods begin. */
struct str expand_index_prefix(struct arena *arena, struct str job, int64_t index);
/* A pod of a StatefulSet is made again: those that are not there yet wait for it. */
void expand_ordinal_lost(struct owner *owner, const struct pod *victim);

#endif
