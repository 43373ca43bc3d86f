/* incomplete.h: what pods refer to and the input does not have.
 *
 * A cluster has it, or would not have let the pod in. An answer without it is about another cluster: one warning for
 * each kind says what it changes, and which command prints what is missing. */
#ifndef INPUT_INCOMPLETE_H
#define INPUT_INCOMPLETE_H

#include "input/expand.h"

/* Makes the Namespaces that objects are in and that are not in the input: all that is known of them is the label with
 * their name. If the input has Namespaces, this is done for written objects only, which have no uid: those of an API
 * server are complete. */
void incomplete_add_namespaces(struct load *load);
typedef VEC(const struct pod *) undecided_vec;

/* Of the pods that are to be decided, a line on standard error for each kind that is missing. With `is_live` the
 * objects are those of a cluster: what it does not have does not exist. */
void incomplete_warn(struct expansion *expansion, const undecided_vec *pods, bool is_live);

#endif
