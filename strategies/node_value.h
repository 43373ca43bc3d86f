/* node_value.h: numbers and facts that strategies read from the object of a node. */
#ifndef STRATEGIES_NODE_VALUE_H
#define STRATEGIES_NODE_VALUE_H

#include <berth/plugin.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#define TEXT(literal) { (literal), sizeof(literal) - 1 }

/* The complete text as a decimal number, as strtod() reads it. False: it is none, or it is not finite. */
static inline bool value_number(struct berth_str text, double *ret)
{
    char copy[64], *end; /* texts of objects are not terminated */
    if (!text.len || text.len >= sizeof(copy) || memchr(text.ptr, 0, text.len))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (strspn(copy, "+-.0123456789eE") != text.len)
        return false;
    double number = strtod(copy, &end);
    if (*end || !isfinite(number))
        return false;
    *ret = number;
    return true;
}

/* A number in an annotation, or in a label. An empty key is not looked up. */
static inline bool value_of_keys(const void *node, struct berth_str annotation, struct berth_str label,
                                 double *ret)
{
    return (annotation.len && value_number(berth_object_annotation(node, annotation.ptr), ret)) ||
           (label.len && value_number(berth_object_label(node, label.ptr), ret));
}

static inline bool value_is_any(struct berth_str text, struct berth_strs list)
{
    for (uint32_t i = 0; i < list.len; i++)
        if (berth_eq(text, list.items[i]))
            return true;
    return false;
}

/* The path of a node's allocatable amount, for berth_read(). */
static inline const char *value_allocatable_path(struct berth_arena *arena, struct berth_str resource)
{
    size_t size = resource.len + sizeof("status.allocatable[]");
    char *path = berth_alloc(arena, size);
    snprintf(path, size, "status.allocatable[" BERTH_FMT "]", BERTH_ARG(resource));
    return path;
}

/* An amount of the node by such a path, in units. */
static inline double value_allocatable(const void *node, const char *path)
{
    struct berth_value value = berth_read("Node", node, path);
    return value.type == BERTH_AMOUNT ? (double)value.milli / 1000 : 0;
}

/* Labels by which spot nodes are known, and their values; each cloud has its own. */
static const struct {
    const char *key, *value;
} value_spot_labels[] = {
    { "node.kubernetes.io/lifecycle", "spot" },     { "karpenter.sh/capacity-type", "spot" },
    { "eks.amazonaws.com/capacityType", "SPOT" },   { "cloud.google.com/gke-spot", "true" },
    { "cloud.google.com/gke-preemptible", "true" }, { "kubernetes.azure.com/scalesetpriority", "spot" },
};

/* With a key: that label is "spot" or "true". Without: one of the labels above. */
static inline bool value_is_spot(const void *node, struct berth_str key)
{
    if (key.len) {
        struct berth_str value = berth_object_label(node, key.ptr);
        return value.len == 4 &&
               (strncasecmp(value.ptr, "spot", 4) == 0 || strncasecmp(value.ptr, "true", 4) == 0);
    }
    for (size_t i = 0; i < sizeof(value_spot_labels) / sizeof(value_spot_labels[0]); i++)
        if (berth_is(berth_object_label(node, value_spot_labels[i].key), value_spot_labels[i].value))
            return true;
    return false;
}

#endif
