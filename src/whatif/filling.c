/* filling.c: see filling.h. */
#include "whatif/filling.h"

#include <stdlib.h>

#include "api/fields.h"
#include "plugins/registry.h"

enum { COPIES_BETWEEN_PROGRESS = 1024 };

/* ---- templates ---- */
static struct cluster *cluster_of(const struct filling *filling)
{
    return &filling->simulation->input->cluster;
}

/* The pod from which the next copy is decided, in the model. */
static struct pod_info *make_next(struct filling *filling, struct filling_part *part)
{
    struct input *input = filling->simulation->input;
    if (!part->next) {
        const struct pod *pod = template_copy(part->template, &input->expansion);
        input_apply_claims(input);
        part->next = cluster_add_pod(&input->cluster, pod);
    }
    return part->next;
}

static bool has_loaded_plugins(const struct filling *filling)
{
    const struct input *input = filling->simulation->input;
    return input->registry->len != builtin_plugins.len;
}

static int part_init(struct filling *filling, struct filling_part *part, const struct template *template,
                     struct error *err)
{
    *part = (struct filling_part){ .template = template };
    part->on = arena_array(&filling->arena, struct pod_info *, filling->rows_cap);
    part->copies = arena_array(&filling->arena, uint32_t, filling->rows_cap);
    const struct pod_info *pod = make_next(filling, part);
    if (!engine_profile(&filling->simulation->engine, pod->api))
        return error_set(err, -ENOENT,
                         STR_FMT " " META_FMT " belongs to the scheduler \"" STR_FMT
                                 "\", for which the configuration has no profile",
                         STR_ARG(api_kinds[template->kind].kind), META_ARG(template->object),
                         STR_ARG(pod->api->spec.scheduler_name));
    part->counts = !pod->class->has_claims && !pod->class->has_devices && !pod->class->has_volumes &&
                   !has_loaded_plugins(filling);
    return 0;
}

/* Pods that wait have had their turn. One that went on preempting is not there any more. */
static void retire_waiting(struct filling *filling)
{
    vec_for(&filling->simulation->waiting, waiting) {
        const struct meta *meta = &waiting->pod->meta;
        const struct pod_info *pod = cluster_find_pod(cluster_of(filling), meta->namespace, meta->name);
        if (pod)
            queue_remove(&filling->simulation->engine.queue, pod);
    }
}

int filling_init(struct filling *filling, struct simulation *simulation, const struct template *templates,
                 size_t len, struct error *err)
{
    *filling =
        (struct filling){ .simulation = simulation, .parts_len = (uint32_t)len, .began = now_seconds() };
    filling->rows_cap = (uint32_t)simulation->input->cluster.nodes.len + 1; /* a node may be added */
    filling->parts = arena_array(&filling->arena, struct filling_part, len);
    retire_waiting(filling);
    int r = 0;
    for (size_t i = 0; i < len && r == 0; i++) {
        r = part_init(filling, &filling->parts[i], &templates[i], err);
        for (uint32_t n = 0; n < (len > 1 ? templates[i].share : 1); n++)
            *vec_push(&filling->mix) = (uint32_t)i;
    }
    return r;
}

void filling_release(struct filling *filling)
{
    if (filling->simulation && filling_unwinds(filling))
        filling_unwind(filling, 0);
    vec_release(&filling->mix);
    vec_release(&filling->rows);
    arena_release(&filling->arena);
}

/* ---- copies come ---- */
static struct filling_part *part_of(const struct filling *filling, size_t copy)
{
    return &filling->parts[filling->mix.items[copy % filling->mix.len]];
}

struct filling_part *filling_next(struct filling *filling)
{
    return part_of(filling, filling->rows.len);
}

/* The pod got a node. Where another copy is there already, it is counted, and the pod is the next copy. */
static void keep(struct filling *filling, struct filling_part *part, uint32_t row)
{
    if (part->counts && part->on[row]) {
        cluster_displace(cluster_of(filling), part->next);
        cluster_place_copy(cluster_of(filling), part->on[row]);
    } else {
        part->on[row] = part->next;
        part->next = NULL;
    }
    part->copies[row]++;
    part->placed++;
    *vec_push(&filling->rows) = row;
}

int filling_run(struct filling *filling, size_t most, struct decision *ret, struct error *err)
{
    while (filling->rows.len < most) {
        struct filling_part *part = filling_next(filling);
        uint32_t row;
        int r = simulation_decide(filling->simulation, make_next(filling, part), ret, &row, err);
        if (r < 0)
            return r;
        if (row == ROW_NONE)
            return 1;
        keep(filling, part, row);
        if (filling->progress && filling->rows.len % COPIES_BETWEEN_PROGRESS == 0)
            filling->progress(filling->rows.len, now_seconds() - filling->began);
    }
    return 0;
}

/* ---- copies leave ---- */
bool filling_unwinds(const struct filling *filling)
{
    for (uint32_t i = 0; i < filling->parts_len; i++)
        if (!filling->parts[i].counts)
            return false;
    return true;
}

void filling_unwind(struct filling *filling, size_t len)
{
    while (filling->rows.len > len) {
        uint32_t row = filling->rows.items[filling->rows.len - 1];
        struct filling_part *part = part_of(filling, filling->rows.len - 1);
        struct pod_info *pod = part->on[row];
        cluster_displace_copy(cluster_of(filling), pod);
        if (--part->copies[row] == 0) {
            cluster_remove_pod(cluster_of(filling), pod);
            part->on[row] = NULL;
        }
        part->placed--;
        filling->rows.len--;
    }
}
