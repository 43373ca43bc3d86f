/* mirror.c: an object knows what it lives in (meta.home): that is how old versions are found and freed. */
#include "sync/mirror.h"

#include "api/fields.h"

static struct live_object *home_of(const struct meta *meta)
{
    return meta ? meta->home : NULL;
}

static void free_home(const struct meta *meta)
{
    live_object_free(home_of(meta));
}

static void pod_free(void *context, const struct pod *pod)
{
    (void)context;
    free_home(&pod->meta);
}

void mirror_init(struct mirror *mirror, struct engine *engine)
{
    *mirror = (struct mirror){ .engine = engine };
    engine->cluster->pod_free = pod_free;
}

/* ---- what is known ---- */
#define X(number, type, field) \
    static_assert(offsetof(struct type, meta) == 0, "objects begin with their metadata");
CLUSTER_STORES(X)
X(POD, pod, )
X(NODE, node, )
#undef X

/* The known object of that name, or NULL. */
static const struct meta *known_of(const struct cluster *cluster, enum api_kind kind, const struct meta *meta)
{
    return cluster_find(cluster, kind, meta->namespace, meta->name);
}

static bool is_straggler(const struct meta *known, const struct meta *meta)
{
    return known && meta_is_older(known, meta);
}

/* The uid may be among what could not be read. */
static bool is_same(const struct meta *known, const struct meta *meta)
{
    return !meta->uid.len || str_eq(known->uid, meta->uid);
}

/* ---- changes ---- */
static void set(struct mirror *mirror, struct live_object *live, int64_t now_ns)
{
    struct engine *engine = mirror->engine;
    enum api_kind kind = live->object.kind;
    const struct meta *meta = live->object.meta;
    const struct meta *known = known_of(engine->cluster, kind, meta);
    live->object.meta->home = live;
    live->round = mirror->kinds[kind].round;
    if (!mirror->kinds[kind].listing && is_straggler(known, meta)) {
        live_object_free(live);
        return;
    }
    bool is_kept = engine_set_object(engine, kind, live->object.ptr, meta, now_ns);
    if (!is_kept)
        live_object_free(live);
    else if (kind != KIND_POD) /* freed through pod_free */
        free_home(known);
}

static void take_away(struct mirror *mirror, enum api_kind kind, const struct meta *known, int64_t now_ns)
{
    engine_remove_object(mirror->engine, kind, known->namespace, known->name, now_ns);
    if (kind != KIND_POD) /* freed through pod_free */
        free_home(known);
}

static void remove_one(struct mirror *mirror, const struct live_object *live, int64_t now_ns)
{
    enum api_kind kind = live->object.kind;
    const struct meta *known = known_of(mirror->engine->cluster, kind, live->object.meta);
    /* Another uid: an object that had the name before. */
    if (known && !is_straggler(known, live->object.meta) && is_same(known, live->object.meta))
        take_away(mirror, kind, known, now_ns);
}

/* ---- objects that cannot be read ---- */
/* The known version of a pod, with the node of the other one. */
static struct live_object *with_node(const struct pod *known, const struct live_object *partial)
{
    struct live_object *live = live_object_new();
    struct pod *pod = arena_zalloc(&live->arena, sizeof(*pod));
    const struct pod *newer = partial->object.ptr;
    record_copy(api_kinds[KIND_POD].type, known, &live->arena, pod);
    pod->meta.source =
        newer->meta.source.len ? arena_str(&live->arena, newer->meta.source) : (struct str){ 0 };
    if (newer->meta.resource_version.len)
        pod->meta.resource_version = arena_str(&live->arena, newer->meta.resource_version);
    pod->spec.node_name = arena_str(&live->arena, newer->spec.node_name);
    live->object = partial->object;
    live->object.ptr = live->object.meta = &pod->meta;
    return live;
}

static void set_partial_pod(struct mirror *mirror, struct live_object *live, const struct meta *known,
                            int64_t now_ns)
{
    const struct pod *pod = live->object.ptr;
    const struct pod_info *info =
        known ? cluster_find_pod(mirror->engine->cluster, known->namespace, known->name) : NULL;
    if (!info && pod->spec.node_name.len) {
        set(mirror, live, now_ns); /* with what could be read */
        return;
    }
    if (info && !info->api->spec.node_name.len && pod->spec.node_name.len)
        set(mirror, with_node(pod_info_object(info), live), now_ns);
    else if (info && info->row == ROW_NONE && !info->api->spec.node_name.len && !info->is_foreign)
        take_away(mirror, KIND_POD, known, now_ns); /* it waits for a decision */
    live_object_free(live);
}

/* A claim with an allocation, which its last complete version does not have. */
static bool holds_devices(const struct live_object *live, const struct meta *known)
{
    const struct resource_claim *claim = live->object.ptr, *before = (const void *)known;
    return live->object.kind == KIND_RESOURCE_CLAIM && claim->status.allocation &&
           !(before && before->status.allocation && !before->is_partial);
}

static void set_partial(struct mirror *mirror, struct live_object *live, int64_t now_ns)
{
    enum api_kind kind = live->object.kind;
    const struct meta *meta = live->object.meta, *known = known_of(mirror->engine->cluster, kind, meta);
    bool is_late = !mirror->kinds[kind].listing && is_straggler(known, meta);
    if (!is_late && known && !is_same(known, meta)) { /* its deletion was missed */
        take_away(mirror, kind, known, now_ns);
        known = NULL;
    }
    if (known && home_of(known))
        home_of(known)->round = mirror->kinds[kind].round;
    if (kind == KIND_POD && !is_late) {
        set_partial_pod(mirror, live, known, now_ns);
    } else if (!is_late && holds_devices(live, known)) {
        ((struct resource_claim *)live->object.ptr)->is_partial = true;
        set(mirror, live, now_ns);
    } else {
        live_object_free(live);
    }
}

/* ---- lists ---- */
typedef VEC(const struct meta *) meta_vec;

static void collect(const struct cluster *cluster, enum api_kind kind, meta_vec *ret)
{
    const struct strmap *store = cluster_store(cluster, kind);
    if (kind == KIND_POD) {
        map_for(&cluster->pods, slot)
            *vec_push(ret) = &((const struct pod_info *)slot->value)->api->meta;
    } else if (kind == KIND_NODE) {
        vec_for(&cluster->nodes, node)
            if (node->api)
                *vec_push(ret) = &node->api->meta;
    } else if (store) {
        map_for(store, slot)
            *vec_push(ret) = stored_object(slot);
    }
}

/* What the list did not have is gone. */
static void sweep(struct mirror *mirror, enum api_kind kind, int64_t now_ns)
{
    meta_vec known = { 0 };
    if (mirror->kinds[kind].unnamed)
        return;
    collect(mirror->engine->cluster, kind, &known);
    vec_for(&known, meta)
        if (home_of(*meta) && home_of(*meta)->round != mirror->kinds[kind].round)
            take_away(mirror, kind, *meta, now_ns);
    vec_release(&known);
}

void mirror_apply(struct mirror *mirror, struct inbox_message *message, int64_t now_ns)
{
    enum api_kind kind = message->api_kind;
    struct live_object *live = message->object;
    message->object = NULL;
    switch (message->kind) {
    case MESSAGE_SET:
        set(mirror, live, now_ns);
        return;
    case MESSAGE_REMOVE:
        remove_one(mirror, live, now_ns);
        live_object_free(live);
        return;
    case MESSAGE_PARTIAL:
        if (live)
            set_partial(mirror, live, now_ns);
        else
            mirror->kinds[kind].unnamed = true;
        return;
    case MESSAGE_LIST_BEGIN:
        mirror->kinds[kind].round++;
        mirror->kinds[kind].listing = true;
        engine_list(mirror->engine, kind, true);
        mirror->kinds[kind].unnamed = false;
        return;
    case MESSAGE_ABSENT: /* nothing of the kind is there */
        mirror->kinds[kind].round++;
        mirror->kinds[kind].unnamed = false;
        /* fall through */
    case MESSAGE_LIST_END:
        sweep(mirror, kind, now_ns);
        mirror->kinds[kind].listing = false;
        mirror->kinds[kind].synced = true;
        engine_list(mirror->engine, kind, false);
        return;
    case MESSAGE_DOUBT:
        mirror->kinds[kind].synced = false;
        return;
    case MESSAGE_ANSWER:
    case MESSAGE_CALL:
        return;
    }
}

void mirror_release(struct mirror *mirror)
{
    struct cluster *cluster = mirror->engine->cluster;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        meta_vec known = { 0 };
        if (kind != KIND_POD) /* those go with the model, through pod_free */
            collect(cluster, (enum api_kind)kind, &known);
        vec_for(&known, meta) {
            if (kind == KIND_NODE)
                cluster_remove_node(cluster, (*meta)->name);
            else
                cluster_remove_object(cluster, (enum api_kind)kind, (*meta)->namespace, (*meta)->name);
            free_home(*meta);
        }
        vec_release(&known);
    }
}
