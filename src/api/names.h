/* names.h: is this a label key or a label value? The answers are the sentences that Kubernetes prints. */
#ifndef API_NAMES_H
#define API_NAMES_H

#include "base/common.h"
#include "base/str.h"

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

#endif
