/* Sequences of writers: objects, managedFields and conflicts of a real API server (cases_apply.jsonl, see `record`). */
#include "schema/recorded.h"

#include "schema/apply.h"
#include "schema/defaults.h"

/* Entries of one second are sorted by their names; here seconds pass faster. */
static int compare_entries(const void *a, const void *b)
{
    static const char *const names[] = { "operation", "manager", "subresource" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int r = str_cmp(mut_str(yyjson_mut_obj_get(*(yyjson_mut_val *const *)a, names[i])),
                        mut_str(yyjson_mut_obj_get(*(yyjson_mut_val *const *)b, names[i])));
        if (r)
            return r;
    }
    return 0;
}

static yyjson_mut_val *sorted(yyjson_mut_doc *doc, yyjson_mut_val *entries)
{
    VEC(yyjson_mut_val *) all = { 0 };
    size_t i, max;
    yyjson_mut_val *entry, *list = yyjson_mut_arr(doc);
    yyjson_mut_arr_foreach(mut_items(entries), i, max, entry) * vec_push(&all) = entry;
    vec_sort(&all, compare_entries);
    vec_for(&all, one)
        yyjson_mut_arr_append(list, *one);
    vec_release(&all);
    return list;
}

/* The object as the API server answered, without times, which differ. */
static yyjson_mut_val *comparable(yyjson_mut_doc *doc, yyjson_mut_val *object, bool managed)
{
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, object), *meta = yyjson_mut_obj_get(copy, "metadata"),
                   *entry;
    size_t i, max;
    yyjson_mut_arr_foreach(mut_items(yyjson_mut_obj_get(meta, "managedFields")), i, max, entry)
        yyjson_mut_obj_remove_key(entry, "time");
    if (!managed) {
        static const char *const others[] = {
            "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"
        };
        for (i = 0; i < ARRAY_SIZE(others); i++)
            yyjson_mut_obj_remove_key(meta, others[i]);
        return copy;
    }
    return sorted(doc, yyjson_mut_obj_get(meta, "managedFields"));
}

struct run {
    yyjson_doc *live;
    const struct schema_type *type;
    int64_t now;
};

static void expect_state(const char *what, struct run *run, yyjson_mut_doc *have, yyjson_val *result)
{
    yyjson_mut_doc *want = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_val_mut_copy(want, yyjson_obj_get(result, "object"));
    yyjson_mut_val *root = yyjson_mut_doc_get_root(have);
    expect_tree(what, comparable(have, root, true), comparable(want, object, true));
    if (!str_is(run->type->kind, "Pod") &&
        !str_is(run->type->kind, "Service")) /* admission and registries add to them */
        expect_tree(what, comparable(have, root, false), comparable(want, object, false));
    yyjson_mut_doc_free(want);
}

/* Takes the recorded object as the live one, so that a difference is reported once. Its times are ours. */
static void next_live(struct run *run, yyjson_val *result)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_val_mut_copy(doc, yyjson_obj_get(result, "object"));
    yyjson_doc_free(run->live);
    run->live = yyjson_mut_val_imut_copy(object, NULL);
    yyjson_mut_doc_free(doc);
}

static int write_object(struct run *run, yyjson_val *step, const struct apply_request *request,
                        yyjson_mut_doc **ret, struct schema_error *err)
{
    yyjson_val *body = yyjson_obj_get(step, "object"), *live = yyjson_doc_get_root(run->live);
    struct str how = text_of(step, "how");
    if (str_is(how, "apply")) {
        struct apply_result result;
        int r = apply_merge(request, live, body, &result, err);
        if (r == 0)
            schema_set_defaults(run->type, result.doc);
        *ret = result.doc;
        apply_result_release(&result);
        return r;
    }
    yyjson_mut_doc *doc = NULL;
    if (str_is(how, "create") || str_is(how, "update")) {
        doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, body));
    } else {
        char *text = yyjson_val_write(body, 0, NULL);
        struct patch_request patch = { .type = str_is(how, "merge") ? PATCH_MERGE : PATCH_STRATEGIC,
                                       .schema = run->type,
                                       .patch = str_from(text) };
        struct patch_result result;
        int r = patch_apply(&patch, live, &result, err);
        free(text);
        schema_problems_release(&result.problems);
        if (r < 0)
            return r;
        doc = result.doc;
    }
    schema_set_defaults(run->type, doc);
    apply_track(request, live, doc);
    *ret = doc;
    return 0;
}

static void run_step(struct run *run, yyjson_val *step, const char *what)
{
    yyjson_val *result = yyjson_obj_get(step, "result");
    bool status = yyjson_get_bool(yyjson_obj_get(step, "status"));
    struct apply_request request = {
        .type = run->type,
        .manager = text_of(step, "manager"),
        .group = run->type->group,
        .version = run->type->version,
        .kind = run->type->kind,
        .subresource = status ? STR("status") : (struct str){ 0 },
        .has_status = schema_field(run->type, STR("status")) != NULL,
        .force = yyjson_get_bool(yyjson_obj_get(step, "force")),
        .now = ++run->now,
    };
    struct schema_error err = { 0 };
    yyjson_mut_doc *doc = NULL;
    int r = write_object(run, step, &request, &doc, &err);
    bool refused = yyjson_obj_get(result, "code");
    if (refused && str_contains(text_of(result, "message"), STR(" is invalid: "))) {
        /* refused by the rules of the kind */
    } else if ((r < 0) != refused) {
        fprintf(stderr, "%s: %s\n", what, r < 0 ? err.message.text : "not refused");
        failures++;
    } else if (refused) {
        expect_text(what, strbuf_slice(&err.message), text_of(result, "message"));
        assert_int_equal(err.code, yyjson_get_int(yyjson_obj_get(result, "code")));
    } else
        expect_state(what, run, doc, result);
    if (!refused)
        next_live(run, result);
    yyjson_mut_doc_free(doc);
    schema_error_release(&err);
}

static void run_case(yyjson_val *line)
{
    size_t i, max;
    yyjson_val *steps = yyjson_obj_get(line, "steps"), *step;
    struct run run = { .type = type_of(yyjson_obj_get(yyjson_arr_get_first(steps), "object")),
                       .now = 2000000000 };
    yyjson_arr_foreach(steps, i, max, step) {
        char what[200];
        snprintf(what, sizeof(what), STR_FMT ", step %zu: " STR_FMT " by " STR_FMT,
                 STR_ARG(text_of(line, "name")), i + 1, STR_ARG(text_of(step, "how")),
                 STR_ARG(text_of(step, "manager")));
        run_step(&run, step, what);
    }
    yyjson_doc_free(run.live);
}

static void test_recorded(void **state)
{
    (void)state;
    assert_true(recorded_cases("tests/unit/schema/cases_apply.jsonl", run_case) > 20);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
