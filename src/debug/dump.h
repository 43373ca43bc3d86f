/* dump.h: the model and the queue, written to the log on SIGUSR2, as kube-scheduler does.
 *
 *     signal ──dump_request()──▶ worker pool ──core_call()──▶ core thread, between two decisions: texts
 *                                      │ ◀────────────────────────────────────────────┘
 *                                      ├──▶ log: "Dump of cached NodeInfo", "Dump of scheduling queue"
 *                                      └──▶ cache_comparer.h: "Cache mismatch", if there is one
 *
 * The core thread only makes the texts, for not more than DUMP_STEP_NS at a time, so that decisions go on in between: a
 * node is shown as it is at one moment, two nodes may be some milliseconds apart. The worker pool writes the lines and
 * lists the API server. Requests that come while one is under way count as one more. */
#ifndef DEBUG_DUMP_H
#define DEBUG_DUMP_H

#include "live/core.h"

#define DUMP_STEP_NS INT64_C(2000000)

struct dump;

/* Both outlive the dump. */
struct dump *dump_new(struct core *core, struct api *api);
/* Once the core has ended, or before it begins, and before the api goes. NULL is fine. */
void dump_free(struct dump *dump);
/* From any thread; does not wait. */
void dump_request(struct dump *dump);

/* The texts, on the core thread. They go on where they were and return true while there is more to do and step_ns are
 * over. */
bool dump_nodes(const struct cluster *cluster, uint32_t *row, int64_t step_ns, struct strbuf *out);

/* A pod that waits; it stays as long as it is kept here. */
struct dumped_pod {
    struct pod_info *pod;
    int queue;
    int64_t since_ns;
    uint64_t order;
};
struct queue_dump {
    VEC(struct dumped_pod) entries;
    size_t shown;
    bool entities; /* what the release calls them */
};

/* The pods that wait, all at one moment. */
void queue_dump_read(struct queue_dump *all, const struct queue *queue);
/* In order, and how many there are in which queue; on any thread, once. */
void queue_dump_sort(struct queue_dump *all, struct strbuf *summary);
bool queue_dump_write(struct queue_dump *all, int64_t step_ns, struct strbuf *pods);
/* On the core thread, or when it has ended. */
void queue_dump_release(struct queue_dump *all, struct cluster *cluster);

#endif
