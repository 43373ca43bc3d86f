/* live_server.h: weeks of an API server's events, as bytes, in seconds.
 *
 *     pod: ADDED ──▶ bound ──▶ runs ──▶ terminating ──▶ DELETED             replaced by a pod with another name
 *     node: heartbeats; sometimes a node is deleted, and replaced by one with another name
 *
 * The objects have the size of real ones, with the parts that berth does not read (managedFields). Templates change
 * with time, so labels, requests, selectors and owners of pods do as well. Some pods fit nowhere, some preempt others.
 * Memory here does not grow with the length of the run. */
#ifndef BENCH_LIVE_SERVER_H
#define BENCH_LIVE_SERVER_H

#include "api/object.h"
#include "framework/effects.h"

enum live_stage { LIVE_GONE, LIVE_PENDING, LIVE_BOUND, LIVE_RUNNING, LIVE_LEAVING };

struct live_pod {
    enum live_stage stage;
    uint64_t node; /* number, from LIVE_BOUND on */
    bool rejected; /* has the condition PodScheduled=False */
};

/* Receives a frame of a watch. */
typedef void (*live_send_event)(void *context, enum api_kind kind, struct str frame);

struct live_server {
    uint32_t nodes, pods, images; /* numbers of objects; images: per node */
    live_send_event send_event;
    void *context;
    uint64_t version, events;
    struct live_pod *ring; /* by number */
    uint64_t first_pod, next_pod, pods_len;
    uint64_t *node_numbers; /* by place */
    uint64_t next_node, steps;
    struct arena templates, scratch;
    struct pod *pod_templates[4];
    struct node *node_template;
    struct object replica_set;
    struct strbuf object, full, frame;
};

/* `nodes`, `pods`, `images`, `tell` and `context` are set; the rest is zero. */
void live_server_init(struct live_server *server);
void live_server_release(struct live_server *server);

/* A page of a list as a server sends it; empty: no more. The caller owns it. Pods in lists are running. */
struct strbuf live_server_page(struct live_server *server, enum api_kind kind, uint32_t number);
/* Sends one event, or a few. */
void live_server_step(struct live_server *server);
/* Applies a scheduler's request and sends the resulting events. The request always succeeds. */
void live_server_write(struct live_server *server, enum effect_kind kind, struct str uid, struct str node);

#endif
