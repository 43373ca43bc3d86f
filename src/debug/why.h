/* why.h: why a pod is where it is, from the running scheduler's own memory:
 * GET /debug/berth/explain?pod=NAMESPACE/NAME.
 *
 *     server's thread: question ──▶ list ──▶ core thread, after a round of decisions: why_round() ──▶ serve_answer()
 *
 * The answer is where the pod is now (which queue, since when, what may wake it; or how far its binding is; or its
 * node), its last attempts (attempts.h), and what would be decided now: every plugin asked about every node
 * (whatif/explain.h). Asking changes nothing: nothing is placed, written or recorded, no extender is asked, no random
 * number is drawn.
 *
 * It costs the core thread as much as one decision on the plain path and the writing of the answer, some milliseconds
 * at thousands of nodes. So only one question is answered at a time, and then four times as long nothing but decisions
 * is done: who asks and asks again takes a fifth of the core at most.
 *
 * ?output=json (the default) or table, a text for terminals that is ?width columns wide, with ?colours=1 in colours,
 * and of at most ?top rows in each of its tables. 404: nobody here knows such a pod. 429: too many questions wait. */
#ifndef DEBUG_WHY_H
#define DEBUG_WHY_H

#include "debug/attempts.h"
#include "extender/extender.h"
#include "live/core.h"
#include "serve/serve.h"

#define VIEW_EXPLAIN_PATH "/debug/berth/explain"

struct why;

/* Where answers come from. */
struct why_source {
    struct engine *engine;
    const struct attempts *attempts;                     /* NULL: none are kept */
    const char *(*file_of)(const struct plugin *plugin); /* as in struct explain_options */
    /* The extenders of a setup, by its owner (struct engine_setup); NULL: none are named. */
    const struct http_extenders *(*extenders_of)(const void *owner);
};

struct why_question {
    struct str namespace, name;
    bool table, colours;
    uint32_t top, width; /* of the table; width 0: of no screen */
};

/* On the core thread, between two decisions. -ENOENT: nobody knows the pod, and a sentence is in `out`. */
int why_write(const struct why_source *source, const struct why_question *question, int64_t now_ns,
              struct strbuf *out);

/* Of the source, the engine is that of the core. */
struct why *why_new(struct core *core, const struct why_source *source);
/* After the server and the core have ended. */
void why_free(struct why *why);
/* Where answers go; before the core runs. */
void why_serve(struct why *why, struct serve *serve);
/* For serve_options, with this as user. */
int why_view(void *why, const struct serve_request *request, struct serve_reply *reply);
/* The core has decided for a while. Returns when it wants to be called again though nothing happens; INT64_MAX: nobody
 * asks. */
int64_t why_round(struct why *why, int64_t now_ns);

#endif
