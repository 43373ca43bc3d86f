/* waiting.c: see waiting.h. The pod that waits longest comes first. */
#include "debug/waiting.h"

#include <stdlib.h>

#include "api/output.h"
#include "engine/binding.h"

static int by_age(const void *a, const void *b)
{
    const struct pod_binding *x = *(const struct pod_binding *const *)a,
                             *y = *(const struct pod_binding *const *)b;
    return COMPARE(x->started_ns, y->started_ns) ?: str_cmp(x->key, y->key);
}

static void put_permits(struct json_writer *json, const struct pod_binding *binding, int64_t now_ns)
{
    const struct profile *profile = binding->cycle.profile;
    int64_t waited_ns = (now_ns - binding->started_ns) / NS_PER_MS * NS_PER_MS;
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        if (!(binding->waits_for >> i & 1))
            continue;
        json_begin_object(json);
        json_member_str(json, "plugin", str_from(profile->plugins[i].plugin->name));
        view_put_seconds(json, "secondsLeft", binding->permit_ms[i] * NS_PER_MS - waited_ns);
        json_end_object(json);
    }
}

/* The plugin that is at work, or NULL. */
static const char *worker(const struct pod_binding *binding)
{
    enum extension_point point = binding->stage == BINDING_PRE_BIND ? POINT_PRE_BIND : POINT_BIND;
    const struct plugin_order *order = &binding->cycle.profile->points[point];
    bool delegated = binding->delegated && !binding->undelegated; /* an extender has it, and no plugin */
    return delegated || binding->stage == BINDING_ANNOUNCE || binding->resume >= order->len
               ? NULL
               : order->items[binding->resume]->plugin->name;
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
    json_begin_object(json);
    output_name_members(json, meta);
    json_member_str(json, "scheduler", binding->cycle.profile->scheduler_name);
    json_member_str(json, "node", binding->node);
    json_member_str(json, "stage", str_from(binding_stage_names[binding->stage]));
    view_put_time(json, "since", binding->started_ns);
    view_put_seconds(json, "seconds", now_ns - binding->started_ns);
    json_member_array(json, "waitsFor");
    if (binding->stage == BINDING_PERMIT) {
        put_permits(json, binding, now_ns);
    } else if (worker(binding)) {
        json_begin_object(json);
        json_member_str(json, "plugin", str_from(worker(binding)));
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void waiting_write(const struct engine *engine, const struct view_filter *filter, int64_t now_ns,
                   struct strbuf *out)
{
    VEC(const struct pod_binding *) all = { 0 };
    struct json_writer json = json_writer(out, JSON_COMPACT);
    map_for(&engine->bindings, slot) {
        if (is_meant(slot->value, filter))
            *vec_push(&all) = slot->value;
    }
    vec_sort(&all, by_age);
    size_t len = MIN(all.len, filter->limit);
    output_begin(&json, "Waiting");
    view_put_time(&json, "time", now_ns);
    json_member_object(&json, "counts");
    for (int stage = 0; stage < BINDING_STAGE_COUNT; stage++)
        json_member_int(&json, binding_stage_names[stage], engine->bindings_at[stage]);
    json_end_object(&json);
    json_member_array(&json, "pods");
    for (size_t i = 0; i < len; i++)
        put_pod(&json, all.items[i], now_ns);
    json_end_array(&json);
    json_member_int(&json, "left", (int64_t)(all.len - len));
    output_end(&json);
    vec_release(&all);
}

int waiting_view(void *views, const struct serve_request *request, struct serve_reply *reply)
{
    return views_request(views, request, reply, waiting_write);
}
