/* binding_calls.c: see binding_calls.h. */
#include "engine/binding_calls.h"

static bool due_before(const void *a, const void *b, const void *context)
{
    const struct pod_binding *x = a, *y = b;
    (void)context;
    return x->due_ns != y->due_ns ? x->due_ns < y->due_ns : x->number < y->number;
}

static void due_moved(void *item, size_t at)
{
    ((struct pod_binding *)item)->due_at = at;
}

void bindings_init(struct engine *engine)
{
    engine->due.before = due_before;
    engine->due.moved = due_moved;
}

void binding_due(struct pod_binding *binding, int64_t due_ns)
{
    struct heap *due = &binding->engine->due;
    if (binding->due_ns == due_ns)
        return;
    if (binding->due_ns)
        heap_remove(due, binding->due_at);
    binding->due_ns = due_ns;
    if (due_ns)
        heap_push(due, binding);
}

void binding_unwatch(struct pod_binding *binding)
{
    struct engine *engine = binding->engine;
    if (!binding->watches)
        return;
    binding->watches = false;
    vec_swap_remove(&engine->watching, binding->at);
    if (binding->at < engine->watching.len)
        engine->watching.items[binding->at]->at = binding->at;
}

void binding_watch(struct pod_binding *binding)
{
    struct engine *engine = binding->engine;
    if (binding->watches)
        return;
    binding->watches = true;
    binding->at = engine->watching.len;
    *vec_push(&engine->watching) = binding;
}

/* One that waits again for a time that is over is called at the next tick. */
void bindings_call_due(struct engine *engine, int64_t now_ns)
{
    const struct binding_event event = { BINDING_ON_DUE, now_ns };
    VEC(struct pod_binding *) due = { 0 };
    while (engine->due.items.len) {
        struct pod_binding *first = engine->due.items.items[0];
        if (first->due_ns > now_ns)
            break;
        binding_due(first, 0);
        *vec_push(&due) = first;
    }
    for (size_t i = 0; i < due.len; i++) {
        engine->stats.bindings_called++;
        binding_event(due.items[i], &event);
    }
    vec_release(&due);
}

void bindings_call_watching(struct engine *engine, int64_t now_ns)
{
    const struct binding_event event = { BINDING_ON_CHANGED, now_ns };
    if (engine->watched_version == engine->cluster->storage_version)
        return;
    engine->watched_version = engine->cluster->storage_version;
    /* Backwards: one that leaves is replaced by one that was called. */
    for (size_t i = engine->watching.len; i-- > 0;)
        if (i < engine->watching.len) {
            engine->stats.bindings_called++;
            binding_event(engine->watching.items[i], &event);
        }
}

int64_t bindings_next_due(const struct engine *engine)
{
    if (engine->looks.len)
        return 0;
    if (engine->watching.len && engine->watched_version != engine->cluster->storage_version)
        return 0;
    return engine->due.items.len ? ((const struct pod_binding *)engine->due.items.items[0])->due_ns
                                 : INT64_MAX;
}
