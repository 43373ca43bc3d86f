/* running.h: commands that ask a running scheduler: where it is, who asks, and one GET. */
#ifndef CMD_RUNNING_H
#define CMD_RUNNING_H

#include "base/error.h"
#include "base/str.h"

#define RUNNING_SERVER "https://127.0.0.1:10259"

struct running {
    const char *server;               /* NULL: RUNNING_SERVER */
    const char *kubeconfig, *context; /* who asks; see usual_access() */
    bool insecure;                    /* its certificate is not looked at */
};

/* The page; a failure names the server. */
int running_get(const struct running *running, struct str path, struct strbuf *ret, struct error *err);

#endif
