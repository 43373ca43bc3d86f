/* filling.h: puts copies of pods on the nodes of a simulation until one does not fit, and takes them off again.
 *
 *     mix       web web api   web web api   web web api      templates in the order of their copies
 *     rows       4   2   4     3   4   2     3   -           where each copy went: a number per copy
 *
 * Each copy is decided by the engine as every pod is. Copies that differ in nothing but their names are counted on
 * their node (cluster_place_copy): one of them is a pod of the model, the others take a few bytes each. Copies with
 * volumes or devices are pods of their own; so are all copies where loaded plugins decide, which may keep something
 * about each pod. Those cannot be taken off again, because what their plugins hold is not known here. */
#ifndef WHATIF_FILLING_H
#define WHATIF_FILLING_H

#include "whatif/simulate.h"

/* What is copied. */
struct filling_part {
    const struct template *template;
    struct pod_info *next; /* the copy that is decided next; NULL: it is not made yet */
    struct pod_info **on;  /* by row: the pod that stands for the counted copies there; NULL: none */
    uint32_t *copies;      /* by row */
    size_t placed;
    bool counts;
};

struct filling {
    struct simulation *simulation;
    struct filling_part *parts;
    uint32_t parts_len;
    VEC(uint32_t) mix;  /* numbers of parts: one set */
    VEC(uint32_t) rows; /* of the copies, in order */
    uint32_t rows_cap;  /* rows that fit into the arrays of parts */
    /* Called now and then; may be NULL. */
    void (*progress)(size_t copies, double seconds);
    double began;
    struct arena arena;
};

/* `templates` are placed together, in the proportions of their shares. */
int filling_init(struct filling *filling, struct simulation *simulation, const struct template *templates,
                 size_t len, struct error *err);
void filling_release(struct filling *filling);
/* Goes on until there are `most` copies or one does not fit: then it returns 1, and `ret` says why; else 0. */
int filling_run(struct filling *filling, size_t most, struct decision *ret, struct error *err);
/* The part of the next copy. */
struct filling_part *filling_next(struct filling *filling);
/* Can copies be taken off? */
bool filling_unwinds(const struct filling *filling);
/* Takes off all but the first `len` copies. */
void filling_unwind(struct filling *filling, size_t len);

#endif
