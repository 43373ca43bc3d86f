/* table_cells.h: how the cells of tables are computed; columns.def names the functions. */
#ifndef APISERVER_TABLE_CELLS_H
#define APISERVER_TABLE_CELLS_H

#include <yyjson.h>

#include "base/str.h"

struct cell {
    yyjson_val *object;
    const char *argument; /* a path, most often */
    const char *absent;
    int64_t now_s;
};

/* Appends the value: text, or a number or truth value for columns of such a type. */
typedef void (*cell_function)(const struct cell *cell, struct strbuf *out);

#define TABLE_CELLS(X) \
    X(text) \
    X(trimmed) \
    X(integer) \
    X(boolean) \
    X(count) \
    X(age) \
    X(labels) \
    X(selector) \
    X(joined) \
    X(empty) \
    X(data_count) \
    X(container_names) \
    X(container_images) \
    X(ready_of) \
    X(controller) \
    X(endpoints) \
    X(last_seen) \
    X(first_seen) \
    X(event_object) \
    X(event_source) \
    X(event_count) \
    X(node_status) \
    X(node_roles) \
    X(node_address) \
    X(node_kernel) \
    X(volume_phase) \
    X(volume_claim) \
    X(access_modes) \
    X(claim_capacity) \
    X(claim_modes) \
    X(claim_state) \
    X(pod_ready) \
    X(pod_status) \
    X(pod_restarts) \
    X(pod_ip) \
    X(pod_gates) \
    X(quota) \
    X(service_external) \
    X(service_ports) \
    X(suspended) \
    X(job_status) \
    X(job_completions) \
    X(job_duration) \
    X(ingress_hosts) \
    X(ingress_ports) \
    X(role_ref) \
    X(subjects) \
    X(audiences) \
    X(storage_class_name) \
    X(definition_versions) \
    X(definition_established) \
    X(group_policy) \
    X(group_status) \
    X(slice_ports) \
    X(slice_endpoints) \
    X(usage)

#define X(name) void cell_##name(const struct cell *cell, struct strbuf *out);
TABLE_CELLS(X)
#undef X

/* "5m12s", as kubectl shows ages. */
void cell_write_duration(int64_t seconds, struct strbuf *out);
/* How long ago the time was. */
void cell_write_since(const struct cell *cell, struct str time, const char *absent, struct strbuf *out);

#endif
