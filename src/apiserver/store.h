/* store.h: the objects of the embedded API server, and how they came to be what they are.
 *
 *     store_put() ──▶ revision 7 ──▶ watchers
 *     store_delete()      │
 *                         ▼
 *     history   [ 4 ][ 5 ][ 6 ][ 7 ]      oldest is 3: what was the case at 3 and later is known
 *
 * One sequence of revisions for all kinds: each change has the next one. An object is its JSON text as clients see it,
 * its resourceVersion included: the caller writes store_next_revision() into it before. A version of an object is
 * immutable and counted by references. Versions that were replaced or deleted stay while the change is in the history,
 * so a list can be read page after page as of its first page, and a watch can begin at any revision from
 * store_oldest(). History is bounded by its number of changes and by the bytes that it keeps.
 *
 * With a path, changes are also written to a database, many in one transaction (store_disk.h). A change is durable
 * after that; in memory at once. What a client is told (responses to writes, watch events) waits until it is durable.
 *
 * All of it is for one thread, that of the loop. Callbacks may call the store, and change it: they see what was the
 * case when the call began, and watchers see all changes in their order. */
#ifndef APISERVER_STORE_H
#define APISERVER_STORE_H

#include "base/error.h"
#include "base/list.h"
#include "base/str.h"

struct loop;
struct store;

/* One version of an object. */
struct stored {
    uint32_t refs;
    uint32_t kind; /* number of its kind, see store_options */
    uint64_t revision;
    uint64_t created;               /* revision of the object's first version */
    struct str ns, name, uid, json; /* ns: empty without a namespace. Terminated */
    /* The store's own. */
    struct stored *older; /* the version that it replaced, while history has the change */
    bool is_deleted;      /* no object, but the end of one */
};

struct stored *stored_ref(struct stored *version);
/* NULL is fine. */
void stored_unref(struct stored *version);

/* Zero takes the default in brackets. */
struct store_options {
    const char *path; /* of the database; NULL: in memory */
    /* Kinds are numbers from 0 in the order of their names, which the database keeps: "pods", "deployments.apps".
     * Others get theirs from store_kind(). */
    const struct str *kinds;
    uint32_t kind_count;
    size_t history_max;       /* changes [20000] */
    size_t history_bytes_max; /* [64 MiB] */
    /* The database cannot be written any more, in one sentence: nothing will be durable. Once. */
    void (*on_failure)(void *user, const char *sentence);
    void *user;
};

/* `loop` may be NULL in memory. */
int store_open(const struct store_options *options, struct loop *loop, struct store **ret, struct error *err);
/* What was put is durable then. Not from the loop's thread if there is a path. NULL is fine. */
void store_close(struct store *store);

/* The number of the kind of this name, new or known. */
uint32_t store_kind(struct store *store, struct str name);
/* Of the newest change; at least 1. */
uint64_t store_revision(const struct store *store);
/* Lists and watches from here on are possible. */
uint64_t store_oldest(const struct store *store);
/* All changes up to here are durable. */
uint64_t store_durable(const struct store *store);

/* The object as it is; NULL: there is none. Stays valid until the store changes, unless it is referenced. */
struct stored *store_get(struct store *store, uint32_t kind, struct str ns, struct str name);
/* That of the next change. */
uint64_t store_next_revision(const struct store *store);
/* Creates or replaces; texts are copied. An object that is replaced keeps its uid. Valid as that of store_get(). */
struct stored *store_put(struct store *store, uint32_t kind, struct str ns, struct str name, struct str uid,
                         struct str json);
/* `json` is the object's last state with the revision of its deletion. False: there is no such object. */
bool store_delete(struct store *store, uint32_t kind, struct str ns, struct str name, struct str json);

/* ---- lists ---- */
struct store_range {
    uint32_t kind;
    struct str ns;                   /* empty: all */
    uint64_t revision;               /* as of then; 0: now */
    struct str after_ns, after_name; /* behind this object; empty: from the first one */
};

enum store_visited {
    STORE_COUNTS, /* towards the limit */
    STORE_SKIPPED,
    STORE_STOP, /* no more */
};
typedef enum store_visited (*store_visit)(void *user, struct stored *version);

/* Objects in the order of namespace and name until `limit` of them count; 0: all. Returns 0, or 1 if there are more
 * objects behind those that were visited; -ESTALE: history does not reach back to the revision; -ERANGE: it is in the
 * future. */
int store_page(struct store *store, const struct store_range *range, size_t limit, store_visit visit,
               void *user);
/* How many objects store_page() would visit; 0 where it fails. */
size_t store_count(struct store *store, const struct store_range *range);

/* ---- watches ---- */
enum store_change_type { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };

struct store_change {
    enum store_change_type type;
    struct stored *old; /* NULL: added */
    struct stored *now; /* deleted: the last state, with the revision of the deletion */
};

enum { STORE_ALL = UINT32_MAX };

struct store_watcher {
    uint32_t kind;     /* or STORE_ALL */
    bool when_durable; /* changes come when they are durable: for clients outside of the process */
    /* May subscribe and unsubscribe watchers, this one too, and free it then. */
    void (*changed)(struct store_watcher *watcher, const struct store_change *change);
    /* The store's own. */
    struct list_link link;
    uint64_t after;
};

/* All changes after the revision: those that have happened before this returns, others as they come. -ESTALE: history
 * does not reach back to the revision; -ERANGE: it is in the future. */
int store_subscribe(struct store *store, struct store_watcher *watcher, uint64_t revision);
/* One that is not subscribed is fine. */
void store_unsubscribe(struct store *store, struct store_watcher *watcher);

/* ---- durable changes ---- */
struct store_waiter {
    void (*durable)(struct store_waiter *waiter);
    /* The store's own. */
    struct list_link link;
    uint64_t revision;
};

/* Calls once when all changes up to the revision are durable; at once if they are. */
void store_when_durable(struct store *store, uint64_t revision, struct store_waiter *waiter);
/* The call is not needed any more. One that does not wait is fine. */
void store_cancel(struct store *store, struct store_waiter *waiter);

#endif
