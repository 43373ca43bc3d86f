/* object_order.h: the objects of one kind in the order of namespace and name: a skip list.
 *
 *     head ───────────────────▶ b ───────────────▶ (end)      level 1
 *     head ─────▶ a ──────────▶ b ─────▶ c ──────▶ (end)      level 0
 *
 * Heights are random, so no choice of names makes it slow. An entry holds a reference to the newest version of its
 * object, which has the key. */
#ifndef APISERVER_OBJECT_ORDER_H
#define APISERVER_OBJECT_ORDER_H

#include "apiserver/store.h"
#include "base/rng.h"

enum { OBJECT_ORDER_LEVELS = 12 };

struct order_entry {
    struct stored *newest;
    struct order_entry *next[]; /* as many as it has levels */
};

struct object_order {
    struct rng rng;
    struct order_entry *first[OBJECT_ORDER_LEVELS];
};

void object_order_init(struct object_order *order);
void object_order_release(struct object_order *order);
/* NULL: none. */
struct order_entry *object_order_find(struct object_order *order, struct str ns, struct str name);
/* The first entry behind the key; an empty one is before all. */
struct order_entry *object_order_after(struct object_order *order, struct str ns, struct str name);
/* Takes over the reference to a version whose key the list does not have. */
void object_order_add(struct object_order *order, struct stored *version);
void object_order_remove(struct object_order *order, struct order_entry *entry);

#endif
