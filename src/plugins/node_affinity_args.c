/* node_affinity_args.c: see node_affinity_args.h. Ranges and sentences are those of the reference. */
#include "plugins/node_affinity_args.h"

#include "api/fields.h"
#include "api/labels.h"
#include "codec/record_rows.h"

#define T struct node_affinity_args
static const struct record_field args_fields[] = {
    F_PTR("addedAffinity", 0, added_affinity, node_affinity),
};
TYPE_WITH(args, .has_type_meta = true)
#undef T

static void validate(const void *args_, const struct path *path, const struct features *features _unused_,
                     struct problems *problems)
{
    const struct node_affinity *affinity = ((const struct node_affinity_args *)args_)->added_affinity;
    if (!affinity)
        return;
    const struct path *at = PATH_FIELD(path, "addedAffinity");
    const struct path *terms =
        PATH_FIELD(PATH_FIELD(at, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
    for (uint32_t i = 0; affinity->required && i < affinity->required->terms.len; i++)
        node_selector_term_problems(&affinity->required->terms.items[i], PATH_INDEX(terms, i), problems);
    const struct path *preferred = PATH_FIELD(at, "preferredDuringSchedulingIgnoredDuringExecution");
    for (uint32_t i = 0; i < affinity->preferred.len; i++)
        if (affinity->preferred.items[i].weight) /* others are never looked at */
            node_selector_term_problems(&affinity->preferred.items[i].preference, PATH_INDEX(preferred, i),
                                        problems);
}

const struct plugin_args_kind node_affinity_args_kind = {
    .type = &args_type,
    .validate = validate,
};
