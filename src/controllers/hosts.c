/* hosts.c: nodes by name, what their fake kubelets are told to do, and the pods on them, kept up with the store. When
 * something changes that pods depend on, all pods of the node come to the queue. */
#include <stdlib.h>

#include "apiserver/fake_kubelet.h"
#include "base/clock.h"
#include "base/duration.h"
#include "controllers/controller.h"

enum { DELAY_MS_MAX = 24 * 3600 * 1000 };

struct host *host_find(struct controllers *controllers, struct str name)
{
    return strmap_get(&controllers->hosts, name);
}

static void free_unused(struct controllers *controllers, struct host *host)
{
    if (host->exists || !list_empty(&host->pods))
        return;
    strmap_remove(&controllers->hosts, host->name);
    free(host);
}

void host_join(struct controllers *controllers, struct known *pod, struct str name)
{
    struct host *old = pod->host;
    if (old ? str_eq(old->name, name) : !name.len)
        return;
    if (old) {
        list_remove(&old->pods, &pod->host_link);
        pod->host = NULL;
        free_unused(controllers, old);
    }
    if (!name.len)
        return;
    pod->host = strmap_make(&controllers->hosts, name, sizeof(*pod->host));
    pod->bound_ns = monotonic_ns();
    list_append(&pod->host->pods, &pod->host_link);
}

void hosts_release(struct controllers *controllers)
{
    map_for(&controllers->hosts, slot)
        free(slot->value);
    strmap_release(&controllers->hosts);
}

/* ---- what is known about a node ---- */
static struct str annotation(yyjson_val *json, const char *key)
{
    return doc_text(yyjson_obj_get(tree_at(json, "metadata.annotations"), key));
}

/* A text that is no duration, or none that makes sense, is none. */
static int64_t delay_of(yyjson_val *json, const char *key)
{
    int64_t ns;
    if (!duration_parse(annotation(json, key), &ns) || ns < 0)
        return 0;
    return MIN(ns / NS_PER_MS, (int64_t)DELAY_MS_MAX);
}

static enum host_state state_of(yyjson_val *json)
{
    struct str fail = annotation(json, FAIL_ANNOTATION);
    if (!fail.len)
        return HOST_WELL;
    return str_is(fail, FAIL_NOT_READY) ? HOST_NOT_READY : HOST_UNREACHABLE;
}

/* Taints that pods must tolerate to stay, as text; says whether there are any. */
static bool write_taints(yyjson_val *json, struct strbuf *out)
{
    yyjson_val *taints = tree_at(json, "spec.taints"), *taint;
    size_t i, max;
    bool has_any = false;
    if (!yyjson_is_arr(taints))
        return false;
    yyjson_arr_foreach(taints, i, max, taint) {
        if (!str_is(tree_text(taint, "effect"), "NoExecute"))
            continue;
        tree_write(taint, out);
        has_any = true;
    }
    return has_any;
}

static uint64_t read_node(struct host *host, yyjson_val *json)
{
    _cleanup_(strbuf_release) struct strbuf facts = { 0 };
    host->is_tainted = write_taints(json, &facts);
    host->state = state_of(json);
    host->start_ms = delay_of(json, START_ANNOTATION);
    host->stop_ms = delay_of(json, STOP_ANNOTATION);
    strbuf_printf(&facts, " %d %lld %lld", (int)host->state, (long long)host->start_ms,
                  (long long)host->stop_ms);
    return str_hash(strbuf_slice(&facts));
}

static void add_pods(struct controllers *controllers, struct host *host)
{
    list_for_each(&host->pods, struct known, pod, host_link)
        task_add_primary(controllers, pod->resource, pod->object->ns, pod->object->name, 0);
}

void hosts_follow(struct controllers *controllers, const struct store_change *change)
{
    struct host *host = strmap_make(&controllers->hosts, change->now->name, sizeof(*host));
    uint64_t facts = 0;
    host->exists = change->type != STORE_DELETED;
    host->gone_ns = host->exists ? 0 : monotonic_ns();
    if (host->exists) {
        yyjson_doc *doc = yyjson_read(change->now->json.ptr, change->now->json.len, 0);
        facts = read_node(host, yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    } else {
        host->is_tainted = false;
        host->state = HOST_UNREACHABLE;
    }
    if (facts != host->facts)
        add_pods(controllers, host);
    host->facts = facts;
    free_unused(controllers, host);
}
