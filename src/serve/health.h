/* health.h: /healthz, /livez and /readyz, with a page for each check below them; and what they found, as metrics. */
#ifndef SERVE_HEALTH_H
#define SERVE_HEALTH_H

#include "serve/serve.h"

struct health;

/* `counts` knows when the process started; may be NULL. */
struct health *health_new(const struct serve_check *checks, size_t count, struct metrics *counts);
void health_free(struct health *health);
/* Answers a path of one of the pages, or of a check below it. False: it is neither. */
bool health_reply(struct health *health, const struct serve_request *request, struct serve_reply *reply);
/* One more check. */
void health_add(struct health *health, const struct serve_check *check);
/* The state of credentials, to the metrics of the process. */
void health_publish(struct health *health);
/* /metrics/slis: results of the checks as the pages saw them. */
void health_metrics(const struct health *health, struct strbuf *out);
void health_reset(struct health *health);

#endif
