/* TopologicalSort.c: pods of an AppGroup in the order in which they depend on each other. Arguments, objects and
 * results are those of the plugin of that name in kubernetes-sigs/scheduler-plugins.
 *
 *     same AppGroup      the lower index in status.topologyOrder first; a workload that is not there has -1
 *     else               the higher priority first
 *
 * Among equal ones the pod that has waited longer comes first. */
#include "names.h"

#define APP_GROUP "appgroup.diktyo.x-k8s.io/v1alpha1/AppGroup"
#define GROUP_LABEL "appgroup.diktyo.x-k8s.io"
#define WORKLOAD_LABEL "appgroup.diktyo.x-k8s.io.workload"

enum { PATH_MAX_LEN = 100, KEY_MAX_LEN = 600 };

struct args {
    struct berth_strs namespaces;
    struct berth_str api_version, kind;
};
static const struct berth_field fields[] = {
    BERTH_FIELD("namespaces", BERTH_STRINGS, struct args, namespaces),
    BERTH_FIELD("apiVersion", BERTH_STRING, struct args, api_version),
    BERTH_FIELD("kind", BERTH_STRING, struct args, kind),
    { 0 },
};
static const struct berth_str default_namespace = { "default", 7 };
static const struct args defaults = { .namespaces = { &default_namespace, 1 } };

struct self {
    const struct args *args;
    const struct berth_cluster *cluster;
    uint64_t version;
    struct names workloads; /* "group\0workload" */
    int64_t *indexes;       /* of each */
    uint32_t indexes_len;
    uint32_t namespace_; /* for read_group(): whose AppGroups are read */
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    *self = (struct self){ .args = env->args, .cluster = env->cluster };
    *ret_self = self;
    if (!self->args->namespaces.len)
        return berth_fail(err, "namespaces: expected the names of namespaces, got none");
    for (uint32_t i = 0; i < self->args->namespaces.len; i++)
        if (!berth_watch_only(env->handle, APP_GROUP, self->args->namespaces.items[i], berth_text(NULL)))
            return berth_fail(err, "namespaces: too many kinds of objects and namespaces are watched");
    return 0;
}

static void release(void *data)
{
    struct self *self = data;
    names_release(&self->workloads);
    free(self->indexes);
}

/* False: it is too long for a label. */
static bool key_of(struct berth_str group, struct berth_str workload, char text[KEY_MAX_LEN],
                   struct berth_str *ret)
{
    if ((size_t)group.len + workload.len + 1 > KEY_MAX_LEN)
        return false;
    memcpy(text, group.ptr ? group.ptr : "", group.len);
    text[group.len] = '\0';
    memcpy(text + group.len + 1, workload.ptr ? workload.ptr : "", workload.len);
    *ret = (struct berth_str){ text, group.len + workload.len + 1 };
    return true;
}

static void put_index(struct self *self, struct berth_str group, struct berth_str workload, int64_t index)
{
    char text[KEY_MAX_LEN];
    struct berth_str key;
    if (!key_of(group, workload, text, &key) || names_find(&self->workloads, key) != NAMES_NONE)
        return;
    uint32_t number = names_add(&self->workloads, key);
    if (number >= self->indexes_len) {
        self->indexes_len = 2 * number + 16;
        self->indexes = realloc(self->indexes, self->indexes_len * sizeof(*self->indexes));
        if (!self->indexes)
            abort();
    }
    self->indexes[number] = index;
}

/* An AppGroup of an earlier namespace in the arguments has put "group\0" before, and counts alone. */
static bool read_group(void *context, const void *object)
{
    struct self *self = context;
    struct berth_str name = berth_object_name(object);
    char text[KEY_MAX_LEN], path[PATH_MAX_LEN];
    struct berth_str key;
    if (!berth_eq(berth_object_namespace(object), self->args->namespaces.items[self->namespace_]) ||
        !key_of(name, berth_text(""), text, &key) || names_find(&self->workloads, key) != NAMES_NONE)
        return true;
    uint32_t len = berth_read(APP_GROUP, object, "status.topologyOrder").len;
    for (uint32_t i = 0; i < len; i++) {
        snprintf(path, sizeof(path), "status.topologyOrder[%u].workload.selector", i);
        struct berth_str selector = berth_read(APP_GROUP, object, path).text;
        snprintf(path, sizeof(path), "status.topologyOrder[%u].index", i);
        if (selector.len)
            put_index(self, name, selector, berth_read(APP_GROUP, object, path).number);
    }
    put_index(self, name, berth_text(""), -1);
    return true;
}

static void update(struct self *self)
{
    uint64_t version = berth_kind_version(self->cluster, APP_GROUP);
    if (version == self->version)
        return;
    self->version = version;
    names_release(&self->workloads);
    for (self->namespace_ = 0; self->namespace_ < self->args->namespaces.len; self->namespace_++)
        berth_each(self->cluster, APP_GROUP, read_group, self);
}

static int64_t index_of(const struct self *self, struct berth_str group, const void *pod)
{
    char text[KEY_MAX_LEN];
    struct berth_str key;
    uint32_t number = key_of(group, berth_object_label(pod, WORKLOAD_LABEL), text, &key)
                          ? names_find(&self->workloads, key)
                          : NAMES_NONE;
    return number == NAMES_NONE ? -1 : self->indexes[number];
}

static bool less(void *data, const struct berth_pod_info *a, const struct berth_pod_info *b)
{
    struct self *self = data;
    const struct berth_pod *x = berth_info_pod(a), *y = berth_info_pod(b);
    struct berth_str group = berth_object_label(x, GROUP_LABEL);
    if (!group.len || !berth_eq(group, berth_object_label(y, GROUP_LABEL)))
        return berth_info_priority(a) > berth_info_priority(b);
    update(self);
    return index_of(self, group, x) < index_of(self, group, y);
}

static const char *const kinds[] = { APP_GROUP, NULL };

static const struct berth_plugin topological_sort = {
    .name = "TopologicalSort",
    .doc = "Orders the pods of an AppGroup as they depend on each other.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = release,
    .kinds = kinds,
    .less_self = less,
};

BERTH_PLUGINS(&topological_sort)
