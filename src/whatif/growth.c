/* growth.c: see growth.h. */
#include "whatif/growth.h"

void growth_release(struct growth *growth)
{
    vec_release(&growth->trials);
}

int growth_fork(struct input *fork, const struct input *input, const struct change_requests *changes,
                struct str of, int64_t nodes, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf word = { 0 };
    VEC(struct change_request) items = { 0 };
    for (size_t i = 0; i < changes->len; i++)
        *vec_push(&items) = changes->items[i];
    strbuf_printf(&word, "%lld=" STR_FMT, (long long)nodes, STR_ARG(of));
    *vec_push(&items) = (struct change_request){ CHANGE_ADD, strbuf_slice(&word) };
    const struct change_requests all = { items.items, items.len, changes->force };
    int r = input_fork(fork, input, NULL, &all, err);
    vec_release(&items);
    return r;
}

struct search {
    struct growth *growth;
    const struct input *input;
    const struct change_requests *changes;
    const struct sim_options *options;
    struct error *err;
};

/* How many pods wait with so many nodes. */
static int try_number(const struct search *search, int64_t nodes, size_t *ret)
{
    _cleanup_(input_release) struct input fork = { 0 };
    _cleanup_(simulation_release) struct simulation simulation = { 0 };
    vec_for(&search->growth->trials, trial)
        if (trial->nodes == nodes) {
            *ret = trial->pending;
            return 0;
        }
    int r = growth_fork(&fork, search->input, search->changes, search->growth->of, nodes, search->err);
    if (r == 0)
        r = simulate(&simulation, &fork, search->options, search->err);
    if (r < 0)
        return r;
    *ret = simulation.waiting.len - simulation.gated.len;
    *vec_push(&search->growth->trials) = (struct growth_trial){ nodes, *ret };
    return 0;
}

static int by_nodes(const void *a, const void *b)
{
    const struct growth_trial *x = a, *y = b;
    return COMPARE(x->nodes, y->nodes);
}

static bool more_was_worse(struct growth *growth)
{
    vec_sort(&growth->trials, by_nodes);
    for (size_t i = 1; i < growth->trials.len; i++)
        if (growth->trials.items[i].pending > growth->trials.items[i - 1].pending)
            return true;
    return false;
}

/* If every node took as many pods as those that were tried: how many are needed. */
static int64_t guess(int64_t nodes, size_t pending, size_t first, size_t target)
{
    if (!nodes || pending >= first)
        return nodes + 1;
    double per_node = (double)(first - pending) / (double)nodes;
    return nodes + (int64_t)((double)(pending - target) / per_node + 0.999);
}

/* The smallest number with no more than `target` pods, of which `enough` is one and `lacking` is not. */
static int narrow(const struct search *search, int64_t lacking, int64_t enough, size_t first, size_t target)
{
    size_t pending = first, tried;
    bool halves = false;
    for (; enough - lacking > 1; halves = !halves) {
        int64_t next = halves ? lacking + (enough - lacking) / 2 : guess(lacking, pending, first, target);
        next = MAX(MIN(next, enough - 1), lacking + 1);
        int r = try_number(search, next, &tried);
        if (r < 0)
            return r;
        if (tried <= target) {
            enough = next;
        } else {
            lacking = next;
            pending = tried;
        }
    }
    search->growth->nodes = enough;
    return 0;
}

static int try_all(const struct search *search, size_t target)
{
    size_t pending;
    search->growth->one_by_one = true;
    for (int64_t nodes = 1; nodes < search->growth->nodes; nodes++) {
        int r = try_number(search, nodes, &pending);
        if (r < 0)
            return r;
        if (pending <= target)
            search->growth->nodes = nodes;
    }
    return 0;
}

static int find(const struct search *search)
{
    struct growth *growth = search->growth;
    size_t pending, first;
    int64_t nodes = 0, lacking = 0;
    int r = try_number(search, 0, &first);
    pending = first;
    int64_t most = (int64_t)first;
    while (r == 0 && pending && nodes < most) {
        lacking = nodes;
        nodes = MIN(MAX(guess(nodes, pending, first, 0), 2 * nodes), most);
        r = try_number(search, nodes, &pending);
    }
    if (r < 0)
        return r;
    size_t target = pending; /* zero, or what the most nodes leave */
    growth->nodes = nodes;
    growth->pending = target;
    growth->is_enough = target == 0;
    if (target >= first) { /* none of them helps */
        growth->nodes = 0;
        growth->pending = first;
        return 0;
    }
    r = narrow(search, target ? 0 : lacking, nodes, first, target);
    if (r == 0 && more_was_worse(growth))
        r = try_all(search, target);
    vec_sort(&growth->trials, by_nodes);
    return r;
}

int growth_find(struct growth *growth, const struct input *input, const struct change_requests *changes,
                struct str of, const struct sim_options *options, struct error *err)
{
    *growth = (struct growth){ .of = of };
    return find(&(struct search){ growth, input, changes, options, err });
}
