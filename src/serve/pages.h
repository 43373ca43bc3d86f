/* pages.h: which path shows what. */
#ifndef SERVE_PAGES_H
#define SERVE_PAGES_H

#include "serve/health.h"
#include "serve/pprof.h"
#include "serve/zpages.h"

struct pages {
    struct serve_options options; /* without its views and checks */
    struct arena arena;
    struct serve_view *views; /* the pages of pages.c, then those of the options */
    size_t view_count;
    struct health *health;
    struct pprof *pprof; /* NULL: no profiling */
    struct zpages zpages;
    struct str started; /* seconds since 1970, as a header shows it */
};

void pages_init(struct pages *pages, const struct serve_options *options, struct serve *serve);
/* After the server. */
void pages_release(struct pages *pages);
/* Returns 0, -EINPROGRESS or an error as a view does. Texts of headers are static, in the request's arena, or live as
 * long as the pages. */
int pages_reply(struct pages *pages, const struct serve_request *request, struct serve_reply *reply);
/* The headers of a view's reply that has none. */
void pages_complete(const struct pages *pages, const struct serve_request *request,
                    struct serve_reply *reply);

#endif
