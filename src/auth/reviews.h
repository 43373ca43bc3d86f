/* reviews.h: TokenReviews and SubjectAccessReviews: requests to the API server, with a cache of the answers.
 *
 *     reviews_ask() ──▶ remembered? ──▶ done(review)
 *                          │ no
 *                          ▼
 *                 under way? wait with the others : api_send() ──▶ done(review), for all that wait
 *
 * A review whose last answer was yes is sent before the others: unknown clients that send invalid tokens wait for each
 * other, and known clients do not wait for them.
 *
 * All of it on the server's thread. The cache is bounded in number (the least recently used entry goes) and in time.
 * Keys are kept as a keyed hash, so that no token stays in memory and a client cannot choose keys that collide. A
 * failure is not remembered. */
#ifndef AUTH_REVIEWS_H
#define AUTH_REVIEWS_H

#include "auth/user.h"
#include "client/api.h"
#include "server/server.h"

struct metrics;
struct reviews;

struct review {
    bool answered; /* false: `reason` says why there is no answer */
    bool yes, denied;
    struct str reason;
    struct user user; /* of a valid token */
};

enum review_kind { REVIEW_TOKEN, REVIEW_ACCESS };

/* What is to be reviewed. */
struct review_spec {
    struct str token;
    /* Of a SubjectAccessReview. */
    struct str verb, path;
    struct user user;
};

struct reviews_options {
    enum review_kind kind;
    struct api *api;
    struct server *server;
    int64_t yes_ns, no_ns;   /* how long answers are remembered; 0: not at all */
    struct metrics *metrics; /* may be NULL */
};

/* Called exactly once for each reviews_ask(); the review lives until it returns. */
typedef void (*review_done)(void *context, const struct review *review);

struct reviews *reviews_new(const struct reviews_options *options);
/* No more requests are sent: those under way are not tried again, new reviews fail at once. */
void reviews_stop(struct reviews *reviews);
/* Nothing may be under way: after api_free() and the server's thread. */
void reviews_free(struct reviews *reviews);
/* `remember` false: neither looked up nor kept. `done` may be called before this returns. */
void reviews_ask(struct reviews *reviews, const struct review_spec *spec, bool remember, review_done done,
                 void *context);

#endif
