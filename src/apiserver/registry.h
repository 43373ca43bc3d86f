/* registry.h: what can be done with objects: the rules of the API between requests (or controllers) and the store.
 *
 *     REST handlers ─┐                        ┌── names, uids, times, generations
 *     controllers ───┼─▶ registry_create() ───┼── defaults, admission, validation ───▶ store
 *                    │   registry_update() …  └── preconditions, finalizers, graceful deletion
 *
 * Objects come in as mutable documents, which the functions change, and go out as versions of the store. Failures are
 * a struct api_error, with the texts of kube-apiserver; functions return 0 or the negative HTTP status. All of it runs
 * on the server's thread. */
#ifndef APISERVER_REGISTRY_H
#define APISERVER_REGISTRY_H

#include <yyjson.h>

#include "apiserver/api_error.h"
#include "apiserver/resources.h"
#include "apiserver/store.h"
#include "codec/record_types.h"

struct registry;

struct registry_options {
    struct store *store; /* outlives the registry */
    uint64_t seed;       /* of names and uids */
};
struct registry *registry_new(const struct registry_options *options);
/* NULL is fine. */
void registry_free(struct registry *registry);
struct store *registry_store(const struct registry *registry);

struct write_options {
    enum subresource
        subresource; /* SUB_NONE, SUB_STATUS, SUB_FINALIZE, SUB_RESIZE, SUB_EPHEMERALCONTAINERS */
    bool dry_run;
    struct str manager; /* whose fields the change makes them in managedFields; empty: they are not tracked */
    bool is_applied;    /* the object comes from server-side apply, which has set managedFields */
    /* It comes from another cluster: its uid, times, generation and status stay. One without a uid was written by
     * hand: it gets what an API server sets, and this uid unless it is empty. */
    bool is_imported;
    struct str uid;
};

struct delete_options {
    struct opt_int64 grace_s;
    struct str propagation_policy;    /* "Background", "Foreground", "Orphan", or empty */
    struct str uid, resource_version; /* preconditions */
    bool dry_run;
};

/* What came of it. */
struct registry_result {
    struct stored *object; /* referenced; NULL: it was a dry run */
    struct strbuf json;    /* then: the object */
    bool is_deleted;       /* the object is gone */
};
struct str registry_result_json(const struct registry_result *result);
void registry_result_release(struct registry_result *result);

/* The object; borrowed, as that of store_get(). */
int registry_get(struct registry *registry, const struct api_resource *resource, struct str ns,
                 struct str name, struct stored **ret, struct api_error *err);
int registry_create(struct registry *registry, const struct api_resource *resource, struct str ns,
                    yyjson_mut_doc *object, const struct write_options *options, struct registry_result *ret,
                    struct api_error *err);
int registry_update(struct registry *registry, const struct api_resource *resource, struct str ns,
                    struct str name, yyjson_mut_doc *object, const struct write_options *options,
                    struct registry_result *ret, struct api_error *err);
int registry_delete(struct registry *registry, const struct api_resource *resource, struct str ns,
                    struct str name, const struct delete_options *options, struct registry_result *ret,
                    struct api_error *err);

/* Is a deleted object what a request to delete one of this resource gets, rather than a Status? */
bool registry_returns_deleted(const struct api_resource *resource);

/* Changes an object: the function gets a copy of the newest version. Then as registry_update(). */
typedef int (*registry_change)(void *user, yyjson_mut_doc *object, struct api_error *err);
int registry_modify(struct registry *registry, const struct api_resource *resource, struct str ns,
                    struct str name, const struct write_options *options, registry_change change, void *user,
                    struct registry_result *ret, struct api_error *err);

/* ---- subresources ---- */
/* A Binding: the pod gets its node. */
int registry_bind(struct registry *registry, struct str ns, struct str name, yyjson_val *binding,
                  bool dry_run, struct api_error *err);
/* An Eviction: the pod is deleted if its disruption budget allows it. */
int registry_evict(struct registry *registry, struct str ns, struct str name, yyjson_val *eviction,
                   bool dry_run, struct api_error *err);
/* The autoscaling/v1 Scale of an object, appended. */
void registry_scale_of(const struct api_resource *resource, const struct stored *object, struct strbuf *out);
/* Sets spec.replicas to what the Scale says. */
int registry_set_scale(struct registry *registry, const struct api_resource *resource, struct str ns,
                       struct str name, yyjson_val *scale, bool dry_run, struct registry_result *ret,
                       struct api_error *err);

/* A copy of a version's JSON as a document to change. */
yyjson_mut_doc *registry_copy(const struct stored *object);
/* The parsed JSON of a version, shared and cached: valid until the next call on the registry. */
yyjson_val *registry_parsed(struct registry *registry, struct stored *object);

#endif
