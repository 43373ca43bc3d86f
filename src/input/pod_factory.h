/* pod_factory.h: creates pods from templates as controllers do, and their claims.
 *
 * Names look like a controller's (web-5d8c6b7f9-x7k2p) but come from hashes of the controller and of a counter, not
 * from chance, so that the same input gives the same names. */
#ifndef INPUT_POD_FACTORY_H
#define INPUT_POD_FACTORY_H

#include "input/admission.h"
#include "input/owners.h"

struct made_claim {
    enum api_kind kind; /* KIND_PVC or KIND_RESOURCE_CLAIM */
    struct meta *meta;
};

struct pod_factory {
    struct load *load;
    struct admission admission;
    struct arena arena;
    struct strmap taken;           /* "namespace/name" of pods that were made */
    VEC(struct made_claim) claims; /* for pods, and not in the model yet, in order */
    struct strbuf scratch;
};

void factory_init(struct pod_factory *factory, struct load *load);
void factory_release(struct pod_factory *factory);

/* A pod as the template says, owned by the controller; it has no name yet. */
struct pod factory_pod(struct pod_factory *factory, const struct pod_template *template, enum api_kind kind,
                       const struct meta *controller);
/* Text in the letters of generated names; the same for the same hash. */
struct str factory_letters(struct arena *arena, uint64_t hash, size_t len);
/* A free name that begins with the prefix; `owner` counts what was tried. */
struct str factory_name(struct pod_factory *factory, struct str namespace, struct str prefix,
                        struct owner *owner);
/* Makes the claims of the pod's ephemeral volumes, and of its entries that name a ResourceClaimTemplate. */
void factory_claims(struct pod_factory *factory, struct pod *pod);
/* Gives the pod its name and uid, and makes its claims. */
struct pod *factory_finish(struct pod_factory *factory, const struct pod *pod, struct str name);
/* A claim as the template says, unless one of that name is there. */
void factory_claim(struct pod_factory *factory, const struct pvc_template *template, struct str namespace,
                   struct str name, const struct str_map *labels, const struct pod *owner);

/* The map with one pair more, or another value. */
struct str_map str_map_with(const struct str_map *map, struct str key, struct str value, struct arena *arena);

#endif
