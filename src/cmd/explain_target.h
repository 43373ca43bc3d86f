/* explain_target.h: the pod that a user means, as with kubectl.
 *
 *     web  shop/web  pod/web  pod/shop/web    a pod, in the namespace of -n, the one that is given, that of the
 *                                             kubeconfig's context, or default
 *     deploy/web  sts/shop/db  ds/...         a pod of the template of a workload
 *
 * A name without a namespace that exists in one other namespace alone is taken from there. */
#ifndef CMD_EXPLAIN_TARGET_H
#define CMD_EXPLAIN_TARGET_H

#include "input/input.h"

struct target {
    enum api_kind kind;
    struct str namespace; /* empty: not given */
    struct str name;
    struct str usual; /* the namespace in which a name is looked up first; empty: default */
};

/* The namespace of the target, or the one in which its name is looked up first. */
static inline struct str target_namespace(const struct target *target)
{
    struct str usual = target->usual.len ? target->usual : STR("default");
    return target->namespace.len ? target->namespace : usual;
}

/* `namespace`: of -n, or NULL. */
int target_parse(const char *text, const char *namespace, struct target *ret, struct error *err);
/* The pod of the input, or one that its controllers would still make, or one of a template. NULL: there is none. Notes
 * about what was taken go to standard error. */
struct pod *target_find(struct input *input, const struct target *target, struct error *err);

#endif
