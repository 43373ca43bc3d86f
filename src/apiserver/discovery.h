/* discovery.h: what the API server says about itself: its version, health, groups and resources. */
#ifndef APISERVER_DISCOVERY_H
#define APISERVER_DISCOVERY_H

#include "apiserver/accept.h"
#include "apiserver/resources.h"

struct discovery_answer {
    const char *content_type;
    struct strbuf body;
};

/* False: the path is none of discovery. `address` is the server's own: "127.0.0.1:6443". */
bool discovery_answer(struct str path, struct str accept, struct str address, struct discovery_answer *ret);
/* Is the path one that clients without a token may read? */
bool discovery_is_public(struct str path);

#endif
