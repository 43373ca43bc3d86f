/* shortfall.c: see shortfall.h. */
#include "framework/shortfall.h"

#include "api/labels.h"
#include "framework/run.h"

/* ---- entries ---- */
void shortfall_list_release(struct shortfall_list *list)
{
    for (size_t i = 0; i < ARRAY_SIZE(list->memos); i++)
        idmap_release(&list->memos[i]);
}

bool shortfall_is_left_out(struct shortfall_list *list)
{
    if (list->len - list->from < SHORTFALLS_MAX)
        return false;
    list->more++;
    return true;
}

static struct shortfall *new_entry(struct shortfall_list *list)
{
    if (shortfall_is_left_out(list))
        return &list->spare;
    if (list->len == list->cap) {
        list->cap = MAX(list->cap * 2, 4U);
        list->items = arena_copy(list->arena, struct shortfall, list->items, list->len, list->cap);
    }
    return &list->items[list->len++];
}

struct shortfall *shortfall_add(struct shortfall_list *list, const char *reason)
{
    struct shortfall *added = new_entry(list);
    *added = (struct shortfall){ .reason = reason };
    return added;
}

struct shortfall *shortfall_add_amount(struct shortfall_list *list, struct str resource, int64_t needs,
                                       int64_t free, int64_t allocatable)
{
    struct shortfall *added = shortfall_add(list, "Resource");
    added->resource = resource;
    added->needs = needs;
    added->free = free;
    added->allocatable = allocatable;
    return added;
}

struct shortfall *shortfall_add_label(struct shortfall_list *list, const char *reason, struct str key,
                                      struct str wants, const struct str_map *labels)
{
    struct shortfall *added = shortfall_add(list, reason);
    const struct str *has = str_map_get(labels, key);
    added->key = key;
    added->wants = wants;
    added->has = has ? *has : (struct str){ 0 };
    added->shows_has = true;
    return added;
}

/* ---- selectors as text ---- */
static bool is_long(const struct strbuf *text)
{
    return text->len > SHORTFALL_TEXT_MAX;
}

static void put_requirement(const struct selector_requirement *requirement, struct strbuf *out)
{
    strbuf_str(out, requirement->operator);
    for (uint32_t i = 0; i < requirement->values.len && !is_long(out); i++)
        strbuf_printf(out, "%s" STR_FMT, i ? ", " : " (", STR_ARG(requirement->values.items[i]));
    strbuf_puts(out, is_long(out) ? ", ...)" : requirement->values.len ? ")" : "");
}

struct str label_selector_text(const struct label_selector *selector, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (!selector || selector->invalid)
        return STR("labels that no pod has");
    list_for(&selector->match_labels, pair) {
        if (is_long(&text))
            break;
        strbuf_printf(&text, "%s" STR_FMT "=" STR_FMT, text.len ? "," : "", STR_ARG(pair->key),
                      STR_ARG(pair->value));
    }
    list_for(&selector->match_expressions, requirement) {
        if (is_long(&text))
            break;
        strbuf_printf(&text, "%s" STR_FMT " ", text.len ? "," : "", STR_ARG(requirement->key));
        put_requirement(requirement, &text);
    }
    if (is_long(&text))
        strbuf_puts(&text, ",...");
    return text.len ? arena_str(arena, strbuf_slice(&text)) : STR("any labels");
}

/* ---- node selectors ---- */
static bool field_matches(const struct selector_requirement *field, const struct node *node)
{
    struct node_selector_term term = { .match_fields = { (struct selector_requirement *)field, 1 } };
    return node_selector_term_matches(&term, node->meta.name, &node->meta.labels);
}

static uint32_t unmet(const struct node_selector_term *term, const struct node *node)
{
    uint32_t count = 0;
    list_for(&term->match_expressions, requirement)
        count += !requirement_matches(requirement, &node->meta.labels);
    list_for(&term->match_fields, field)
        count += !field_matches(field, node);
    return count;
}

static void add_requirement(struct shortfall_list *list, const char *reason, const char *subject,
                            const struct selector_requirement *requirement, const struct str_map *labels)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (shortfall_is_left_out(list))
        return;
    put_requirement(requirement, &text);
    struct str wants = arena_str(list->arena, strbuf_slice(&text));
    struct shortfall *added = shortfall_add_label(list, reason, requirement->key, wants, labels);
    added->sentence = arena_printf(list->arena, "%s wants " STR_FMT " " STR_FMT, subject,
                                   STR_ARG(requirement->key), STR_ARG(wants));
}

/* Terms that are empty, or that have a value that their operator cannot take: "gen Gt (four)". */
static void add_unmatchable(struct shortfall_list *list, const char *reason, const char *subject,
                            const struct node_selector *selector)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    list_for(&selector->terms, term)
        list_for(&term->match_expressions, requirement) {
            strbuf_printf(&text, "%s" STR_FMT " ", text.len ? ", " : ": ", STR_ARG(requirement->key));
            put_requirement(requirement, &text);
        }
    shortfall_add(list, reason)->sentence = arena_printf(list->arena, "%s has no term that can match" STR_FMT,
                                                         subject, STR_ARG(strbuf_slice(&text)));
}

void shortfall_add_requirements(struct shortfall_list *list, const char *reason, const char *subject,
                                const struct node_selector *selector, const struct node *node)
{
    const struct node_selector_term *nearest = NULL;
    const struct str_map name = { .items = &(struct pair){ STR("metadata.name"), node->meta.name },
                                  .len = 1 };
    uint32_t least = UINT32_MAX;
    list_for(&selector->terms, term) {
        uint32_t count = unmet(term, node);
        if (term->invalid || !count || count >= least) /* 0: an empty term, which matches nothing */
            continue;
        nearest = term;
        least = count;
    }
    if (!nearest) {
        add_unmatchable(list, reason, subject, selector);
        return;
    }
    list_for(&nearest->match_expressions, requirement)
        if (!requirement_matches(requirement, &node->meta.labels))
            add_requirement(list, reason, subject, requirement, &node->meta.labels);
    list_for(&nearest->match_fields, field)
        if (!field_matches(field, node))
            add_requirement(list, reason, subject, field, &name);
}

/* ---- asking plugins ---- */
/* A plugin without details has its reasons. */
static void add_reasons(struct shortfall_list *list, struct status status)
{
    for (uint32_t i = 0; i < status.len; i++)
        shortfall_add(list, NULL)->sentence = status.reasons[i];
    if (!status.len)
        shortfall_add(list, NULL)->sentence = status.plugin
                                                  ? STR("it gives no reason")
                                                  : STR("an extender left the node out, without a reason");
}

static void add_count(struct shortfall_list *list)
{
    if (!list->more)
        return;
    list->from = list->len; /* one more is listed */
    shortfall_add(list, NULL)->sentence = arena_printf(list->arena, "%u more", list->more);
}

static void ask(struct cycle *cycle, struct node_view node, const struct plugin_instance *instance,
                struct status status, struct shortfall_list *list)
{
    uint32_t before = list->len;
    list->from = before;
    list->more = 0;
    if (instance && instance->plugin->explain) {
        cycle->current = instance;
        instance->plugin->explain(cycle, node, list);
    }
    if (list->len == before)
        add_reasons(list, status);
    add_count(list);
    for (uint32_t i = before; i < list->len; i++) {
        list->items[i].plugin = status.plugin;
        list->items[i].counts_nominated = node.overlay != NULL;
    }
}

/* The node as it is for the pod: with the pods that are nominated to it, if it has any that count. */
struct rivals_view {
    struct node_view view;
    struct node_overlay overlay;
};

static void rivals_begin(struct rivals_view *rivals, struct cycle *cycle, uint32_t row)
{
    rivals->view = (struct node_view){ cycle->cluster, row, NULL };
    if (!row_has_rivals(cycle->cluster, row, cycle->info))
        return;
    overlay_init(&rivals->overlay, cycle->cluster, row, cycle->arena);
    rivals->view.overlay = &rivals->overlay;
    run_add_rivals(cycle, rivals->view, &rivals->overlay);
}

static void rivals_end(struct rivals_view *rivals, struct cycle *cycle)
{
    if (!rivals->view.overlay)
        return;
    run_remove_rivals(cycle, rivals->view, &rivals->overlay);
    overlay_release(&rivals->overlay);
}

static struct status call_filter(struct cycle *cycle, const struct plugin_instance *instance,
                                 struct node_view node)
{
    cycle->current = instance;
    struct status status = instance->plugin->filter(cycle, node);
    status.plugin = instance->plugin;
    return status;
}

static const struct plugin_instance *instance_at(const struct cycle *cycle, enum extension_point point,
                                                 const struct plugin *plugin)
{
    const struct plugin_order *order = &cycle->profile->points[point];
    for (uint32_t i = 0; i < order->len; i++)
        if (order->items[i]->plugin == plugin)
            return order->items[i];
    return NULL;
}

void shortfalls_of(struct cycle *cycle, uint32_t row, struct status status, struct shortfall_list *list)
{
    const struct plugin_instance *instance =
        status_rejected(status) ? instance_at(cycle, POINT_FILTER, status.plugin) : NULL;
    struct node_view plain = { cycle->cluster, row, NULL };
    bool may_be_theirs =
        instance && instance->plugin->explain && row_has_rivals(plain.cluster, row, cycle->info);
    if (!may_be_theirs || !status_ok(call_filter(cycle, instance, plain))) {
        ask(cycle, plain, instance, status, list);
        return;
    }
    struct rivals_view rivals;
    rivals_begin(&rivals, cycle, row);
    ask(cycle, rivals.view, instance, status, list);
    rivals_end(&rivals, cycle);
}

void shortfalls_of_left_out(struct cycle *cycle, uint32_t row, uint64_t narrowed_by, struct status status,
                            struct shortfall_list *list)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_FILTER];
    uint32_t before = list->len;
    for (uint32_t i = 0; i < order->len && list->len == before; i++) {
        const struct plugin_instance *instance = order->items[i];
        if (!(narrowed_by >> instance->index & 1) || cycle->skip_filter >> instance->index & 1)
            continue;
        struct node_view node = { cycle->cluster, row, NULL };
        struct status own = call_filter(cycle, instance, node);
        if (status_rejected(own))
            ask(cycle, node, instance, own, list);
    }
    if (list->len == before)
        add_reasons(list, status);
}

void shortfalls_of_pod(struct cycle *cycle, struct status status, struct shortfall_list *list)
{
    const struct plugin_instance *instance = instance_at(cycle, POINT_PRE_FILTER, status.plugin);
    if (!instance || !instance->plugin->explain_pod)
        return;
    cycle->current = instance;
    instance->plugin->explain_pod(cycle, list);
    for (uint32_t i = 0; i < list->len; i++)
        list->items[i].plugin = status.plugin;
}

/* As the filters of a decision: with the nominated pods, and without. */
static struct status judge(struct cycle *cycle, uint32_t row, const struct plugin_instance *instance)
{
    struct rivals_view rivals;
    rivals_begin(&rivals, cycle, row);
    struct status status = call_filter(cycle, instance, rivals.view);
    bool with_them = rivals.view.overlay;
    rivals_end(&rivals, cycle);
    return with_them && status_ok(status)
               ? call_filter(cycle, instance, (struct node_view){ cycle->cluster, row, NULL })
               : status;
}

struct filter_answer *shortfalls_of_all(struct cycle *cycle, uint32_t row, uint32_t *ret_len)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_FILTER];
    struct filter_answer *answers = arena_array(cycle->arena, struct filter_answer, order->len);
    *ret_len = order->len;
    for (uint32_t i = 0; i < order->len; i++) {
        struct shortfall_list why = { .arena = cycle->arena };
        answers[i].instance = order->items[i];
        answers[i].is_skipped = cycle->skip_filter >> order->items[i]->index & 1;
        answers[i].status = answers[i].is_skipped ? STATUS_OK : judge(cycle, row, order->items[i]);
        if (!status_ok(answers[i].status))
            shortfalls_of(cycle, row, answers[i].status, &why);
        answers[i].why = why.items;
        answers[i].why_len = why.len;
        shortfall_list_release(&why);
    }
    return answers;
}
