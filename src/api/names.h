/* names.h: names of labels, resources, images and objects. What is wrong with one is said in the sentences that
 * Kubernetes prints. */
#ifndef API_NAMES_H
#define API_NAMES_H

#include "base/arena.h"

/* What is wrong with a name; nothing when len is 0. */
struct name_faults {
    const char *items[4];
    size_t len;
};

/* A name with an optional DNS prefix: "example.com/gpu". Also called a qualified name. */
struct name_faults name_check_label_key(struct str key);
struct name_faults name_check_label_value(struct str value);
/* A key outside kubernetes.io that may also stand behind "requests." in a quota. */
bool name_is_extended_resource(struct str name);

/* The name under which a node lists an image: one without tag or digest gets ":latest" (in the arena); any other is
 * returned as it is. */
struct str image_name_normalize(struct str name, struct arena *arena);

/* The key of an object in a map of its kind: "namespace/name", in the buffer, or just the name where there is no
 * namespace. */
struct str object_key(struct strbuf *buf, struct str namespace, struct str name);

#endif
