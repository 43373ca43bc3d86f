/* pod_kinds.h: the kinds that pods come from, and pods themselves, by the words that kubectl has for them. */
#ifndef INPUT_POD_KINDS_H
#define INPUT_POD_KINDS_H

#include "api/types.h"
#include "base/arena.h"

/* "deploy", "deployments.apps", "Deployment"; KIND_UNKNOWN: it is none of them. */
enum api_kind pod_kind_named(struct str word);
/* The shortest of them. The kind is one of them. */
const char *pod_kind_word(enum api_kind kind);
bool kind_has_pods(enum api_kind kind);

#endif
