/* waiting.h: the pods that are decided and not bound yet, for authorized clients: GET /debug/berth/waiting.
 *
 * {"time":..., "counts":{"waiting for permission":1,...}, "pods":[{"namespace","name","scheduler","node","stage",
 * "since","seconds","waitsFor":[{"plugin","secondsLeft"},...]}, ...], "left":0}. `waitsFor` are the Permit plugins that
 * have not allowed the pod yet, each with the time until it is refused for that; later it is the PreBind or Bind plugin
 * that is at work, which has all the time it wants. ?limit, ?pod and the others as of /debug/berth/queue, where ?queue
 * is a stage; see views.h. */
#ifndef DEBUG_WAITING_H
#define DEBUG_WAITING_H

#include "debug/views.h"

#define VIEW_WAITING_PATH "/debug/berth/waiting"

/* For serve_options, with the views as user. */
int waiting_view(void *views, const struct serve_request *request, struct serve_reply *reply);

/* The same without a server: a view_writer. */
void waiting_write(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                   struct strbuf *out);

#endif
