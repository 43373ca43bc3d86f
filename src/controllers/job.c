/* job.c: pods of a Job until enough of them have succeeded. Not followed: pod failure policies, success policies,
 * backoff between attempts, managed Jobs. */
#include <stdio.h>
#include <stdlib.h>

#include "controllers/controller.h"

#define INDEX_KEY "batch.kubernetes.io/job-completion-index"

struct job {
    struct controllers *controllers;
    const struct api_resource *resource;
    struct stored *object;
    yyjson_val *json;
    bool is_indexed, is_suspended;
    int64_t parallelism, completions; /* completions -1: one that succeeds is enough */
    int64_t active, ready, succeeded, failed, terminating;
    bool *taken; /* of an indexed Job: indexes that have an active or succeeded pod */
};

enum { COMPLETIONS_MAX = 100000, PODS_PER_SYNC = 500 };

static int64_t index_of(const struct known *pod)
{
    int64_t index = -1;
    yyjson_doc *doc = yyjson_read(pod->object->json.ptr, pod->object->json.len, 0);
    str_to_int64(
        doc_text(yyjson_obj_get(tree_at(yyjson_doc_get_root(doc), "metadata.annotations"), INDEX_KEY)),
        &index);
    yyjson_doc_free(doc);
    return index;
}

static void count_pods(struct job *job)
{
    known_vec pods = controlled_by(job->controllers, job->object->uid, resource_named("", "pods"));
    vec_for(&pods, pod) {
        bool is_active = known_is_active(*pod);
        job->active += is_active;
        job->ready += is_active && (*pod)->is_ready;
        /* A pod that is deleted ends in one way or the other; that is no result. */
        bool is_result = !(*pod)->is_terminating;
        job->failed += is_result && (*pod)->phase == PHASE_FAILED;
        job->terminating += (*pod)->is_terminating;
        int64_t index = job->is_indexed ? index_of(*pod) : -1;
        bool is_new = index < 0 || (index < job->completions && !job->taken[index]);
        bool has_succeeded = is_result && (*pod)->phase == PHASE_SUCCEEDED;
        job->succeeded += has_succeeded && (!job->is_indexed || is_new);
        if (index >= 0 && index < job->completions && (is_active || has_succeeded))
            job->taken[index] = true;
    }
    vec_release(&pods);
}

static void label_pod(yyjson_mut_doc *doc, const struct job *job)
{
    yyjson_mut_val *labels = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "metadata.labels");
    tree_mut_put_str(doc, labels, "batch.kubernetes.io/controller-uid", job->object->uid);
    tree_mut_put_str(doc, labels, "batch.kubernetes.io/job-name", job->object->name);
    tree_mut_put_str(doc, labels, "controller-uid", job->object->uid);
    tree_mut_put_str(doc, labels, "job-name", job->object->name);
}

static void put_index(yyjson_mut_doc *doc, int64_t index)
{
    char number[32];
    snprintf(number, sizeof(number), "%lld", (long long)index);
    yyjson_mut_val *pod = yyjson_mut_doc_get_root(doc), *containers = tree_mut_at(pod, "spec.containers"),
                   *container;
    tree_mut_put_str(doc, tree_mut_make(doc, pod, "metadata.labels"), INDEX_KEY, str_from(number));
    tree_mut_put_str(doc, tree_mut_make(doc, pod, "metadata.annotations"), INDEX_KEY, str_from(number));
    size_t i, max;
    if (!yyjson_mut_is_arr(containers))
        return;
    yyjson_mut_arr_foreach(containers, i, max, container)
    {
        yyjson_mut_val *env = yyjson_mut_obj_get(container, "env"), *variable = yyjson_mut_obj(doc);
        if (!env) {
            env = yyjson_mut_arr(doc);
            yyjson_mut_obj_add_val(doc, container, "env", env);
        }
        tree_mut_put_str(doc, variable, "name", STR("JOB_COMPLETION_INDEX"));
        tree_mut_put_str(doc, tree_mut_make(doc, variable, "valueFrom.fieldRef"), "fieldPath",
                         STR("metadata.labels['" INDEX_KEY "']"));
        yyjson_mut_arr_append(env, variable);
    }
}

static void create_pods(struct job *job, int64_t count)
{
    int64_t index = 0;
    for (int64_t i = 0; i < MIN(count, (int64_t)PODS_PER_SYNC); i++) {
        _cleanup_(strbuf_release) struct strbuf prefix = { 0 };
        strbuf_printf(&prefix, STR_FMT "-", STR_ARG(job->object->name));
        while (job->is_indexed && index < job->completions && job->taken[index])
            index++;
        if (job->is_indexed)
            strbuf_printf(&prefix, "%lld-", (long long)index);
        yyjson_mut_doc *pod = from_template(job->resource, job->object, tree_at(job->json, "spec.template"),
                                            strbuf_slice(&prefix), true);
        label_pod(pod, job);
        if (job->is_indexed)
            put_index(pod, index++);
        if (!create_object(job->controllers, resource_named("", "pods"), job->object->ns, pod)) {
            task_add(job->controllers, &controller_job, job->resource, job->object->ns, job->object->name,
                     1000);
            return;
        }
        job->active++;
    }
}

static void delete_active(struct job *job)
{
    known_vec pods = controlled_by(job->controllers, job->object->uid, resource_named("", "pods"));
    VEC(struct stored *) victims = { 0 };
    vec_for(&pods, pod)
        if (known_is_active(*pod))
            *vec_push(&victims) = stored_ref((*pod)->object);
    vec_release(&pods);
    vec_for(&victims, victim) {
        delete_object(job->controllers, resource_named("", "pods"), *victim, "", -1);
        stored_unref(*victim);
    }
    vec_release(&victims);
    job->active = job->ready = 0;
}

static bool is_complete(const struct job *job)
{
    return job->completions < 0 ? job->succeeded > 0 && !job->active : job->succeeded >= job->completions;
}

static bool has_failed(const struct job *job)
{
    return job->failed > tree_int(job->json, "spec.backoffLimit", 6);
}

static int put_status(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct job *job = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    if (!yyjson_mut_obj_get(status, "startTime") && !job->is_suspended)
        tree_mut_put(doc, status, STR("startTime"), now_value(doc));
    put_count(doc, status, "active", job->active);
    put_count(doc, status, "succeeded", job->succeeded);
    put_count(doc, status, "failed", job->failed);
    tree_mut_put_int(doc, status, "ready", job->ready);
    tree_mut_put_int(doc, status, "terminating", job->terminating);
    tree_mut_put(doc, status, STR("uncountedTerminatedPods"), yyjson_mut_obj(doc));
    if (is_complete(job)) {
        const char *message = "Reached expected number of succeeded pods";
        put_condition(doc, status, "SuccessCriteriaMet", true, "CompletionsReached", message, false);
        put_condition(doc, status, "Complete", true, "CompletionsReached", message, false);
        if (!yyjson_mut_obj_get(status, "completionTime"))
            tree_mut_put(doc, status, STR("completionTime"), now_value(doc));
    } else if (has_failed(job)) {
        const char *message = "Job has reached the specified backoff limit";
        put_condition(doc, status, "FailureTarget", true, "BackoffLimitExceeded", message, false);
        put_condition(doc, status, "Failed", true, "BackoffLimitExceeded", message, false);
    }
    return 0;
}

static bool is_over(yyjson_val *json)
{
    yyjson_val *conditions = tree_at(json, "status.conditions"), *condition;
    size_t i, max;
    if (yyjson_is_arr(conditions))
        yyjson_arr_foreach(conditions, i, max, condition) {
            struct str type = tree_text(condition, "type");
            if ((str_is(type, "Complete") || str_is(type, "Failed")) &&
                str_is(tree_text(condition, "status"), "True"))
                return true;
        }
    return false;
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *object, yyjson_val *json)
{
    if (!object || tree_at(json, "metadata.deletionTimestamp") || is_over(json))
        return;
    struct job job = { .controllers = controllers,
                       .resource = resource,
                       .object = object,
                       .json = json,
                       .is_indexed = str_is(tree_text(json, "spec.completionMode"), "Indexed"),
                       .is_suspended = tree_bool(json, "spec.suspend"),
                       .parallelism = tree_int(json, "spec.parallelism", 1) };
    bool has_either = tree_at(json, "spec.completions") || tree_at(json, "spec.parallelism");
    job.completions = MIN(tree_int(json, "spec.completions", has_either ? -1 : 1), (int64_t)COMPLETIONS_MAX);
    if (job.is_indexed)
        job.taken = xcalloc((size_t)MAX(job.completions, 1), sizeof(bool));
    count_pods(&job);
    int64_t left =
        job.completions < 0 ? job.succeeded ? 0 : job.parallelism : job.completions - job.succeeded;
    int64_t more = MIN(left, job.parallelism) - job.active;
    if (job.is_suspended || is_complete(&job) || has_failed(&job))
        delete_active(&job);
    else if (more > 0)
        create_pods(&job, more);
    change_object(controllers, resource, object, SUB_STATUS, put_status, &job);
    free(job.taken);
}

const struct controller controller_job = {
    .name = "job", .group = "batch", .plural = "jobs", .sync = sync_object
};
