/* apiserver_impl.h: what the files of the API server's front end share. */
#ifndef APISERVER_APISERVER_IMPL_H
#define APISERVER_APISERVER_IMPL_H

#include "apiserver/apiserver.h"
#include "apiserver/event_expiry.h"
#include "apiserver/openapi_pages.h"
#include "apiserver/output.h"
#include "apiserver/request.h"
#include "apiserver/watch.h"
#include "schema/patch.h"
#include "server/server.h"

struct apiserver {
    struct loop *loop;
    struct server *server;
    struct store *store;
    struct registry *registry;
    struct watches *watches;
    struct event_expiry *expiry;
    struct definitions *definitions;
    struct openapi_pages *openapi;
    struct str token;   /* a copy */
    struct str address; /* "127.0.0.1:6443" */
    char *cert_file, *key_file;
    struct server_tls_options *tls;
    struct list pending;     /* of answers that wait until what they tell is durable */
    struct list collections; /* that are being deleted */
};

/* A request that is being answered. */
struct call {
    struct apiserver *server;
    struct server_request *http;
    struct api_request request;
    struct output output;
    struct arena *arena; /* of the request */
    struct api_error err;
    int status; /* of the answer; 0: it is answered by others, as a stream */
    struct strbuf body;
    const char *content_type;
    uint64_t revision; /* the answer waits until this is durable */
    VEC(struct str) warnings;
};

/* apiserver.c: the answer to a call, which may wait until what it tells is durable; `r` as from rest_handle(). The call
 * is empty then, or still has to be released. */
void call_finish(struct call *call, int r);
void call_release(struct call *call);
/* Parts of it, for a server that is put together elsewhere. */
void apiserver_on_request(void *user, struct server_request *http);
void apiserver_on_stream_room(void *user, uint64_t id);
void apiserver_on_stream_closed(void *user, uint64_t id);
/* Sets server->store; server->loop is there. */
int apiserver_open_store(struct apiserver *server, const struct apiserver_options *options,
                         struct error *err);

/* rest.c: the verbs. Returns 0 or the negative HTTP status. */
int rest_handle(struct call *call);
/* For rest_patch.c. */
struct write_options rest_write_options(const struct call *call);
enum field_validation rest_field_validation(const struct call *call);
/* What the client should know about its object, as headers of the answer. */
void rest_warn(struct call *call, const struct schema_problems *problems);
/* Hands the JSON of the body to the function. */
int rest_with_body(struct call *call, struct str kind, int (*use)(struct call *call, yyjson_val *body));
/* What the query and the body of a DELETE say; the body may be NULL. */
void rest_delete_options(struct call *call, yyjson_val *body, struct delete_options *ret);
/* Is it an object of the resource, with fields of the right types? */
int rest_check_object(struct call *call, yyjson_val *body);
/* Answers with what was written; releases the result. */
void rest_answer_written(struct call *call, int status, struct registry_result *result);
/* Scales to what an autoscaling/v1 Scale says, and answers. */
int rest_put_scale(struct call *call, yyjson_val *scale);

/* rest_collection.c: DELETE of a collection. Takes over the call where it returns 0. */
int rest_delete_collection(struct call *call, yyjson_val *body);
/* Without answers. */
void collections_end(struct apiserver *server);

/* rest_patch.c: PATCH: JSON, merge, strategic merge, apply. */
int rest_patch(struct call *call);

/* reviews.c: resources that are questions: TokenReview, SubjectAccessReview and the like. */
bool review_is_one(const struct api_resource *resource);
int review_answer(struct call *call, yyjson_val *review);

#endif
