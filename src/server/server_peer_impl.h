/* server_peer_impl.h: how net/server makes a peer of what libssl knows. */
#ifndef SERVER_SERVER_PEER_IMPL_H
#define SERVER_SERVER_PEER_IMPL_H

#include <openssl/ssl.h>

#include "server/server_peer.h"

/* NULL: the client showed no certificate. */
struct peer *peer_of(SSL *ssl);

#endif
