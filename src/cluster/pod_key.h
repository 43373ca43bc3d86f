/* pod_key.h: the key of a pod's class: the bytes of every field that an answer about the pod depends on.
 *
 * Pods with equal keys are interchangeable for every plugin that says what it reads. The fields are those that the
 * model itself compiles into a class, and those that plugins of a profile declare (struct plugin, `reads`), as paths of
 * the API:
 *
 *     spec.tolerations      spec.containers[].image      metadata.annotations
 *
 * Some fields belong to one pod (claims of volumes, the node's name, conditions): of these the key holds what plugins
 * may know about all pods of a class, see `reduced` in pod_key.c.
 *
 * Labels. Pods of a StatefulSet or of an Indexed Job have a label each of their own. It is in the key only once a
 * selector in the cluster reads such a label. Then all pods get their classes anew: that happens at most once per label
 * key. */
#ifndef CLUSTER_POD_KEY_H
#define CLUSTER_POD_KEY_H

#include "api/types.h"
#include "base/error.h"
#include "codec/record.h"

struct cluster;

enum { KEY_LISTS_MAX = 2 };

/* A path of the API, resolved. */
struct key_path {
    const char *path;
    void (*reduce)(struct strbuf *out, const struct pod *pod); /* NULL: the field as it is */
    struct {
        size_t offset, item_size;
    } lists[KEY_LISTS_MAX]; /* from the pod to the record that the field is in */
    uint32_t lists_len;
    struct record_member field;
};

/* A path for pod_key_read() that no document has: the policy of the pod, if it has weights. */
#define POD_KEY_POLICY "(policy)"

/* 0, or -EINVAL: a pod has no such field. */
int pod_key_resolve(const char *path, struct key_path *ret, struct error *err);
/* The path belongs to the key from now on. Pods that are there get their classes anew. */
void pod_key_read(struct cluster *cluster, const char *path);
/* The same for one of several paths: true if the key has changed, and the caller then calls pod_classes_renew() once
 * for all of them, which takes a while if there are many pods. */
bool pod_key_extend(struct cluster *cluster, const char *path);
/* Selectors read these labels of pods. NULL: nothing. True: the key has changed, and so have the classes. */
bool pod_key_select(struct cluster *cluster, const struct label_selector *selector);
bool pod_key_select_pairs(struct cluster *cluster, const struct str_map *pairs);

/* Namespace and labels. */
void pod_key_labels(const struct cluster *cluster, struct strbuf *out, const struct pod *pod);
/* The labels that the key has, in the arena. */
struct str_map pod_key_labels_of(const struct cluster *cluster, const struct pod *pod, struct arena *arena);
/* Namespace and pod affinity, both kinds. */
void pod_key_terms(struct strbuf *out, const struct pod *pod);
/* All of it. */
void pod_key_put(const struct cluster *cluster, struct strbuf *out, const struct pod *pod);

/* Does the pod have volumes that some plugin must look at, claims (or ephemeral volumes) among them, devices? */
bool pod_has_volumes(const struct pod *pod);
bool pod_has_claims(const struct pod *pod);
bool pod_has_devices(const struct pod *pod);

#endif
