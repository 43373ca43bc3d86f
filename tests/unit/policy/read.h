/* read.h: policies from texts. */
#ifndef POLICY_READ_H
#define POLICY_READ_H

#include "support/fixture.h"

#include "plugins/registry.h"
#include "policy/policies.h"

#define POLICY(name, spec) \
    "apiVersion: scheduling.k8s.io/v1\nkind: SchedulingPolicy\nmetadata: {name: " name "}\nspec: {" spec "}" \
    "\n"

/* A ConfigMap system/policies with one text. */
static inline int read_text(const char *text, struct policy_set **ret, struct error *err)
{
    struct pair entry = { STR("p.yaml"), str_from(text) };
    const struct config_map map = { .meta = { .namespace = STR("system"), .name = STR("policies") },
                                    .data = { &entry, 1 } };
    return policy_set_read(&map, &builtin_plugins, ret, err);
}

static inline struct policy_set *must_read(const char *text)
{
    struct policy_set *set;
    struct error err;
    if (read_text(text, &set, &err) < 0)
        fail_msg("%s", err.text);
    return set;
}

#endif
