/* test_reads.c: no result for a pod depends on a field that no plugin declares to read.
 *
 * Every field of a pod in the API's tables is changed in turn. If it is outside of what plugins and the model read
 * (cluster/pod_key.h), the pod stays in its class, and each plugin has the same results for each node: PreFilter,
 * Filter, Score. If it is inside, the pod leaves its class.
 *
 *     test_reads [--seed N] [--seeds COUNT]
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/fields.h"
#include "framework/run.h"
#include "property/random_fixture.h"

enum { PODS = 6, CHANGES_BETWEEN = 40, FAILURES_MAX = 3 };

static uint64_t fields_outside, fields_inside, answers;

struct trial {
    struct random_fixture *fixture;
    struct pod_info *info;
    struct pod *pod;    /* a copy whose fields are changed one at a time */
    struct strbuf want; /* the results for the unchanged pod */
    struct arena arena;
    bool failed;
};

/* ---- results ---- */
static void put_status(struct strbuf *out, struct status status, struct arena *arena)
{
    strbuf_printf(out, " %s %s: " STR_FMT, status_code_name(status.code),
                  status.plugin ? status.plugin->name : "", STR_ARG(status_message(status, arena)));
}

/* The results of every plugin for the pod and each node. */
static void describe(struct trial *trial, const struct pod *pod, struct strbuf *out)
{
    struct random_fixture *fixture = trial->fixture;
    struct pod_info info = *trial->info;
    struct arena arena = { 0 };
    struct cycle cycle;
    struct evaluation evaluation;
    struct score_table scores;
    info.api = pod;
    cycle_init(&cycle, engine_profile(&fixture->engine, trial->info->api), &fixture->cluster, &info, &arena);
    run_evaluation(&cycle, 0, EVERY_NODE, &evaluation);
    put_status(out, evaluation.pre_filter, &arena);
    put_status(out, evaluation.error, &arena);
    for (uint32_t row = 0; row < fixture->cluster.nodes.len; row++)
        if (fixture->cluster.nodes.items[row].api)
            put_status(out, diagnosis_get(&evaluation.diagnosis, row), &arena);
    struct row_list rows = { evaluation.feasible, evaluation.feasible_len };
    if (rows.len && status_ok(evaluation.error)) {
        put_status(out, run_scores(&cycle, rows, &scores), &arena);
        for (size_t i = 0; i < (size_t)rows.len * scores.plugins; i++)
            strbuf_printf(out, " %lld", (long long)scores.scores[i]);
    }
    diagnosis_release(&evaluation.diagnosis);
    cycle_release(&cycle);
    arena_release(&arena);
}

static void check(struct trial *trial, const char *path, bool is_read)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    _cleanup_(strbuf_release) struct strbuf got = { 0 };
    pod_key_put(&trial->fixture->cluster, &key, trial->pod);
    if (str_eq(strbuf_slice(&key), trial->info->class->key) == is_read) {
        printf("%s: %s class\n", path, is_read ? "stays in its" : "gets another");
        trial->failed = true;
    }
    *(is_read ? &fields_inside : &fields_outside) += 1;
    if (is_read)
        return;
    describe(trial, trial->pod, &got);
    answers++;
    if (str_eq(strbuf_slice(&got), strbuf_slice(&trial->want)))
        return;
    printf("%s: other answers\n  want" STR_FMT "\n   got" STR_FMT "\n", path,
           STR_ARG(strbuf_slice(&trial->want)), STR_ARG(strbuf_slice(&got)));
    trial->failed = true;
}

/* ---- fields ---- */
static bool is_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    return strncmp(path, above, len) == 0 && (!path[len] || path[len] == '.' || path[len] == '[');
}

/* Fields by which the model distinguishes pods of a class, or that are in the key in part (cluster/pod_key.c). */
static bool is_own(const char *path)
{
    static const char *const own[] = { "metadata.name",
                                       "metadata.uid",
                                       "metadata.labels",
                                       "metadata.ownerReferences",
                                       "metadata.deletionTimestamp",
                                       "spec.nodeName",
                                       "spec.resourceClaims",
                                       "spec.volumes",
                                       "spec.containers[].name",
                                       "status.conditions",
                                       "status.nominatedNodeName",
                                       "status.resourceClaimStatuses" };
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (is_below(path, own[i]))
            return true;
    return false;
}

static bool is_read(const struct trial *trial, const char *path)
{
    vec_for(&trial->fixture->cluster.key_paths, known)
        if (is_below(path, known->path))
            return true;
    return strcmp(path, "metadata.namespace") == 0;
}

/* Sets another value of the same kind; false for composite kinds. */
static bool change(const struct record_field *field, void *at)
{
    if (field->kind == &record_STR || field->kind == &record_OPT_STR)
        *(struct str *)at = STR("changed");
    else if (field->kind == &record_BOOL)
        *(bool *)at = !*(bool *)at;
    else if (field->kind == &record_OPT_BOOL)
        *(struct opt_bool *)at = (struct opt_bool){ true, !((struct opt_bool *)at)->value };
    else if (field->kind == &record_INT32)
        *(int32_t *)at += 1;
    else if (field->kind == &record_OPT_INT32)
        *(struct opt_int32 *)at = (struct opt_int32){ true, ((struct opt_int32 *)at)->value + 1 };
    else if (field->kind == &record_OPT_INT64)
        *(struct opt_int64 *)at = (struct opt_int64){ true, ((struct opt_int64 *)at)->value + 1 };
    else
        return false;
    return true;
}

static void walk(struct trial *trial, const struct record_type *type, char *record, const char *prefix);

static void walk_field(struct trial *trial, const struct record_field *field, char *at, const char *path)
{
    char kept[64];
    if (field->kind == &record_STRUCT) {
        walk(trial, field->type, at, path);
    } else if (field->kind == &record_LIST) {
        struct record_list *list = (void *)at;
        const char *items = arena_printf(&trial->arena, "%s[]", path).ptr;
        if (list->len)
            walk(trial, field->type, list->items, items);
    } else if (field->kind->size <= sizeof(kept)) {
        memcpy(kept, at, field->kind->size);
        if (change(field, at))
            check(trial, path, is_read(trial, path));
        memcpy(at, kept, field->kind->size);
    }
}

static void walk(struct trial *trial, const struct record_type *type, char *record, const char *prefix)
{
    for (uint32_t i = 0; i < type->len; i++) {
        const struct record_field *field = &type->fields[i];
        const char *dot = *prefix && field->name_len ? "." : "";
        const char *path = arena_printf(&trial->arena, "%s%s%s", prefix, dot, field->name).ptr;
        if (!is_own(path) && !(field->flags & RECORD_OLDER))
            walk_field(trial, field, record + field->offset, path);
    }
}

static bool try_pod(struct random_fixture *fixture)
{
    const struct record_type *type = api_kinds[KIND_POD].type;
    struct trial trial = { .fixture = fixture, .info = random_fixture_pod(fixture, false) };
    trial.pod = arena_new(&trial.arena, struct pod);
    record_copy(type, trial.info->api, &trial.arena, trial.pod);
    describe(&trial, trial.info->api, &trial.want);
    walk(&trial, type, (char *)trial.pod, "");
    if (trial.failed)
        printf("the pod: " STR_FMT "\n", STR_ARG(strbuf_slice(&fixture->text)));
    arena_release(&trial.arena);
    strbuf_release(&trial.want);
    random_fixture_settle(fixture, trial.info, ROW_NONE);
    return !trial.failed;
}

static bool run_seed(uint64_t seed)
{
    struct random_fixture fixture;
    bool ok = true;
    random_fixture_init(&fixture, seed);
    for (int i = 0; ok && i < PODS; i++) {
        for (int changes = 0; changes < CHANGES_BETWEEN; changes++)
            random_fixture_change(&fixture);
        ok = try_pod(&fixture);
    }
    if (!ok)
        printf("seed %llu\n", (unsigned long long)seed);
    random_fixture_release(&fixture);
    return ok;
}

int main(int argc, char **argv)
{
    int64_t first = 1, seeds = 1, value;
    for (int i = 1; i < argc; i += 2) {
        bool is_seed = strcmp(argv[i], "--seed") == 0, is_count = strcmp(argv[i], "--seeds") == 0;
        if (i + 1 == argc || !(is_seed || is_count) || !str_to_int64(str_from(argv[i + 1]), &value)) {
            fprintf(stderr, "usage: test_reads [--seed N] [--seeds COUNT]\n");
            return 2;
        }
        *(is_seed ? &first : &seeds) = value;
    }
    int failed = 0;
    printf("seeds %lld to %lld\n", (long long)first, (long long)(first + seeds - 1));
    for (int64_t i = 0; i < seeds && failed < FAILURES_MAX; i++)
        failed += !run_seed((uint64_t)(first + i));
    printf("%llu fields outside of what is read, %llu inside; %llu times all answers compared\n",
           (unsigned long long)fields_outside, (unsigned long long)fields_inside,
           (unsigned long long)answers);
    return failed || !fields_outside || !fields_inside ? 1 : 0;
}
