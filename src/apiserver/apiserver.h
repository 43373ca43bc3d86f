/* apiserver.h: the embedded API server of a development cluster: HTTPS on an event loop, a store, the Kubernetes API.
 *
 *     clients ──▶ server ──▶ token? ──▶ discovery
 *                               │
 *                               └────▶ rest ──▶ registry ──▶ store ──▶ watches ──▶ clients
 *
 * Everything happens on the thread of one loop; controllers in the process run there, too. It is a development tool:
 * one token has all rights. */
#ifndef APISERVER_APISERVER_H
#define APISERVER_APISERVER_H

#include "apiserver/registry.h"
#include "base/error.h"
#include "net/loop.h"

struct apiserver;

struct apiserver_options {
    struct loop *loop;    /* outlives the server */
    const char *address;  /* an IP address; NULL: 127.0.0.1 */
    uint16_t port;        /* 0: a free one */
    const char *cert_dir; /* where the certificate and its key are, or will be: apiserver.crt and .key */
    const char *data;     /* a database; NULL: in memory */
    struct str token;     /* that clients must have */
    uint64_t seed;        /* of names and uids */
    size_t history_max;   /* changes that watches can begin with; 0: 20000 */
};

/* Listens; no request is answered yet. */
int apiserver_new(const struct apiserver_options *options, struct apiserver **ret, struct error *err);
/* Answers from now on. */
int apiserver_start(struct apiserver *server, struct error *err);
/* Ends watches and requests, and what was written is durable. Not from the loop's thread. NULL is fine. */
void apiserver_free(struct apiserver *server);

struct registry *apiserver_registry(struct apiserver *server);
uint16_t apiserver_port(const struct apiserver *server);

#endif
