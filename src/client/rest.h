/* rest.h: what writers share: the path of an object, its encoding, and what the API server answered, in whichever of
 * its two encodings it came. */
#ifndef CLIENT_REST_H
#define CLIENT_REST_H

#include "api/object.h"
#include "client/api.h"

#define REST_STRATEGIC_MERGE_PATCH "application/strategic-merge-patch+json"
#define REST_MERGE_PATCH "application/merge-patch+json"

/* Appends "/namespaces/NAMESPACE/RESOURCE/NAME"; without a namespace, or a name, what is left of it. What a path
 * cannot hold is escaped. */
void rest_path(struct strbuf *path, struct str namespace, const char *resource, struct str name);

/* Appends the object as the client sends objects. Returns the content type. */
const char *rest_encode(const struct api *api, const struct object *object, struct strbuf *out);

/* The Status that came: why something was refused, most often. False: the body is something else, or there is none.
 * It lives in the arena. */
bool rest_status(const struct http_response *response, struct arena *arena, struct api_status *ret);
/* The object that came; its strings may live in the response. */
int rest_object(const struct http_response *response, struct arena *arena, struct object *ret,
                struct error *err);
/* One sentence about an answer that was not a yes. `status` is zeroed where none came. */
struct str rest_sentence(const struct http_response *response, const struct api_status *status,
                         struct arena *arena);
/* How long the server wants to be left alone; 0: it does not say. Never more than an hour. */
int64_t rest_retry_after_ms(const struct http_response *response, const struct api_status *status);

/* A random name: a UUID of version 4. */
void rest_uuid(struct strbuf *out);

static inline bool rest_is_yes(const struct http_response *response)
{
    return response->outcome == HTTP_ANSWERED && response->status >= 200 && response->status < 300;
}

#endif
