/* pod_kinds.c: see pod_kinds.h. */
#include "input/pod_kinds.h"

#include <strings.h>

static const struct {
    enum api_kind kind;
    const char *words[3]; /* the shortest first */
} rows[] = {
    { KIND_POD, { "pod", "po", "pods" } },
    { KIND_DEPLOYMENT, { "deploy", "deployment", "deployments" } },
    { KIND_REPLICA_SET, { "rs", "replicaset", "replicasets" } },
    { KIND_STATEFUL_SET, { "sts", "statefulset", "statefulsets" } },
    { KIND_DAEMON_SET, { "ds", "daemonset", "daemonsets" } },
    { KIND_REPLICATION_CONTROLLER, { "rc", "replicationcontroller", "replicationcontrollers" } },
    { KIND_JOB, { "job", "jobs", "job" } },
};

static bool is_word(struct str word, const char *wanted)
{
    return word.len == strlen(wanted) && strncasecmp(word.ptr, wanted, word.len) == 0;
}

enum api_kind pod_kind_named(struct str word)
{
    struct str group = word, name = str_cut(&group, '.');
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (size_t k = 0; k < ARRAY_SIZE(rows[i].words); k++)
            if (is_word(name, rows[i].words[k]))
                return rows[i].kind;
    return KIND_UNKNOWN;
}

const char *pod_kind_word(enum api_kind kind)
{
    size_t i = 0;
    while (i + 1 < ARRAY_SIZE(rows) && rows[i].kind != kind)
        i++;
    return rows[i].words[0];
}

bool kind_has_pods(enum api_kind kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].kind == kind)
            return true;
    return false;
}
