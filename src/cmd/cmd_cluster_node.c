/* cmd_cluster_node.c: `berth cluster fail`, `recover` and `slow`: what the fake kubelets of a running development
 * cluster shall do.
 *
 *     berth cluster fail node-3 ──▶ the annotation cluster.berth.dev/fail of the Node ──▶ its fake kubelet obeys
 *
 * The cluster is that of a kubeconfig. Another cluster than one of `berth cluster` is refused, before anything is
 * written.
 *
 * Exit codes: 0 it was written, 1 the output cannot be written, 2 options are wrong or the cluster refuses. */
#include <stdio.h>

#include "apiserver/fake_kubelet.h"
#include "base/duration.h"
#include "client/get.h"
#include "client/rest.h"
#include "cmd/common.h"
#include "codec/json_writer.h"
#include "sync/listing.h"

extern const struct command command_cluster_fail, command_cluster_recover, command_cluster_slow;

enum { ANSWER_MS = 60 * 1000 };

struct node_settings {
    const char *kubeconfig, *context;
    int as;                   /* 0: unreachable, 1: not-ready */
    const char *start, *stop; /* durations; NULL: as it is */
};

#define CLUSTER_ROWS \
    { 0, \
      "kubeconfig", \
      "FILE", \
      OPTION_TEXT, \
      offsetof(struct node_settings, kubeconfig), \
      "That which `berth cluster` has written; without it, $KUBECONFIG or ~/.kube/config." }, \
        { 0, \
          "context", \
          "NAME", \
          OPTION_TEXT, \
          offsetof(struct node_settings, context), \
          "Another context than the current one of the kubeconfig." }

/* ---- requests ---- */
/* Real nodes have real kubelets, which know no such annotation. */
static int check_cluster(const struct kube_access *access, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
    int r = client_get(access, STR("/version"), ANSWER_MS, &body, err);
    if (r < 0)
        return r;
    yyjson_doc *doc = yyjson_read(body.text, body.len, 0);
    const char *version = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "gitVersion"));
    if (!version || !strstr(version, "+berth"))
        r = error_set(
            err, -EINVAL,
            "the cluster of the kubeconfig is none of `berth cluster` (its version is %.40s), so its "
            "nodes have no fake kubelets",
            version ? version : "unknown");
    yyjson_doc_free(doc);
    return r;
}

/* Annotations, NULL-terminated pairs; a value NULL removes. */
struct annotation {
    const char *key, *value;
};

static int annotate(const struct kube_access *access, const char *node, const struct annotation *list,
                    struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 }, body = { 0 }, answer = { 0 };
    struct json_writer json = json_writer(&body, JSON_COMPACT);
    strbuf_puts(&path, "/api/v1");
    rest_path(&path, (struct str){ 0 }, "nodes", str_from(node));
    json_begin_object(&json);
    json_member_object(&json, "metadata");
    json_member_object(&json, "annotations");
    for (; list->key; list++) {
        json_key(&json, str_from(list->key));
        if (list->value)
            json_str(&json, str_from(list->value));
        else
            json_null(&json);
    }
    json_end_object(&json);
    json_end_object(&json);
    json_end_object(&json);
    int r = client_send(access, "PATCH", strbuf_slice(&path), REST_MERGE_PATCH, strbuf_slice(&body),
                        ANSWER_MS, &answer, err);
    if (r < 0)
        error_prefix(err, "%s", node);
    return r;
}

/* Annotates every node that the words name, and says what happens to it then. */
static int annotate_all(const struct node_settings *settings, const struct texts *nodes,
                        const struct annotation *list, const char *outcome)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct kube_access access = { 0 };
    struct error err = { "" };
    int r = usual_access(settings->kubeconfig, settings->context, NULL, &arena, &access, &err);
    if (r == 0)
        r = check_cluster(&access, &err);
    vec_for(nodes, node) {
        if (r == 0)
            r = annotate(&access, *node, list, &err);
        if (r == 0)
            printf("%s %s\n", *node, outcome);
    }
    return r < 0 ? fail(EXIT_INPUT, &err) : EXIT_DONE;
}

/* ---- fail ---- */
static const struct option_row fail_rows[] = {
    { 0, "as", "unreachable|not-ready", OPTION_CHOICE, offsetof(struct node_settings, as),
      "How it fails: its kubelet does not answer any more (default), or reports that it cannot run pods." },
    CLUSTER_ROWS,
    { 0 },
};

static int run_fail(void *given, const struct texts *words)
{
    const struct node_settings *settings = given;
    const struct annotation list[] = { { FAIL_ANNOTATION, settings->as ? FAIL_NOT_READY : FAIL_UNREACHABLE },
                                       { 0 } };
    return annotate_all(settings, words, list, settings->as ? "is not ready" : "is unreachable");
}

const struct command command_cluster_fail = {
    .name = "cluster fail",
    .summary = "Makes nodes of a development cluster fail.",
    .usage = "[--as unreachable|not-ready] [--kubeconfig FILE] NODE...",
    .purpose =
        "The fake kubelet of the node stops: no heartbeats, no pod starts or ends there. The node becomes "
        "NotReady "
        "at once and gets the taints node.kubernetes.io/unreachable:NoSchedule and then :NoExecute (with "
        "--as "
        "not-ready, node.kubernetes.io/not-ready). Its pods are not ready any more, and are evicted when the "
        "tolerationSeconds of their tolerations have passed: 300 for pods that say nothing else. Like those "
        "of a "
        "real node that is lost, evicted pods stay Terminating until the node is back.\n"
        "\n"
        "It is the annotation cluster.berth.dev/fail of the Node that does this. `berth cluster recover` "
        "takes it "
        "away.",
    .examples = "  berth cluster fail node-3\n"
                "  berth cluster fail --as not-ready node-1 node-2\n"
                "  kubectl get nodes -w\n",
    .options = { { fail_rows, 0 } },
    .settings_size = sizeof(struct node_settings),
    .words_min = 1,
    .words_max = SIZE_MAX,
    .wants = "wants the names of nodes",
    .run = run_fail,
};

/* ---- recover ---- */
static const struct option_row recover_rows[] = { CLUSTER_ROWS, { 0 } };

static int run_recover(void *given, const struct texts *words)
{
    static const struct annotation list[] = {
        { FAIL_ANNOTATION, NULL }, { START_ANNOTATION, NULL }, { STOP_ANNOTATION, NULL }, { 0 }
    };
    return annotate_all(given, words, list, "recovers");
}

const struct command command_cluster_recover = {
    .name = "cluster recover",
    .summary = "Makes nodes of a development cluster well again.",
    .usage = "[--kubeconfig FILE] NODE...",
    .purpose = "Takes back what `berth cluster fail` and `berth cluster slow` did: the node becomes Ready, "
               "its taints "
               "go, pods that are still on it are ready again, and those that were evicted meanwhile end.",
    .examples = "  berth cluster recover node-3\n",
    .options = { { recover_rows, 0 } },
    .settings_size = sizeof(struct node_settings),
    .words_min = 1,
    .words_max = SIZE_MAX,
    .wants = "wants the names of nodes",
    .run = run_recover,
};

/* ---- slow ---- */
static const struct option_row slow_rows[] = {
    { 0, "start", "DURATION", OPTION_TEXT, offsetof(struct node_settings, start),
      "How long a pod that is bound to the node takes until it runs, such as 5s or 1m30s; 0 is at once." },
    { 0, "stop", "DURATION", OPTION_TEXT, offsetof(struct node_settings, stop),
      "How long a deleted pod takes to end. A pod that needs longer than its grace period is killed then." },
    CLUSTER_ROWS,
    { 0 },
};

static int check_duration(const char *option, const char *text, struct error *err)
{
    int64_t ns;
    if (!text || (duration_parse(str_from(text), &ns) && ns >= 0 && ns <= 24 * 3600 * NS_PER_SECOND))
        return 0;
    return error_set(err, -EINVAL, "--%s wants a duration from 0s to 24h, such as 5s, not \"%s\"", option,
                     text);
}

static int run_slow(void *given, const struct texts *words)
{
    const struct node_settings *settings = given;
    struct annotation list[3] = { 0 };
    struct error err = { "" };
    size_t len = 0;
    if (check_duration("start", settings->start, &err) < 0 ||
        check_duration("stop", settings->stop, &err) < 0)
        return usage_error(&command_cluster_slow, "%s", err.text);
    if (settings->start)
        list[len++] = (struct annotation){ START_ANNOTATION, settings->start };
    if (settings->stop)
        list[len++] = (struct annotation){ STOP_ANNOTATION, settings->stop };
    if (!len)
        return usage_error(&command_cluster_slow,
                           "cluster slow wants --start DURATION, --stop DURATION, or both");
    return annotate_all(settings, words, list, "is slow");
}

const struct command command_cluster_slow = {
    .name = "cluster slow",
    .summary = "Makes pods on nodes start or end slowly.",
    .usage = "[--start DURATION] [--stop DURATION] [--kubeconfig FILE] NODE...",
    .purpose = "Without this, pods run and end at once. A pod that starts is shown as ContainerCreating "
               "meanwhile, one that "
               "ends as Terminating.\n"
               "\n"
               "It is the annotations cluster.berth.dev/start-delay and cluster.berth.dev/stop-delay of the "
               "Node that do "
               "this. `berth cluster recover` takes them away.",
    .examples = "  berth cluster slow node-3 --start 5s\n"
                "  berth cluster slow --start 20s --stop 1m node-1 node-2\n",
    .options = { { slow_rows, 0 } },
    .settings_size = sizeof(struct node_settings),
    .words_min = 1,
    .words_max = SIZE_MAX,
    .wants = "wants the names of nodes",
    .run = run_slow,
};
