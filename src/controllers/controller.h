/* controller.h: what controllers share: keys that wait to be synchronised, who owns whom, and writes.
 *
 * A controller is a row: the resource that it is about, and a function that compares one object of it with what is
 * there, and makes it so. The function is called after each change of the object, or of an object that it controls, and
 * for all objects at the start; it keeps no state between calls. A call that changes nothing writes nothing. */
#ifndef CONTROLLERS_CONTROLLER_H
#define CONTROLLERS_CONTROLLER_H

#include "apiserver/registry.h"
#include "apiserver/tree.h"
#include "base/list.h"
#include "base/map.h"
#include "base/vec.h"
#include "controllers/controllers.h"

struct controller {
    const char *name;
    const char *group, *plural; /* NULL: keys of all resources */
    /* The object is NULL if there is none (any more). `json` is its parsed text, valid during the call. */
    void (*sync)(struct controllers *controllers, const struct api_resource *resource, struct stored *object,
                 yyjson_val *json);
};

extern const struct controller controller_kubelet, controller_replica_set, controller_deployment,
    controller_stateful_set, controller_daemon_set, controller_job, controller_collector,
    controller_namespace, controller_budget, controller_claim, controller_volume, controller_ephemeral,
    controller_heartbeat, controller_node_lifecycle, controller_eviction;

enum pod_phase { PHASE_NONE, PHASE_PENDING, PHASE_RUNNING, PHASE_SUCCEEDED, PHASE_FAILED };

/* An object that has an owner or is a pod, and what is often asked about it. */
struct known {
    struct str key; /* of the map, which it is an entry of */
    const struct api_resource *resource;
    struct stored *object; /* referenced */
    VEC(struct owner_link *) owners;
    bool is_terminating, is_ready, has_node;
    enum pod_phase phase;
    int64_t created_s, ready_s;
    /* Of a pod with a node. */
    struct host *host;
    struct list_link host_link;              /* in the host's pods */
    int64_t bound_ns, ending_ns, evicted_ns; /* monotonic, since when it is; 0: it is not */
};

/* The name of a node: what its fake kubelet does, and the pods that are bound to it. The node need not exist. */
enum host_state { HOST_WELL, HOST_UNREACHABLE, HOST_NOT_READY };
struct host {
    struct str name;  /* of the map, which it is an entry of */
    struct list pods; /* struct known */
    bool exists, is_tainted /* with NoExecute */;
    enum host_state state;
    int64_t start_ms, stop_ms;
    int64_t gone_ns; /* monotonic, when the node was deleted; 0: it was not */
    uint64_t facts;  /* a hash of what pods depend on */
};

/* An entry of metadata.ownerReferences. */
struct owner_link {
    struct list_link link; /* in the owner's dependents */
    struct known *of;
    struct owner *owner;
    bool controls, blocks;
};

/* A uid that objects name as their owner's; the owner itself may not exist. */
struct owner {
    struct str uid;
    struct list dependents; /* struct owner_link */
};

struct controllers {
    struct controllers_options options;
    struct registry *registry;
    struct store *store;
    struct store_watcher watcher;
    struct strmap known;  /* struct known, by resource, namespace and name */
    struct strmap owners; /* struct owner, by uid */
    struct strmap hosts;  /* struct host, by name */
    struct strmap tasks;  /* of the queue */
    struct list ready;
    struct loop_call pump;
    bool is_pumping;
};

/* ---- dependents.c ---- */
/* Follows a change of the store. */
void dependents_follow(struct controllers *controllers, const struct api_resource *resource,
                       const struct store_change *change);
void dependents_release(struct controllers *controllers);
/* NULL: no object names it. */
struct owner *owner_find(struct controllers *controllers, struct str uid);
struct known *known_find(struct controllers *controllers, const struct api_resource *resource, struct str ns,
                         struct str name);

/* What an object controls, of one resource; to be released by vec_release(). It stays valid until the store changes. */
typedef VEC(struct known *) known_vec;
known_vec controlled_by(struct controllers *controllers, struct str uid, const struct api_resource *resource);
/* Neither finished nor terminating. */
bool known_is_active(const struct known *pod);

/* ---- hosts.c ---- */
/* Follows a change of a node. */
void hosts_follow(struct controllers *controllers, const struct store_change *change);
/* The pod is bound to this node; an empty name: to none. */
void host_join(struct controllers *controllers, struct known *pod, struct str name);
void hosts_release(struct controllers *controllers);
/* NULL: no node and no pod has the name. */
struct host *host_find(struct controllers *controllers, struct str name);

/* ---- tasks.c ---- */
void task_add(struct controllers *controllers, const struct controller *controller,
              const struct api_resource *resource, struct str ns, struct str name, int64_t delay_ms);
/* For the controllers that are about the resource. */
void task_add_primary(struct controllers *controllers, const struct api_resource *resource, struct str ns,
                      struct str name, int64_t delay_ms);

/* ---- writes.c ---- */
int64_t now_s(void);
/* RFC 3339, now, as a value of the document. */
yyjson_mut_val *now_value(yyjson_mut_doc *doc);
/* Changes an object, its status if `subresource` says so. A conflict or a missing object is no failure: the change that
 * made it comes to the queue. Others are logged. */
void change_object(struct controllers *controllers, const struct api_resource *resource,
                   const struct stored *object, enum subresource subresource, registry_change change,
                   void *user);
/* Deletes this object, not another one of its name. */
void delete_object(struct controllers *controllers, const struct api_resource *resource,
                   const struct stored *object, const char *policy,
                   int64_t grace_s /* -1: as the object says */);
/* Creates; frees the document. False: it was refused. */
bool create_object(struct controllers *controllers, const struct api_resource *resource, struct str ns,
                   yyjson_mut_doc *doc);
/* An object from a template, {"metadata":{...},"spec":{...}}, whose controller is `owner`. */
yyjson_mut_doc *from_template(const struct api_resource *owner_resource, const struct stored *owner,
                              yyjson_val *template, struct str name, bool generates_name);
/* Sets a condition of a status; its lastTransitionTime changes with `status`. */
void put_condition(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *type, bool is_true,
                   const char *reason, const char *message, bool has_update_time);
/* A number, or a share of the whole such as "25%"; `percent` where there is none. */
int64_t share_of(yyjson_val *val, int64_t whole, int64_t percent, bool rounds_up);
/* The resource that an owner reference names; NULL: it is not known. */
const struct api_resource *resource_of_reference(yyjson_val *reference);
/* Ten letters that follow from the text, for names. */
void write_hash(struct strbuf *out, struct str text, int64_t collisions);
/* A count that is left out where it is 0. */
void put_count(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t count);

/* ---- revisions.c ---- */
#define REVISION_LABEL "controller-revision-hash"

/* The name of the ControllerRevision of the object's template, appended. There is one afterwards, with the highest
 * number of all, and of those that no pod has only as many as spec.revisionHistoryLimit says. False: it was refused. */
bool revision_of_template(struct controllers *controllers, const struct api_resource *resource,
                          const struct stored *object, yyjson_val *json, struct strbuf *name);
/* The template of a ControllerRevision, in the document that is returned; both NULL if there is none. */
yyjson_doc *revision_template(struct controllers *controllers, struct str ns, struct str name,
                              yyjson_val **ret_template);

#endif
