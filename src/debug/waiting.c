/* waiting.c: see waiting.h. Who waits longest comes first. */
#include "debug/waiting.h"

#include <stdlib.h>

#include "api/timestamp.h"
#include "codec/json_writer.h"
#include "engine/binding.h"

#define NS_PER_S INT64_C(1000000000)
enum { MS_PER_S = 1000, NS_PER_MS = 1000000 };

static struct str key_of(const struct pod_binding *binding)
{
    return strbuf_slice(&binding->key);
}

static int by_age(const void *a, const void *b)
{
    const struct pod_binding *x = *(const struct pod_binding *const *)a,
                             *y = *(const struct pod_binding *const *)b;
    if (x->started_ns != y->started_ns)
        return x->started_ns < y->started_ns ? -1 : 1;
    return str_cmp(key_of(x), key_of(y));
}

static void put_seconds(struct json_writer *json, const char *key, int64_t ms)
{
    json_member_double(json, key, (double)MAX(ms, 0) / MS_PER_S);
}

static void put_permits(struct json_writer *json, const struct pod_binding *binding, int64_t waited_ms)
{
    const struct profile *profile = binding->cycle.profile;
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        if (!(binding->waits_for >> i & 1))
            continue;
        json_begin_object(json);
        json_member_str(json, "plugin", str_from(profile->plugins[i].plugin->name));
        put_seconds(json, "secondsLeft", binding->permit_ms[i] - waited_ms);
        json_end_object(json);
    }
}

/* The plugin that is at work, or NULL. */
static const char *worker(const struct pod_binding *binding)
{
    enum extension_point point = binding->stage == BINDING_PRE_BIND ? POINT_PRE_BIND : POINT_BIND;
    const struct plugin_order *order = &binding->cycle.profile->points[point];
    bool delegated = binding->delegated && !binding->undelegated; /* an extender has it, and no plugin */
    return delegated || binding->resume >= order->len ? NULL : order->items[binding->resume]->plugin->name;
}

static void put_worker(struct json_writer *json, const struct pod_binding *binding)
{
    const char *plugin = worker(binding);
    if (!plugin)
        return;
    json_begin_object(json);
    json_member_str(json, "plugin", str_from(plugin));
    json_end_object(json);
}

static bool waits_for(const struct pod_binding *binding, struct str plugin)
{
    const struct profile *profile = binding->cycle.profile;
    if (binding->stage != BINDING_PERMIT)
        return worker(binding) && str_is(plugin, worker(binding));
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if (binding->waits_for >> i & 1 && str_is(plugin, profile->plugins[i].plugin->name))
            return true;
    return false;
}

static bool is_meant(const struct pod_binding *binding, const struct view_filter *filter)
{
    return view_filter_names(filter, &binding->pod->api->meta) &&
           (!filter->queue.len || str_is(filter->queue, binding_stage_names[binding->stage])) &&
           (!filter->plugin.len || waits_for(binding, filter->plugin));
}

static void put_pod(struct json_writer *json, const struct pod_binding *binding, int64_t now_ns)
{
    const struct meta *meta = &binding->pod->api->meta;
    char since[TIMESTAMP_LEN + 1];
    int64_t waited_ms = (now_ns - binding->started_ns) / NS_PER_MS;
    json_begin_object(json);
    json_member_str(json, "namespace", meta->namespace);
    json_member_str(json, "name", meta->name);
    json_member_str(json, "scheduler", binding->cycle.profile->scheduler_name);
    json_member_str(json, "node", binding->node);
    json_member_str(json, "stage", str_from(binding_stage_names[binding->stage]));
    json_member_str(json, "since", timestamp_format(binding->started_ns / NS_PER_S, since));
    put_seconds(json, "seconds", waited_ms);
    json_member_array(json, "waitsFor");
    if (binding->stage == BINDING_PERMIT)
        put_permits(json, binding, waited_ms);
    else
        put_worker(json, binding);
    json_end_array(json);
    json_end_object(json);
}

static void put_counts(struct json_writer *json, const struct engine *engine)
{
    json_member_object(json, "counts");
    for (int stage = 0; stage < BINDING_STAGE_COUNT; stage++)
        json_member_int(json, binding_stage_names[stage], (int64_t)engine->bindings_at[stage]);
    json_end_object(json);
}

void waiting_write(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                   struct strbuf *out)
{
    VEC(const struct pod_binding *) all = { 0 };
    char time_text[TIMESTAMP_LEN + 1];
    struct json_writer json = json_writer(out, JSON_COMPACT);
    map_for(&engine->bindings, slot) {
        if (is_meant(slot->value, filter))
            *vec_push(&all) = slot->value;
    }
    if (all.len)
        qsort(all.items, all.len, sizeof(*all.items), by_age);
    size_t len = MIN(all.len, filter->limit);
    json_begin_object(&json);
    json_member_str(&json, "time", timestamp_format(now_ns / NS_PER_S, time_text));
    put_counts(&json, engine);
    json_member_array(&json, "pods");
    for (size_t i = 0; i < len; i++)
        put_pod(&json, all.items[i], now_ns);
    json_end_array(&json);
    json_member_int(&json, "left", (int64_t)(all.len - len));
    json_end_object(&json);
    strbuf_putc(out, '\n');
    vec_release(&all);
}

int waiting_view(void *views, const struct serve_request *request, struct serve_reply *reply)
{
    return views_ask(views, request, reply, waiting_write);
}
