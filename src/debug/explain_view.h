/* explain_view.h: why a pod is where it is, from the running scheduler's own memory:
 * GET /debug/berth/explain?pod=NAMESPACE/NAME.
 *
 *     server's thread: request ──▶ list ──▶ core thread, between decisions: explain_view_round() ──▶ serve_answer()
 *
 * The answer is where the pod is now (which queue, since when, what may wake it; or how far its binding is; or its
 * node), its last attempts (attempts.h), and what would be decided now: every plugin asked about every node
 * (whatif/explain.h). This changes nothing: nothing is placed, written or recorded, no extender is asked, no random
 * number is drawn.
 *
 * It costs the core thread as much as one decision on the plain path and the writing of the answer, some milliseconds
 * at thousands of nodes. So one request is answered at a time, and then the core only decides for four times as long:
 * requests take a fifth of its time at most.
 *
 * ?output=json (the default) or table, a text for terminals that is ?width columns wide, with ?colours=1 in colours,
 * and of at most ?top rows in each of its tables. 404: the pod is not known. 429: too many requests wait. */
#ifndef DEBUG_EXPLAIN_VIEW_H
#define DEBUG_EXPLAIN_VIEW_H

#include "debug/attempts.h"
#include "extender/extender.h"
#include "live/core.h"
#include "serve/serve.h"

#define VIEW_EXPLAIN_PATH "/debug/berth/explain"

struct explain_view;

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
    bool table, colours;
    uint32_t top, width; /* of the table; width 0: of no screen */
};

/* On the core thread, between two decisions. -ENOENT: the pod is not known, and `out` has a sentence about it. */
int explain_write(const struct explain_source *source, const struct explain_request *question, int64_t now_ns,
                  struct strbuf *out);

/* Of the source, the engine is that of the core. */
struct explain_view *explain_view_new(struct core *core, const struct explain_source *source);
/* After the server and the core have ended. */
void explain_view_free(struct explain_view *view);
/* Where answers go; before the core runs. */
void explain_view_serve(struct explain_view *view, struct serve *serve);
/* For serve_options, with this as user. */
int explain_view_request(void *view, const struct serve_request *request, struct serve_reply *reply);
/* Answers a request if it is time. Returns when to call again though nothing else happens; INT64_MAX: no request
 * waits. */
int64_t explain_view_round(struct explain_view *view, int64_t now_ns);

#endif
