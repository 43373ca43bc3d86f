/* PrioritySort: pods of a higher priority are tried first. Among equals the pod that has waited longer goes first. */
#include "framework/plugin.h"

static bool less(_unused_ const void *self, const struct pod_info *a, const struct pod_info *b)
{
    return a->priority > b->priority;
}

const struct plugin plugin_priority_sort = {
    .name = "PrioritySort",
    .doc = "Orders the queue by priority.",
    .less = less,
};
