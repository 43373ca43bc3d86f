/* tasks.c: the keys that controllers have to synchronise, each at most once at a time, and what leads to them. */
#include <stdio.h>
#include <stdlib.h>

#include "controllers/controller.h"

enum { TASKS_PER_TURN = 64, OWNER_DELAY_MS = 10, JOB_MS = 1000 };

enum { OTHERS_DELAY_MS = 50 };

static const struct controller *const all[] = {
    &controller_kubelet,        &controller_replica_set, &controller_deployment,   &controller_job,
    &controller_collector,      &controller_namespace,   &controller_budget,       &controller_claim,
    &controller_volume,         &controller_ephemeral,   &controller_stateful_set, &controller_heartbeat,
    &controller_node_lifecycle, &controller_eviction,    &controller_daemon_set
};

struct task {
    struct str key; /* of the map, which it is an entry of */
    struct controllers *controllers;
    const struct controller *controller;
    const struct api_resource *resource;
    struct str ns, name;   /* in the key */
    struct list_link link; /* in `ready` */
    struct loop_timer timer;
};

static void make_ready(struct task *task)
{
    struct controllers *controllers = task->controllers;
    loop_timer_stop(controllers->options.loop, &task->timer);
    list_append(&controllers->ready, &task->link);
    if (!controllers->is_pumping)
        loop_post(controllers->options.loop, &controllers->pump);
    controllers->is_pumping = true;
}

static void on_due(struct loop_timer *timer)
{
    make_ready(container_of(timer, struct task, timer));
}

void task_add(struct controllers *controllers, const struct controller *controller,
              const struct api_resource *resource, struct str ns, struct str name, int64_t delay_ms)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    strbuf_printf(&key, "%s %u ", controller->name, resource->number);
    uint32_t ns_at = (uint32_t)key.len, name_at = ns_at + ns.len + 1;
    strbuf_printf(&key, STR_FMT "/" STR_FMT, STR_ARG(ns), STR_ARG(name));
    struct task *task = strmap_make(&controllers->tasks, strbuf_slice(&key), sizeof(*task));
    if (!task->controller) {
        task->controllers = controllers;
        task->controller = controller;
        task->resource = resource;
        task->ns = str_slice(task->key, ns_at, ns_at + ns.len);
        task->name = str_slice(task->key, name_at, task->key.len);
        task->timer.ring = on_due;
    } else if (list_has(&controllers->ready, &task->link)) {
        return;
    }
    int64_t due_ns = monotonic_ns() + delay_ms * NS_PER_MS;
    if (!delay_ms)
        make_ready(task);
    else if (!task->timer.place || task->timer.due_ns > due_ns)
        loop_timer_set(controllers->options.loop, &task->timer, due_ns);
}

static void run(struct controllers *controllers, struct task *task)
{
    struct stored *object = store_get(controllers->store, task->resource->storage, task->ns, task->name);
    if (object)
        stored_ref(object);
    yyjson_doc *doc = object ? yyjson_read(object->json.ptr, object->json.len, 0) : NULL;
    task->controller->sync(controllers, task->resource, object, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    stored_unref(object);
    if (task->timer.place || list_has(&controllers->ready, &task->link))
        return;
    strmap_remove(&controllers->tasks, task->key);
    free(task);
}

static void pump(struct loop_call *call)
{
    struct controllers *controllers = container_of(call, struct controllers, pump);
    controllers->is_pumping = false;
    for (int i = 0; i < TASKS_PER_TURN; i++) {
        struct task *task = list_take(&controllers->ready, struct task, link);
        if (!task)
            return;
        run(controllers, task);
    }
    if (!list_empty(&controllers->ready) && !controllers->is_pumping) {
        controllers->is_pumping = true;
        loop_post(controllers->options.loop, &controllers->pump);
    }
}

void task_add_primary(struct controllers *controllers, const struct api_resource *resource, struct str ns,
                      struct str name, int64_t delay_ms)
{
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (all[i]->plural && str_is(resource->plural, all[i]->plural) &&
            str_is(resource->group, all[i]->group))
            task_add(controllers, all[i], resource, ns, name, delay_ms);
}

/* ---- what changes lead to ---- */
/* Those that own the object: their controllers look again, and the collector if they wait for their dependents. */
static void add_owners(struct controllers *controllers, const struct stored *object)
{
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *references = tree_at(yyjson_doc_get_root(doc), "metadata.ownerReferences"), *reference;
    size_t i, max;
    if (yyjson_is_arr(references))
        yyjson_arr_foreach(references, i, max, reference) {
            const struct api_resource *resource = resource_of_reference(reference);
            if (!resource)
                continue;
            struct str ns = resource->namespaced ? object->ns : STR(""), name = tree_text(reference, "name");
            if (tree_bool(reference, "controller"))
                task_add_primary(controllers, resource, ns, name, OWNER_DELAY_MS);
            task_add(controllers, &controller_collector, resource, ns, name, OWNER_DELAY_MS);
        }
    yyjson_doc_free(doc);
}

/* Objects that depend on others without owning them: all of the same namespace look again, or the one of the cluster
 * that the changed object names. */
static const struct {
    const char *group, *plural;
    const char *watching_group, *watching;
    const char *name_path; /* NULL: all */
} watching[] = {
    { "", "pods", "policy", "poddisruptionbudgets", NULL },
    { "", "nodes", "apps", "daemonsets", NULL },
    { "storage.k8s.io", "storageclasses", "", "persistentvolumeclaims", NULL },
    { "", "persistentvolumeclaims", "", "persistentvolumes", "spec.volumeName" },
};

struct add_each {
    struct controllers *controllers;
    const struct api_resource *resource;
};

static enum store_visited add_one(void *user, struct stored *object)
{
    const struct add_each *each = user;
    task_add_primary(each->controllers, each->resource, object->ns, object->name, OTHERS_DELAY_MS);
    return STORE_COUNTS;
}

static void add_named(struct controllers *controllers, const struct api_resource *resource,
                      const struct stored *object, const char *path)
{
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    struct str name = tree_text(yyjson_doc_get_root(doc), path);
    if (name.len)
        task_add_primary(controllers, resource, STR(""), name, OTHERS_DELAY_MS);
    yyjson_doc_free(doc);
}

static void add_watching(struct controllers *controllers, const struct api_resource *resource,
                         const struct stored *object)
{
    for (size_t i = 0; i < ARRAY_SIZE(watching); i++) {
        if (!str_is(resource->plural, watching[i].plural) || !str_is(resource->group, watching[i].group))
            continue;
        struct add_each each = { controllers,
                                 resource_named(watching[i].watching_group, watching[i].watching) };
        struct store_range range = { .kind = each.resource->storage, .ns = object->ns };
        if (watching[i].name_path)
            add_named(controllers, each.resource, object, watching[i].name_path);
        else
            store_page(controllers->store, &range, 0, add_one, &each);
    }
}

/* Those that the object owned: without it, nothing may keep them. */
static void add_dependents(struct controllers *controllers, const struct stored *object)
{
    struct owner *owner = owner_find(controllers, object->uid);
    if (owner)
        list_for_each(&owner->dependents, struct owner_link, link, link)
            task_add(controllers, &controller_collector, link->of->resource, link->of->object->ns,
                     link->of->object->name, 0);
}

static void follow(struct controllers *controllers, const struct store_change *change)
{
    const struct api_resource *resource = resource_of_storage(change->now->kind);
    struct stored *object = change->now;
    if (!resource)
        return;
    if (str_empty(resource->group) && str_is(resource->plural, "nodes"))
        hosts_follow(controllers, change);
    dependents_follow(controllers, resource, change);
    task_add_primary(controllers, resource, object->ns, object->name, 0);
    task_add(controllers, &controller_collector, resource, object->ns, object->name, 0);
    add_owners(controllers, object);
    add_watching(controllers, resource, object);
    if (change->old && change->type == STORE_MODIFIED)
        add_owners(controllers, change->old);
    if (change->type != STORE_DELETED)
        return;
    add_dependents(controllers, object);
    /* A namespace that terminates waits for the last object in it. */
    if (object->ns.len)
        task_add(controllers, &controller_namespace, resource_named("", "namespaces"), STR(""), object->ns,
                 OWNER_DELAY_MS);
}

static void on_change(struct store_watcher *watcher, const struct store_change *change)
{
    follow(container_of(watcher, struct controllers, watcher), change);
}

static enum store_visited follow_object(void *user, struct stored *object)
{
    follow(user, &(struct store_change){ .type = STORE_ADDED, .now = object });
    return STORE_COUNTS;
}

struct controllers *controllers_new(const struct controllers_options *options)
{
    struct controllers *controllers = xcalloc(1, sizeof(*controllers));
    controllers->options = *options;
    if (!options->job_ms)
        controllers->options.job_ms = JOB_MS;
    controllers->registry = options->registry;
    controllers->store = registry_store(options->registry);
    controllers->pump.run = pump;
    controllers->watcher = (struct store_watcher){ .kind = STORE_ALL, .changed = on_change };
    for (uint32_t i = 0; i < resources_max(); i++) {
        const struct api_resource *resource = resource_at(i);
        if (resource && resource_of_storage(resource->storage) == resource)
            store_page(controllers->store, &(struct store_range){ .kind = resource->storage }, 0,
                       follow_object, controllers);
    }
    store_subscribe(controllers->store, &controllers->watcher, store_revision(controllers->store));
    return controllers;
}

/* Frees itself: a call that was posted may still come. */
static void end(struct loop_call *call)
{
    free(container_of(call, struct controllers, pump));
}

void controllers_free(struct controllers *controllers)
{
    if (!controllers)
        return;
    store_unsubscribe(controllers->store, &controllers->watcher);
    map_for(&controllers->tasks, slot) {
        struct task *task = slot->value;
        loop_timer_stop(controllers->options.loop, &task->timer);
        free(task);
    }
    strmap_release(&controllers->tasks);
    dependents_release(controllers);
    controllers->pump.run = end;
    if (!controllers->is_pumping)
        loop_post(controllers->options.loop, &controllers->pump);
}
