/* resource_list.h: sorted lists of named amounts, and operations on them. */
#ifndef API_RESOURCE_LIST_H
#define API_RESOURCE_LIST_H

#include "api/types.h"
#include "base/arena.h"
#include "base/map.h"

/* The amount of a resource, or NULL when the list does not name it. */
struct quantity *resource_list_get(const struct resource_list *list, struct str name);
/* Zero when the list does not name it. */
struct quantity resource_list_amount(const struct resource_list *list, struct str name);

/* How an amount joins the one of the same name that is there already. A name that is not there is taken over. */
enum resource_join {
    RESOURCE_SUM,
    RESOURCE_MAX,
    RESOURCE_REPLACE,
    RESOURCE_KEEP,
};

/* Joins `other` into `list`, which the caller built with this function (or left zeroed) and holds alone. */
void resource_list_join(struct resource_list *list, const struct resource_list *other,
                        enum resource_join join, struct arena *arena);

/* A total of many lists, whose names need not be the same: time is in proportion to what is joined, however many names
 * there are already. */
struct resource_total {
    struct arena *arena;
    struct resource_list list; /* in the order in which the names came */
    uint32_t cap;
    struct strmap places; /* number in the list + 1, once there are more than a few */
};

/* The amount of a name, or NULL. */
struct quantity *resource_total_find(const struct resource_total *total, struct str name);
void resource_total_join(struct resource_total *total, const struct resource_list *other,
                         enum resource_join join);
/* The total as a sorted list in the arena; releases the total. */
void resource_total_end(struct resource_total *total, struct resource_list *ret);
void resource_total_release(struct resource_total *total);

#endif
