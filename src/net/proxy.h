/* proxy.h: which proxy a request goes through, by the environment, as Go's programs understand it.
 *
 * HTTPS_PROXY or HTTP_PROXY by the scheme of the request (or their lower case forms), unless NO_PROXY names
 * the host: "*", addresses, networks (10.0.0.0/8), domains with those below them (example.com), those below
 * only (.example.com), each but a network with an optional port. What is on this machine (localhost, loopback)
 * is always reached directly. */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "base/arena.h"

struct proxy_rules {
    const char *http, *https; /* URLs of the proxies; NULL: none */
    struct str no_proxy;      /* as written */
};

/* With copies in the arena. Any of the texts may be NULL. A proxy without a scheme is an HTTP proxy. */
struct proxy_rules proxy_rules(struct arena *arena, const char *http, const char *https,
                               const char *no_proxy);
struct proxy_rules proxy_rules_from_environment(struct arena *arena);

/* The proxy's URL for a request to host:port, or NULL: go there directly. An IPv6 host has no brackets. */
const char *proxy_for(const struct proxy_rules *rules, bool https, const char *host, unsigned port);

#endif
