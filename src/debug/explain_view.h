/* explain_view.h: why a pod is where it is, from the running scheduler's own memory:
 * GET /debug/berth/explain?pod=NAMESPACE/NAME (views.h).
 *
 * The answer is where the pod is now (which queue, since when, what may wake it; or how far its binding is; or its
 * node), its last attempts (attempts.h), and what would be decided now: every plugin called for every node
 * (whatif/explain.h). This changes nothing: nothing is placed, written or recorded, no extender is called, no random
 * number is drawn.
 *
 * ?output=json (the default) or table, a text for terminals that is ?width columns wide, with ?colours=1 in colours,
 * and of at most ?top rows in each of its tables. ?timing=1 adds what plugins cost, ?node= asks every plugin about that
 * node. 404: the pod is not known. */
#ifndef DEBUG_EXPLAIN_VIEW_H
#define DEBUG_EXPLAIN_VIEW_H

#include "debug/attempts.h"
#include "extender/extender.h"

#define VIEW_EXPLAIN_PATH "/debug/berth/explain"

/* Where answers come from. */
struct explain_source {
    struct engine *engine;
    const struct attempts *attempts;                     /* NULL: none are kept */
    const char *(*file_of)(const struct plugin *plugin); /* as in struct explain_options */
    /* The extenders of a setup, by its owner (struct engine_setup); NULL: none are named. */
    const struct http_extenders *(*extenders_of)(const void *owner);
};

struct explain_request {
    struct str namespace, name;
    struct str node; /* empty: none in particular */
    bool table, colours, timing;
    uint32_t top, width; /* of the table; width 0: of no screen */
};

/* On the core thread, between two decisions. -ENOENT: the pod is not known, and `out` has a sentence about it. */
int explain_view_write(const struct explain_source *source, const struct explain_request *request,
                       int64_t now_ns, struct strbuf *out);

#endif
