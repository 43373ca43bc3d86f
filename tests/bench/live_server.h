/* live_server.h: what an API server tells a scheduler in the course of weeks, as bytes, in seconds.
 *
 *     pod: ADDED ──▶ bound ──▶ runs ──▶ is to be deleted ──▶ DELETED        a new one with another name takes its place
 *     node: a heartbeat now and then; sometimes one goes for good, and a new one with another name comes
 *
 * The objects have the size of real ones, with the parts that berth does not read (managedFields). Templates change
 * with time, so labels, requests, selectors and owners of pods do as well. Some pods fit nowhere, some are so urgent
 * that others must go. Nothing here grows with the length of the journey. */
#ifndef BENCH_LIVE_SERVER_H
#define BENCH_LIVE_SERVER_H

#include "api/object.h"
#include "framework/effects.h"

enum live_stage { LIVE_GONE, LIVE_PENDING, LIVE_BOUND, LIVE_RUNNING, LIVE_LEAVING };

struct live_pod {
    enum live_stage stage;
    uint64_t node; /* number; of those from LIVE_BOUND on */
    bool rejected; /* has the condition that says so */
};

/* Takes what the server says: a frame of a watch. */
typedef void (*live_tell)(void *context, enum api_kind kind, struct str frame);

struct live_server {
    uint32_t nodes, pods, images; /* how many there are to be; images: that a node reports */
    live_tell tell;
    void *context;
    uint64_t version, events;
    struct live_pod *ring; /* by number */
    uint64_t first_pod, next_pod, alive;
    uint64_t *node_numbers; /* by place */
    uint64_t next_node, steps;
    struct arena templates, scratch;
    struct pod *pod_templates[4];
    struct node *node_template;
    struct object replica_set;
    struct strbuf object, whole, frame;
};

/* `nodes`, `pods`, `images`, `tell` and `context` are set; the rest is zero. */
void live_server_init(struct live_server *server);
void live_server_release(struct live_server *server);

/* A page of a list as a server answers it; empty: there are no more. It belongs to the caller. The pods of lists are
 * there and run. */
struct strbuf live_server_page(struct live_server *server, enum api_kind kind, uint32_t number);
/* Something happens: one event, or a few. */
void live_server_step(struct live_server *server);
/* Does what a scheduler asks for, and tells what has changed by that. The answer is "done". */
void live_server_write(struct live_server *server, enum effect_kind kind, struct str uid, struct str node);

#endif
