/* fold.c: comprehensions: all, exists, map, filter, and cel.bind, which is a fold over nothing.
 *
 * The accumulator is computed when it is first used, so a value of cel.bind() that is not used costs
 * nothing and cannot fail. One that begins empty grows in place until the fold is done. */
#include "cel/value.h"

enum { SLOT_ACCU, SLOT_VAR, SLOT_VAR2 };

struct cel_value cel_eval_slot(struct cel_run *run, int32_t index)
{
    struct cel_slot *slot = &run->slots[index];
    if (slot->ready)
        return slot->value;
    slot->ready = true;
    struct cel_value value = cel_eval_node(run, slot->fold->init);
    if (value.kind == CEL_LIST && value.list->len == 0) {
        value = cel_list_grower(run);
        slot->grows = true;
    } else if (value.kind == CEL_MAP && value.map->len == 0) {
        value = cel_map_new(run, true);
        slot->grows = true;
    }
    slot->value = value;
    return value;
}

static void set(struct cel_slot *slot, struct cel_value value)
{
    *slot = (struct cel_slot){ .value = value, .ready = true };
}

/* False: the condition ends the fold. */
static bool take_step(struct cel_run *run, const struct cel_fold *fold)
{
    struct cel_value more = cel_eval_node(run, fold->condition);
    if (run->stopped || (more.kind == CEL_BOOL && !more.boolean) || !cel_work(run, 1))
        return false;
    struct cel_value value = cel_eval_node(run, fold->step);
    run->slots[fold->slot].value = value;
    run->slots[fold->slot].ready = true;
    return !run->stopped;
}

static struct cel_value walk(struct cel_run *run, const struct cel_fold *fold, const struct cel_value *range)
{
    struct cel_slot *var = &run->slots[fold->slot + SLOT_VAR], *var2 = &run->slots[fold->slot + SLOT_VAR2];
    bool two = !str_empty(fold->var2);
    size_t len = range->kind == CEL_LIST ? range->list->len : range->map->len;
    for (size_t i = 0; i < len; i++) {
        bool list = range->kind == CEL_LIST;
        struct cel_value key = list ? cel_int((int64_t)i) : range->map->entries[i].key;
        struct cel_value value = list ? cel_list_item(run, range->list, i) : range->map->entries[i].value;
        set(var, list && !two ? value : key);
        set(var2, value);
        if (!take_step(run, fold))
            break;
    }
    return run->stopped ? cel_stop(run) : cel_eval_node(run, fold->result);
}

struct cel_value cel_eval_fold(struct cel_run *run, const struct cel_node *node)
{
    const struct cel_fold *fold = &node->fold;
    struct cel_value range = cel_eval_node(run, fold->range);
    if (cel_is_error(&range))
        return range;
    if (range.kind != CEL_LIST && range.kind != CEL_MAP)
        return str_empty(fold->var2)
                   ? cel_fail(run, "got '%s', expected iterable type", cel_go_type(run, &range))
                   : cel_fail(run, "unsupported comprehension range type: %s", cel_go_type(run, &range));
    struct cel_slot *accu = &run->slots[fold->slot];
    *accu = (struct cel_slot){ .fold = fold };
    struct cel_value value = walk(run, fold, &range);
    if (accu->grows && value.kind == CEL_LIST && value.list->grows)
        return cel_list_frozen(run, &value);
    return value;
}
