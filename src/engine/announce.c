/* announce.c: see announce.h. */
#include "engine/announce.h"

#include <stdlib.h>

/* Other schedulers need a round trip or two to withdraw. */
#define ROOM_WAIT_NS ((int64_t)2 * 1000000000)

/* ---- announcements of other schedulers ---- */
/* A pod that is being deleted cannot be bound any more. */
bool announce_is_foreign(const struct engine *engine, const struct pod *pod)
{
    return engine->announces && !pod->spec.node_name.len && pod->status.nominated_node_name.len &&
           !pod->meta.deletion_time.set && !engine_profile(engine, pod);
}

struct pod_info *announce_add(struct engine *engine, const struct pod *pod)
{
    struct pod_info *info = cluster_add_pod(engine->cluster, pod);
    info->is_foreign = true;
    announce_look_at(engine, info->nominated_row);
    return info;
}

/* Does the newer version of the pod leave its room taken? */
static bool keeps_room(const struct pod *pod, const struct pod *newer)
{
    return newer && !newer->meta.deletion_time.set &&
           str_eq(pod->status.nominated_node_name,
                  newer->spec.node_name.len ? newer->spec.node_name : newer->status.nominated_node_name);
}

void announce_remove(struct engine *engine, struct pod_info *pod, const struct pod *newer, int64_t now_ns)
{
    uint32_t row = pod->nominated_row;
    pod_info_ref(pod);
    if (row != ROW_NONE) {
        cluster_hold_row(engine->cluster, row);
        announce_look_at(engine, row);
    }
    cluster_remove_pod(engine->cluster, pod);
    if (!keeps_room(pod->api, newer))
        engine_pod_left(engine, pod, NULL, now_ns);
    if (row != ROW_NONE)
        cluster_unhold_row(engine->cluster, row);
    pod_info_unref(engine->cluster, pod);
}

/* ---- looks ---- */
void announce_look(struct pod_binding *binding)
{
    if (!binding->engine->announces || binding->looks || binding->has_room)
        return;
    binding->looks = true;
    *vec_push(&binding->engine->looks) = binding;
}

void announce_look_at(struct engine *engine, uint32_t row)
{
    if (!engine->bindings.len || row == ROW_NONE)
        return;
    vec_for(&engine->cluster->nodes.items[row].pods, pod) {
        struct pod_binding *binding =
            (*pod)->api->spec.node_name.len ? NULL : binding_find(engine, (*pod)->api);
        if (binding)
            announce_look(binding);
    }
}

static int by_number(const void *a, const void *b)
{
    const struct pod_binding *x = *(struct pod_binding *const *)a, *y = *(struct pod_binding *const *)b;
    return (x->number > y->number) - (x->number < y->number);
}

/* In an order that does not depend on the map. */
void announce_look_everywhere(struct engine *engine)
{
    size_t first = engine->looks.len;
    if (!engine->announces)
        return;
    map_for(&engine->bindings, slot)
        announce_look(slot->value);
    if (engine->looks.len > first)
        qsort(engine->looks.items + first, engine->looks.len - first, sizeof(*engine->looks.items),
              by_number);
}

/* ---- own announcements ---- */
void announce_begin(struct pod_binding *binding, int64_t now_ns)
{
    pod_status_set(&binding->engine->statuses, binding->pod->api,
                   &(struct status_change){ .nomination = NOMINATION_SET, .node = binding->node }, now_ns);
}

/* The order that all schedulers agree on. */
static bool precedes(const struct pod_info *a, const struct pod_info *b)
{
    const struct meta *x = &a->api->meta, *y = &b->api->meta;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (x->creation_time.seconds != y->creation_time.seconds)
        return x->creation_time.seconds < y->creation_time.seconds;
    return str_cmp(x->uid, y->uid) < 0;
}

/* The pod leaves its own place, and so do pods of this scheduler that it precedes and that have no room yet: theirs
 * is judged beside this one's. */
static void leave_places(const struct pod_binding *binding, struct node_overlay *overlay)
{
    const struct engine *engine = binding->engine;
    vec_for(&engine->cluster->nodes.items[binding->row].pods, pod) {
        const struct pod_binding *other =
            (*pod)->api->spec.node_name.len ? NULL : binding_find(engine, (*pod)->api);
        if (*pod == binding->pod || (other && !other->has_room && precedes(binding->pod, *pod)))
            overlay_remove(overlay, *pod);
    }
    overlay_restore_ports(overlay);
}

/* `all`: also beside announcements that it precedes. The first announcement that was counted is in *ret_other. */
static struct status judge_beside(struct pod_binding *binding, bool all, const struct pod_info **ret_other)
{
    struct cluster *cluster = binding->engine->cluster;
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct node_overlay overlay;
    struct cycle cycle;
    overlay_init(&overlay, cluster, binding->row, &arena);
    leave_places(binding, &overlay);
    *ret_other = NULL;
    vec_for(&cluster->nodes.items[binding->row].nominated, other) {
        if (!(*other)->is_foreign || !(all || precedes(*other, binding->pod)))
            continue;
        overlay_add(&overlay, *other);
        if (!*ret_other)
            *ret_other = *other;
    }
    cycle_init(&cycle, binding->cycle.profile, cluster, binding->pod, &arena);
    struct status status = run_room_filters(&cycle, (struct node_view){ cluster, binding->row, &overlay });
    if (!status_ok(status)) {
        struct str text = status_message(status, &arena);
        status = status_printf(&binding->arena, STATUS_UNSCHEDULABLE, STR_FMT,
                               STR_ARG(text)); /* outlives the cycle */
    }
    cycle_release(&cycle);
    overlay_release(&overlay);
    return status;
}

static struct str no_room(struct pod_binding *binding, const struct pod_info *other, struct status status)
{
    struct str why = status_message(status, &binding->arena);
    if (!other)
        return arena_printf(&binding->arena, "node " STR_FMT " has no room any more: " STR_FMT,
                            STR_ARG(binding->node), STR_ARG(why));
    const struct pod *pod = other->api;
    return arena_printf(&binding->arena,
                        "node " STR_FMT " has no room beside pod " STR_FMT "/" STR_FMT
                        ", which scheduler " STR_FMT " has announced: " STR_FMT,
                        STR_ARG(binding->node), STR_ARG(pod->meta.namespace), STR_ARG(pod->meta.name),
                        STR_ARG(pod->spec.scheduler_name), STR_ARG(why));
}

enum verdict { VERDICT_WAIT, VERDICT_ROOM, VERDICT_NO_ROOM };

static enum verdict judge(struct pod_binding *binding, int64_t now_ns, struct str *ret_why)
{
    struct engine *engine = binding->engine;
    const struct pod *pod = binding->pod->api;
    const struct pod_info *beside, *preceding;
    if (engine->is_listing_pods || !pod_status_settled(&engine->statuses, pod))
        return VERDICT_WAIT;
    *ret_why = STR("the announcement of its node was refused or removed");
    if (!str_eq(pod->status.nominated_node_name, binding->node))
        return VERDICT_NO_ROOM;
    if (!engine->cluster->nodes.items[binding->row].api) /* so is the kubelet that would refuse it */
        return VERDICT_ROOM;
    struct status all = judge_beside(binding, true, &beside);
    if (status_ok(all))
        return VERDICT_ROOM;
    struct status first = judge_beside(binding, false, &preceding);
    *ret_why = status_ok(first) ? no_room(binding, beside, all) : no_room(binding, preceding, first);
    if (!status_ok(first))
        return VERDICT_NO_ROOM;
    if (binding->stage != BINDING_ANNOUNCE)
        return VERDICT_WAIT;
    if (!binding->room_until_ns)
        binding->room_until_ns = now_ns + ROOM_WAIT_NS;
    return now_ns < binding->room_until_ns ? VERDICT_WAIT : VERDICT_NO_ROOM;
}

/* A pod that waits for permission is granted nothing yet, but may have to withdraw. */
static void settle(struct pod_binding *binding, int64_t now_ns)
{
    static const enum binding_event_kind kinds[] = {
        [VERDICT_ROOM] = BINDING_ON_ROOM, [VERDICT_NO_ROOM] = BINDING_ON_NO_ROOM
    };
    struct str why;
    binding->looks = false;
    if (binding->ended || binding->has_room)
        return;
    enum verdict verdict = judge(binding, now_ns, &why);
    if (verdict != VERDICT_WAIT)
        binding_event(binding,
                      &(struct binding_event){ .kind = kinds[verdict], .now_ns = now_ns, .why = why });
    else if (binding->stage == BINDING_ANNOUNCE)
        binding_due(binding, binding->room_until_ns > now_ns ? binding->room_until_ns : 0);
}

void announce_tick(struct engine *engine, int64_t now_ns)
{
    for (size_t i = 0; i < engine->looks.len; i++)
        settle(engine->looks.items[i], now_ns);
    engine->looks.len = 0;
}
