/* authn.h: who sends this request?
 *
 *     a proxy's certificate and its headers ─▶ the client's certificate ─▶ a bearer token ─▶ anonymous
 *
 * The first that says who it is decides. What is shown and not believed does not end the search, but in the end it is
 * an error and not anonymous. */
#ifndef AUTH_AUTHN_H
#define AUTH_AUTHN_H

#include "auth/reviews.h"
#include "auth/trust.h"
#include "server/server.h"

struct authn {
    struct trust *trust;     /* NULL: certificates mean nothing */
    struct reviews *reviews; /* NULL: tokens mean nothing */
    struct metrics *metrics; /* may be NULL */
};

/* Exactly once. False: err says why the caller is not believed. */
typedef void (*authn_done)(void *context, bool known, const struct error *err);

/* The request, the arena and *ret live until `done`, which may come before this returns. */
void authn_run(const struct authn *authn, const struct server_request *request, struct arena *arena,
               struct user *ret, authn_done done, void *context);

#endif
