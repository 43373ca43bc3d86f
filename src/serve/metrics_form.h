/* metrics_form.h: in which form a client gets a page of metrics, as Prometheus' library for Go settles it.
 *
 * It is always version 0.0.4 of the text: what kube-scheduler chooses for every Prometheus in its usual configuration,
 * which lists this text beside others. */
#ifndef SERVE_METRICS_FORM_H
#define SERVE_METRICS_FORM_H

#include "server/server.h"

/* The Content-Type. Names may be escaped as the client likes it: no name of ours needs that. */
struct str metrics_form_type(struct str accept);
/* May the page be compressed with gzip, and is that liked better than without? */
bool metrics_form_takes_gzip(const struct server_header *headers, size_t count);

#endif
