/* watch.h: watches: a stream of events about the objects that a client selected.
 *
 *     {"type":"ADDED","object":{...}}\n{"type":"BOOKMARK","object":{...}}\n ...
 *
 * A watch is as fast as its client reads: what is not read yet is not written, but taken from the history of the store
 * later. A client that is slower than the history gets 410, as one that comes back too late, and the watch ends.
 *
 * A watch begins with a revision, or with all objects that there are. An object that begins to match the selector is
 * ADDED, one that does not match any more DELETED. Where the client allows it, bookmarks tell it the revision that it
 * has seen everything up to. */
#ifndef APISERVER_WATCH_H
#define APISERVER_WATCH_H

#include "apiserver/output.h"
#include "apiserver/registry.h"
#include "apiserver/request.h"
#include "server/server.h"

struct watches;

/* On the thread of the server's loop. */
struct watches *watches_new(struct registry *registry, struct server *server, uint64_t seed);
/* Ends all watches. NULL is fine. */
void watches_free(struct watches *watches);
/* Begins a watch as the answer to the request with this id. Returns 0, or the negative HTTP status: then there is no
 * watch, and the request has no answer yet. */
int watches_begin(struct watches *watches, uint64_t id, const struct api_request *request,
                  const struct output *output, struct api_error *err);
/* The client of this stream has read what was written. */
void watches_room(struct watches *watches, uint64_t id);
/* How many revisions the slowest client has not been sent yet. */
uint64_t watches_lag(struct watches *watches);
/* Ends the watches on objects of this kind of the store. */
void watches_end(struct watches *watches, uint32_t storage);
/* The client of this stream is gone. */
void watches_closed(struct watches *watches, uint64_t id);

#endif
