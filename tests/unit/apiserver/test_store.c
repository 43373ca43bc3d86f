/* The store against a naive one that keeps all changes for ever: objects, pages as of old revisions, watches from old
 * revisions, bounds of the history; callbacks that change the store, subscribe and unsubscribe. */
#include "support/test.h"

#include "apiserver/store.h"
#include "base/vec.h"

enum { PODS, NODES, KINDS, NAMESPACES = 3, NAMES = 12 };

static const struct str kinds[] = { STR("pods"), STR("nodes") };

static struct store *open_store(size_t history_max, size_t history_bytes_max)
{
    struct store_options options = { .kinds = kinds,
                                     .kind_count = KINDS,
                                     .history_max = history_max,
                                     .history_bytes_max = history_bytes_max };
    struct store *store;
    struct error err;
    assert_int_equal(store_open(&options, NULL, &store, &err), 0);
    return store;
}

static struct str ns_text(size_t ns)
{
    static const struct str texts[] = { STR("a"), STR("a-b"), STR("b") };
    return texts[ns];
}

static struct str name_text(size_t name)
{
    static const struct str texts[] = { STR("0"),    STR("a"),   STR("a-0"), STR("a-1"),
                                        STR("a-10"), STR("a-2"), STR("a.b"), STR("aa"),
                                        STR("b"),    STR("c"),   STR("d"),   STR("zz") };
    return texts[name];
}

/* ---- the naive store ---- */
struct past {
    uint32_t kind;
    size_t ns, name;
    bool is_deleted;
    int value;
};

static VEC(struct past) past; /* that of revision r is at r - 2 */

static const struct past *past_at(uint32_t kind, size_t ns, size_t name, uint64_t revision)
{
    for (size_t i = revision - 1; i-- > 0;) {
        const struct past *one = &past.items[i];
        if (one->kind == kind && one->ns == ns && one->name == name)
            return one->is_deleted ? NULL : one;
    }
    return NULL;
}

static struct str value_text(char buf[static 32], int value)
{
    return (struct str){ buf, (uint32_t)snprintf(buf, 32, "{\"value\":%d}", value) };
}

static void put(struct store *store, uint32_t kind, size_t ns, size_t name, int value)
{
    char buf[32];
    uint64_t want = store_next_revision(store);
    *vec_push(&past) = (struct past){ kind, ns, name, false, value };
    struct stored *version =
        store_put(store, kind, ns_text(ns), name_text(name), STR("uid"), value_text(buf, value));
    assert_int_equal(version->revision, want);
    assert_true(str_eq(version->json, value_text(buf, value)));
    assert_ptr_equal(store_get(store, kind, ns_text(ns), name_text(name)), version);
}

static void drop(struct store *store, uint32_t kind, size_t ns, size_t name, int value)
{
    char buf[32];
    bool exists = past_at(kind, ns, name, store_revision(store)) != NULL;
    if (exists)
        *vec_push(&past) = (struct past){ kind, ns, name, true, value };
    assert_int_equal(store_delete(store, kind, ns_text(ns), name_text(name), value_text(buf, value)), exists);
    assert_null(store_get(store, kind, ns_text(ns), name_text(name)));
}

/* ---- pages ---- */
struct page {
    uint64_t revision;
    size_t ns, name; /* of the next object in the naive order */
    size_t all_ns;   /* 1: any namespace */
    uint32_t kind;
    size_t visited, skip_every;
    struct str last_ns, last_name;
};

static const struct past *next_past(struct page *page)
{
    for (;; page->name++) {
        if (page->name == NAMES) {
            if (!page->all_ns || page->ns + 1 == NAMESPACES)
                return NULL;
            page->ns++;
            page->name = 0;
        }
        const struct past *one = past_at(page->kind, page->ns, page->name, page->revision);
        if (one)
            return one;
    }
}

static enum store_visited check_next(void *user, struct stored *version)
{
    struct page *page = user;
    char buf[32];
    const struct past *want = next_past(page);
    assert_non_null(want);
    assert_true(str_eq(version->ns, ns_text(page->ns)) && str_eq(version->name, name_text(page->name)));
    assert_true(str_eq(version->json, value_text(buf, want->value)));
    assert_true(version->revision <= page->revision);
    page->last_ns = ns_text(page->ns);
    page->last_name = name_text(page->name);
    page->name++;
    return ++page->visited % page->skip_every ? STORE_COUNTS : STORE_SKIPPED;
}

static void check_pages(struct store *store, struct rng *rng)
{
    uint64_t oldest = store_oldest(store),
             revision = oldest + rng_below(rng, store_revision(store) - oldest + 1);
    struct page page = { .revision = revision,
                         .kind = (uint32_t)rng_below(rng, KINDS),
                         .all_ns = rng_below(rng, 2),
                         .skip_every = 2 + rng_below(rng, 3) };
    page.ns = page.all_ns ? 0 : rng_below(rng, NAMESPACES);
    struct store_range range = { .kind = page.kind,
                                 .ns = page.all_ns ? STR("") : ns_text(page.ns),
                                 .revision = revision };
    size_t all = store_count(store, &range), limit = rng_below(rng, 6);
    for (int more = 1; more;) {
        size_t before = page.visited;
        range.after_ns = page.last_ns;
        range.after_name = page.last_name;
        assert_int_equal(store_count(store, &range), all - before);
        more = store_page(store, &range, limit, check_next, &page);
        assert_in_range(more, 0, 1);
    }
    assert_null(next_past(&page));
    assert_int_equal(page.visited, all);
    range.revision = oldest - 1;
    if (range.revision)
        assert_int_equal(store_page(store, &range, 0, check_next, &page), -ESTALE);
    range.revision = store_revision(store) + 1;
    assert_int_equal(store_page(store, &range, 0, check_next, &page), -ERANGE);
}

/* ---- watches ---- */
struct seen {
    struct store_watcher watcher;
    struct store *store;
    uint64_t at;
    size_t count, leave_after;
};

static void check_change(struct store_watcher *watcher, const struct store_change *change)
{
    struct seen *seen = container_of(watcher, struct seen, watcher);
    char buf[32];
    do
        seen->at++; /* the next one that is for this watcher */
    while (watcher->kind != STORE_ALL && past.items[seen->at - 2].kind != watcher->kind);
    const struct past *want = &past.items[seen->at - 2],
                      *old = past_at(want->kind, want->ns, want->name, seen->at - 1);
    assert_int_equal(change->now->revision, seen->at);
    assert_int_equal(change->type, want->is_deleted ? STORE_DELETED : old ? STORE_MODIFIED : STORE_ADDED);
    assert_true(str_eq(change->now->name, name_text(want->name)));
    assert_true(str_eq(change->now->json, value_text(buf, want->value)));
    assert_int_equal(change->old != NULL, old != NULL);
    if (old)
        assert_true(str_eq(change->old->json, value_text(buf, old->value)));
    if (++seen->count == seen->leave_after) {
        store_unsubscribe(seen->store, watcher);
        *seen = (struct seen){ 0 }; /* what a host would free */
    }
}

static void check_watch(struct store *store, struct rng *rng, struct seen *seen)
{
    if (seen->store) {
        store_unsubscribe(store, &seen->watcher);
        store_unsubscribe(store, &seen->watcher);
        *seen = (struct seen){ 0 };
        return;
    }
    uint64_t oldest = store_oldest(store), from = oldest + rng_below(rng, store_revision(store) - oldest + 1);
    *seen =
        (struct seen){ .watcher = { .kind = rng_below(rng, 2) ? STORE_ALL : (uint32_t)rng_below(rng, KINDS),
                                    .when_durable = rng_below(rng, 2),
                                    .changed = check_change },
                       .store = store,
                       .at = from,
                       .leave_after = 1 + rng_below(rng, 100) };
    struct store_watcher other = seen->watcher;
    assert_int_equal(store_subscribe(store, &other, oldest - 1), -ESTALE);
    assert_int_equal(store_subscribe(store, &other, store_revision(store) + 1), -ERANGE);
    assert_int_equal(store_subscribe(store, &seen->watcher, from), 0);
}

static void test_against_model(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static const size_t bounds[][2] = { { 1, 0 }, { 7, 0 }, { 40, 0 }, { 0, 3000 }, { 0, 0 } };
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
        struct store *store = open_store(bounds[i][0], bounds[i][1]);
        struct seen seen[5] = { 0 };
        vec_clear(&past);
        for (int step = 0; step < 3000; step++) {
            uint32_t kind = (uint32_t)rng_below(&rng, KINDS);
            size_t ns = rng_below(&rng, NAMESPACES), name = rng_below(&rng, NAMES);
            if (rng_below(&rng, 2))
                put(store, kind, ns, name, step);
            else
                drop(store, kind, ns, name, step);
            assert_int_equal(store_durable(store), store_revision(store));
            if (bounds[i][0])
                assert_in_range(store_revision(store) - store_oldest(store), 0, bounds[i][0]);
            if (rng_below(&rng, 10) == 0)
                check_pages(store, &rng);
            if (rng_below(&rng, 10) == 0)
                check_watch(store, &rng, &seen[rng_below(&rng, ARRAY_SIZE(seen))]);
        }
        if (bounds[i][1])
            assert_true(store_oldest(store) > store_revision(store) - 100);
        store_close(store);
    }
    vec_release(&past);
}

/* ---- callbacks that use the store ---- */
static enum store_visited replace_and_add(void *user, struct stored *version)
{
    struct store *store = user;
    char name[64];
    snprintf(name, sizeof(name), "%.*s-x", STR_ARG(version->name));
    store_put(store, PODS, version->ns, str_from(name), STR("new"), STR("{}"));
    struct str json = version->json;
    store_delete(store, PODS, version->ns, version->name, STR("{}"));
    assert_str(json, "{\"value\":1}"); /* is still there */
    return STORE_COUNTS;
}

static void test_visitor_may_change_the_store(void **state)
{
    (void)state;
    struct store *store = open_store(1, 0);
    for (size_t i = 0; i < NAMES; i++)
        store_put(store, PODS, STR("a"), name_text(i), STR("u"), STR("{\"value\":1}"));
    struct store_range all = { .kind = PODS };
    assert_int_equal(store_page(store, &all, 0, replace_and_add, store), 0);
    assert_int_equal(store_count(store, &all), NAMES);
    assert_null(store_get(store, PODS, STR("a"), STR("zz")));
    assert_non_null(store_get(store, PODS, STR("a"), STR("zz-x")));
    /* The history that was kept for the visitor goes with the next change. */
    store_put(store, PODS, STR("a"), STR("last"), STR("u"), STR("{}"));
    assert_int_equal(store_revision(store) - store_oldest(store), 1);
    store_close(store);
}

struct echo {
    struct store_watcher watcher;
    struct store *store;
    struct str saw;
    struct strbuf log;
    struct echo *other;
    bool answers;
};

static void on_change(struct store_watcher *watcher, const struct store_change *change)
{
    struct echo *echo = container_of(watcher, struct echo, watcher);
    strbuf_printf(&echo->log, "%d" STR_FMT " ", (int)change->type, STR_ARG(change->now->name));
    if (echo->answers && change->type == STORE_ADDED && str_is(change->now->name, "ask"))
        store_put(echo->store, NODES, STR(""), STR("answer"), STR("u"), STR("{}"));
    if (echo->other && str_is(change->now->name, "leave"))
        store_unsubscribe(echo->store, &echo->other->watcher);
}

static void test_changes_come_in_order(void **state)
{
    (void)state;
    struct store *store = open_store(0, 0);
    struct echo first = { { .kind = STORE_ALL, .changed = on_change }, .store = store, .answers = true };
    struct echo second = { { .kind = STORE_ALL, .changed = on_change }, .store = store };
    struct echo third = { { .kind = NODES, .changed = on_change, .when_durable = true }, .store = store };
    first.other = &second;
    assert_int_equal(store_subscribe(store, &first.watcher, 1), 0);
    assert_int_equal(store_subscribe(store, &second.watcher, 1), 0);
    assert_int_equal(store_subscribe(store, &third.watcher, 1), 0);
    store_put(store, PODS, STR("a"), STR("ask"), STR("u"), STR("{}"));
    store_delete(store, NODES, STR(""), STR("answer"), STR("{}"));
    assert_str(strbuf_slice(&first.log), "0ask 0answer 2answer ");
    assert_str(strbuf_slice(&second.log), "0ask 0answer 2answer ");
    assert_str(strbuf_slice(&third.log), "0answer 2answer ");
    /* A watcher that another one unsubscribes is not told of the same change any more. */
    store_put(store, PODS, STR("a"), STR("leave"), STR("u"), STR("{}"));
    assert_str(strbuf_slice(&first.log), "0ask 0answer 2answer 0leave ");
    assert_str(strbuf_slice(&second.log), "0ask 0answer 2answer ");
    /* One that changes the store while it learns of the past is told of that at the end, once. */
    store_unsubscribe(store, &first.watcher);
    strbuf_clear(&first.log);
    assert_int_equal(store_subscribe(store, &first.watcher, 1), 0);
    assert_str(strbuf_slice(&first.log), "0ask 0answer 2answer 0leave 0answer ");
    strbuf_release(&first.log);
    strbuf_release(&second.log);
    strbuf_release(&third.log);
    store_close(store);
}

static void on_durable(struct store_waiter *waiter)
{
    waiter->revision = 4711;
}

static void test_versions(void **state)
{
    (void)state;
    struct store *store = open_store(1, 0);
    struct stored *kept = stored_ref(store_put(store, PODS, STR("a"), STR("p"), STR("u1"), STR("one")));
    struct stored *now = store_put(store, PODS, STR("a"), STR("p"), STR("u2"), STR("two"));
    assert_str(now->uid, "u1");
    assert_int_equal(now->created, kept->revision);
    store_delete(store, PODS, STR("a"), STR("p"), STR("three"));
    now = store_put(store, PODS, STR("a"), STR("p"), STR("u2"), STR("four"));
    assert_str(now->uid, "u2");
    assert_int_equal(now->created, now->revision);
    store_put(store, NODES, STR(""), STR("n"), STR("u3"), STR("{}"));
    assert_str(kept->json, "one");
    /* Kinds that come later. */
    uint32_t widgets = store_kind(store, STR("widgets.example.com"));
    assert_int_equal(widgets, KINDS);
    assert_int_equal(store_kind(store, STR("widgets.example.com")), widgets);
    assert_int_equal(store_kind(store, STR("nodes")), NODES);
    assert_null(store_get(store, widgets, STR("a"), STR("p")));
    struct store_waiter waiter = { .durable = on_durable };
    store_when_durable(store, store_revision(store), &waiter);
    assert_int_equal(waiter.revision, 4711);
    store_cancel(store, &waiter);
    store_close(store);
    assert_str(kept->json, "one");
    stored_unref(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_visitor_may_change_the_store),
        cmocka_unit_test(test_changes_come_in_order),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
