/* load.h: what the strategies by real use share: the samples of nodes, which of them are usable, and which pods are too
 * new to be part of them.
 *
 *     struct node { struct load_row row; double fresh; };        what a plugin keeps about each node
 *     const struct node *node = load_row(&self->load, view);     computed again after a change
 *     if (!load_usable(&self->load, &node->row, view, now))      counts and logs what is not usable
 *         ...the neutral answer...
 *
 * What does not depend on the pod is computed once per change of the node, its pods or its sample.
 * A score then costs one call of the host and a few operations. */
#ifndef STRATEGIES_LOAD_H
#define STRATEGIES_LOAD_H

#include <berth/plugin.h>

enum { LOAD_CPU, LOAD_MEMORY, LOAD_RESOURCES };

#define LOAD_SECOND_NS INT64_C(1000000000)
/* A sample is old after this time, if no argument says otherwise. */
#define LOAD_EXPIRY_NS (300 * LOAD_SECOND_NS)

/* ---- arguments of the Trimaran family ---- */
struct load_provider {
    struct berth_str type, address, token;
    bool insecure_skip_verify;
};
struct load_source {
    struct load_provider provider;
    struct berth_str watcher_address;
};
extern const struct berth_field load_provider_fields[];

/* The rows of a table of arguments whose struct has a member `source` of struct load_source. */
#define LOAD_SOURCE_FIELDS(type) \
    BERTH_NESTED("metricProvider", BERTH_STRUCT, type, source.provider, load_provider_fields, \
                 struct load_provider), \
        BERTH_FIELD("watcherAddress", BERTH_STRING, type, source.watcher_address)

/* Checks them as the original does. A Prometheus takes effect: berth's sampler reads the block. What has no effect, one
 * line of the log says. */
int load_source_check(const struct load_source *source, const char *plugin, struct berth_error *err);

/* ---- the descriptor ---- */
extern const char *const load_kinds[];         /* samples of nodes */
extern const char *const load_request_reads[]; /* what berth_pod_request() depends on */

/* ---- samples ---- */
enum load_state { LOAD_USABLE, LOAD_MISSING, LOAD_OLD, LOAD_ABSURD, LOAD_STATES };

/* What is kept about a node begins with this. It is kept small: a search reads the rows of thousands of nodes. */
struct load_row {
    int64_t sampled_at;
    bool is_filled, is_unknown, is_absurd;
};

/* A node and its sample, for computing a row. Amounts: thousandths of a core, bytes. */
struct load_sample {
    int64_t at, window_ns;
    double capacity[LOAD_RESOURCES], allocatable[LOAD_RESOURCES];
    double latest[LOAD_RESOURCES], average[LOAD_RESOURCES], deviation[LOAD_RESOURCES]; /* negative: unknown */
};

typedef void (*load_filler)(void *self, struct berth_node_view node, const struct load_sample *sample,
                            struct load_row *row);

/* One per plugin and profile, in its self. */
struct load {
    const char *plugin;
    uint32_t numbers[LOAD_RESOURCES]; /* of the resources */
    int64_t expiry_ns;
    bool needs_cpu; /* a sample without it is none; else one of the resources is enough */
    struct berth_metric *counters[LOAD_STATES];
    bool is_logged;
    uint32_t usable, unusable; /* since the last cycle began */

    size_t size;
    load_filler fill;
    void *self;
    const struct berth_cluster *cluster;
    uint64_t position; /* in the changes of the cluster */
    uint32_t len;
    char *rows, *what_if;
};

/* The rows are `size` bytes each. fill() gets a row whose struct load_row is complete. */
void load_init(struct load *load, const struct berth_env *env, const char *plugin, size_t size,
               load_filler fill, void *self);
/* A plugin whose own data begins with its struct load has this as `release`. */
void load_release(void *load);
/* Once per attempt, before the first row is used. Nothing changes during an attempt until its node is chosen. */
void load_begin(struct load *load, const struct berth_cluster *cluster);
/* The same outside of an attempt, such as in a hint. */
void load_refresh(struct load *load, const struct berth_cluster *cluster);

/* For a row that is not filled, and for a what-if. */
const void *load_fill(struct load *load, struct berth_node_view node);

static inline struct load_row *load_row_at(const struct load *load, uint32_t row)
{
    return (struct load_row *)(void *)(load->rows + row * load->size);
}

/* Valid until the next call. */
static inline const void *load_row(struct load *load, struct berth_node_view node)
{
    if (node.row < load->len && !node.overlay && load_row_at(load, node.row)->is_filled)
        return load_row_at(load, node.row);
    return load_fill(load, node);
}

/* A sample from more than the expiry time ahead cannot be right, either. */
static inline enum load_state load_state(const struct load *load, const struct load_row *row, int64_t now)
{
    if (!row->sampled_at || row->is_unknown)
        return LOAD_MISSING;
    if (row->is_absurd || row->sampled_at - now > load->expiry_ns)
        return LOAD_ABSURD;
    return now - row->sampled_at >= load->expiry_ns ? LOAD_OLD : LOAD_USABLE;
}

/* Counts it, and logs the first one. */
void load_report(struct load *load, enum load_state state, struct berth_node_view node);

static inline bool load_usable(struct load *load, const struct load_row *row, struct berth_node_view node,
                               int64_t now)
{
    enum load_state state = load_state(load, row, now);
    if (state == LOAD_USABLE) {
        load->usable++;
        return true;
    }
    load_report(load, state, node);
    return false;
}

/* Whether the pod was placed after that time, and its use is not part of a sample of the time before. A pod that a
 * what-if adds has no place yet. */
static inline bool load_is_fresh(const struct berth_pod_info *pod, int64_t since)
{
    int64_t placed_at = berth_info_placed_at(pod);
    return !placed_at || placed_at > since;
}

/* The sum of the requests of the fresh pods of a node. */
void load_fresh_requests(const struct load *load, struct berth_node_view node, int64_t since,
                         double ret[LOAD_RESOURCES]);

static inline double load_clip(double share)
{
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* round() of a score, which is not negative, without a call of the library. */
static inline int64_t load_round(double score)
{
    int64_t whole = (int64_t)score;
    return whole + (score - (double)whole >= 0.5);
}

#endif
