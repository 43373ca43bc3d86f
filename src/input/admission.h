/* admission.h: what an API server does to a new pod or claim before a scheduler sees it.
 *
 * Those of a dump went through it already; pods made here from a controller's template, and objects that a user wrote
 * by hand, did not:
 *   - priority and preemptionPolicy come from the PriorityClass (the Priority plugin),
 *   - not-ready and unreachable nodes are tolerated for a while (DefaultTolerationSeconds),
 *   - matchLabelKeys and mismatchLabelKeys become part of their selectors,
 *   - a claim that names no StorageClass gets the default one (DefaultStorageClass).
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
    struct strmap classes;                     /* by name: struct class_value */
    const struct class_value *fallback;        /* the global default, or NULL */
    const struct storage_class *default_class; /* for claims that name none, or NULL */
};

void admission_init(struct admission *admission, const struct load *load);
void admission_release(struct admission *admission);
/* Is the value of this PriorityClass known? */
bool admission_knows_class(const struct admission *admission, struct str name);
/* Fills in spec.priority where it is absent, and with it the preemption policy. */
void admission_prioritize(struct admission *admission, struct pod *pod);
/* All of it, for a pod that is new. Lists that it shares with a template are copied before they change. */
void admission_admit(struct admission *admission, struct pod *pod, struct arena *arena);
void admission_admit_claim(const struct admission *admission, struct pvc *claim);
/* Replaces the toleration of the same key, operator, value and effect, or adds it; in a copy of the list. */
void tolerations_set(struct pod_spec *spec, const struct toleration *toleration, struct arena *arena);

#endif
