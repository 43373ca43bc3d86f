/* rest_metrics.h: requests to the API server, counted as client-go counts them. */
#ifndef OBSERVE_REST_METRICS_H
#define OBSERVE_REST_METRICS_H

#include "client/api.h"
#include "observe/families.h"

/* From any thread. */
void rest_metrics_count(struct metrics *metrics, const struct api_sample *sample);
/* A credential program was called; see client/credentials.h. */
void rest_metrics_exec(struct metrics *metrics, int exit_code, const char *call_status);

#endif
