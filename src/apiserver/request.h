/* request.h: what a request is about: path, method and query as (resource, namespace, name, subresource, verb) and the
 * options of the API.
 *
 *     GET /apis/apps/v1/namespaces/shop/deployments/web/scale?pretty=true
 *     ──▶ resource deployments.apps/v1, namespace shop, name web, subresource scale, verb get */
#ifndef APISERVER_REQUEST_H
#define APISERVER_REQUEST_H

#include "apiserver/api_error.h"
#include "apiserver/resources.h"
#include "codec/record_types.h"

/* The query, decoded. An empty string is an absent one unless it says otherwise. */
struct api_options {
    struct str label_selector, field_selector;
    struct str resource_version, resource_version_match, continue_token;
    int64_t limit, timeout_s; /* 0: none */
    bool watch, allow_bookmarks;
    struct opt_bool send_initial_events;
    struct str field_manager, field_validation;
    bool dry_run, force, pretty;
    struct opt_int64 grace_s;
    struct str propagation_policy;
    struct opt_bool orphan_dependents;
};

struct api_request {
    struct str group, version; /* of the path; without a pointer: it is no path below /api or /apis */
    const struct api_resource *resource;
    struct str namespace, name;
    enum subresource subresource;
    enum api_verb verb;
    struct api_options options;
};

/* The texts are in the arena, or slices of path and query. Returns 0, or the negative HTTP status. */
int api_request_parse(struct str method, struct str path, struct str query, struct arena *arena,
                      struct api_request *ret, struct api_error *err);
/* The path below its group and version, which it sets: {"", "v1"} and "pods" of /api/v1/pods. False: another path. */
bool api_request_split(struct str path, struct str *ret_group, struct str *ret_version, struct str *ret_rest);
/* The value of a parameter, decoded; without a pointer: it is not there. */
struct str query_value(struct str query, const char *name, struct arena *arena);

#endif
