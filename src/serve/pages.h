/* pages.h: which path shows what. */
#ifndef SERVE_PAGES_H
#define SERVE_PAGES_H

#include "serve/health.h"
#include "serve/zpages.h"

struct pages {
    struct serve_options
        options; /* its views are copied to the arena, its flags and checks are not needed any more */
    struct arena arena;
    struct health *health;
    struct zpages zpages;
    struct str started; /* seconds since 1970, as a header shows it */
};

void pages_init(struct pages *pages, const struct serve_options *options);
void pages_release(struct pages *pages);
/* Returns as a view does. Texts of headers are static, in the arena, or live as long as the pages. */
int pages_reply(struct pages *pages, const struct serve_request *request, const struct asker *asker,
                struct arena *arena, struct serve_reply *reply);
/* What a reply of a view lacks. */
void pages_complete(const struct pages *pages, struct str path, const struct asker *asker,
                    struct serve_reply *reply);

#endif
