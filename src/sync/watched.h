/* watched.h: which kinds of objects are watched, and where an API server has them; the list is watched.def. */
#ifndef SYNC_WATCHED_H
#define SYNC_WATCHED_H

#include "api/types.h"
#include "base/arena.h"
#include "config/features.h"

struct watched_kind {
    enum api_kind kind;
    const char *resource;       /* "pods" */
    uint32_t page_len;          /* items that a page of a list shall have */
    bool required;              /* not served: no scheduling; otherwise: none are there */
    const char *older_versions; /* of the group, newest first, separated by spaces: "v1beta2 v1beta1" */
    const char *field_selector; /* "": none */
    bool has_gate;              /* watched only with the gate, and not known to every server */
    enum feature gate;
    bool is_looked_up;     /* `resource` is for messages: the server says which one has the kind */
    const char *namespace; /* the only one that is watched; NULL: all */
};

extern const struct watched_kind watched_kinds[];
extern const size_t watched_kind_count;

/* The row of a kind that is in no table: plugins have named it (api/extra_kinds.h). For samples as well, which can be
 * listed and not watched. Its texts are in the arena. */
struct watched_kind watched_for_plugins(enum api_kind kind, struct arena *arena);

/* Of a kind that is looked up: where the server lists the resources of its group ("/apis/apps/v1"), and what it says
 * there: "replicasets", or "namespaces/x/replicasets". 1: found; 0: the server does not have the kind. */
void watched_lookup_path(const struct watched_kind *watched, struct strbuf *path);
int watched_look_up(const struct watched_kind *watched, struct strbuf *answer, struct strbuf *ret_resource,
                    struct error *err);

/* Appends "/apis/apps/v1/replicasets?" and the selector, if there is one. `version` 0 is the newest; false: there is
 * no such version. `found` is what was looked up. */
bool watched_path(const struct watched_kind *watched, uint32_t version, struct str found,
                  struct strbuf *path);
/* Appends "&name=value", with what a query cannot hold escaped; no "&" behind a "?". */
void watched_query(struct strbuf *path, const char *name, struct str value);

#endif
