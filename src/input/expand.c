/* expand.c: from controllers to the pods that they lack; see expand.h. */
#include "input/expand_impl.h"

#include "api/fields.h"
#include "api/labels.h"
#include "input/bind_claims.h"
#include "input/daemon.h"

#define HASH_LABEL "pod-template-hash"
#define REVISION_ANNOTATION "deployment.kubernetes.io/revision"
#define INDEX_KEY "batch.kubernetes.io/job-completion-index"

enum { GENERATED_LEN_MAX = 58 };

static int64_t count_or(struct opt_int32 count, int64_t otherwise)
{
    return count.set ? MAX(count.value, 0) : otherwise;
}

/* ---- Deployments: which ReplicaSet, and how many ---- */

static int64_t revision_of(const struct workload *set)
{
    int64_t revision = 0;
    const struct str *text = str_map_get(&set->meta.annotations, STR(REVISION_ANNOTATION));
    return text && str_to_int64(*text, &revision) ? revision : 0;
}

static bool is_newer(const struct workload *a, const struct workload *b)
{
    int64_t by_revision = revision_of(a) - revision_of(b);
    if (by_revision)
        return by_revision > 0;
    if (a->meta.creation_time.seconds != b->meta.creation_time.seconds)
        return a->meta.creation_time.seconds > b->meta.creation_time.seconds;
    return str_cmp(a->meta.name, b->meta.name) > 0;
}

static const struct workload *newest_set(const struct owner *owner)
{
    const struct workload *newest = owner->sets.items[0];
    vec_for(&owner->sets, set)
        if (is_newer(*set, newest))
            newest = *set;
    return newest;
}

/* The newest ReplicaSet makes up what all of them lack. While a rollout runs it may have more than its share; after a
 * scale-down that has not been carried out yet it must not make more. */
static void share_out(struct expansion *expansion, const struct workload *deployment,
                      const struct owner *owner)
{
    const struct workload *newest = newest_set(owner);
    int64_t others = 0;
    vec_for(&owner->sets, set)
        if (*set != newest)
            others += count_or((*set)->spec.replicas, 1);
    int64_t wanted = count_or(deployment->spec.replicas, 1);
    int64_t own = count_or(newest->spec.replicas, 1);
    struct owner *set =
        owners_get(&expansion->owners, KIND_REPLICA_SET, newest->meta.namespace, newest->meta.name);
    set->desired = others == 0 ? wanted : MAX(own, wanted - others);
}

static uint64_t hash_map(const struct str_map *map, uint64_t hash)
{
    list_for(map, pair) {
        hash = hash_bytes(pair->key.ptr, pair->key.len, hash);
        hash = hash_bytes(pair->value.ptr, pair->value.len, hash);
    }
    return hash;
}

static uint64_t hash_template(const struct pod_template *template)
{
    uint64_t hash = hash_map(&template->meta.labels, 1);
    hash = hash_map(&template->spec.node_selector, hash);
    list_for(&template->spec.containers, container) {
        hash = hash_bytes(container->name.ptr, container->name.len, hash);
        hash = hash_bytes(container->image.ptr, container->image.len, hash);
    }
    return hash;
}

/* Pods of a dump without ReplicaSets show which ones their Deployments have: NAME-HASH, HASH being a label of theirs.
 * A Deployment takes over the one with most pods. */
static void adopt_unseen_sets(struct expansion *expansion)
{
    map_for(&expansion->owners.by_key, slot) {
        const struct owner *set = slot->value;
        if (set->kind != KIND_REPLICA_SET || set->object || set->pods.len == 0)
            continue;
        const struct meta *pod = &set->pods.items[0]->meta;
        const struct owner_ref *ref = controller_of(pod);
        const struct str *hash = str_map_get(&pod->labels, STR(HASH_LABEL));
        if (!hash || hash->len + 1 >= ref->name.len || !str_ends_with(ref->name, *hash))
            continue;
        struct str name = str_slice(ref->name, 0, ref->name.len - hash->len - 1);
        const struct workload *deployment = load_find(expansion->load, KIND_DEPLOYMENT, pod->namespace, name);
        if (!deployment || !label_selector_matches(deployment->spec.selector, &pod->labels))
            continue;
        struct owner *owner = owners_get(&expansion->owners, KIND_DEPLOYMENT, pod->namespace, name);
        if (set->pods.len < owner->unseen_pods)
            continue;
        if (set->pods.len == owner->unseen_pods && str_cmp(*hash, owner->unseen_hash) > 0)
            continue;
        owner->unseen_pods = set->pods.len;
        owner->unseen_hash = *hash;
        owner->unseen_uid = ref->uid;
    }
}

/* The ReplicaSet that the Deployment would have: its selector and labels carry the hash of the template. */
static void add_replica_set(struct expansion *expansion, const struct workload *deployment,
                            struct owner *owner)
{
    enum { HASH_LEN = 9 };
    struct arena *arena = &expansion->factory.arena;
    struct str uid = owner->unseen_uid, hash = owner->unseen_hash;
    if (str_empty(hash))
        hash = factory_letters(arena, hash_template(&deployment->spec.template), HASH_LEN);
    struct workload *set = arena_new(arena, struct workload);
    *set = *deployment;
    set->meta = (struct meta){ .namespace = deployment->meta.namespace, .uid = uid };
    set->meta.name = arena_printf(arena, STR_FMT "-" STR_FMT, STR_ARG(deployment->meta.name), STR_ARG(hash));
    if (str_empty(uid))
        set->meta.uid = arena_printf(arena, "replicaset-" STR_FMT "-" STR_FMT, STR_ARG(set->meta.namespace),
                                     STR_ARG(set->meta.name));
    set->spec.template.meta.labels =
        str_map_with(&deployment->spec.template.meta.labels, STR(HASH_LABEL), hash, arena);
    set->meta.labels = set->spec.template.meta.labels;
    struct label_selector *selector = arena_new(arena, struct label_selector);
    if (deployment->spec.selector)
        *selector = *deployment->spec.selector;
    selector->match_labels = str_map_with(&selector->match_labels, STR(HASH_LABEL), hash, arena);
    set->spec.selector = selector;
    load_add(expansion->load, KIND_REPLICA_SET, &set->meta);
    *vec_push(&owner->sets) = set;
    owners_get(&expansion->owners, KIND_REPLICA_SET, set->meta.namespace, set->meta.name)->object =
        &set->meta;
}

static void settle_deployments(struct expansion *expansion)
{
    adopt_unseen_sets(expansion);
    vec_for(&expansion->load->objects[KIND_DEPLOYMENT], item) {
        const struct workload *deployment = (const struct workload *)*item;
        struct owner *owner = owners_get(&expansion->owners, KIND_DEPLOYMENT, deployment->meta.namespace,
                                         deployment->meta.name);
        if (deployment->meta.deletion_time.set)
            continue;
        if (owner->sets.len)
            share_out(expansion, deployment, owner);
        else
            add_replica_set(expansion, deployment, owner);
    }
}

/* ---- pods of a controller ---- */

/* Refuses what no cluster could hold. */
static int check_count(struct expansion *expansion, const struct owner *owner, int64_t count,
                       struct error *err)
{
    if (count + (int64_t)expansion->pods.len > EXPANDED_PODS_MAX)
        return error_set(err, -E2BIG,
                         STR_FMT " " META_FMT ": wants %lld more pods; at most %d can be expanded",
                         STR_ARG(api_kinds[owner->kind].kind), META_ARG(owner->object), (long long)count,
                         EXPANDED_PODS_MAX);
    return 0;
}

static struct pod *add_pod(struct expansion *expansion, struct owner *owner, const struct pod *pod,
                           struct str name)
{
    struct pod *made = factory_finish(&expansion->factory, pod, name);
    *vec_push(&expansion->pods) = made;
    owner->active++;
    return made;
}

static struct str name_prefix(struct pod_factory *factory, const struct meta *controller)
{
    return arena_printf(&factory->arena, STR_FMT "-", STR_ARG(controller->name));
}

/* Pods that differ in nothing but their names. */
static void make_equal(struct expansion *expansion, struct owner *owner, struct pod *pod, int64_t count)
{
    struct pod_factory *factory = &expansion->factory;
    struct str prefix = name_prefix(factory, owner->object);
    admission_admit(&factory->admission, pod, &factory->arena);
    for (int64_t i = 0; i < count; i++)
        add_pod(expansion, owner, pod, factory_name(factory, pod->meta.namespace, prefix, owner));
}

/* How many of the desired pods the controller lacks. Negative errno: too many. */
static int64_t count_lacking(struct expansion *expansion, struct owner *owner, struct error *err)
{
    int64_t lacking = owner->desired - owner->active;
    if (lacking <= 0)
        return 0;
    int r = check_count(expansion, owner, lacking, err);
    expansion->controllers += r == 0;
    return r < 0 ? r : lacking;
}

static int make_replicas(struct expansion *expansion, struct owner *owner,
                         const struct pod_template *template, struct error *err)
{
    int64_t lacking = count_lacking(expansion, owner, err);
    if (lacking <= 0)
        return (int)lacking;
    struct pod pod = factory_pod(&expansion->factory, template, owner->kind, owner->object);
    make_equal(expansion, owner, &pod, lacking);
    return 0;
}

static int expand_replica_set(struct expansion *expansion, struct owner *owner, struct error *err)
{
    const struct workload *set = (const struct workload *)owner->object;
    if (owner->desired < 0)
        owner->desired = count_or(set->spec.replicas, 1);
    return make_replicas(expansion, owner, &set->spec.template, err);
}

static int expand_replication_controller(struct expansion *expansion, struct owner *owner, struct error *err)
{
    const struct replication_controller *rc = (const struct replication_controller *)owner->object;
    owner->desired = count_or(rc->replicas, 1);
    return make_replicas(expansion, owner, &rc->template, err);
}

/* ---- StatefulSets ---- */

/* Each claim template becomes a volume with a claim of its own, in place of a volume of that name. */
static void add_claims(struct pod_factory *factory, const struct workload *set, struct pod *pod,
                       int64_t ordinal)
{
    uint32_t claims = set->spec.volume_claim_templates.len, len = 0;
    if (!claims)
        return;
    struct volume *volumes =
        arena_array(&factory->arena, struct volume, (size_t)claims + pod->spec.volumes.len);
    const struct str_map *labels = set->spec.selector ? &set->spec.selector->match_labels : NULL;
    list_for(&set->spec.volume_claim_templates, template) {
        struct str claim =
            arena_printf(&factory->arena, STR_FMT "-" STR_FMT "-%lld", STR_ARG(template->meta.name),
                         STR_ARG(set->meta.name), (long long)ordinal);
        struct volume *volume = &volumes[len++];
        volume->name = template->meta.name;
        volume->pvc = arena_zalloc(&factory->arena, sizeof(*volume->pvc));
        volume->pvc->claim_name = claim;
        factory_claim(factory, template, set->meta.namespace, claim, labels, NULL);
    }
    list_for(&pod->spec.volumes, volume) {
        bool replaced = false;
        for (uint32_t i = 0; i < claims; i++)
            replaced |= str_eq(volumes[i].name, volume->name);
        if (!replaced)
            volumes[len++] = *volume;
    }
    pod->spec.volumes.items = volumes;
    pod->spec.volumes.len = len;
}

static struct pod stateful_pod(struct pod_factory *factory, const struct workload *set, struct str name,
                               int64_t ordinal)
{
    struct pod pod = factory_pod(factory, &set->spec.template, KIND_STATEFUL_SET, &set->meta);
    struct str index = arena_printf(&factory->arena, "%lld", (long long)ordinal);
    pod.meta.labels =
        str_map_with(&pod.meta.labels, STR("statefulset.kubernetes.io/pod-name"), name, &factory->arena);
    pod.meta.labels =
        str_map_with(&pod.meta.labels, STR("apps.kubernetes.io/pod-index"), index, &factory->arena);
    add_claims(factory, set, &pod, ordinal);
    admission_admit(&factory->admission, &pod, &factory->arena);
    return pod;
}

static struct str ordinal_name(struct pod_factory *factory, const struct workload *set, int64_t ordinal)
{
    return arena_printf(&factory->arena, STR_FMT "-%lld", STR_ARG(set->meta.name), (long long)ordinal);
}

static struct pod *make_ordinal(struct expansion *expansion, struct owner *owner, int64_t ordinal)
{
    struct pod_factory *factory = &expansion->factory;
    const struct workload *set = (const struct workload *)owner->object;
    struct str name = ordinal_name(factory, set, ordinal);
    struct pod pod = stateful_pod(factory, set, name, ordinal);
    return add_pod(expansion, owner, &pod, name);
}

enum ordinal { ORDINAL_ABSENT, ORDINAL_WAITS, ORDINAL_PLACED };

/* A pod is made when all before it have nodes. */
static struct pod *make_next(struct expansion *expansion, struct owner *owner)
{
    while (owner->next < owner->desired && owner->ordinals[owner->next] == ORDINAL_PLACED)
        owner->next++;
    if (owner->next == owner->desired || owner->ordinals[owner->next] != ORDINAL_ABSENT)
        return NULL;
    owner->ordinals[owner->next] = ORDINAL_WAITS;
    return make_ordinal(expansion, owner, owner->first + owner->next);
}

static bool starts_in_order(const struct expansion *expansion, const struct owner *owner)
{
    const struct workload *set = (const struct workload *)owner->object;
    return expansion->starts_in_order && !str_is(set->spec.pod_management_policy, "Parallel");
}

/* A pod that is on its way out is not waited for: that would be for ever. */
static enum ordinal ordinal_of(const struct pod *pod)
{
    if (!pod)
        return ORDINAL_ABSENT;
    return pod->spec.node_name.len || pod->meta.deletion_time.set ? ORDINAL_PLACED : ORDINAL_WAITS;
}

static int expand_stateful_set(struct expansion *expansion, struct owner *owner, struct error *err)
{
    const struct workload *set = (const struct workload *)owner->object;
    bool in_order = starts_in_order(expansion, owner);
    owner->first = set->spec.ordinals ? count_or(set->spec.ordinals->start, 0) : 0;
    owner->desired = count_or(set->spec.replicas, 1);
    /* At most: pods that are there may have numbers beyond. */
    int64_t lacking = owner->desired - owner->active - (int64_t)owner->leaving.len;
    int r = check_count(expansion, owner, lacking, err);
    if (r < 0)
        return r;
    size_t before = expansion->pods.len;
    if (in_order) {
        owner->ordinals = arena_array(&expansion->factory.arena, uint8_t, (size_t)owner->desired);
        *vec_push(&expansion->ordered) = owner;
    }
    for (int64_t i = 0; i < owner->desired; i++) {
        struct str name = ordinal_name(&expansion->factory, set, owner->first + i);
        const struct pod *pod = load_find(expansion->load, KIND_POD, set->meta.namespace, name);
        if (in_order)
            owner->ordinals[i] = ordinal_of(pod);
        else if (!pod)
            make_ordinal(expansion, owner, owner->first + i);
    }
    if (in_order)
        make_next(expansion, owner);
    expansion->controllers += expansion->pods.len > before;
    return 0;
}

/* The state of this pod of a StatefulSet that starts in order; NULL: it is none. */
static uint8_t *find_ordinal(struct owner *owner, const struct pod *pod)
{
    int64_t ordinal;
    ptrdiff_t dash = str_rfind(pod->meta.name, '-');
    if (!owner || !owner->ordinals ||
        !str_to_int64(str_slice(pod->meta.name, (size_t)(dash + 1), pod->meta.name.len), &ordinal) ||
        ordinal < owner->first || ordinal >= owner->first + owner->desired)
        return NULL;
    return &owner->ordinals[ordinal - owner->first];
}

struct pod *expansion_placed(struct expansion *expansion, const struct pod *placed)
{
    const struct owner_ref *ref = expansion->ordered.len ? controller_of(&placed->meta) : NULL;
    if (!ref || !str_eq(ref->kind, api_kinds[KIND_STATEFUL_SET].kind))
        return NULL;
    struct owner *owner = owners_of(&expansion->owners, &placed->meta);
    uint8_t *ordinal = find_ordinal(owner, placed);
    if (!ordinal)
        return NULL;
    *ordinal = ORDINAL_PLACED;
    return make_next(expansion, owner);
}

/* Its pod is made again: those that are not there yet wait for it. */
void expand_ordinal_lost(struct owner *owner, const struct pod *victim)
{
    uint8_t *ordinal = find_ordinal(owner, victim);
    if (!ordinal)
        return;
    *ordinal = ORDINAL_WAITS;
    owner->next = MIN(owner->next, ordinal - owner->ordinals);
}

void expansion_warn_not_started(const struct expansion *expansion)
{
    size_t sets = 0, pods = 0;
    const struct owner *first = NULL;
    vec_for(&expansion->ordered, owner) {
        size_t before = pods;
        for (int64_t i = (*owner)->next; i < (*owner)->desired; i++)
            pods += (*owner)->ordinals[i] == ORDINAL_ABSENT;
        if (pods == before)
            continue;
        sets++;
        first = first ?: *owner;
    }
    if (!sets)
        return;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_printf(&text, "%zu pod%s of StatefulSet " META_FMT, pods, pods == 1 ? "" : "s",
                  META_ARG(first->object));
    if (sets > 1)
        strbuf_printf(&text, " (and %zu more)", sets - 1);
    strbuf_printf(
        &text, " %s not made, because pod " META_FMT "-%lld has no node (podManagementPolicy: OrderedReady)",
        pods == 1 ? "is" : "are", META_ARG(first->object), (long long)(first->first + first->next));
    load_print_warning(&text);
}

/* ---- Jobs ---- */

static int64_t pods_succeeded(const struct workload *job, const struct owner *owner)
{
    int64_t seen = 0;
    vec_for(&owner->finished, pod)
        seen += str_is((*pod)->status.phase, "Succeeded");
    return MAX(job->status.succeeded, seen);
}

static int64_t job_wants(const struct workload *job, const struct owner *owner)
{
    int64_t parallelism = count_or(job->spec.parallelism, 1), succeeded = pods_succeeded(job, owner);
    if (!job->spec.completions.set && job->spec.parallelism.set)
        return succeeded > 0 ? owner->active : parallelism;
    return MAX(MIN(count_or(job->spec.completions, 1) - succeeded, parallelism), 0);
}

bool expand_parse_index(const struct pod *pod, int64_t *ret)
{
    const struct str *text = str_map_get(&pod->meta.annotations, STR(INDEX_KEY));
    return text && str_to_int64(*text, ret);
}

struct interval {
    int64_t first, last;
};

typedef VEC(struct interval) interval_vec;

/* Reads "1,3-5,7"; parts that are no numbers are left out. */
static void parse_intervals(struct str list, interval_vec *ret)
{
    while (list.len) {
        struct str last = str_cut(&list, ',');
        bool is_range = str_find(last, '-') >= 0;
        struct str first = str_cut(&last, '-');
        struct interval interval;
        if (str_to_int64(first, &interval.first) && str_to_int64(is_range ? last : first, &interval.last))
            *vec_push(ret) = interval;
    }
}

/* Indexes that a pod has, or had with success. */
static void mark_indexes(const struct owner *owner, struct idmap *used)
{
    int64_t index;
    vec_for(&owner->pods, pod)
        if (expand_parse_index(*pod, &index))
            idmap_put(used, (uint64_t)index, *pod);
    vec_for(&owner->finished, pod)
        if (str_is((*pod)->status.phase, "Succeeded") && expand_parse_index(*pod, &index))
            idmap_put(used, (uint64_t)index, *pod);
}

/* NAME-INDEX-, with a shorter name where the pod's would be too long. */
struct str expand_index_prefix(struct arena *arena, struct str job, int64_t index)
{
    struct str number = arena_printf(arena, "%lld", (long long)index);
    int len = (int)MIN(job.len, (uint32_t)GENERATED_LEN_MAX - number.len - 2);
    return arena_printf(arena, "%.*s-" STR_FMT "-", len, job.ptr, STR_ARG(number));
}

static void make_index(struct expansion *expansion, struct owner *owner, struct pod pod, int64_t index)
{
    struct pod_factory *factory = &expansion->factory;
    struct str number = arena_printf(&factory->arena, "%lld", (long long)index);
    struct str prefix = expand_index_prefix(&factory->arena, owner->object->name, index);
    pod.meta.labels = str_map_with(&pod.meta.labels, STR(INDEX_KEY), number, &factory->arena);
    pod.meta.annotations = str_map_with(&pod.meta.annotations, STR(INDEX_KEY), number, &factory->arena);
    admission_admit(&factory->admission, &pod, &factory->arena);
    add_pod(expansion, owner, &pod, factory_name(factory, pod.meta.namespace, prefix, owner));
}

/* The lowest indexes that are neither there nor done. Both lists go upwards, so one walk is enough. */
static void make_indexed(struct expansion *expansion, struct owner *owner, const struct pod *prototype,
                         int64_t lacking)
{
    const struct workload *job = (const struct workload *)owner->object;
    int64_t completions = count_or(job->spec.completions, 1);
    _cleanup_(idmap_release) struct idmap used = { 0 };
    interval_vec done = { 0 };
    mark_indexes(owner, &used);
    parse_intervals(job->status.completed_indexes, &done);
    size_t next = 0;
    for (int64_t index = 0; index < completions && lacking > 0; index++) {
        while (next < done.len && done.items[next].last < index)
            next++;
        if (next < done.len && done.items[next].first <= index) {
            index = done.items[next].last;
            continue;
        }
        if (idmap_get(&used, (uint64_t)index))
            continue;
        make_index(expansion, owner, *prototype, index);
        lacking--;
    }
    vec_release(&done);
}

/* The API server labels a Job's template; a Job that was written by hand has not been there. */
static void label_with_job(struct pod_factory *factory, const struct workload *job, struct pod *pod)
{
    static const char *const keys[] = { "batch.kubernetes.io/job-name", "job-name" };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (!str_map_get(&pod->meta.labels, str_from(keys[i])))
            pod->meta.labels =
                str_map_with(&pod->meta.labels, str_from(keys[i]), job->meta.name, &factory->arena);
}

static bool job_is_over(const struct workload *job)
{
    list_for(&job->status.conditions, condition)
        if (str_is(condition->status, "True") &&
            (str_is(condition->type, "Complete") || str_is(condition->type, "Failed")))
            return true;
    return false;
}

static int expand_job(struct expansion *expansion, struct owner *owner, struct error *err)
{
    struct pod_factory *factory = &expansion->factory;
    const struct workload *job = (const struct workload *)owner->object;
    owner->desired = 0;
    if (job_is_over(job) || (job->spec.suspend.set && job->spec.suspend.value))
        return 0;
    owner->desired = job_wants(job, owner);
    int64_t lacking = count_lacking(expansion, owner, err);
    if (lacking <= 0)
        return (int)lacking;
    struct pod pod = factory_pod(factory, &job->spec.template, KIND_JOB, &job->meta);
    label_with_job(factory, job, &pod);
    if (str_is(job->spec.completion_mode, "Indexed"))
        make_indexed(expansion, owner, &pod, lacking);
    else
        make_equal(expansion, owner, &pod, lacking);
    return 0;
}

/* ---- DaemonSets ---- */

static int expand_daemon_set(struct expansion *expansion, struct owner *owner, struct error *err)
{
    struct pod_factory *factory = &expansion->factory;
    const struct workload *set = (const struct workload *)owner->object;
    _cleanup_(strmap_release) struct strmap covered = { 0 };
    vec_for(&owner->pods, pod)
        strmap_put(&covered, daemon_node(*pod), *pod);
    vec_for(&owner->leaving, pod)
        strmap_put(&covered, daemon_node(*pod), *pod);
    struct pod prototype = factory_pod(factory, &set->spec.template, KIND_DAEMON_SET, &set->meta);
    daemon_tolerations(&prototype.spec, &factory->arena);
    admission_admit(&factory->admission, &prototype, &factory->arena);
    struct str prefix = name_prefix(factory, &set->meta);
    size_t before = expansion->pods.len;
    int r = 0;
    for (size_t i = 0; i < expansion->load->objects[KIND_NODE].len && r == 0; i++) {
        const struct node *node = (const struct node *)expansion->nodes[i];
        if (strmap_get(&covered, node->meta.name) || !daemon_wants_node(&prototype.spec, node))
            continue;
        r = check_count(expansion, owner, 1, err);
        if (r < 0)
            break;
        struct pod pod = prototype;
        daemon_pin(&pod.spec, node->meta.name, &factory->arena);
        add_pod(expansion, owner, &pod, factory_name(factory, pod.meta.namespace, prefix, owner));
    }
    expansion->controllers += expansion->pods.len > before;
    return r;
}

/* ---- the beginning ---- */

/* What an API server and controllers do when a user creates these objects. One that was replaced does not count. */
static void admit_written(struct expansion *expansion)
{
    struct pod_factory *factory = &expansion->factory;
    vec_for(&expansion->load->written, item) {
        enum api_kind kind = (enum api_kind)(*item)->kind;
        if (load_find(expansion->load, kind, (*item)->namespace, (*item)->name) != *item)
            continue;
        if (kind == KIND_PVC) {
            admission_admit_claim(&factory->admission, (struct pvc *)*item);
            continue;
        }
        if (kind != KIND_POD)
            continue;
        struct pod *pod = (struct pod *)*item;
        admission_admit(&factory->admission, pod, &factory->arena);
        if (str_empty(pod->spec.node_name))
            factory_claims(factory, pod);
    }
    bind_written_claims(expansion->load, &factory->arena);
}

void expansion_begin(struct expansion *expansion, struct load *load)
{
    *expansion = (struct expansion){ .load = load };
    factory_init(&expansion->factory, load);
    vec_for(&load->objects[KIND_POD], item)
        admission_prioritize(&expansion->factory.admission, (struct pod *)*item);
    admit_written(expansion);
}

void expansion_settle(struct expansion *expansion)
{
    owners_init(&expansion->owners, expansion->load);
    settle_deployments(expansion);
}

/* ---- all of them ---- */

int expansion_run(struct expansion *expansion, struct error *err)
{
    static const struct {
        enum api_kind kind;
        int (*expand)(struct expansion *, struct owner *, struct error *);
    } rows[] = {
        { KIND_DAEMON_SET, expand_daemon_set },
        { KIND_STATEFUL_SET, expand_stateful_set },
        { KIND_REPLICA_SET, expand_replica_set },
        { KIND_REPLICATION_CONTROLLER, expand_replication_controller },
        { KIND_JOB, expand_job },
    };
    struct load *load = expansion->load;
    if (expansion->ran)
        return 0;
    expansion->ran = true;
    expansion->nodes = load_sorted(load, KIND_NODE);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        for (size_t j = 0; j < load->objects[rows[i].kind].len; j++) {
            const struct meta *meta = load->objects[rows[i].kind].items[j];
            struct owner *owner = owners_get(&expansion->owners, rows[i].kind, meta->namespace, meta->name);
            if (meta->deletion_time.set) {
                owner->desired = 0;
                continue;
            }
            int r = rows[i].expand(expansion, owner, err);
            if (r < 0)
                return r;
        }
    }
    vec_for(&expansion->leaving, leaving) {
        struct pod *pod = expansion_bring_back(expansion, *leaving);
        if (!pod)
            continue;
        *vec_push(&expansion->pods) = pod;
        expansion->returned++;
    }
    return 0;
}

void expansion_release(struct expansion *expansion)
{
    factory_release(&expansion->factory);
    owners_release(&expansion->owners);
    vec_release(&expansion->pods);
    vec_release(&expansion->leaving);
    vec_release(&expansion->ordered);
    idmap_release(&expansion->successors);
    free(expansion->nodes);
}

/* ---- copies ---- */

/* The pod is one of the newest ReplicaSet, by the template that the Deployment has now. */
static struct pod copy_of_deployment(struct expansion *expansion, const struct workload *deployment,
                                     struct owner **ret)
{
    struct pod_factory *factory = &expansion->factory;
    const struct owner *owner =
        owners_get(&expansion->owners, KIND_DEPLOYMENT, deployment->meta.namespace, deployment->meta.name);
    struct pod_template template = deployment->spec.template;
    if (!owner->sets.len) { /* it is being deleted */
        *ret = owners_get(&expansion->owners, KIND_DEPLOYMENT, deployment->meta.namespace,
                          deployment->meta.name);
        return factory_pod(factory, &template, KIND_DEPLOYMENT, &deployment->meta);
    }
    const struct meta *set = &newest_set(owner)->meta;
    const struct str *hash = str_map_get(&newest_set(owner)->spec.template.meta.labels, STR(HASH_LABEL));
    if (hash)
        template.meta.labels = str_map_with(&template.meta.labels, STR(HASH_LABEL), *hash, &factory->arena);
    *ret = owners_get(&expansion->owners, KIND_REPLICA_SET, set->namespace, set->name);
    return factory_pod(factory, &template, KIND_REPLICA_SET, set);
}

static struct pod *copy_of_stateful_set(struct expansion *expansion, const struct workload *set,
                                        struct owner *owner)
{
    struct pod_factory *factory = &expansion->factory;
    int64_t ordinal = set->spec.ordinals ? count_or(set->spec.ordinals->start, 0) : 0;
    for (ordinal += (int64_t)owner->names;; ordinal++) {
        struct str name =
            arena_printf(&factory->arena, STR_FMT "-%lld", STR_ARG(set->meta.name), (long long)ordinal);
        struct str full = full_name(&factory->scratch, set->meta.namespace, name);
        owner->names++;
        if (strmap_get(&factory->taken, full) ||
            load_find(expansion->load, KIND_POD, set->meta.namespace, name))
            continue;
        struct pod pod = stateful_pod(factory, set, name, ordinal);
        return factory_finish(factory, &pod, name);
    }
}

struct pod *expansion_copy(struct expansion *expansion, enum api_kind kind, const struct meta *object)
{
    struct pod_factory *factory = &expansion->factory;
    const struct workload *workload = (const struct workload *)object;
    struct owner *owner = owners_get(&expansion->owners, kind, object->namespace, object->name);
    struct pod pod;
    if (kind == KIND_STATEFUL_SET)
        return copy_of_stateful_set(expansion, workload, owner);
    if (kind == KIND_DEPLOYMENT)
        pod = copy_of_deployment(expansion, workload, &owner);
    else if (kind == KIND_REPLICATION_CONTROLLER)
        pod = factory_pod(factory, &((const struct replication_controller *)object)->template, kind, object);
    else
        pod = factory_pod(factory, &workload->spec.template, kind, object);
    if (kind == KIND_JOB)
        label_with_job(factory, workload, &pod);
    if (kind == KIND_DAEMON_SET)
        daemon_tolerations(&pod.spec, &factory->arena);
    admission_admit(&factory->admission, &pod, &factory->arena);
    struct str prefix = arena_printf(&factory->arena, STR_FMT "-", STR_ARG(pod.meta.owners.items[0].name));
    return factory_finish(factory, &pod, factory_name(factory, pod.meta.namespace, prefix, owner));
}
