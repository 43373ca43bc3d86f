/* list.h: an intrusive list, doubly linked, first to last.
 *
 *     struct job {
 *         struct list_link link;
 *     };
 *     struct list jobs = { 0 };
 *     list_append(&jobs, &job->link);
 *     list_for_each(&jobs, struct job, item, link)
 *         work_on(item);
 *
 * A zeroed list is empty; a zeroed link is in no list. A link is in one list at a time, and owns nothing. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/common.h"

struct list_link {
    struct list_link *prev, *next;
};

struct list {
    struct list_link *first, *last;
};

static inline bool list_empty(const struct list *list)
{
    return !list->first;
}

/* Is the link in this list? It is in no other one. */
static inline bool list_has(const struct list *list, const struct list_link *link)
{
    return link->prev || list->first == link;
}

static inline void list_append(struct list *list, struct list_link *link)
{
    *link = (struct list_link){ .prev = list->last };
    *(list->last ? &list->last->next : &list->first) = link;
    list->last = link;
}

static inline void list_prepend(struct list *list, struct list_link *link)
{
    *link = (struct list_link){ .next = list->first };
    *(list->first ? &list->first->prev : &list->last) = link;
    list->first = link;
}

/* NULL for `place`: as the last one. */
static inline void list_insert_before(struct list *list, struct list_link *place, struct list_link *link)
{
    if (!place) {
        list_append(list, link);
        return;
    }
    *link = (struct list_link){ .prev = place->prev, .next = place };
    *(place->prev ? &place->prev->next : &list->first) = link;
    place->prev = link;
}

static inline void list_remove(struct list *list, struct list_link *link)
{
    *(link->prev ? &link->prev->next : &list->first) = link->next;
    *(link->next ? &link->next->prev : &list->last) = link->prev;
    *link = (struct list_link){ 0 };
}

/* The item around a link; NULL stays NULL. */
#define list_item(ptr, type, member) \
    ({ \
        struct list_link *link_ = (ptr); \
        link_ ? container_of(link_, type, member) : NULL; \
    })

/* The first item, or NULL. */
#define list_first(l, type, member) list_item((l)->first, type, member)

/* The first item, taken out; NULL when empty. */
#define list_take(l, type, member) \
    ({ \
        struct list *list_ = (l); \
        type *taken_ = list_first(list_, type, member); \
        if (taken_) \
            list_remove(list_, &taken_->member); \
        taken_; \
    })

/* The body may remove, or free, the item that it is at, and append others; no other item may leave meanwhile. */
#define list_for_each(l, type, item, member) \
    for (type *item = list_first(l, type, member), \
              *next_##item = item ? list_item(item->member.next, type, member) : NULL; \
         item; item = next_##item, next_##item = item ? list_item(item->member.next, type, member) : NULL)

#endif
