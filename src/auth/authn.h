/* authn.h: which user sends a request.
 *
 *     a proxy's certificate and its headers ─▶ the client's certificate ─▶ a bearer token ─▶ anonymous
 *
 * The first one that identifies the user decides. Credentials that are rejected do not end the search, but if no other
 * one succeeds the result is an error, not anonymous. */
#ifndef AUTH_AUTHN_H
#define AUTH_AUTHN_H

#include "auth/reviews.h"
#include "auth/trust.h"
#include "server/server.h"

struct authn {
    struct trust *trust;     /* NULL: certificates are not looked at */
    struct reviews *reviews; /* NULL: tokens are not looked at */
    struct metrics *metrics; /* may be NULL */
};

/* Exactly once. False: err says why the credentials are rejected. */
typedef void (*authn_done)(void *context, bool known, const struct error *err);

/* The request and *ret live until `done`, which may come before this returns. */
void authn_run(const struct authn *authn, struct server_request *request, struct user *ret, authn_done done,
               void *context);

#endif
