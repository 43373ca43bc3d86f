/* openapi_pages.h: /openapi/v2 and /openapi/v3, which kubectl reads to explain fields, and to learn what the server
 * validates. */
#ifndef APISERVER_OPENAPI_PAGES_H
#define APISERVER_OPENAPI_PAGES_H

#include "base/str.h"

struct openapi_pages;

struct openapi_pages *openapi_pages_new(void);
/* NULL is fine. */
void openapi_pages_free(struct openapi_pages *pages);
/* The document of the path, in the form that the client accepts; valid until the next call. False: there is none. */
bool openapi_pages_find(struct openapi_pages *pages, struct str path, struct str accept, struct str *ret_body,
                        const char **ret_content_type);

#endif
