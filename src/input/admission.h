/* admission.h: what an API server does to a new pod before a scheduler sees it.
 *
 * Pods of a dump went through it already; pods made here from a controller's template did not:
 *   - priority and preemptionPolicy come from the PriorityClass (the Priority plugin),
 *   - not-ready and unreachable nodes are tolerated for a while (DefaultTolerationSeconds),
 *   - matchLabelKeys and mismatchLabelKeys become part of their selectors.
 *
 * A dump often lacks PriorityClasses: then the value of a class is taken from pods that name it. */
#ifndef INPUT_ADMISSION_H
#define INPUT_ADMISSION_H

#include "input/load.h"

struct class_value {
    struct str name;
    int32_t value;
    struct str preemption_policy; /* absent: the default */
};

struct admission {
    struct arena arena;
    struct strmap classes;              /* by name: struct class_value */
    const struct class_value *fallback; /* the global default, or NULL */
};

void admission_init(struct admission *admission, const struct load *load);
void admission_release(struct admission *admission);
/* Is the value of this PriorityClass known? */
bool admission_knows_class(const struct admission *admission, struct str name);
/* Fills in spec.priority where it is absent, and with it the preemption policy. */
void admission_prioritize(struct admission *admission, struct pod *pod);
/* All of it, for a pod that is new. Lists that it shares with a template are copied before they change. */
void admission_admit(struct admission *admission, struct pod *pod, struct arena *arena);
/* Replaces the toleration of the same key, operator, value and effect, or adds it; in a copy of the list. */
void tolerations_set(struct pod_spec *spec, const struct toleration *toleration, struct arena *arena);

#endif
