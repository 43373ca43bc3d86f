/* slots.c: our callbacks that call those of a loaded plugin, by the header's types.
 *
 *     framework ── struct cycle *, struct status ──▶ call_X() ── struct berth_cycle *, struct berth_status ──▶ plugin
 *
 * What a plugin returns may be anything: lists without items, texts without characters, names in any order. It is put
 * right here; what cannot be right (codes, scores, victims) is judged by the framework. */
#include <stdlib.h>

#include "abi/loaded_plugin.h"
#include "framework/blocking_work.h"

static const struct berth_plugin *outer_of(const struct cycle *cycle)
{
    return &((const struct loaded_self *)cycle_self(cycle))->plugin->outer;
}

/* ---- what plugins return ---- */
static bool reasons_are_texts(const struct berth_status *status)
{
    for (uint32_t i = 0; i < status->len; i++)
        if (status->reasons[i].len && !status->reasons[i].ptr)
            return false;
    return true;
}

/* Reasons stay where they are: a filter may reject every node. */
static __attribute__((noinline)) struct status in_other_status(const struct berth_status *outer,
                                                               struct arena *arena)
{
    struct status status = { .code = (enum status_code)outer->code };
    if (!outer->reasons || !outer->len)
        return status;
    status.len = outer->len;
    status.reasons = (const struct str *)outer->reasons;
    if (reasons_are_texts(outer))
        return status;
    struct str *reasons = arena_array(arena, struct str, outer->len);
    for (uint32_t i = 0; i < outer->len; i++)
        reasons[i] = in_str(outer->reasons[i]);
    status.reasons = reasons;
    return status;
}

/* A success, as for most nodes: nothing else is looked at. Volatile keeps the compiler from reading more with it (see
 * out_view()). */
static inline struct status in_status(const struct berth_status *outer, struct arena *arena)
{
    bool is_success = *(const volatile enum berth_code *)&outer->code == BERTH_SUCCESS;
    return is_success ? STATUS_OK : in_other_status(outer, arena);
}

/* What a callback of a plugin returns, as our own. */
#define CALL(callback, arena) \
    ({ \
        const struct berth_status outer_ = (callback); \
        in_status(&outer_, arena); \
    })

struct node_names host_names(const struct berth_str *items, uint32_t len, struct arena *arena)
{
    struct node_names names = { .items = arena_array(arena, struct str, len) };
    for (uint32_t i = 0; i < len; i++)
        names.items[i] = arena_str(arena, in_str(items[i]));
    if (len)
        qsort(names.items, len, sizeof(*names.items), str_qsort_cmp);
    for (uint32_t i = 0; i < len; i++)
        if (!names.len || !str_eq(names.items[names.len - 1], names.items[i]))
            names.items[names.len++] = names.items[i];
    return names;
}

/* ---- the queue ---- */
static struct status call_pre_enqueue(const void *self, const struct pod *pod, struct arena *arena)
{
    const struct loaded_self *own = self;
    return CALL(own->plugin->outer.pre_enqueue(own->outer, out_pod(pod), out_arena(arena)), arena);
}

static bool call_less(const void *self, const struct pod_info *a, const struct pod_info *b)
{
    return ((const struct loaded_self *)self)->plugin->outer.less(out_pod_info(a), out_pod_info(b));
}

static bool call_less_self(const void *self, const struct pod_info *a, const struct pod_info *b)
{
    const struct loaded_self *own = self;
    return own->plugin->outer.less_self(own->outer, out_pod_info(a), out_pod_info(b));
}

enum hint slots_hint(const struct hint_context *context, const struct pod *pod,
                     const struct cluster_event *event)
{
    const struct loaded_plugin *loaded = ((const struct loaded_self *)context->self)->plugin;
    const struct berth_event_rule *rule = &loaded->rules[context->rule->number];
    return rule->hint(out_hint(context), out_pod(pod), out_event(event)) == BERTH_HINT_SKIP ? HINT_SKIP
                                                                                            : HINT_QUEUE;
}

/* ---- the decision ---- */
static struct status call_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    struct berth_node_names names = { .all = true };
    struct status status = CALL(outer_of(cycle)->pre_filter(out_cycle(cycle), &names), cycle->arena);
    if (!names.all)
        *narrow = host_names(names.items, names.items ? names.len : 0, cycle->arena);
    return status;
}

static void call_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    outer_of(cycle)->add_pod(out_cycle(cycle), out_pod_info(pod), out_view(node));
}

static void call_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    outer_of(cycle)->remove_pod(out_cycle(cycle), out_pod_info(pod), out_view(node));
}

static struct status call_filter(struct cycle *cycle, struct node_view node)
{
    return CALL(outer_of(cycle)->filter(out_cycle(cycle), out_view(node)), cycle->arena);
}

static struct status call_post_filter(struct cycle *cycle, struct diagnosis *diagnosis,
                                      struct post_filter_result *ret)
{
    struct berth_post_filter_result result = { .nominated_row = BERTH_ROW_NONE };
    cycle->may_try = true;
    struct berth_status status =
        outer_of(cycle)->post_filter(out_cycle(cycle), out_diagnosis(diagnosis), &result);
    cycle->may_try = false;
    *ret = (struct post_filter_result){ .nominated_row = result.nominated_row,
                                        .clear_nomination = result.clear_nomination,
                                        .victims = (struct pod_info **)result.victims,
                                        .victims_len = result.victims_len };
    return in_status(&status, cycle->arena);
}

static struct status call_pre_score(struct cycle *cycle)
{
    return CALL(outer_of(cycle)->pre_score(out_cycle(cycle)), cycle->arena);
}

static struct status call_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    return CALL(outer_of(cycle)->score(out_cycle(cycle), out_view(node), ret), cycle->arena);
}

static void call_normalize(struct cycle *cycle, int64_t *scores, size_t len)
{
    outer_of(cycle)->normalize(out_cycle(cycle), scores, len);
}

static struct berth_rows out_rows(struct row_list rows)
{
    return (struct berth_rows){ rows.items, rows.len };
}

static void call_filter_nodes(struct cycle *cycle, struct row_list rows, bool *ret_fits)
{
    outer_of(cycle)->filter_nodes(out_cycle(cycle), out_rows(rows), ret_fits);
}

static void call_score_nodes(struct cycle *cycle, struct row_list rows, int64_t *ret)
{
    outer_of(cycle)->score_nodes(out_cycle(cycle), out_rows(rows), ret);
}

static void call_weigh(struct cycle *cycle)
{
    outer_of(cycle)->weigh(out_cycle(cycle));
}

static void call_observe(void *self, const struct observation *what)
{
    const struct loaded_self *own = self;
    own->plugin->outer.observe(own->outer, out_observation(what));
}

/* ---- from Reserve to PostBind ---- */
static struct status call_reserve(struct cycle *cycle, uint32_t row)
{
    return CALL(outer_of(cycle)->reserve(out_cycle(cycle), row), cycle->arena);
}

static void call_unreserve(struct cycle *cycle, uint32_t row)
{
    outer_of(cycle)->unreserve(out_cycle(cycle), row);
}

static struct status call_permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    return CALL(outer_of(cycle)->permit(out_cycle(cycle), row, ret_timeout_ms), cycle->arena);
}

static struct status call_pre_bind_pre_flight(struct cycle *cycle, uint32_t row)
{
    return CALL(outer_of(cycle)->pre_bind_pre_flight(out_cycle(cycle), row), cycle->arena);
}

/* On a worker thread. */
static struct status pre_bind_there(struct cycle *cycle, struct str node)
{
    return CALL(outer_of(cycle)->pre_bind(out_cycle(cycle), out_str(node)), cycle->arena);
}

static struct status bind_there(struct cycle *cycle, struct str node)
{
    return CALL(outer_of(cycle)->bind(out_cycle(cycle), out_str(node)), cycle->arena);
}

static struct status call_pre_bind(struct cycle *cycle, uint32_t row)
{
    return work_run(cycle, row, false, pre_bind_there);
}

static struct status call_bind(struct cycle *cycle, uint32_t row)
{
    return work_run(cycle, row, true, bind_there);
}

static void call_post_bind(struct cycle *cycle, uint32_t row)
{
    outer_of(cycle)->post_bind(out_cycle(cycle), row);
}

static void call_tick(void *self, struct cluster *cluster, int64_t now_ns)
{
    const struct loaded_self *own = self;
    own->plugin->outer.tick(own->outer, out_cluster(cluster), now_ns);
}

static void call_release(void *self)
{
    const struct loaded_self *own = self;
    own->plugin->outer.release(own->outer);
}

/* ---- the table ---- */
#define CALLED_SLOTS(X) \
    X(release) \
    X(pre_enqueue) \
    X(less) \
    X(pre_filter) \
    X(add_pod) \
    X(remove_pod) \
    X(filter) \
    X(post_filter) \
    X(pre_score) \
    X(score) \
    X(normalize) \
    X(weigh) \
    X(observe) \
    X(filter_nodes) \
    X(score_nodes) \
    X(reserve) \
    X(unreserve) \
    X(permit) \
    X(pre_bind_pre_flight) \
    X(pre_bind) \
    X(bind) \
    X(post_bind) \
    X(tick)

void slots_connect(struct loaded_plugin *loaded)
{
    const struct berth_plugin *outer = &loaded->outer;
    loaded->plugin.forget = outer->forget; /* it gets nothing but the plugin's own */
    loaded->plugin.reads = outer->reads;
#define X(slot) loaded->plugin.slot = outer->slot ? call_##slot : NULL;
    CALLED_SLOTS(X)
#undef X
    if (outer->weigh) /* it is about scores, and may be enabled where they are made */
        loaded->plugin.silent_points = POINT_BIT(POINT_PRE_SCORE) | POINT_BIT(POINT_SCORE);
    if (outer->less_self)
        loaded->plugin.less = call_less_self;
}
