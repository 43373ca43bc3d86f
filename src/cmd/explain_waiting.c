/* explain_waiting.c: which pods wait, with one line why: those of the input, and those that its controllers would still
 * create, but for DaemonSets', which are tied to a node each. In a running cluster controllers have created what they
 * can.
 *
 * Each is evaluated by itself on the cluster as it is. Pods that plugins cannot tell apart (cluster/pod_class.h) have
 * one evaluation, and are one line. Pods of a class that plugins may tell apart, as by claims of their own, are
 * one line where the evaluations say the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/labels.h"
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
    struct waiting *next; /* another one with other plugins, or of another priority, of the same class */
    bool is_new;          /* a controller would still create it */
    bool may_differ;      /* from other pods of its class */
    size_t pods, place;
    struct str sentence;
    uint32_t feasible;
    struct str message, failed_by;
};

/* All that is listed: the pods of a namespace, or all. */
struct waiting_list {
    VEC(struct waiting) waiting;
    decider_vec deciders;
    bool any_differ;
    size_t shown, left;    /* of `waiting`; pods of the others */
    size_t of_daemon_sets; /* pods that DaemonSets would create */
};

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
           a->is_new == b->is_new && has_same_gates(a->pod, b->pod);
}

/* A class does not know what each pod has of its own, nor what extenders and plugins without `reads` look at. */
static bool may_differ(const struct waiting *waiting, bool calls_extenders)
{
    const struct pod_class *class = waiting->info->class;
    const struct profile *profile = decider(waiting->deciders);
    bool differs = class->has_claims || class->has_volumes || class->has_devices ||
                   (calls_extenders && profile->extenders);
    for (uint32_t i = 0; i < profile->plugins_len && !differs; i++)
        differs = !profile->plugins[i].plugin->reads && plugins_file(profile->plugins[i].plugin);
    return differs;
}

static bool is_of_daemon_set(const struct pod *pod)
{
    const struct owner_ref *owner = controller_of(&pod->meta);
    return owner && str_is(owner->kind, "DaemonSet");
}

/* All pods are known before one is judged: nominations count. Of the pods, the first `there` exist. */
static int collect(struct input *input, const undecided_vec *pods, size_t there,
                   const struct explain_settings *settings, struct waiting_list *ret, struct error *err)
{
    const char *namespace = settings->namespace;
    int r = 0;
    for (size_t i = 0; i < pods->len && r == 0; i++) {
        const struct pod *pod = pods->items[i];
        struct waiting waiting = { .pod = pod, .pods = 1, .place = i, .is_new = i >= there };
        bool is_listed = !namespace || str_is(pod->meta.namespace, namespace);
        if (waiting.is_new && is_of_daemon_set(pod)) {
            ret->of_daemon_sets += is_listed;
            continue;
        }
        waiting.info = cluster_add_pod(&input->cluster, pod);
        r = deciders_of(&ret->deciders, input, waiting.info->api, &waiting.deciders, err);
        if (r == 0 && is_listed)
            *vec_push(&ret->waiting) = waiting;
    }
    /* All profiles are known now, and with them what tells classes apart. */
    for (size_t i = 0; i < ret->waiting.len && r == 0; i++) {
        struct waiting *waiting = &ret->waiting.items[i];
        waiting->may_differ = may_differ(waiting, !settings->no_extenders);
        ret->any_differ |= waiting->may_differ;
    }
    return r;
}

/* The order of the queue. */
static int by_turn(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    return COMPARE(y->info->priority, x->info->priority) ?: COMPARE(x->place, y->place);
}

/* The one before it in the list of its class that it is like, or NULL. */
static struct waiting *find_alike(const struct waiting *now,
                                  bool (*is_same)(const struct waiting *a, const struct waiting *b))
{
    struct waiting *other = now->next;
    while (other && !is_same(other, now))
        other = other->next;
    return other;
}

/* Before they are judged. */
static void merge(struct waiting_list *list)
{
    struct idmap classes = { 0 };
    size_t kept = 0;
    vec_sort(&list->waiting, by_turn);
    for (size_t i = 0; i < list->waiting.len; i++) {
        struct waiting *now = &list->waiting.items[i];
        now->next = idmap_get(&classes, (uint64_t)(uintptr_t)now->info->class);
        struct waiting *same = now->may_differ ? NULL : find_alike(now, is_alike);
        if (same) {
            same->pods++;
            continue;
        }
        list->waiting.items[kept] = *now;
        idmap_put(&classes, (uint64_t)(uintptr_t)now->info->class, &list->waiting.items[kept++]);
    }
    list->waiting.len = kept;
    idmap_release(&classes);
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

static uint32_t place_among_filters(const struct profile *profile, const struct plugin *plugin)
{
    const struct plugin_order *order = &profile->points[POINT_FILTER];
    uint32_t place = 0;
    while (place < order->len && order->items[place]->plugin != plugin)
        place++;
    return place;
}

/* The largest; of equals the one whose nodes more plugins accepted before. There is one. */
static const struct rejected_group *largest_group(const struct explanation *explanation)
{
    const struct rejected_groups *groups = &explanation->rejections;
    const struct rejected_group *best = groups->items;
    uint32_t passed = place_among_filters(explanation->profile, best->status.plugin);
    for (uint32_t i = 1; i < groups->len && groups->items[i].nodes == groups->items[0].nodes; i++) {
        uint32_t place = place_among_filters(explanation->profile, groups->items[i].status.plugin);
        best = place > passed ? &groups->items[i] : best;
        passed = MAX(passed, place);
    }
    return best;
}

/* The largest group of nodes, and what they lack. */
static struct str lacks(const struct explanation *explanation, struct arena *arena)
{
    const struct row_why *why = &explanation->pod_why;
    if (why->len)
        return shortfall_sentence(why->items, why->len, arena);
    if (!status_ok(explanation->failure) || !explanation->rejections.len)
        return arena_str(arena, attempt_sentence(explanation->failed_by, explanation->message, arena));
    const struct rejected_group *group = largest_group(explanation);
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
    waiting->failed_by = arena_str(arena, explanation.failed_by);
    if (!status_ok(explanation.pre_enqueue))
        waiting->sentence = arena_printf(arena, "held back: " STR_FMT,
                                         STR_ARG(status_message(explanation.pre_enqueue, arena)));
    else
        waiting->sentence = explanation.best_len ? fits(&explanation, arena) : lacks(&explanation, arena);
    explanation_release(&explanation);
}

static bool is_answered_alike(const struct waiting *a, const struct waiting *b)
{
    return a->pods && is_alike(a, b) && a->feasible == b->feasible && str_eq(a->sentence, b->sentence) &&
           str_eq(a->message, b->message) && str_eq(a->failed_by, b->failed_by);
}

/* After the first ones were judged. Those that are shown come first then; the others are counted. */
static void merge_answers(struct waiting_list *list, size_t judged, size_t top)
{
    for (size_t i = 0; i < judged; i++) {
        struct waiting *now = &list->waiting.items[i];
        struct waiting *same = now->may_differ ? find_alike(now, is_answered_alike) : NULL;
        if (same) {
            same->pods += now->pods;
            now->pods = 0;
        }
    }
    for (size_t i = 0; i < list->waiting.len; i++) {
        const struct waiting *now = &list->waiting.items[i];
        if (i >= judged || list->shown == top)
            list->left += now->pods;
        else if (now->pods)
            list->waiting.items[list->shown++] = *now;
    }
}

/* ---- printing ---- */
static void put_document(const struct waiting_list *list, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    output_begin(&json, "PendingPods");
    json_member_array(&json, "pods");
    for (size_t i = 0; i < list->shown; i++) {
        const struct waiting *waiting = &list->waiting.items[i];
        json_begin_line(&json);
        output_name_members(&json, &waiting->pod->meta);
        json_member_int(&json, "count", (int64_t)waiting->pods);
        json_member_bool(&json, "expanded", waiting->is_new);
        json_member_int(&json, "feasible", waiting->feasible);
        output_member_text(&json, "sentence", waiting->sentence);
        output_member_text(&json, "message", waiting->message);
        output_member_text(&json, "failedBy", waiting->failed_by);
        json_end_line(&json);
    }
    json_end_array(&json);
    json_member_int(&json, "left", (int64_t)list->left);
    json_member_int(&json, "ofDaemonSets", (int64_t)list->of_daemon_sets);
    output_end(&json);
}

static void put_rows(const struct waiting_list *list, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    _cleanup_(arena_release) struct arena scratch = { 0 };
    bool any_alike = false;
    for (size_t i = 0; i < list->shown; i++)
        any_alike |= list->waiting.items[i].pods > 1;
    grid_columns(&grid, any_alike ? "POD|>ALIKE|WHY" : "POD|WHY");
    for (size_t i = 0; i < list->shown; i++) {
        const struct waiting *waiting = &list->waiting.items[i];
        grid_str(&grid, waiting->feasible ? PAINT_GOOD : PAINT_BAD, pod_full_name(waiting->pod, &scratch));
        if (any_alike)
            grid_count(&grid, waiting->pods);
        grid_str(&grid, PAINT_NONE, waiting->sentence);
    }
    grid_print(&grid, term, 0);
}

static void put_table(const struct waiting_list *list, const char *namespace, struct term *term)
{
    size_t created = 0;
    if (list->shown)
        put_rows(list, term);
    else
        strbuf_printf(term->out, "No pod waits for a node%s%s.\n", namespace ? " in namespace " : "",
                      namespace ?: "");
    for (size_t i = 0; i < list->shown; i++)
        created += list->waiting.items[i].is_new ? list->waiting.items[i].pods : 0;
    if (list->left)
        term_paint(term, PAINT_DIM, "and %s; --top shows more of them\n", counted(list->left, "more pod"));
    if (created)
        term_paint(term, PAINT_DIM, "%s of these pods would be created by controllers of the input.\n",
                   grouped((int64_t)created));
    if (list->of_daemon_sets)
        term_paint(term, PAINT_DIM,
                   "%s that DaemonSets of the input would create, one for each node, are not listed.\n",
                   counted(list->of_daemon_sets, "pod"));
}

static int print(const struct waiting_list *list, const struct explain_settings *settings)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, json = { 0 };
    struct term term = term_stdout(&out);
    if (settings->html || settings->input.output == OUTPUT_JSON)
        put_document(list, &json);
    if (settings->input.output == OUTPUT_JSON)
        strbuf_str(&out, strbuf_slice(&json));
    else
        put_table(list, settings->namespace, &term);
    int r = write_html(settings->html, "Pods that wait", &settings->input.files, strbuf_slice(&json));
    return r ? r : finish(&term);
}

/* ---- all of it ---- */
/* Pods that exist are judged before what the others bring along (claims) is there. */
static void judge_first(struct waiting_list *list, size_t len, struct input *input,
                        const struct explain_options *options, struct arena *arena)
{
    for (size_t i = 0; i < len; i++)
        if (!list->waiting.items[i].is_new)
            judge(&list->waiting.items[i], input, options, arena);
    input_apply_claims(input);
    for (size_t i = 0; i < len; i++)
        if (list->waiting.items[i].is_new)
            judge(&list->waiting.items[i], input, options, arena);
}

static void judge_and_merge(struct waiting_list *list, struct input *input,
                            const struct explain_options *options, size_t top, struct arena *arena)
{
    enum { DIFFERENT_JUDGED = 200 }; /* several of which may become a line */
    size_t judged = list->any_differ ? MAX(top, (size_t)DIFFERENT_JUDGED) : top;
    merge(list);
    judged = MIN(judged, list->waiting.len);
    judge_first(list, judged, input, options, arena);
    merge_answers(list, judged, top);
}

/* That no pod waits in a namespace that does not exist would be no answer. */
static void check_namespace(const struct input *input, const char *namespace)
{
    const object_vec *all = &input->load.objects[KIND_NAMESPACE];
    _cleanup_(arena_release) struct arena scratch = { 0 };
    if (!namespace || load_find(&input->load, KIND_NAMESPACE, (struct str){ 0 }, str_from(namespace)))
        return;
    const char **names = arena_array(&scratch, const char *, all->len + 1);
    for (size_t i = 0; i < all->len; i++)
        names[i] = arena_printf(&scratch, STR_FMT, STR_ARG(all->items[i]->name)).ptr;
    const char *near = nearest_name(namespace, names, all->len);
    fprintf(stderr, "berth: warning: there is no namespace %s in the %s%s%s%s\n", namespace,
            input->is_live ? "cluster" : "input", near ? "; did you mean " : "", near ? near : "",
            near ? "?" : "");
}

static void warn(struct input *input, const undecided_vec *pods, const char *namespace)
{
    undecided_vec listed = { 0 };
    vec_for(pods, pod)
        if (!namespace || str_is((*pod)->meta.namespace, namespace))
            *vec_push(&listed) = *pod;
    input_warn(input, &listed);
    vec_release(&listed);
}

int explain_waiting(struct input *input, const struct explain_settings *settings, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct waiting_list list = { 0 };
    size_t there;
    struct explain_options options = { .file_of = plugins_file,
                                       .begins = true,
                                       .calls_extenders = !settings->no_extenders };
    if (decision_time(settings->now, &options.now_ns, err) < 0 ||
        (!input->is_live && expansion_run(&input->expansion, err) < 0))
        return fail(EXIT_INPUT, err);
    undecided_vec pods = input_undecided(input, &there);
    int r = collect(input, &pods, there, settings, &list, err);
    if (r == 0) {
        check_namespace(input, settings->namespace);
        warn(input, &pods, settings->namespace);
        judge_and_merge(&list, input, &options, (size_t)settings->top, &arena);
        r = print(&list, settings);
    } else {
        r = fail(EXIT_INPUT, err);
    }
    vec_release(&list.waiting);
    vec_release(&pods);
    deciders_free(&list.deciders);
    return r;
}
