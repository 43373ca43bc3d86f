/* authz.h: may this user do that?
 *
 *     system:masters ─▶ --authorization-always-allow-paths ─▶ SubjectAccessReview ─▶ no */
#ifndef AUTH_AUTHZ_H
#define AUTH_AUTHZ_H

#include "auth/reviews.h"
#include "auth/user.h"

struct authz {
    struct str_list
        allowed_paths;       /* without the slash at their beginning; "*" at the end: everything below */
    struct reviews *reviews; /* NULL: there is no API server */
};

/* FORBIDDEN: no authorizer allows it; DENIED: one denies it. */
enum authz_decision { AUTHZ_ALLOWED, AUTHZ_FORBIDDEN, AUTHZ_DENIED, AUTHZ_FAILED };

/* Exactly once. `why`: the reason, or the failure; may be empty. */
typedef void (*authz_done)(void *context, enum authz_decision decision, struct str why);

/* Copies the paths to the arena. -EINVAL: a star that is not at the end. */
int authz_init(struct authz *authz, const struct str_list *allowed_paths, struct arena *arena,
               struct error *err);
/* `done` may come before this returns. */
void authz_run(const struct authz *authz, const struct user *user, struct str verb, struct str path,
               struct arena *arena, authz_done done, void *context);

#endif
