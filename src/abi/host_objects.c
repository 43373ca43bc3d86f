/* host_objects.c: objects by kind, also of kinds that plugins name, and what a plugin may ask for in init().
 *
 * A kind that plugins name may have several numbers: one for all of its objects, and one for each part that a plugin
 * has asked for alone (api/extra_kinds.h). Here they are one kind; an object that is in two parts is shown once. */
#include "abi/host.h"
#include "api/extra_kinds.h"
#include "api/fields.h"
#include "base/log.h"
#include "framework/blocking_work.h"

/* The numbers of a kind: itself, and of extra ones all parts. `after` is KIND_UNKNOWN at first, and so is the end. */
static enum api_kind next_part(enum api_kind kind, enum api_kind after)
{
    if (!kind_is_extra(kind))
        return after == KIND_UNKNOWN ? kind : KIND_UNKNOWN;
    int from = after == KIND_UNKNOWN ? KIND_EXTRA_FIRST : (int)after + 1;
    for (int part = from; part < KIND_EXTRA_FIRST + (int)extra_kind_count(); part++)
        if (extra_kind_has_same_objects((enum api_kind)part, kind))
            return (enum api_kind)part;
    return KIND_UNKNOWN;
}

#define parts_for(kind, part) \
    for (enum api_kind part = next_part(kind, KIND_UNKNOWN); part != KIND_UNKNOWN; \
         part = next_part(kind, part))

/* Of a kind that is not watched there are no objects: a plugin that wants them has made a mistake. */
bool host_kind_is_known(const struct cluster *cluster, enum api_kind number, const char *kind)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (number == KIND_POD || number == KIND_NODE || cluster_store(cluster, number))
        return true;
    if (!atomic_flag_test_and_set(&said))
        log_warning("A plugin asks for objects of a kind that is not watched",
                    log_str("kind", str_from(kind ? kind : "")));
    return false;
}

static const void *find_object(const struct cluster *cluster, enum api_kind kind, struct str namespace,
                               struct str name)
{
    const void *found = NULL;
    for (enum api_kind part = next_part(kind, KIND_UNKNOWN); part != KIND_UNKNOWN && !found;
         part = next_part(kind, part))
        found = cluster_find(cluster, part, namespace, name);
    return found;
}

/* A file may leave out the namespace "default". When it is read, it is not known whether a kind has namespaces. */
const void *host_get(const struct berth_cluster *outer, const char *kind, struct berth_str namespace,
                     struct berth_str name)
{
    struct cluster *cluster = in_cluster(outer);
    enum api_kind number = host_kind(kind);
    if (!host_may_look(outer, "berth_get") || !host_kind_is_known(cluster, number, kind))
        return NULL;
    const void *found = find_object(cluster, number, in_str(namespace), in_str(name));
    if (!found && kind_is_extra(number) && str_is(in_str(namespace), "default"))
        found = find_object(cluster, number, (struct str){ 0 }, in_str(name));
    return found;
}

/* Is the object also in a part before this one? */
static bool was_shown(const struct cluster *cluster, enum api_kind kind, enum api_kind part,
                      const struct meta *meta)
{
    parts_for(kind, before)
    {
        if (before == part)
            return false;
        if (cluster_find(cluster, before, meta->namespace, meta->name))
            return true;
    }
    return false;
}

static bool each_of(const struct cluster *cluster, enum api_kind kind, enum api_kind part,
                    bool (*visit)(void *context, const void *object), void *context)
{
    map_for(cluster_store(cluster, part), slot)
        if (!was_shown(cluster, kind, part, stored_object(slot)) && !visit(context, stored_object(slot)))
            return false;
    return true;
}

void host_each(const struct berth_cluster *outer, const char *kind,
               bool (*visit)(void *context, const void *object), void *context)
{
    struct cluster *cluster = in_cluster(outer);
    enum api_kind number = host_kind(kind);
    if (!host_may_look(outer, "berth_each") || !host_kind_is_known(cluster, number, kind))
        return;
    if (number == KIND_NODE) {
        uint32_t len;
        const uint32_t *rows = cluster_order(cluster, &len);
        for (uint32_t i = 0; i < len && visit(context, cluster->nodes.items[rows[i]].api); i++)
            ;
    } else if (number == KIND_POD) {
        map_for(&cluster->pods, slot)
            if (!visit(context, ((const struct pod_info *)slot->value)->api))
                return;
    } else {
        parts_for(number, part)
        {
            if (!each_of(cluster, number, part, visit, context))
                return;
        }
    }
}

uint64_t host_kind_version(const struct berth_cluster *outer, const char *kind)
{
    const struct cluster *cluster = in_cluster(outer);
    enum api_kind number = host_kind(kind);
    uint64_t version = 0;
    if (!host_may_look(outer, "berth_kind_version") || !kind_is_extra(number))
        return 0;
    parts_for(number, part)
    {
        version += cluster->extra_versions[part - KIND_EXTRA_FIRST];
    }
    return version + 1;
}

/* ---- in init() ---- */
static bool refuse(const struct berth_handle *handle, const char *function, const struct error *err)
{
    log_error(err, "A plugin asks for what it cannot have", log_str("plugin", str_from(handle->plugin->name)),
              log_str("function", str_from(function)));
    return false;
}

bool host_watch_only(const struct berth_handle *handle, const char *kind, struct berth_str namespace,
                     struct berth_str name)
{
    struct error err;
    enum api_kind number = host_kind(kind);
    struct plugin_wishes *wishes = handle ? handle->wishes : NULL;
    if (!wishes)
        return false;
    if (!kind_is_extra(number) || !(handle->plugin->kinds >> number & 1)) {
        error_set(&err, -EINVAL, "\"%s\" is none of its kinds", kind ? kind : "");
        return refuse(handle, "berth_watch_only", &err);
    }
    wishes->narrowed |= (uint64_t)1 << number;
    if (str_is(in_str(name), BERTH_NONE))
        return true;
    struct extra_kind part = { .api_version = api_kinds[number].api_version,
                               .kind = api_kinds[number].kind,
                               .namespace = in_str(namespace),
                               .name = in_str(name) };
    enum api_kind added = extra_kind_add(&part, &err);
    if (added == KIND_UNKNOWN)
        return refuse(handle, "berth_watch_only", &err);
    wishes->kinds |= (uint64_t)1 << added;
    return true;
}

void host_tick_every(const struct berth_handle *handle, int64_t interval)
{
    if (handle && handle->wishes)
        handle->wishes->tick_every_ns = MAX(interval, 0);
}

void host_sample_every(const struct berth_handle *handle, int64_t interval)
{
    if (handle && handle->wishes)
        handle->wishes->sample_every_ns = MAX(interval, 0);
}

/* ---- events ---- */
void host_event(const struct berth_handle *handle, const void *object, const char *type, const char *reason,
                const char *action, struct berth_str note)
{
    const struct mailbox_reader *reader = handle ? atomic_load(&handle->mailbox->reader) : NULL;
    const struct meta *meta = object;
    if (!reader || !reader->emit || !meta || !host_may_look(handle, "berth_event"))
        return;
    const struct effect effect = {
        .kind = EFFECT_EVENT,
        .namespace = meta->namespace,
        .name = meta->name,
        .uid = meta->uid,
        .resource_version = meta->resource_version,
        .event = { .api_version = api_kinds[meta->kind].api_version,
                   .kind = api_kinds[meta->kind].kind,
                   .type = str_from(type && strcmp(type, "Warning") == 0 ? "Warning" : "Normal"),
                   .reason = str_from(reason ? reason : ""),
                   .action = str_from(action ? action : ""),
                   .note = in_str(note),
                   .scheduler_name = handle->profile->scheduler_name },
    };
    reader->emit(reader->context, &effect);
}
