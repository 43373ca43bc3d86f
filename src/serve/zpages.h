/* zpages.h: /flagz and /statusz: how this process was started, and how it is. */
#ifndef SERVE_ZPAGES_H
#define SERVE_ZPAGES_H

#include "serve/negotiate.h"

struct zpages {
    struct str_map flags;         /* by name */
    struct str_list paths;        /* sorted */
    int64_t started_s;            /* since 1970 */
    struct str version, emulated; /* "1.36.4", "1.36" */
};

void zpages_flagz(const struct zpages *zpages, const struct serve_request *request,
                  struct serve_reply *reply);
void zpages_statusz(const struct zpages *zpages, const struct serve_request *request,
                    struct serve_reply *reply);

#endif
