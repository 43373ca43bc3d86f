/* explain.h: the parts of `berth explain`. */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

#include "cmd/common.h"
#include "cmd/explain_target.h"
#include "extender/extender.h"

struct explain_settings {
    struct input_settings input;
    struct running running; /* but for the identity, which is in `input` */
    int64_t top;
    const char *now, *node, *namespace, *html;
    bool as_if_pending, no_extenders, timing;
};

/* What it takes to decide: the plugins and extenders of the pod's profile. */
struct deciders {
    struct profile profile, variant;  /* a variant: its policy has weights */
    struct http_extenders *extenders; /* those of the configuration, called or not */
};

/* `pod`: as it is decided, with its policy. */
int deciders_init(struct deciders *deciders, struct input *input, const struct pod *pod, struct error *err);
void deciders_release(struct deciders *deciders);
struct profile *decider(struct deciders *deciders);

/* The pods that wait, and why, in a line each. Returns the exit code. */
int explain_waiting(struct input *input, const struct explain_settings *settings, struct error *err);

#endif
