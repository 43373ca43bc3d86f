/* changes.h: the options that change the cluster of the input: --drain, --add, --scale and others. */
#ifndef CMD_CHANGES_H
#define CMD_CHANGES_H

#include "cmd/options.h"
#include "input/changes.h"

struct change_settings {
    struct texts words[CHANGE_KIND_COUNT];
    bool force;
};

extern const struct option_row change_rows[];

typedef VEC(struct change_request) change_request_vec;
/* What the settings ask for; the items are the vector's. */
struct change_requests change_requests(const struct change_settings *settings, change_request_vec *items);

#endif
