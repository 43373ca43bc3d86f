/* server_peer.h: the certificates that a client sent, and the subject that they prove.
 *
 * The handshake proves that the client holds the key of its certificate, and no more. The certificate is
 * verified later, by peer_verify(), with the authorities that count at that moment. */
#ifndef SERVER_SERVER_PEER_H
#define SERVER_SERVER_PEER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Shared by reference count. */
struct peer;
/* Of a connection of libssl. NULL: the client showed no certificate. */
struct ssl_st;
struct peer *peer_of(struct ssl_st *ssl);
struct peer *peer_ref(struct peer *peer);
void peer_unref(struct peer *peer);

/* Certificate authorities. */
struct ca_pool;
/* From PEM; what does not parse is skipped, as Go does, but one at least must. */
int ca_pool_new(struct str pem, struct ca_pool **ret, struct error *err);
void ca_pool_free(struct ca_pool *pool);

/* Does a chain lead from the client's certificate to an authority of the pool, for the use as a client, now? */
int peer_verify(const struct peer *peer, const struct ca_pool *pool, struct error *err);

enum { PEER_ORGANISATIONS_MAX = 64 };

struct peer_subject {
    struct str common_name; /* the last one, as Go takes it */
    struct str organisations[PEER_ORGANISATIONS_MAX];
    size_t organisation_count;
    struct str uid;       /* of Kubernetes' attribute 1.3.6.1.4.1.57683.2 */
    char fingerprint[65]; /* SHA-256 of the certificate, in hexadecimal */
};
/* Strings live in the arena. -EINVAL: more organisations than fit, or a UID that is empty or not the only one. */
int peer_subject(const struct peer *peer, struct arena *arena, struct peer_subject *ret, struct error *err);
/* How long its certificate is good from now on, in seconds; negative: it was until then. */
double peer_seconds_left(const struct peer *peer);

#endif
