/* list.h: lists of objects: selectors, pages, and the revision that they are of. */
#ifndef APISERVER_LIST_H
#define APISERVER_LIST_H

#include "apiserver/output.h"
#include "apiserver/registry.h"
#include "apiserver/request.h"
#include "apiserver/selection.h"

/* The list that the request asks for, appended. Returns 0 or the negative HTTP status. */
int list_write(struct registry *registry, const struct api_request *request, struct output *output,
               struct strbuf *out, struct api_error *err);

/* "resourceVersion" as a number; 0: none, or any. */
int list_revision(struct store *store, struct str text, uint64_t *ret, struct api_error *err);
/* The revision is one of the future. */
int list_too_new(struct store *store, uint64_t revision, struct api_error *err);

#endif
