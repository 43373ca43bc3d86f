/* explain_facts.h: all that is known about a pod, gathered once for the two ways to write it; see explain_view.h. */
#ifndef DEBUG_EXPLAIN_FACTS_H
#define DEBUG_EXPLAIN_FACTS_H

#include "base/term.h"
#include "debug/explain_view.h"
#include "whatif/explain_print.h"

#define POD_STATES(X) \
    X(GONE, "gone") \
    X(QUEUED, "queued") \
    X(BINDING, "binding") \
    X(BOUND, "bound") \
    X(FOREIGN, "other scheduler") \
    X(UNTRIED, "not queued")

enum pod_state {
#define X(name, text) POD_##name,
    POD_STATES(X)
#undef X
        POD_STATE_COUNT
};
extern const char *const pod_state_names[POD_STATE_COUNT];

struct explain_facts {
    const struct explain_request *request;
    const struct engine *engine;
    struct arena *arena;
    int64_t now_ns;
    enum pod_state state;
    struct pod_info *pod;              /* NULL: gone */
    const struct profile *profile;     /* NULL: none has its scheduler's name */
    const struct queued_pod *entry;    /* POD_QUEUED */
    const struct pod_binding *binding; /* POD_BINDING */
    struct attempt attempts[ATTEMPTS_SHOWN];
    size_t attempts_len;
    struct explanation *now; /* NULL: not evaluated */
    struct str not_now;      /* then: why not */
    uint32_t *rows;          /* of all nodes, by name */
    uint32_t rows_len;
};

/* The best nodes of an attempt, with their names. */
struct score_view facts_best(const struct explain_facts *facts, const struct attempt *attempt);
/* The node of then, or an empty text if it is gone. */
struct str facts_node(const struct explain_facts *facts, const struct attempt *attempt, uint32_t row);
/* How many of the nodes of the attempt are not there any more. */
uint32_t facts_nodes_gone(const struct explain_facts *facts, const struct attempt *attempt);
void explain_view_table(const struct explain_facts *facts, struct term *term);

#endif
