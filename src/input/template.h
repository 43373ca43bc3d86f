/* template.h: pods that are copied, as often as wanted: what `berth capacity` counts.
 *
 * A word of the command line names templates:
 *     web.yaml              each Pod, and each workload, in a file; its other objects (claims) join the input
 *     -                     the same of standard input
 *     deploy/shop/web       a workload or a pod of the input; KIND/NAME is in the namespace default
 *     3=deploy/shop/web     three copies for each copy of the others, where several are placed together
 *
 * A copy of a workload is the pod that its controller would make next; a copy of a pod differs from it in its name. */
#ifndef INPUT_TEMPLATE_H
#define INPUT_TEMPLATE_H

#include "input/expand.h"

struct template
{
    enum api_kind kind;        /* of the object */
    const struct meta *object; /* a workload, or a pod */
    uint32_t share;            /* copies in a set */
    bool is_new;               /* a pod of a file, which no API server has admitted */
};

struct templates {
    VEC(struct load *) files; /* objects of templates stay in the load of their file */
    VEC(struct template) items;
};

/* Reads the files among the words into loads of their own, and what they bring with them into `load`. Before the
 * expansion begins. */
int templates_read(struct templates *templates, const char *const *words, size_t len, bool is_strict,
                   struct load *load, struct error *err);
void templates_release(struct templates *templates);

/* Another pod of the template, which lives as long as the expansion. */
const struct pod *template_copy(const struct template *template, struct expansion *expansion);

#endif
