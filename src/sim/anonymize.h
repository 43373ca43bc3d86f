/* anonymize.h: a veil over names: a snapshot that can be given away.
 *
 * Names of objects, namespaces, images and claims, uids, values of labels and keys of those that are not Kubernetes'
 * own become x1, x2, ...: the same text always the same, so that references and selectors still meet. Annotations,
 * messages and addresses are left out. Amounts, times, kinds, numbers, drivers and schedulers' names stay: they decide.
 * The order of names changes, and with it which of several equal nodes comes first. */
#ifndef SIM_ANONYMIZE_H
#define SIM_ANONYMIZE_H

#include "api/json_encode.h"
#include "base/map.h"

struct anonymizer {
    struct arena arena;
    struct strmap aliases; /* to struct str in the arena */
    struct strmap kept;    /* names of drivers, which expressions and limits name as well */
    uint64_t count;
};

/* First every object goes through this, then each is encoded with the veil. */
void anonymizer_look(struct anonymizer *anonymizer, const struct object *object);
struct json_veil anonymizer_veil(struct anonymizer *anonymizer);
void anonymizer_release(struct anonymizer *anonymizer);

#endif
