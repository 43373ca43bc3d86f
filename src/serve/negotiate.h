/* negotiate.h: objects as responses, in the form that the client accepts: JSON, indented for people, or YAML. */
#ifndef SERVE_NEGOTIATE_H
#define SERVE_NEGOTIATE_H

#include "codec/json_writer.h"
#include "serve/serve.h"

enum { ACCEPT_CLAUSES_MAX = 32 };

/* A clause of Accept: "text/plain;version=0.0.4;q=0.5". */
struct accept_clause {
    struct str type, subtype, params;
    double q;
};

/* Best first; those beyond the maximum are dropped. Returns how many there are. */
size_t accept_parse(struct str accept, struct accept_clause clauses[ACCEPT_CLAUSES_MAX]);
/* The value of a parameter, or nothing. */
struct str accept_param(struct str params, const char *name);

enum media { MEDIA_NONE, MEDIA_JSON, MEDIA_YAML, MEDIA_TEXT };

/* What a clause of Accept asks an object to be: "as=Table;g=meta.k8s.io;v=v1". All empty: what it is. */
struct convert {
    struct str group, version, kind;
};

/* Of objects that are not Kubernetes' API, as /flagz. */
#define CONVERT_GROUP "config.k8s.io"

struct negotiated {
    enum media media;
    struct convert convert;
    bool pretty;
};

/* The best form of `offered` (first is best among equals) that the client takes. No Accept at all: the first one.
 * MEDIA_NONE: there is none. With a kind, all forms but text are conversions to this kind of CONVERT_GROUP; NULL: there
 * are no conversions. */
struct negotiated negotiate(const struct serve_request *request, const enum media *offered, size_t count,
                            const char *kind);

/* How the JSON of an object is written for reply_object(). MEDIA_NONE: indented. */
enum json_style reply_style(const struct negotiated *how);
/* The object as the body. */
void reply_object(struct serve_reply *reply, const struct negotiated *how, struct str json);
/* A Status of failure. `details` writes an empty one. */
void reply_status(struct serve_reply *reply, const struct serve_request *request, int code,
                  const char *reason, struct str message, bool details);

#endif
