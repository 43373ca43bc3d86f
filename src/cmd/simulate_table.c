/* simulate_table.c: a simulation for a person: what happened, how full the nodes are, which pods wait and why. */
#include "api/labels.h"
#include "cmd/common.h"
#include "cmd/simulate_print.h"

/* ---- groups of nodes ---- */

enum { GROUPS_MAX = 16, BAR_CELLS = 16, SCALARS_SHOWN = 2, EXAMPLES_SHOWN = 3 };

struct group {
    struct str name;
    uint32_t nodes;
    double *alloc_before, *alloc, *before, *after; /* by resource */
};

typedef VEC(struct group) group_vec;

static struct str label_of(const struct meta *node, const char *label)
{
    const struct str *value = label ? str_map_get(&node->labels, str_from(label)) : NULL;
    return value ? *value : STR("(none)");
}

/* How many different values the label has over the nodes, counted up to GROUPS_MAX + 1; 0 when no node has it. */
static size_t count_values(const struct input *input, const char *label)
{
    _cleanup_(strmap_release) struct strmap seen = { 0 };
    bool any = false;
    vec_for(&input->load.objects[KIND_NODE], node) {
        any |= str_map_get(&(*node)->labels, str_from(label)) != NULL;
        strmap_put(&seen, label_of(*node, label), *node);
        if (seen.len > GROUPS_MAX)
            break;
    }
    size_t count = any ? seen.len : 0;
    return count;
}

/* The first label that makes a handful of groups; NULL: all nodes are one group. */
static const char *choose_label(const struct input *input)
{
    static const char *const labels[] = { "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type",
                                          "topology.kubernetes.io/region", "kubernetes.io/arch" };
    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        size_t count = count_values(input, labels[i]);
        if (count >= 2 && count <= GROUPS_MAX)
            return labels[i];
    }
    return NULL;
}

static void add_node(const struct simulation *simulation, struct group *group, const struct fact_place *place)
{
    const struct usage *before = &simulation->before, *after = &simulation->after;
    group->nodes++;
    for (uint32_t r = 0; r < simulation->input->cluster.col.resources; r++) {
        group->alloc_before[r] += (double)usage_alloc(before, r, place->row);
        group->before[r] += (double)usage_used(before, r, place->row);
        if (place->change == CHANGE_REMOVE)
            continue;
        group->alloc[r] += (double)usage_alloc(after, r, place->row);
        group->after[r] += (double)usage_used(after, r, place->row);
    }
}

static void collect_groups(const struct facts *facts, const char *label, struct arena *arena, group_vec *ret)
{
    uint32_t resources = facts->simulation->input->cluster.col.resources;
    struct strmap places = { 0 };
    vec_for(&facts->places, node) {
        struct str name = label ? label_of(node->meta, label) : STR("all nodes");
        size_t place = (size_t)strmap_get(&places, name);
        if (!place) {
            *vec_push(ret) = (struct group){ .name = name,
                                             .alloc_before = arena_array(arena, double, resources),
                                             .alloc = arena_array(arena, double, resources),
                                             .before = arena_array(arena, double, resources),
                                             .after = arena_array(arena, double, resources) };
            place = ret->len;
            strmap_put(&places, name, (void *)place);
        }
        add_node(facts->simulation, &ret->items[place - 1], node);
    }
    strmap_release(&places);
    vec_sort(ret, str_qsort_cmp); /* a group begins with its name */
}

/* ---- bars ---- */

static double share(double used, double alloc)
{
    return alloc > 0 ? used / alloc : 0;
}

static void print_bar_row(struct term *term, const struct group *group, uint32_t resource, const char *name,
                          size_t name_width, size_t group_width, bool first)
{
    double before = share(group->before[resource], group->alloc_before[resource]);
    double after = share(group->after[resource], group->alloc[resource]);
    size_t gap = group_width - (first ? text_width(group->name) : 0);
    strbuf_puts(term->out, "  ");
    if (first)
        term_paint(term, PAINT_BOLD, STR_FMT, STR_ARG(group->name));
    strbuf_printf(term->out, "%*s  %-*s  %5.1f%% ", (int)gap, "", (int)name_width, name, before * 100);
    term_bar(term, before, BAR_CELLS);
    strbuf_printf(term->out, "  %5.1f%% ", after * 100);
    term_bar(term, after, BAR_CELLS);
    strbuf_putc(term->out, '\n');
}

/* cpu, memory and pods; other resources where pods request them. */
static uint32_t choose_resources(const struct cluster *cluster, const group_vec *groups, uint32_t *ret)
{
    uint32_t len = 0, scalars = 0;
    ret[len++] = RES_CPU;
    ret[len++] = RES_MEMORY;
    ret[len++] = RES_PODS;
    for (uint32_t r = RES_EPHEMERAL; r < cluster->col.resources && scalars < SCALARS_SHOWN; r++) {
        bool used = false;
        vec_for(groups, group)
            used |=
                group->alloc_before[r] + group->alloc[r] > 0 && (group->before[r] > 0 || group->after[r] > 0);
        if (r == RES_PODS || !used)
            continue;
        ret[len++] = r;
        scalars++;
    }
    return len;
}

/* What the groups are stands beside the headings, or above them where the screen is narrow. */
static void print_usage_heading(struct term *term, const char *label, size_t group_width, size_t name_width)
{
    enum { BARS = sizeof("    BEFORE                  AFTER                     by ") - 1 };
    bool beside = label && 2 + group_width + name_width + BARS + strlen(label) <= term->width;
    strbuf_putc(term->out, '\n');
    if (label && !beside)
        term_paint(term, PAINT_DIM, "  by %s\n", label);
    term_paint(term, PAINT_BOLD, "  %-*s  %-*s  %-24s AFTER", (int)group_width, "NODES", (int)name_width,
               "IN USE", "BEFORE");
    if (beside)
        term_paint(term, PAINT_DIM, "%20sby %s", "", label);
    strbuf_putc(term->out, '\n');
}

static void print_usage(const struct facts *facts, const struct simulate_view *view, struct term *term)
{
    const struct simulation *simulation = facts->simulation;
    const struct cluster *cluster = &simulation->input->cluster;
    uint32_t resources[3 + SCALARS_SHOWN];
    _cleanup_(arena_release) struct arena scratch = { 0 };
    group_vec groups = { 0 };
    const char *label = view->group_by ? view->group_by : choose_label(simulation->input);
    collect_groups(facts, label, &scratch, &groups);
    uint32_t len = choose_resources(cluster, &groups, resources);
    size_t group_width = sizeof("NODES") - 1, name_width = sizeof("IN USE") - 1;
    vec_for(&groups, group)
        group_width = MAX(group_width, text_width(group->name));
    for (uint32_t i = 0; i < len; i++)
        name_width = MAX(name_width, (size_t)cluster->resource_names.items[resources[i]].len);
    print_usage_heading(term, label, group_width, name_width);
    size_t shown = MIN(groups.len, (size_t)view->top);
    for (size_t g = 0; g < shown; g++)
        for (uint32_t i = 0; i < len; i++) {
            struct str name = cluster->resource_names.items[resources[i]];
            print_bar_row(term, &groups.items[g], resources[i], arena_strndup(&scratch, name.ptr, name.len),
                          name_width, group_width, i == 0);
        }
    if (groups.len > shown)
        term_paint(term, PAINT_DIM, "  and %s more groups; --top shows more of them\n",
                   grouped((int64_t)(groups.len - shown)));
    vec_release(&groups);
}

/* ---- pending pods ---- */

/* Pods whose messages differ only in numbers wait for the same reason. */
struct reason {
    struct str message; /* of the pod that came last */
    size_t pods;
    bool varies; /* other pods have other numbers */
    const struct pod *examples[EXAMPLES_SHOWN];
    struct str failed_by; /* the attempt ended in an error of it; empty: it did not */
};

static int by_pods(const void *a, const void *b)
{
    const struct reason *x = a, *y = b;
    return COMPARE(y->pods, x->pods) ?: str_cmp(x->message, y->message);
}

typedef VEC(struct reason) reason_vec;

/* "0/5 nodes are available: 2 a, 3 b." without numbers, and with its parts sorted: the counts decide their order. */
static struct str shape_of(struct str message, struct arena *arena)
{
    enum { PARTS_MAX = 64 };
    struct str parts[PARTS_MAX];
    size_t len = 0;
    char *text = arena_alloc(arena, (size_t)message.len + PARTS_MAX + 1), *at = text;
    while (message.len && len < PARTS_MAX) {
        size_t end = 0;
        while (end < message.len && !strchr(",:.", message.ptr[end]))
            end++;
        char *start = at;
        for (size_t i = 0; i < end; i++)
            if (!strchr("0123456789", message.ptr[i]))
                *at++ = message.ptr[i];
        parts[len++] = (struct str){ start, (uint32_t)(at - start) };
        message = str_slice(message, MIN(end + 1, (size_t)message.len), message.len);
    }
    qsort(parts, len, sizeof(*parts), str_qsort_cmp);
    _cleanup_(strbuf_release) struct strbuf joined = { 0 };
    for (size_t i = 0; i < len; i++) {
        strbuf_str(&joined, parts[i]);
        strbuf_putc(&joined, '\n');
    }
    strbuf_str(&joined, message); /* what was too long to take apart */
    struct str shape = arena_str(arena, strbuf_slice(&joined));
    return shape;
}

static void collect_reasons(const struct simulation *simulation, struct arena *arena, reason_vec *ret)
{
    struct strmap places = { 0 }, by_message = { 0 };
    vec_for(&simulation->waiting, waiting) {
        size_t place = (size_t)strmap_get(&by_message, waiting->message);
        struct str shape = place ? (struct str){ 0 } : shape_of(waiting->message, arena);
        if (!place)
            place = (size_t)strmap_get(&places, shape);
        if (!place) {
            *vec_push(ret) = (struct reason){ .message = waiting->message, .failed_by = waiting->failed_by };
            place = ret->len;
            strmap_put(&places, shape, (void *)place);
        }
        strmap_put(&by_message, waiting->message, (void *)place);
        struct reason *reason = &ret->items[place - 1];
        reason->varies |= !str_eq(reason->message, waiting->message);
        reason->message = waiting->message;
        if (reason->pods < EXAMPLES_SHOWN)
            reason->examples[reason->pods] = waiting->pod;
        reason->pods++;
    }
    strmap_release(&places);
    strmap_release(&by_message);
    vec_sort(ret, by_pods);
}

static void print_waiting(const struct simulation *simulation, const struct simulate_view *view,
                          struct term *term)
{
    reason_vec reasons = { 0 };
    if (!simulation->waiting.len)
        return;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    collect_reasons(simulation, &scratch, &reasons);
    strbuf_putc(term->out, '\n');
    term_paint(term, PAINT_BAD, "Pending: %s\n", grouped((int64_t)simulation->waiting.len));
    for (size_t i = 0; i < reasons.len && i < view->top; i++) {
        const struct reason *reason = &reasons.items[i];
        term_paint(term, PAINT_BOLD, "  %s", counted(reason->pods, "pod"));
        for (size_t e = 0; e < MIN(reason->pods, (size_t)EXAMPLES_SHOWN); e++)
            term_paint(term, PAINT_NONE, "%s " META_FMT, e ? "," : ":", META_ARG(&reason->examples[e]->meta));
        strbuf_puts(term->out, reason->pods > EXAMPLES_SHOWN ? ", ..." : "");
        term_paint(term, PAINT_DIM, "%s\n", reason->varies ? "  (numbers differ; those of the last)" : "");
        term_wrap(term, 4, attempt_sentence(reason->failed_by, reason->message, &scratch));
    }
    if (reasons.len > view->top)
        term_paint(term, PAINT_DIM, "  and %s more reasons\n", grouped((int64_t)(reasons.len - view->top)));
    vec_release(&reasons);
}

/* ---- preemptions ---- */

static void print_preemptions(const struct simulation *simulation, const struct simulate_view *view,
                              struct term *term)
{
    size_t count = 0;
    if (!simulation->victims.len)
        return;
    strbuf_putc(term->out, '\n');
    term_paint(term, PAINT_WARN, "Preempted: %s", grouped((int64_t)simulation->victims.len));
    strbuf_printf(term->out, ", of which %s came back as new pods\n", grouped((int64_t)simulation->replaced));
    vec_for(&simulation->records, record) {
        if (record->nominated_row == ROW_NONE || count++ >= view->top)
            continue;
        struct str node = cluster_node_name(&simulation->input->cluster, record->nominated_row);
        term_paint(term, PAINT_NONE, "  " META_FMT " on " STR_FMT " in place of",
                   META_ARG(&record->pod->meta), STR_ARG(node));
        for (size_t i = 0; i < record->victims_len && i < EXAMPLES_SHOWN; i++)
            term_paint(term, PAINT_NONE, "%s " META_FMT, i ? "," : "",
                       META_ARG(&simulation->victims.items[record->victims_first + i]->meta));
        if (record->victims_len > EXAMPLES_SHOWN)
            strbuf_printf(term->out, " and %s more", grouped((int64_t)record->victims_len - EXAMPLES_SHOWN));
        strbuf_putc(term->out, '\n');
    }
    if (count > view->top)
        term_paint(term, PAINT_DIM, "  and %s more\n", grouped((int64_t)(count - view->top)));
}

/* ---- all of it ---- */

static void print_summary(const struct simulation *simulation, const struct simulate_view *view,
                          struct term *term)
{
    const struct input *input = simulation->input;
    struct strbuf *out = term->out;
    strbuf_printf(out, "%s, %s", counted(input->cluster.live_nodes, "node"),
                  counted(input->running, "running pod"));
    if (input->expansion.pods.len > input->expansion.returned)
        strbuf_printf(out, ", %s that %s would still create",
                      counted(input->expansion.pods.len - input->expansion.returned, "pod"),
                      counted(input->expansion.controllers, "controller"));
    strbuf_printf(out, "\n%s: ", counted(simulation->records.len, "decision"));
    term_paint(term, PAINT_GOOD, "%s scheduled", grouped((int64_t)simulation->scheduled));
    strbuf_puts(out, ", ");
    term_paint(term, simulation->waiting.len ? PAINT_BAD : PAINT_NONE, "%s pending",
               grouped((int64_t)simulation->waiting.len));
    strbuf_printf(out, ", %s preempted\n", grouped((int64_t)simulation->victims.len));
    if (!view->timing)
        return;
    double seconds = simulation->decide_seconds;
    strbuf_printf(out, "%s decisions per second; loading took %.3f s, deciding %.3f s\n",
                  grouped(seconds > 0 ? (int64_t)((double)simulation->records.len / seconds) : 0),
                  view->load_seconds, seconds);
}

void simulate_table(const struct facts *facts, const struct simulate_view *view, struct term *term)
{
    const struct simulation *simulation = facts->simulation;
    print_summary(simulation, view, term);
    if (view->outcome)
        simulate_print_changes(facts, view, term);
    if (view->growth)
        simulate_print_growth(view->growth, term);
    if (view->removable)
        simulate_print_removable(facts, view, term);
    if (simulation->input->cluster.live_nodes) {
        print_usage(facts, view, term);
        simulate_print_totals(&simulation->input->cluster, facts->totals.items, facts->totals.len, term);
        simulate_print_nodes(facts, term);
    }
    if (view->placements)
        simulate_print_placements(facts, term);
    else
        simulate_print_workloads(facts, view, term);
    print_preemptions(simulation, view, term);
    print_waiting(simulation, view, term);
}
