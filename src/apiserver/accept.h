/* accept.h: which form of an answer a client wants, by its Accept header. */
#ifndef APISERVER_ACCEPT_H
#define APISERVER_ACCEPT_H

#include "base/arena.h"

enum answer_form { FORM_OBJECT, FORM_TABLE, FORM_PARTIAL, FORM_DISCOVERY /* aggregated */ };

struct accepted {
    enum answer_form form;
    struct str version; /* of meta.k8s.io, or of apidiscovery.k8s.io: "v1", "v1beta1", "v2" */
    bool is_yaml;
};

/* The first form of the header that the server has; false: there is none. `discovery`: are forms of discovery meant? */
bool accepted_parse(struct str header, bool discovery, struct accepted *ret);

#endif
