/* maker.h: makes pods from templates as controllers do, and the claims that go with them.
 *
 * Names look like a controller's (web-5d8c6b7f9-x7k2p) but come from hashes of who asks and of a counter instead of
 * chance, so that the same input gives the same names. */
#ifndef INPUT_MAKER_H
#define INPUT_MAKER_H

#include "input/admission.h"
#include "input/owners.h"

struct maker {
    struct load *load;
    struct admission admission;
    struct arena arena;
    struct strmap taken;      /* "namespace/name" of pods that were made */
    VEC(struct pvc *) claims; /* made for pods, in order; whoever applies them remembers how far */
    const struct storage_class *default_class; /* for claims that name none, or NULL */
    struct strbuf scratch;
};

void maker_init(struct maker *maker, struct load *load);
void maker_release(struct maker *maker);

/* A pod as the template says, owned by the controller; it has no name yet. */
struct pod maker_pod(struct maker *maker, const struct pod_template *template, enum api_kind kind,
                     const struct meta *controller);
/* Text in the letters of generated names; the same for the same hash. */
struct str maker_letters(struct arena *arena, uint64_t hash, size_t len);
/* A free name that begins with the prefix; `owner` counts what was tried. */
struct str maker_name(struct maker *maker, struct str namespace, struct str prefix, struct owner *owner);
/* Gives the pod its name and uid, and makes the claims of its ephemeral volumes. */
struct pod *maker_finish(struct maker *maker, const struct pod *pod, struct str name);
/* A claim as the template says, unless one of that name is there. */
void maker_claim(struct maker *maker, const struct pvc_template *template, struct str namespace,
                 struct str name, const struct str_map *labels, const struct pod *owner);

/* The map with one pair more, or another value. */
struct str_map str_map_with(const struct str_map *map, struct str key, struct str value, struct arena *arena);

#endif
