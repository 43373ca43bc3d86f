/* changes.h: what if the cluster were another: nodes that are added, drained or removed, workloads that are scaled.
 *
 *     requests ──▶ objects of the load ──▶ model ──▶ pods that leave ──▶ their controllers make them again
 *
 * Changes take effect at the same moment, whatever their order: scale, uncordon, cordon, drain, remove, add. What names
 * nodes by a label means those of the input, not added ones. A drain is what `kubectl drain --ignore-daemonsets` does:
 * the node is cordoned, and its pods leave, but for those of DaemonSets and mirror pods. A pod without a controller
 * stays, because nothing would make it again; with `force` it is lost. A removed node takes all of its pods along.
 */
#ifndef INPUT_CHANGES_H
#define INPUT_CHANGES_H

#include "input/budget_use.h"
#include "input/load.h"
#include "input/usage.h"

#define CHANGE_KINDS(X) \
    X(SCALE, scale) X(UNCORDON, uncordon) X(CORDON, cordon) X(DRAIN, drain) X(REMOVE, remove) X(ADD, add)
enum change_kind {
#define X(name, word) CHANGE_##name,
    CHANGE_KINDS(X)
#undef X
        CHANGE_KIND_COUNT,
    CHANGE_NONE = CHANGE_KIND_COUNT
};
/* "scale", "add", ...: what a user calls them; NULL for CHANGE_NONE. */
extern const char *const change_words[CHANGE_KIND_COUNT + 1];

/* In the words of the command line: "a,zone=b" (nodes by name or label), "10=NODE" or "10=FILE" (add),
 * "deploy/shop/web=50" (scale). The text stays. */
struct change_request {
    enum change_kind kind;
    struct str text;
};

struct change_requests {
    const struct change_request *items;
    size_t len;
    bool force; /* pods without a controller are evicted as well */
};

struct change {
    enum change_kind kind;
    enum api_kind object_kind;
    const struct meta *object; /* the node or the workload as it is now; of REMOVE: as it was */
    struct str of;             /* ADD: the node or the file that it is a copy of */
    int64_t before, after;     /* SCALE: replicas */
};

/* What becomes of a pod that leaves. */
enum fate {
    FATE_RETURNS,   /* its controller makes it again, unless there are enough of its pods */
    FATE_LOST,      /* it has no controller */
    FATE_ENDS,      /* it is not wanted any more: scaled down, or on its way out already */
    FATE_WITH_NODE, /* it is a part of its node: a mirror pod, or one of a DaemonSet */
};

struct departure {
    const struct pod *pod;
    enum change_kind cause;
    enum fate fate;
};

struct changes {
    struct arena arena;
    VEC(struct change) list;           /* what has changed, in the order above */
    struct strmap by_node;             /* what happened last to a node: place + 1 in the list */
    VEC(struct departure) departures;  /* pods that leave their nodes */
    VEC(const struct pod *) unmanaged; /* that a drain leaves, or loses with `force` */
    struct budget_uses budgets;        /* that evictions are charged to */
    VEC(struct load *) templates;      /* files of nodes */
    struct usage before;        /* of the cluster without the changes; rows of removed nodes included */
    VEC(uint32_t) removed_rows; /* of `before`: where the nodes of REMOVE were, in their order */
    bool force;
};

/* Changes the load. The requests are checked; err names the one that cannot be carried out. */
int changes_apply(struct changes *changes, struct load *load, const struct change_requests *requests,
                  struct error *err);
void changes_release(struct changes *changes);
/* What happened to the node; CHANGE_NONE: nothing. */
enum change_kind changes_of_node(const struct changes *changes, struct str node);

/* ---- parts of it ---- */
/* Nodes of --add. */
int changes_add_nodes(struct changes *changes, struct load *load, struct str word, struct error *err);
/* A workload of --scale; pods that are too many leave. */
int changes_scale(struct changes *changes, struct load *load, struct str word, struct error *err);
struct change *changes_note(struct changes *changes, enum change_kind kind, enum api_kind object_kind,
                            const struct meta *object);
/* "there is no node n9; did you mean n8?" */
int changes_no_node(const struct load *load, enum change_kind kind, struct str name, struct error *err);
/* The node as it is while it is not cordoned, or cordoned; a copy. */
struct node *changes_cordon(struct arena *arena, const struct node *node, bool closed);

#endif
