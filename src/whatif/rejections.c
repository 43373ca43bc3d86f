/* rejections.c: see rejections.h. */
#include "whatif/rejections.h"

#include "base/term.h"
#include "whatif/amount.h"

/* ---- groups ---- */
/* What nodes of one group have in common. A status with very many reasons is told from others by its number. */
static void put_identity(struct strbuf *out, struct status status, uint32_t number, const struct row_why *why)
{
    strbuf_puts(out, status.plugin ? status.plugin->name : "");
    for (uint32_t i = 0; i < status.len && i < SHORTFALLS_MAX; i++)
        strbuf_printf(out, "\n" STR_FMT, STR_ARG(status.reasons[i]));
    if (status.len > SHORTFALLS_MAX)
        strbuf_printf(out, "\n%u", number);
    for (uint32_t i = 0; i < why->len; i++) {
        const struct shortfall *lack = &why->items[i];
        strbuf_printf(out, "\n%s %d " STR_FMT " " STR_FMT " " STR_FMT, lack->reason ?: "",
                      lack->counts_nominated, STR_ARG(lack->resource), STR_ARG(lack->key),
                      STR_ARG(lack->wants));
        if (str_empty(lack->key))
            strbuf_str(out, lack->sentence);
    }
}

/* Shares of what is needed, and pods of skew, so that nodes of one group can be compared. */
static double distance_of(const struct row_why *why)
{
    double sum = 0;
    for (uint32_t i = 0; i < why->len; i++) {
        const struct shortfall *lack = &why->items[i];
        if (lack->resource.len && lack->needs > 0)
            sum += ((double)lack->needs - (double)lack->free) / (double)lack->needs;
        if (lack->skew.set)
            sum += lack->skew.value - lack->max_skew;
    }
    return sum;
}

static void add_value(struct group_range *range, struct str value)
{
    for (uint32_t i = 0; i < range->values_len; i++)
        if (str_eq(range->values[i], value))
            return;
    if (range->values_len == VALUES_SHOWN)
        range->has_more_values = true;
    else
        range->values[range->values_len++] = value;
}

static void add_to_group(struct rejected_group *group, uint32_t row, const struct row_why *why)
{
    double distance = distance_of(why);
    if (!group->nodes++ || distance < group->distance) {
        group->distance = distance;
        group->closest = row;
        group->why = *why;
    }
    for (uint32_t i = 0; i < why->len; i++) {
        const struct shortfall *lack = &why->items[i];
        struct group_range *range = &group->ranges[i];
        if (group->nodes == 1 || lack->free > range->most_free) {
            range->most_free = lack->free;
            range->most_free_row = row;
        }
        range->largest = MAX(range->largest, lack->allocatable);
        if (lack->shows_has)
            add_value(range, lack->has);
    }
}

static int by_nodes(const void *a, const void *b)
{
    const struct rejected_group *x = a, *y = b;
    return COMPARE(y->nodes, x->nodes) ?: COMPARE(x->number, y->number);
}

typedef VEC(struct rejected_group) group_vec;

static struct rejected_group *group_of(group_vec *groups, struct strmap *places,
                                       const struct diagnosis *diagnosis, uint32_t row,
                                       const struct row_why *why, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf identity = { 0 };
    struct status status = diagnosis_get(diagnosis, row);
    put_identity(&identity, status, diagnosis->status_of[row], why);
    size_t place = (size_t)strmap_get(places, strbuf_slice(&identity));
    if (!place) {
        *vec_push(groups) =
            (struct rejected_group){ .status = status,
                                     .number = (uint32_t)groups->len,
                                     .ranges = arena_array(arena, struct group_range, why->len) };
        place = groups->len;
        strmap_put(places, arena_str(arena, strbuf_slice(&identity)), (void *)place);
    }
    return &groups->items[place - 1];
}

struct rejected_groups rejections_group(const struct diagnosis *diagnosis, struct row_list rows,
                                        const struct row_why *why_of, struct arena *arena)
{
    struct strmap places = { 0 };
    group_vec groups = { 0 };
    for (uint32_t i = 0; i < rows.len; i++) {
        const struct row_why *why = &why_of[rows.items[i]];
        add_to_group(group_of(&groups, &places, diagnosis, rows.items[i], why, arena), rows.items[i], why);
    }
    vec_sort(&groups, by_nodes);
    struct rejected_groups ret = { arena_array(arena, struct rejected_group, groups.len),
                                   (uint32_t)groups.len };
    if (ret.len)
        memcpy(ret.items, groups.items, groups.len * sizeof(*ret.items));
    strmap_release(&places);
    vec_release(&groups);
    return ret;
}

/* ---- sentences ---- */
/* Two amounts that differ, in a form in which they do. */
static struct str apart(struct str resource, int64_t value, int64_t other, struct arena *arena)
{
    struct str text = amount_text(resource, value, arena);
    bool looks_same = value != other && str_eq(text, amount_text(resource, other, arena));
    return looks_same ? arena_printf(arena, "%s B", grouped(value)) : text;
}

static void put_amount(struct strbuf *out, const struct shortfall *lack, struct arena *arena)
{
    struct str of = lack->resource;
    if (str_is(of, "pods")) {
        strbuf_printf(out, "Too many pods: %s of %s are there", grouped(lack->allocatable - lack->free),
                      grouped(lack->allocatable));
        return;
    }
    strbuf_printf(out, "Insufficient " STR_FMT ": needs " STR_FMT ", ", STR_ARG(of),
                  STR_ARG(apart(of, lack->needs, lack->free, arena)));
    if (lack->allocatable <= 0)
        strbuf_puts(out, "has none");
    else if (lack->free <= 0)
        strbuf_printf(out, "none of " STR_FMT " is free", STR_ARG(amount_text(of, lack->allocatable, arena)));
    else
        strbuf_printf(out, "has " STR_FMT " of " STR_FMT " free",
                      STR_ARG(apart(of, lack->free, lack->needs, arena)),
                      STR_ARG(amount_text(of, lack->allocatable, arena)));
}

static void put_group_amount(struct strbuf *out, const struct cluster *cluster, const struct shortfall *lack,
                             const struct group_range *range, struct arena *arena)
{
    struct str of = lack->resource, name = cluster_node_name(cluster, range->most_free_row);
    if (str_is(of, "pods")) {
        strbuf_printf(out, "Too many pods: the largest has room for %s", grouped(range->largest));
        return;
    }
    strbuf_printf(out, "Insufficient " STR_FMT ": needs " STR_FMT, STR_ARG(of),
                  STR_ARG(apart(of, lack->needs, range->most_free, arena)));
    if (range->largest <= 0)
        strbuf_puts(out, ", they have none");
    else if (range->most_free <= 0)
        strbuf_printf(out, "; none is free, the largest has " STR_FMT,
                      STR_ARG(amount_text(of, range->largest, arena)));
    else
        strbuf_printf(out, "; most free is " STR_FMT " on " STR_FMT ", the largest has " STR_FMT,
                      STR_ARG(apart(of, range->most_free, lack->needs, arena)), STR_ARG(name),
                      STR_ARG(amount_text(of, range->largest, arena)));
}

static void put_values(struct strbuf *out, const struct group_range *range)
{
    for (uint32_t i = 0; i < range->values_len; i++) {
        bool is_last = i + 1 == range->values_len && !range->has_more_values;
        strbuf_puts(out, !i ? ", they have " : is_last ? " or " : ", ");
        strbuf_str(out, range->values[i].len ? range->values[i] : STR("none"));
    }
    strbuf_puts(out, range->has_more_values ? " or others" : "");
}

/* `range`: of a group of several nodes; NULL: of one node. */
static void put_lack(struct strbuf *out, const struct cluster *cluster, const struct shortfall *lack,
                     const struct group_range *range, struct arena *arena)
{
    if (str_empty(lack->sentence) && range)
        put_group_amount(out, cluster, lack, range, arena);
    else if (str_empty(lack->sentence))
        put_amount(out, lack, arena);
    strbuf_str(out, lack->sentence);
    if (lack->shows_has && range) {
        put_values(out, range);
    } else if (lack->shows_has) {
        strbuf_puts(out, ", it has ");
        strbuf_str(out, lack->has.len ? lack->has : STR("none"));
    }
    if (lack->pod)
        strbuf_printf(out, range ? " (such as " META_FMT ")" : " (" META_FMT ")", META_ARG(lack->pod));
    if (lack->counts_nominated)
        strbuf_puts(out, " (with the pods that are nominated to it)");
}

struct str shortfall_sentence(const struct shortfall *lacks, uint32_t len, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (uint32_t i = 0; i < len; i++) {
        strbuf_puts(&text, i ? "; " : "");
        put_lack(&text, NULL, &lacks[i], NULL, arena);
    }
    return arena_str(arena, strbuf_slice(&text));
}

struct str rejected_group_sentence(const struct cluster *cluster, const struct rejected_group *group,
                                   struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (group->nodes == 1)
        return shortfall_sentence(group->why.items, group->why.len, arena);
    for (uint32_t i = 0; i < group->why.len; i++) {
        strbuf_puts(&text, i ? "; " : "");
        put_lack(&text, cluster, &group->why.items[i], &group->ranges[i], arena);
    }
    return arena_str(arena, strbuf_slice(&text));
}
