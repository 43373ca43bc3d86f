/* explain_waiting.c: which pods of the input wait, with one line why.
 *
 * Each is evaluated by itself on the cluster as it is. Pods that plugins cannot tell apart (cluster/pod_class.h) have
 * one evaluation, and are one line. */
#include <stdlib.h>
#include <string.h>

#include "api/output.h"
#include "cmd/explain.h"
#include "whatif/explain_print.h"

/* ---- plugins ---- */
static int make_variant(struct deciders *deciders, struct input *input, const struct profile_config *config,
                        const struct pod *pod, struct error *err)
{
    if (!pod->policy || !pod->policy->weighs)
        return 0;
    const struct profile_variant variant = policy_variant(policy_of(pod));
    return profile_init_variant(&deciders->variant, &deciders->profile, config, &variant, &input->cluster,
                                err);
}

struct profile *decider(struct deciders *deciders)
{
    return deciders->variant.plugins ? &deciders->variant : &deciders->profile;
}

int deciders_init(struct deciders *deciders, struct input *input, const struct pod *pod, struct error *err)
{
    const struct profile_config *config = config_profile(&input->config, pod->spec.scheduler_name);
    const struct http_extenders_options options = { .config = &input->config, .binds_nothing = true };
    if (!config)
        return error_set(err, -ENOENT,
                         "pod " META_FMT " belongs to the scheduler \"" STR_FMT
                         "\", for which the configuration has no profile",
                         META_ARG(&pod->meta), STR_ARG(pod->spec.scheduler_name));
    int r = http_extenders_new(&options, &deciders->extenders, err);
    if (r == 0)
        r = profile_init(&deciders->profile, input->registry, config, &input->cluster, err);
    if (r == 0)
        r = make_variant(deciders, input, config, pod, err);
    if (r == 0)
        profile_extend(decider(deciders), http_extenders_table(deciders->extenders));
    return r;
}

void deciders_release(struct deciders *deciders)
{
    profile_release(&deciders->variant);
    profile_release(&deciders->profile);
    http_extenders_free(deciders->extenders);
}

/* Those of every profile and policy that pods have. While they live, the classes of pods tell apart what they read. */
struct shared_deciders {
    const struct profile_config *config;
    const struct pod_policy *policy; /* with weights; NULL: none */
    struct deciders deciders;
};

typedef VEC(struct shared_deciders *) decider_vec;

static const struct pod_policy *weights_of(const struct pod *pod)
{
    return pod->policy && pod->policy->weighs ? pod->policy : NULL;
}

static int deciders_of(decider_vec *all, struct input *input, const struct pod *pod, struct deciders **ret,
                       struct error *err)
{
    const struct profile_config *config = config_profile(&input->config, pod->spec.scheduler_name);
    vec_for(all, shared) {
        *ret = &(*shared)->deciders;
        if ((*shared)->config == config && (*shared)->policy == weights_of(pod))
            return 0;
    }
    struct shared_deciders *added = xcalloc(1, sizeof(*added));
    *added = (struct shared_deciders){ .config = config, .policy = weights_of(pod) };
    *vec_push(all) = added;
    *ret = &added->deciders;
    return deciders_init(&added->deciders, input, pod, err);
}

static void deciders_free(decider_vec *all)
{
    vec_for(all, shared) {
        deciders_release(&(*shared)->deciders);
        free(*shared);
    }
    vec_release(all);
}

/* ---- pods that are alike ---- */
struct waiting {
    const struct pod *pod; /* the first of them */
    struct pod_info *info;
    struct deciders *deciders;
    size_t pods;
    struct str sentence;
    uint32_t feasible;
    struct str message;
};

typedef VEC(struct waiting) waiting_vec;

static bool has_same_gates(const struct pod *a, const struct pod *b)
{
    bool same = a->spec.scheduling_gates.len == b->spec.scheduling_gates.len;
    for (uint32_t i = 0; same && i < a->spec.scheduling_gates.len; i++)
        same = str_eq(a->spec.scheduling_gates.items[i].name, b->spec.scheduling_gates.items[i].name);
    return same;
}

static bool is_alike(const struct waiting *a, const struct waiting *b)
{
    return a->info->class == b->info->class && a->deciders == b->deciders &&
           a->info->priority == b->info->priority && a->info->nominated_row == b->info->nominated_row &&
           has_same_gates(a->pod, b->pod);
}

/* Pods of other schedulers are left out. All pods are known before one is judged: nominations count. */
static int collect(struct input *input, const char *namespace, decider_vec *deciders, waiting_vec *ret,
                   struct error *err)
{
    size_t len;
    int r = 0;
    struct pod **pending = input_pending(input, &len);
    for (size_t i = 0; i < len && r == 0; i++) {
        struct waiting waiting = { .pod = pending[i], .pods = 1 };
        if (!config_profile(&input->config, pending[i]->spec.scheduler_name))
            continue;
        waiting.info = cluster_add_pod(&input->cluster, pending[i]);
        r = deciders_of(deciders, input, waiting.info->api, &waiting.deciders, err);
        if (!namespace || str_is(pending[i]->meta.namespace, namespace))
            *vec_push(ret) = waiting;
    }
    free(pending);
    return r;
}

static void merge(waiting_vec *waiting)
{
    size_t kept = 0;
    for (size_t i = 0; i < waiting->len; i++) {
        size_t at = 0;
        while (at < kept && !is_alike(&waiting->items[at], &waiting->items[i]))
            at++;
        if (at < kept)
            waiting->items[at].pods++;
        else
            waiting->items[kept++] = waiting->items[i];
    }
    waiting->len = kept;
}

/* ---- why ---- */
static struct str fits(const struct explanation *explanation, struct arena *arena)
{
    struct str name = cluster_node_name(explanation->cluster, explanation->best[0]);
    uint32_t nodes = explanation->evaluation.feasible_len;
    const char *how = nodes == 1 ? "" : explanation->best_len > 1 ? ", one of the best is" : ", the best is";
    return arena_printf(arena, "%s can take it%s " STR_FMT, counted(nodes, "node"), nodes == 1 ? ":" : how,
                        STR_ARG(name));
}

/* The largest group of nodes, and what they lack. */
static struct str lacks(const struct explanation *explanation, struct arena *arena)
{
    const struct rejected_group *group = explanation->rejections.items;
    if (!explanation->rejections.len)
        return arena_str(arena, explanation->message);
    return arena_printf(arena, "%s of %s: " STR_FMT, grouped(group->nodes),
                        counted(explanation->rows_len, "node"),
                        STR_ARG(rejected_group_sentence(explanation->cluster, group, arena)));
}

static void judge(struct waiting *waiting, struct input *input, const struct explain_options *options,
                  struct arena *arena)
{
    struct explanation explanation = { 0 };
    struct explain_options now = *options;
    now.extenders = waiting->deciders->extenders;
    explain_pod(&explanation, decider(waiting->deciders), &input->cluster, waiting->info, &now);
    waiting->feasible = explanation.best_len ? explanation.evaluation.feasible_len : 0;
    waiting->message = arena_str(arena, explanation.message);
    if (!status_ok(explanation.pre_enqueue))
        waiting->sentence = arena_printf(arena, "held back: " STR_FMT,
                                         STR_ARG(status_message(explanation.pre_enqueue, arena)));
    else
        waiting->sentence = explanation.best_len ? fits(&explanation, arena) : lacks(&explanation, arena);
    explanation_release(&explanation);
}

/* ---- printing ---- */
static void put_document(const struct waiting *waiting, size_t shown, size_t left, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    output_begin(&json, "PendingPods");
    json_member_array(&json, "pods");
    for (size_t i = 0; i < shown; i++) {
        json_begin_line(&json);
        output_name_members(&json, &waiting[i].pod->meta);
        json_member_int(&json, "count", (int64_t)waiting[i].pods);
        json_member_int(&json, "feasible", waiting[i].feasible);
        output_member_text(&json, "sentence", waiting[i].sentence);
        output_member_text(&json, "message", waiting[i].message);
        json_end_line(&json);
    }
    json_end_array(&json);
    json_member_int(&json, "left", (int64_t)left);
    output_end(&json);
}

static void put_table(const struct waiting *waiting, size_t shown, size_t left, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    _cleanup_(arena_release) struct arena scratch = { 0 };
    bool any_alike = false;
    if (!shown) {
        strbuf_puts(term->out, "No pod waits for a node.\n");
        return;
    }
    for (size_t i = 0; i < shown; i++)
        any_alike |= waiting[i].pods > 1;
    grid_columns(&grid, any_alike ? "POD|>ALIKE|WHY" : "POD|WHY");
    for (size_t i = 0; i < shown; i++) {
        grid_str(&grid, waiting[i].feasible ? PAINT_GOOD : PAINT_BAD,
                 pod_full_name(waiting[i].pod, &scratch));
        if (any_alike)
            grid_count(&grid, waiting[i].pods);
        grid_str(&grid, PAINT_NONE, waiting[i].sentence);
    }
    grid_print(&grid, term, 0);
    if (left)
        term_paint(term, PAINT_DIM, "and %s; --top shows more of them\n", counted(left, "more pod"));
}

int explain_waiting(struct input *input, const struct explain_settings *settings, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, json = { 0 };
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct term term = term_stdout(&out);
    waiting_vec waiting = { 0 };
    decider_vec deciders = { 0 };
    size_t left = 0;
    struct explain_options options = { .file_of = plugins_file,
                                       .begins = true,
                                       .calls_extenders = !settings->no_extenders };
    if (decision_time(settings->now, &options.now_ns, err) < 0)
        return fail(EXIT_INPUT, err);
    int r = collect(input, settings->namespace, &deciders, &waiting, err);
    merge(&waiting);
    size_t shown = MIN(waiting.len, (size_t)settings->top);
    for (size_t i = 0; i < shown && r == 0; i++)
        judge(&waiting.items[i], input, &options, &arena);
    for (size_t i = shown; i < waiting.len; i++)
        left += waiting.items[i].pods;
    if (r == 0 && (settings->html || settings->input.output == OUTPUT_JSON))
        put_document(waiting.items, shown, left, &json);
    if (r == 0 && settings->input.output == OUTPUT_JSON)
        strbuf_str(&out, strbuf_slice(&json));
    else if (r == 0)
        put_table(waiting.items, shown, left, &term);
    vec_release(&waiting);
    deciders_free(&deciders);
    if (r < 0)
        return fail(EXIT_INPUT, err);
    r = write_html(settings->html, "Pods that wait", &settings->input.files, strbuf_slice(&json));
    return r ? r : finish(&term);
}
