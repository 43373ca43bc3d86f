/* extender.c: calls the extenders of a profile, in the order and with the consequences of the reference. */
#include "framework/extender.h"

#include "base/log.h"

/* What an extender's best score is worth beside the plugins' 100. */
enum { EXTENDER_SCORE_MAX = 10 };

const struct plugin plugin_extender = {
    .name = "Extender",
    .doc = "Stands for the extenders of the configuration where they reject a pod.",
    .silent_points = POINT_BIT(POINT_FILTER),
};

void profile_extend(struct profile *profile, const struct extenders *extenders)
{
    if (!extenders || !extenders->len)
        return;
    assert(profile->plugins_len < PLUGINS_MAX);
    profile->extenders = extenders;
    profile->plugins[profile->plugins_len] =
        (struct plugin_instance){ .plugin = &plugin_extender, .index = profile->plugins_len };
    profile->plugins_len++;
}

/* ---- which extenders are called ---- */
#define for_extenders(profile, extender) \
    for (uint32_t i_ = 0; (profile)->extenders && i_ < (profile)->extenders->len; i_++) \
        for (struct extender *extender = (profile)->extenders->items[i_]; extender; extender = NULL)

static bool manages(const struct extender *extender, const struct resource_list *list)
{
    list_for(list, resource)
        for (uint32_t i = 0; i < extender->managed_len; i++)
            if (str_eq(resource->name, extender->managed[i].name))
                return true;
    return false;
}

static bool container_wants(const struct extender *extender, const struct container *container)
{
    return manages(extender, &container->resources.requests) ||
           manages(extender, &container->resources.limits);
}

bool extender_wants(const struct extender *extender, const struct pod *pod)
{
    if (!extender->managed_len)
        return true;
    list_for(&pod->spec.containers, container)
        if (container_wants(extender, container))
            return true;
    list_for(&pod->spec.init_containers, container)
        if (container_wants(extender, container))
            return true;
    return false;
}

bool extenders_decide(const struct profile *profile, const struct pod *pod)
{
    for_extenders(profile, extender) if ((extender->filters || extender->prioritizes) &&
                                         (!pod || extender_wants(extender, pod))) return true;
    return false;
}

struct extender *extenders_binder(const struct profile *profile, const struct pod *pod)
{
    for_extenders(profile, extender) if (extender->binds && extender_wants(extender, pod)) return extender;
    return NULL;
}

struct status extender_failed(const struct extender *extender, struct cycle *cycle, const struct error *err)
{
    if (!extender->ignorable) {
        cycle->failed_extender = extender->name;
        return status_printf(cycle->arena, STATUS_ERROR, "%s", err->text);
    }
    log_info(0, "Skipping extender as it returned error and has ignorable flag set",
             log_str("extender", extender->name), log_str("err", str_from(err->text)));
    return STATUS_OK;
}

struct str attempt_failed_by(const struct cycle *cycle, struct status error)
{
    if (error.plugin)
        return arena_printf(cycle->arena, "plugin %s", error.plugin->name);
    if (cycle->failed_extender.len)
        return arena_printf(cycle->arena, "extender " STR_FMT, STR_ARG(cycle->failed_extender));
    return (struct str){ 0 };
}

/* ---- filter ---- */
static void note_refusals(struct cycle *cycle, const struct extender_filtered *filtered,
                          struct diagnosis *diagnosis)
{
    struct strmap known[2] = {
        0
    }; /* by `unresolvable`: messages to numbers of statuses; maybe one per node */
    for (uint32_t i = 0; i < filtered->refusals_len; i++) {
        const struct extender_refusal *refusal = &filtered->refusals[i];
        struct strmap *numbers = &known[refusal->unresolvable];
        uintptr_t number = (uintptr_t)strmap_get(numbers, refusal->message);
        if (!number) {
            enum status_code code = refusal->unresolvable ? STATUS_UNRESOLVABLE : STATUS_UNSCHEDULABLE;
            number = diagnosis_add(diagnosis,
                                   status_printf(cycle->arena, code, STR_FMT, STR_ARG(refusal->message)));
            strmap_put(numbers, refusal->message, (void *)number);
        }
        diagnosis_assign(diagnosis, refusal->row, (uint32_t)number);
    }
    strmap_release(&known[false]);
    strmap_release(&known[true]);
}

struct status extenders_filter(struct cycle *cycle, uint32_t *rows, uint32_t *len,
                               struct diagnosis *diagnosis)
{
    for_extenders(cycle->profile, extender)
    {
        struct extender_filtered filtered;
        struct error err;
        if (!*len)
            return STATUS_OK;
        if (!extender->filters || !extender_wants(extender, cycle->pod))
            continue;
        struct row_list nodes = { rows, *len };
        if (extender->calls->filter(extender, cycle, nodes, &filtered, &err) < 0) {
            struct status status = extender_failed(extender, cycle, &err);
            if (!status_ok(status))
                return status;
            continue;
        }
        note_refusals(cycle, &filtered, diagnosis);
        /* A node that was dropped without a reason is out of reach for eviction as well. */
        if (filtered.len < *len && status_ok(diagnosis->absent))
            diagnosis->absent = (struct status){ .code = STATUS_UNRESOLVABLE };
        assert(filtered.len <= *len);
        memcpy(rows, filtered.rows, filtered.len * sizeof(*rows));
        *len = filtered.len;
    }
    return STATUS_OK;
}

/* ---- score ---- */
/* Go's numbers wrap around, and an extender may give any. */
static int64_t weighted(int64_t score, int64_t weight)
{
    return (int64_t)((uint64_t)score * (uint64_t)weight * (SCORE_MAX / EXTENDER_SCORE_MAX));
}

static void add_scores(const struct cycle *cycle, const struct extender *extender,
                       const struct extender_scores *given, struct score_table *scores,
                       const uint32_t *index_of)
{
    const struct meta *meta = &cycle->pod->meta;
    for (uint32_t i = 0; i < given->len; i++) {
        uint32_t index = index_of[given->items[i].row];
        log_info(10, "Extender scored node for pod", log_ref("pod", meta->namespace, meta->name),
                 log_str("extender", extender->name),
                 log_str("node", cluster_node_name(cycle->cluster, given->items[i].row)),
                 log_int("score", given->items[i].score));
        if (index)
            scores->totals[index - 1] =
                (int64_t)((uint64_t)scores->totals[index - 1] +
                          (uint64_t)weighted(given->items[i].score, extender->weight));
    }
}

static bool scores_pod(const struct extender *extender, const struct pod *pod)
{
    return extender->prioritizes && extender_wants(extender, pod);
}

void extenders_score(struct cycle *cycle, struct score_table *scores)
{
    uint32_t *index_of = NULL; /* by row: number in the table, from 1 */
    for_extenders(cycle->profile, extender) if (scores_pod(extender, cycle->pod))
    {
        if (!index_of)
            index_of = arena_array(cycle->arena, uint32_t, cycle->cluster->nodes.len);
        extender->calls->begin_score(extender, cycle, scores->rows);
    }
    for (uint32_t i = 0; index_of && i < scores->rows.len; i++)
        index_of[scores->rows.items[i]] = i + 1;
    for_extenders(cycle->profile, extender)
    {
        struct extender_scores given;
        struct error err;
        if (!scores_pod(extender, cycle->pod))
            continue;
        if (extender->calls->end_score(extender, cycle, scores->rows, &given, &err) == 0)
            add_scores(cycle, extender, &given, scores, index_of);
        else
            log_info(5, "Failed to run extender's priority function. No score given by this extender.",
                     log_str("error", str_from(err.text)),
                     log_ref("pod", cycle->pod->meta.namespace, cycle->pod->meta.name),
                     log_str("extender", extender->name));
    }
}

struct str attempt_sentence(struct str failed_by, struct str message, struct arena *arena)
{
    return str_empty(failed_by)
               ? message
               : arena_printf(arena, "error of " STR_FMT ": " STR_FMT, STR_ARG(failed_by), STR_ARG(message));
}
