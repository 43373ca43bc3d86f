/* full_objects.h: a pod or a node as JSON, with every field that its API server sent.
 *
 * berth decodes the fields that it needs; an extender is promised all of them. So where extenders are configured,
 * objects keep the bytes that they came in (meta.source), and what an extender gets is made of those:
 *
 *     protobuf ──by full_objects.def──▶ JSON, field for field what Go would write
 *     JSON ───────────────────────────▶ the same without what Go does not keep
 *     none kept ──────────────────────▶ the fields that berth knows
 *
 * As in the objects that kube-scheduler keeps, there is no kind, no apiVersion, and no managedFields. */
#ifndef EXTENDER_FULL_OBJECTS_H
#define EXTENDER_FULL_OBJECTS_H

#include "api/types.h"
#include "base/error.h"
#include "codec/json_writer.h"

/* The object as one value. On failure nothing was written. */
int full_pod(struct json_writer *json, const struct pod *pod, struct error *err);
/* The same as on that node: a pod that got it a moment ago has no spec.nodeName of its own yet. */
int full_pod_on(struct json_writer *json, const struct pod *pod, struct str node, struct error *err);
int full_node(struct json_writer *json, const struct node *node, struct error *err);
/* From its bytes: a message of protobuf, or JSON. */
int full_bytes(struct json_writer *json, enum api_kind kind, struct str bytes, struct error *err);

#endif
