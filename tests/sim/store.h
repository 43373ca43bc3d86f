/* store.h: the simulated API server's objects, and the history that watches read.
 *
 *     store_commit() ──▶ version: the facts of the moment ──▶ shown, history
 *
 * Objects that kube-scheduler's watch does not select (pods that have finished) are not in the history: to a watch
 * they are gone. Versions are immutable and counted. */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "base/arena.h"
#include "base/vec.h"
#include "facts.h"

struct version {
    uint32_t refs;
    enum sim_kind kind;
    struct facts facts;
    struct arena arena;
    struct str reason, message; /* of a pod's condition PodScheduled */
};

struct version *version_ref(struct version *version);
void version_unref(struct version *version);

/* The current state of an object. */
struct stored {
    bool exists;
    struct facts facts;
    struct strbuf reason, message; /* of a pod's condition PodScheduled */
    struct version *shown;         /* the version that watches see; NULL: none */
};

struct change {
    struct version *version;
    bool removed;
};

struct kind_store {
    struct stored *items;
    uint32_t len;
    VEC(struct change) history;
    uint64_t history_from; /* number of the first change that is kept */
};

struct store {
    struct kind_store kinds[SIM_KIND_COUNT];
    uint64_t last_version, last_uid;
    int64_t now_s;
};

void store_init(struct store *store, const uint32_t lens[SIM_KIND_COUNT]);
void store_release(struct store *store);

/* An object of that number, which must not exist, with a new uid; its facts are zero. store_commit() follows. */
struct stored *store_create(struct store *store, enum sim_kind kind, uint32_t number);
/* The facts have changed. */
void store_commit(struct store *store, enum sim_kind kind, struct stored *stored);
void store_remove(struct store *store, enum sim_kind kind, struct stored *stored);

static inline struct stored *store_get(struct store *store, enum sim_kind kind, uint32_t number)
{
    return &store->kinds[kind].items[number];
}
/* By name; NULL: there is no such object. */
struct stored *store_find(struct store *store, enum sim_kind kind, struct str name);
/* By number; NULL: it does not exist. */
struct stored *store_at(struct store *store, enum sim_kind kind, int number);
/* A number that is free, or NONE. */
int store_free_number(const struct store *store, enum sim_kind kind, uint32_t from);

static inline uint64_t store_head(const struct store *store, enum sim_kind kind)
{
    return store->kinds[kind].history_from + store->kinds[kind].history.len;
}
static inline const struct change *store_change(const struct store *store, enum sim_kind kind,
                                                uint64_t number)
{
    return &store->kinds[kind].history.items[number - store->kinds[kind].history_from];
}
/* Drops changes before that number. */
void store_trim(struct store *store, enum sim_kind kind, uint64_t number);

/* The number in "u12", or 0. */
uint64_t uid_of(struct str text);
/* The number in a name such as "n12", or NONE. */
int number_of(struct str name);
extern const char sim_kind_prefixes[SIM_KIND_COUNT];

#endif
