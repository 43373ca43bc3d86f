/* resource_list.h: sorted lists of named amounts, and operations on them. */
#ifndef API_RESOURCE_LIST_H
#define API_RESOURCE_LIST_H

#include "api/types.h"
#include "base/arena.h"

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

#endif
