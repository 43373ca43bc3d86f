/* messages.h: objects in application/vnd.kubernetes.protobuf, which typed Go clients send, as JSON.
 *
 * The fields of messages are data: data/messages.txt, which tests/e2e/cmd/message-fields writes from Kubernetes' own
 * types. A line is a kind and its message, a message, or a field of the last message:
 *
 *     kind v1 Pod core.v1.Pod
 *     message core.v1.Volume
 *     1 name string
 *     2 - core.v1.VolumeSource          its fields stand in the object itself
 *
 * A value is a scalar, a message, "*X" (also written when it is zero), "[]X", "{}X" (a map), or "items:X" (a message
 * with a list). */
#ifndef APISERVER_MESSAGES_H
#define APISERVER_MESSAGES_H

#include "base/arena.h"

/* The object in its envelope as JSON, appended. False: the bytes are broken, or of an unknown kind; *ret_reason says
 * why. */
bool messages_to_json(struct str bytes, struct strbuf *out, struct arena *arena, struct str *ret_reason);

#endif
