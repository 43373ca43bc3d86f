/* pod_key.c: fields are written one after another by the tables of the API, each so that no two values begin alike. */
#include "cluster/pod_key.h"

#include "api/fields.h"
#include "cluster/model.h"

static void put_str(struct strbuf *out, struct str text)
{
    strbuf_add(out, (const char *)&text.len, sizeof(text.len));
    strbuf_str(out, text);
}

/* ---- fields of which the key has a part ---- */
/* A pod that names its node is decided on the plain path. */
static void put_node_name(struct strbuf *out, const struct pod *pod)
{
    (void)out, (void)pod;
}

/* The controller alone: its pods are spread by default. */
static void put_controller(struct strbuf *out, const struct pod *pod)
{
    list_for(&pod->meta.owners, owner) {
        if (!owner->controller.value)
            continue;
        strbuf_putc(out, 1);
        put_str(out, owner->api_version);
        put_str(out, owner->kind);
        put_str(out, owner->name);
        return;
    }
    strbuf_putc(out, 0);
}

bool pod_has_volumes(const struct pod *pod)
{
    list_for(&pod->spec.volumes, volume)
        if (volume->pvc || volume->ephemeral || volume->gce_pd || volume->aws_ebs || volume->iscsi ||
            volume->rbd || volume->azure_disk || volume->cinder || volume->vsphere || volume->portworx ||
            volume->azure_file || volume->csi)
            return true;
    return false;
}

bool pod_has_claims(const struct pod *pod)
{
    list_for(&pod->spec.volumes, volume)
        if (volume->pvc || volume->ephemeral)
            return true;
    return false;
}

bool pod_has_devices(const struct pod *pod)
{
    return pod->spec.resource_claims.len > 0;
}

/* Claims are the pod's own: plugins that look at them are called for each pod that has any. Images are shared. */
static void put_volumes(struct strbuf *out, const struct pod *pod)
{
    strbuf_putc(out, (char)(pod_has_volumes(pod) | pod_has_claims(pod) << 1));
    list_for(&pod->spec.volumes, volume)
        if (volume->image) {
            strbuf_putc(out, 1);
            put_str(out, volume->image->reference);
        }
    strbuf_putc(out, 0);
}

static void put_devices(struct strbuf *out, const struct pod *pod)
{
    strbuf_putc(out, pod_has_devices(pod));
}

/* Conditions that say how a resize is going. */
static void put_conditions(struct strbuf *out, const struct pod *pod)
{
    list_for(&pod->status.conditions, condition)
        if (str_starts_with(condition->type, STR("PodResize"))) {
            strbuf_putc(out, 1);
            put_str(out, condition->type);
            put_str(out, condition->status);
            put_str(out, condition->reason);
        }
    strbuf_putc(out, 0);
}

/* The weights of its profile are others. What else a policy says is in the pod's spec. */
static void put_policy(struct strbuf *out, const struct pod *pod)
{
    bool weighs = pod->policy && pod->policy->weighs;
    strbuf_putc(out, weighs);
    if (weighs)
        put_str(out, pod->policy->name);
}

/* Lists that are empty are part of the key like those that are absent, and mean something else here. */
static void put_lists_given(struct strbuf *out, const struct resource_list *allocated,
                            const struct resource_requirements *resources)
{
    strbuf_putc(out, (char)((allocated->items != NULL) | (resources && resources->requests.items) << 1 |
                            (resources && resources->limits.items) << 2));
}

/* The name of a container ties it to its status. */
static void put_container_names(struct strbuf *out, const struct pod *pod)
{
    put_lists_given(out, &pod->status.allocated_resources, pod->status.resources);
    list_for(&pod->status.container_statuses, status)
        put_lists_given(out, &status->allocated_resources, status->resources);
    list_for(&pod->status.init_container_statuses, status)
        put_lists_given(out, &status->allocated_resources, status->resources);
    if (!pod->status.container_statuses.len && !pod->status.init_container_statuses.len)
        return;
    list_for(&pod->spec.containers, container)
        put_str(out, container->name);
    list_for(&pod->spec.init_containers, container)
        put_str(out, container->name);
}

static const struct {
    const char *path;
    void (*put)(struct strbuf *out, const struct pod *pod);
} reduced[] = {
    { "metadata.ownerReferences", put_controller },
    { POD_KEY_POLICY, put_policy },
    { "spec.containers[].name", put_container_names },
    { "spec.nodeName", put_node_name },
    { "spec.resourceClaims", put_devices },
    { "spec.volumes", put_volumes },
    { "status.conditions", put_conditions },
};

/* ---- paths ---- */
int pod_key_resolve(const char *path, struct key_path *ret, struct error *err)
{
    const struct record_type *type = api_kinds[KIND_POD].type;
    *ret = (struct key_path){ .path = path };
    for (size_t i = 0; i < ARRAY_SIZE(reduced); i++)
        if (strcmp(path, reduced[i].path) == 0) {
            ret->reduce = reduced[i].put;
            return 0;
        }
    const char *rest = path, *list;
    while ((list = strstr(rest, "[].")) && ret->lists_len < KEY_LISTS_MAX) {
        struct record_member member = record_member(type, (struct str){ rest, (uint32_t)(list - rest) });
        if (!member.field || member.field->kind != &record_LIST)
            return error_set(err, -EINVAL, "a pod has no list \"%.*s\"", (int)(list - path), path);
        type = member.field->type;
        ret->lists[ret->lists_len].offset = member.offset;
        ret->lists[ret->lists_len++].item_size = type->size;
        rest = list + 3;
    }
    ret->field = record_member(type, str_from(rest));
    return ret->field.field ? 0 : error_set(err, -EINVAL, "a pod has no field \"%s\"", path);
}

bool pod_key_extend(struct cluster *cluster, const char *path)
{
    struct key_path resolved;
    struct error err;
    vec_for(&cluster->key_paths, known)
        if (strcmp(known->path, path) == 0)
            return false;
    int r = pod_key_resolve(path, &resolved, &err);
    assert(r == 0);
    *vec_push(&cluster->key_paths) = resolved;
    return true;
}

void pod_key_read(struct cluster *cluster, const char *path)
{
    if (pod_key_extend(cluster, path))
        pod_classes_renew(cluster);
}

static void put_path(struct strbuf *out, const struct key_path *path, uint32_t depth, const char *record)
{
    if (depth == path->lists_len) {
        record_member_put_key(out, path->field, record);
        return;
    }
    const struct record_list *list = (const void *)(record + path->lists[depth].offset);
    strbuf_add(out, (const char *)&list->len, sizeof(list->len));
    for (uint32_t i = 0; i < list->len; i++)
        put_path(out, path, depth + 1, list->items + i * path->lists[depth].item_size);
}

/* ---- labels ---- */
/* Labels that tell the pods of one controller apart. */
static const struct str unique_labels[] = {
    STR("statefulset.kubernetes.io/pod-name"),
    STR("apps.kubernetes.io/pod-index"),
    STR("batch.kubernetes.io/job-completion-index"),
};

/* The number of a label that no selector reads, or -1. */
static int unread_label(const struct cluster *cluster, struct str key)
{
    for (size_t i = 0; i < ARRAY_SIZE(unique_labels); i++)
        if (!(cluster->unique_labels_read >> i & 1) && str_eq(key, unique_labels[i]))
            return (int)i;
    return -1;
}

/* One label stays in any case: whether there are labels at all matters to disruption budgets. */
static uint32_t count_read(const struct cluster *cluster, const struct str_map *labels)
{
    uint32_t read = 0;
    list_for(labels, label)
        read += unread_label(cluster, label->key) < 0;
    return read ? read : labels->len;
}

struct str_map pod_key_labels_of(const struct cluster *cluster, const struct pod *pod, struct arena *arena)
{
    const struct str_map *labels = &pod->meta.labels;
    struct str_map read = *labels;
    if (count_read(cluster, labels) == labels->len)
        return read;
    read.items = arena_array(arena, struct pair, labels->len);
    read.len = 0;
    list_for(labels, label)
        if (unread_label(cluster, label->key) < 0)
            read.items[read.len++] = *label;
    return read;
}

void pod_key_labels(const struct cluster *cluster, struct strbuf *out, const struct pod *pod)
{
    const struct str_map *labels = &pod->meta.labels;
    uint32_t read = count_read(cluster, labels);
    put_str(out, pod->meta.namespace);
    strbuf_add(out, (const char *)&read, sizeof(read));
    list_for(labels, label)
        if (read == labels->len || unread_label(cluster, label->key) < 0) {
            put_str(out, label->key);
            put_str(out, label->value);
        }
}

static uint32_t select_key(const struct cluster *cluster, struct str key)
{
    int number = unread_label(cluster, key);
    return number < 0 ? 0 : 1U << number;
}

static bool selected(struct cluster *cluster, uint32_t labels)
{
    if (!labels)
        return false;
    cluster->unique_labels_read |= labels;
    pod_classes_renew(cluster);
    return true;
}

bool pod_key_select_pairs(struct cluster *cluster, const struct str_map *pairs)
{
    uint32_t labels = 0;
    list_for(pairs, pair)
        labels |= select_key(cluster, pair->key);
    return selected(cluster, labels);
}

bool pod_key_select(struct cluster *cluster, const struct label_selector *selector)
{
    uint32_t labels = 0;
    if (!selector)
        return false;
    list_for(&selector->match_expressions, requirement)
        labels |= select_key(cluster, requirement->key);
    bool changed = selected(cluster, labels);
    return pod_key_select_pairs(cluster, &selector->match_labels) || changed;
}

/* ---- keys ---- */
void pod_key_terms(struct strbuf *out, const struct pod *pod)
{
    const struct record_type *type =
        record_member(api_kinds[KIND_POD].type, STR("spec.affinity")).field->type;
    put_str(out, pod->meta.namespace);
    record_member_put_key(out, record_member(type, STR("podAffinity")), pod->spec.affinity);
    record_member_put_key(out, record_member(type, STR("podAntiAffinity")), pod->spec.affinity);
}

void pod_key_put(const struct cluster *cluster, struct strbuf *out, const struct pod *pod)
{
    pod_key_labels(cluster, out, pod);
    vec_for(&cluster->key_paths, path) {
        if (path->reduce)
            path->reduce(out, pod);
        else
            put_path(out, path, 0, (const char *)pod);
    }
}
