/* anonymize.c: two passes over all objects: what there is to replace, then the encoding; see anonymize.h.
 *
 * Both passes go through text_of(), so that the second finds what the first has seen. */
#include "input/anonymize.h"

#include <stdlib.h>

#include "api/fields.h"
#include "api/names.h"

/* ---- which texts are names that users chose, and which are Kubernetes' own ---- */

enum text_kind {
    TEXT_NAME,  /* replaced; what the table does not know is one too */
    TEXT_PLAIN, /* an enumeration and such */
    TEXT_DROPPED,
    TEXT_ANNOTATION, /* dropped, unless it is one that decides */
    TEXT_PAIRS,      /* keys as TEXT_KEY, values as TEXT_VALUE */
    TEXT_KEY,        /* of labels and taints */
    TEXT_VALUE,      /* of the key before it */
    TEXT_DRIVER,
    TEXT_IMAGE,
    TEXT_PATH,     /* names and words with slashes between them */
    TEXT_RESOURCE, /* key of a list of resources, or of a device's capacities */
    TEXT_ATTRIBUTE,
    TEXT_EXPRESSION,
    TEXT_KIND_COUNT
};

/* Words of a table are separated by spaces. */
struct word_row {
    enum text_kind kind;
    const char *words;
};

static const struct word_row field_names[] = {
    { TEXT_PLAIN,
      "accessModes action allocationMode declaredFeatures effect nodeAffinityPolicy nodeTaintsPolicy "
      "operator phase podManagementPolicy preemptionPolicy protocol pullPolicy "
      "reclaimPolicy resize "
      "resourceVersion restartPolicy schedulerName skipNodeOperations source status string strings version "
      "versions volumeBindingMode volumeMode whenUnsatisfiable" },
    { TEXT_ANNOTATION, "annotations" },
    { TEXT_DRIVER, "attacher driver provisioner" },
    { TEXT_ATTRIBUTE, "attributes capacityKey distinctAttribute matchAttribute" },
    { TEXT_DROPPED,
      "address data fieldPath hardwareAddress interfaceName ips message parameters providerID" },
    { TEXT_PATH, "diskURI request requests volumeID" },
    { TEXT_EXPRESSION, "expression" },
    { TEXT_RESOURCE, "extendedResourceName nodeAllocatableResourceMappings nodeAllocatableResources "
                     "resourceName" },
    { TEXT_IMAGE, "image names reference" },
    { TEXT_KEY, "key matchLabelKeys mismatchLabelKeys topologyKey topologyKeys" },
    { TEXT_PAIRS, "labels matchLabels nodeSelector selector" },
    { TEXT_VALUE, "value values" },
};

/* Annotations that decide, by the kind of their values. */
static const struct word_row annotations[] = {
    { TEXT_PLAIN,
      "batch.kubernetes.io/job-completion-index deployment.kubernetes.io/revision "
      "pv.kubernetes.io/bind-completed pv.kubernetes.io/bound-by-controller "
      "resource.kubernetes.io/extended-resource-claim storage.alpha.kubernetes.io/migrated-plugins "
      "storageclass.beta.kubernetes.io/is-default-class storageclass.kubernetes.io/is-default-class" },
    { TEXT_DRIVER, "pv.kubernetes.io/migrated-to pv.kubernetes.io/provisioned-by "
                   "volume.beta.kubernetes.io/storage-provisioner volume.kubernetes.io/storage-provisioner" },
    { TEXT_NAME, "resource.kubernetes.io/pod-claim-name volume.beta.kubernetes.io/storage-class "
                 "volume.kubernetes.io/selected-node" },
};

static const char *const own_words[] = {
    /* values */
    "true false linux windows amd64 arm64 0.0.0.0 :: 127.0.0.1 system-cluster-critical system-node-critical",
    /* owners, and users of a claim */
    "CronJob resource.k8s.io pods resource.kubernetes.io/delete-protection",
    /* parts of disks' addresses */
    "aws: https: subscriptions resourceGroups resourcegroups providers Microsoft.Compute disks",
    /* kinds of disks */
    "Shared Dedicated Managed",
    /* conditions and their reasons */
    "Infeasible Deferred Unschedulable SchedulingGated PreemptionByScheduler DeletionByTaintManager "
    "DeletionByPodGC EvictionByEvictionAPI TerminationByKubelet PodScheduled PodResizePending "
    "PodResizeInProgress DisruptionTarget ContainersReady Initialized PodReadyToStartContainers Ready "
    "MemoryPressure DiskPressure PIDPressure NetworkUnavailable InternalIP InternalDNS ExternalIP "
    "ExternalDNS "
    "Hostname",
    /* keys of labels, fields of selectors */
    "metadata.name metadata.namespace kubernetes.io/arch kubernetes.io/hostname kubernetes.io/metadata.name "
    "kubernetes.io/os beta.kubernetes.io/arch beta.kubernetes.io/instance-type beta.kubernetes.io/os "
    "node.kubernetes.io/instance-type node-role.kubernetes.io/control-plane node-role.kubernetes.io/master "
    "topology.kubernetes.io/region topology.kubernetes.io/zone failure-domain.beta.kubernetes.io/region "
    "failure-domain.beta.kubernetes.io/zone topology.cinder.csi.openstack.org/zone "
    "topology.disk.csi.azure.com/zone topology.ebs.csi.aws.com/zone topology.gke.io/zone pod-template-hash "
    "controller-revision-hash apps.kubernetes.io/pod-index statefulset.kubernetes.io/pod-name "
    "batch.kubernetes.io/job-completion-index",
    /* keys of taints */
    "node.kubernetes.io/disk-pressure node.kubernetes.io/memory-pressure "
    "node.kubernetes.io/network-unavailable node.kubernetes.io/not-ready node.kubernetes.io/out-of-service "
    "node.kubernetes.io/pid-pressure node.kubernetes.io/unreachable node.kubernetes.io/unschedulable "
    "node.cloudprovider.kubernetes.io/shutdown node.cloudprovider.kubernetes.io/uninitialized",
    /* volume plugins that were part of Kubernetes, and the drivers that took their place */
    "kubernetes.io/aws-ebs kubernetes.io/azure-disk kubernetes.io/azure-file kubernetes.io/cinder "
    "kubernetes.io/gce-pd kubernetes.io/no-provisioner kubernetes.io/portworx-volume "
    "kubernetes.io/vsphere-volume cinder.csi.openstack.org csi.vsphere.vmware.com disk.csi.azure.com "
    "ebs.csi.aws.com file.csi.azure.com pd.csi.storage.gke.io pxd.portworx.com",
};

/* The map holds value + 1, since its values are never NULL. */
static void add_words(struct strmap *map, const char *words, size_t value)
{
    for (size_t len; *words; words += len + (words[len] == ' ')) {
        len = strcspn(words, " ");
        strmap_put(map, (struct str){ words, (uint32_t)len }, (void *)(value + 1));
    }
}

static void known_words_init(struct known_words *known)
{
    *known = (struct known_words){ 0 };
    for (size_t i = 0; i < ARRAY_SIZE(field_names); i++)
        add_words(&known->fields, field_names[i].words, field_names[i].kind);
    for (size_t i = 0; i < ARRAY_SIZE(annotations); i++)
        add_words(&known->annotations, annotations[i].words, annotations[i].kind);
    for (size_t i = 0; i < ARRAY_SIZE(own_words); i++)
        add_words(&known->own, own_words[i], 0);
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_EXTRA_FIRST; kind++) {
        strmap_put(&known->own, api_kinds[kind].kind, known);
        strmap_put(&known->own, api_kinds[kind].api_version, known);
    }
}

static void known_words_release(struct known_words *known)
{
    strmap_release(&known->fields);
    strmap_release(&known->annotations);
    strmap_release(&known->own);
}

static enum text_kind look_up(const struct strmap *map, struct str name, enum text_kind otherwise)
{
    size_t found = (size_t)strmap_get(map, name);
    return found ? (enum text_kind)(found - 1) : otherwise;
}

static enum text_kind field_text_kind(const struct known_words *known, const struct record_field *field)
{
    const struct {
        const struct record_type *type;
        enum text_kind kind;
    } named[] = { { api_derived_attribute_type, TEXT_ATTRIBUTE },
                  { api_claim_mapping_type, TEXT_RESOURCE },
                  { api_claim_overhead_type, TEXT_RESOURCE } };
    if (field->kind == &record_RESOURCES)
        return TEXT_RESOURCE;
    for (size_t i = 0; i < ARRAY_SIZE(named) && strcmp(field->name, "name") == 0; i++)
        if (field >= named[i].type->fields && field < named[i].type->fields + named[i].type->len)
            return named[i].kind;
    if (field->kind == &record_MAP && strcmp(field->name, "capacity") == 0)
        return TEXT_ATTRIBUTE;
    return look_up(&known->fields, str_from(field->name), TEXT_NAME);
}

/* Of the value of an annotation that decides; TEXT_DROPPED for the others. */
static enum text_kind annotation_text_kind(const struct known_words *known, struct str key)
{
    return look_up(&known->annotations, key, TEXT_DROPPED);
}

static bool is_own_word(const struct known_words *known, struct str text)
{
    return strmap_get(&known->own, text) != NULL;
}

/* Resources that are no names of users: cpu, hugepages-2Mi, nvidia.com/gpu. */
static bool is_own_resource(struct str text)
{
    static const struct str names[] = { STR("cpu"), STR("memory"), STR("ephemeral-storage"), STR("pods"),
                                        STR("storage") };
    static const struct str prefixes[] = { STR("hugepages-"), STR("nvidia.com/"), STR("amd.com/"),
                                           STR("gpu.intel.com/") };
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (str_starts_with(text, prefixes[i]))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_eq(text, names[i]))
            return true;
    return false;
}

#define DEVICE_CLASS_PREFIX "deviceclass.resource.kubernetes.io/" /* of a resource that a class stands for */
enum { ORDINALS_MAX = 1000 };

/* ---- aliases ---- */

/* What replaces a text; in the first pass it is only registered. NULL: the text stays. */
static struct alias *alias_of(struct anonymizer *anonymizer, struct str text)
{
    struct alias *alias = strmap_get(&anonymizer->aliases, text);
    if (alias || anonymizer->sealed || !text.len || is_own_word(&anonymizer->known, text))
        return alias;
    alias = arena_new(&anonymizer->arena, struct alias);
    alias->text = arena_str(&anonymizer->arena, text);
    strmap_put(&anonymizer->aliases, alias->text, alias);
    *vec_push(&anonymizer->all) = alias;
    return alias;
}

/* What was not seen in the first pass is no name that anything else refers to, but a name. */
static struct str shown(struct anonymizer *anonymizer, struct str text)
{
    const struct alias *alias = alias_of(anonymizer, text);
    if (alias)
        return alias->shown;
    return !anonymizer->sealed || !text.len || is_own_word(&anonymizer->known, text) ? text : STR("x");
}

static int by_text(const void *a, const void *b)
{
    return str_cmp((*(struct alias *const *)a)->text, (*(struct alias *const *)b)->text);
}

static struct str put_together(struct anonymizer *anonymizer, struct alias *alias)
{
    if (alias->shown.len || !alias->head)
        return alias->shown;
    struct str head = put_together(anonymizer, alias->head);
    struct str tail = alias->tail ? put_together(anonymizer, alias->tail) : alias->ordinal;
    alias->shown = arena_printf(&anonymizer->arena, STR_FMT "-" STR_FMT, STR_ARG(head), STR_ARG(tail));
    return alias->shown;
}

/* Numbers of the same width in the order of the texts. */
static void seal(struct anonymizer *anonymizer)
{
    int width = 1;
    for (size_t most = anonymizer->all.len; most >= 10; most /= 10)
        width++;
    vec_sort(&anonymizer->all, by_text);
    for (size_t i = 0; i < anonymizer->all.len; i++) {
        struct alias *alias = anonymizer->all.items[i];
        if (alias->head)
            continue;
        /* the API calls a disk of EC2 by no other name */
        const char *before = str_starts_with(alias->text, STR("vol-")) ? "vol-" : "";
        alias->shown = arena_printf(&anonymizer->arena, "%sx%0*zu%s", before, width, i + 1,
                                    alias->is_domain ? ".example" : "");
    }
    vec_for(&anonymizer->all, alias)
        put_together(anonymizer, *alias);
    anonymizer->sealed = true;
}

/* A name that a controller makes from two others, or from one and a number. */
static void register_made(struct anonymizer *anonymizer, struct str text, struct str head, struct str tail,
                          struct str ordinal)
{
    struct alias *made = alias_of(anonymizer, text), *first = alias_of(anonymizer, head);
    struct alias *second = tail.len ? alias_of(anonymizer, tail) : NULL;
    if (!made || made->head || !first || (!second && tail.len) || first == made || second == made)
        return;
    made->head = first;
    made->tail = second;
    made->ordinal = arena_str(&anonymizer->arena, ordinal);
}

/* ---- kinds of texts ---- */

static struct str image(struct anonymizer *anonymizer, struct str text)
{
    struct alias *known = strmap_get(&anonymizer->images, text);
    if (known)
        return known->shown;
    struct arena scratch = { 0 };
    struct str name = shown(anonymizer, image_name_normalize(text, &scratch));
    arena_release(&scratch);
    if (!anonymizer->sealed || !text.len)
        return text;
    known = arena_new(&anonymizer->arena, struct alias);
    known->text = arena_str(&anonymizer->arena, text);
    known->shown = arena_printf(&anonymizer->arena, STR_FMT ":x", STR_ARG(name));
    strmap_put(&anonymizer->images, known->text, known);
    return known->shown;
}

/* Texts with `between` between them, each for itself. */
static struct str each_part(struct anonymizer *anonymizer, struct str text, struct str between)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    for (const char *end; (end = memmem(text.ptr, text.len, between.ptr, between.len));) {
        size_t len = (size_t)(end - text.ptr);
        strbuf_str(&out, shown(anonymizer, str_slice(text, 0, len)));
        strbuf_str(&out, between);
        text = str_slice(text, len + between.len, text.len);
    }
    strbuf_str(&out, shown(anonymizer, text));
    return arena_str(&anonymizer->arena, strbuf_slice(&out));
}

static struct str path(struct anonymizer *anonymizer, struct str text)
{
    return str_find(text, '/') < 0 ? shown(anonymizer, text) : each_part(anonymizer, text, STR("/"));
}

static bool is_number(struct str text)
{
    int64_t number;
    return str_to_int64(text, &number);
}

/* Values of a key that some selector compares keep their numbers; a volume's zones may be several. */
static struct str value(struct anonymizer *anonymizer, struct str text)
{
    if (!text.len || (is_number(text) && strmap_get(&anonymizer->compared, anonymizer->key)))
        return text;
    bool is_place =
        str_ends_with(anonymizer->key, STR("/zone")) || str_ends_with(anonymizer->key, STR("/region"));
    return is_place && str_contains(text, STR("__")) ? each_part(anonymizer, text, STR("__"))
                                                     : shown(anonymizer, text);
}

static struct str driver(struct anonymizer *anonymizer, struct str text)
{
    struct alias *alias = anonymizer->sealed ? NULL : alias_of(anonymizer, text);
    if (alias)
        alias->is_domain = true;
    return shown(anonymizer, text);
}

/* "domain/name": expressions name both, and domains are distinguishable from other words in them. */
static struct str attribute(struct anonymizer *anonymizer, struct str text)
{
    ptrdiff_t slash = str_find(text, '/');
    if (!anonymizer->sealed && !strmap_get(&anonymizer->of_device, text))
        strmap_put(&anonymizer->of_device, arena_str(&anonymizer->arena, text), anonymizer);
    struct str domain = str_slice(text, 0, slash < 0 ? 0 : (size_t)slash);
    if (!domain.len || str_ends_with(domain, STR("kubernetes.io")))
        return text;
    return arena_printf(&anonymizer->arena, STR_FMT STR_FMT, STR_ARG(driver(anonymizer, domain)),
                        STR_ARG(str_slice(text, (size_t)slash, text.len)));
}

static struct str resource(struct anonymizer *anonymizer, struct str text)
{
    struct str prefix = STR(DEVICE_CLASS_PREFIX);
    if (is_own_resource(text))
        return text;
    if (str_starts_with(text, prefix))
        return arena_printf(&anonymizer->arena, STR_FMT STR_FMT, STR_ARG(prefix),
                            STR_ARG(shown(anonymizer, str_slice(text, prefix.len, text.len))));
    if (anonymizer->sealed && strmap_get(&anonymizer->of_device, text))
        return attribute(anonymizer, text);
    return arena_printf(&anonymizer->arena, "example.com/" STR_FMT, STR_ARG(shown(anonymizer, text)));
}

static bool is_in_domain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

/* Every word that is the domain of a driver. */
static struct str expression(struct anonymizer *anonymizer, struct str text)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    anonymizer->has_expressions |= text.len > 0;
    for (size_t at = 0; at < text.len;) {
        size_t end = at;
        while (end < text.len && is_in_domain(text.ptr[end]))
            end++;
        struct str word = str_slice(text, at, end > at ? end : at + 1);
        const struct alias *alias = strmap_get(&anonymizer->aliases, word);
        strbuf_str(&out, alias && alias->is_domain ? alias->shown : word);
        at += word.len;
    }
    return arena_str(&anonymizer->arena, strbuf_slice(&out));
}

/* ---- texts ---- */

/* What replaces a text of a kind; NULL: it stays, or is dropped. */
static struct str (*const replacements[])(struct anonymizer *anonymizer, struct str text) = {
    [TEXT_NAME] = shown,          [TEXT_KEY] = shown,
    [TEXT_VALUE] = value,         [TEXT_PAIRS] = value,
    [TEXT_DRIVER] = driver,       [TEXT_IMAGE] = image,
    [TEXT_PATH] = path,           [TEXT_RESOURCE] = resource,
    [TEXT_ATTRIBUTE] = attribute, [TEXT_EXPRESSION] = expression,
    [TEXT_KIND_COUNT] = NULL,
};

static struct str text_of(void *user, const struct record_field *field, struct str text, bool is_key)
{
    struct anonymizer *anonymizer = user;
    enum text_kind kind = field_text_kind(&anonymizer->known, field);
    if (!text.ptr)
        text = STR("");
    if (kind == TEXT_KEY || (is_key && (kind == TEXT_PAIRS || kind == TEXT_ANNOTATION)))
        anonymizer->key = text;
    if (kind == TEXT_ANNOTATION) {
        kind = annotation_text_kind(&anonymizer->known, anonymizer->key);
        kind = is_key && kind != TEXT_DROPPED ? TEXT_PLAIN : kind;
    } else if (kind == TEXT_PAIRS && is_key) {
        kind = TEXT_KEY;
    }
    /* an operator stands behind its key */
    if (!anonymizer->sealed && (str_is(text, "Gt") || str_is(text, "Lt")) &&
        strcmp(field->name, "operator") == 0)
        strmap_put(&anonymizer->compared, arena_str(&anonymizer->arena, anonymizer->key), anonymizer);
    if (kind == TEXT_DROPPED)
        return (struct str){ 0 };
    if (replacements[kind])
        text = replacements[kind](anonymizer, text);
    return text.ptr ? text : STR("");
}

/* ---- what is put together from names ---- */

static const struct owner_ref *set_of(const struct pod *pod)
{
    list_for(&pod->meta.owners, owner)
        if (str_is(owner->kind, "StatefulSet"))
            return owner;
    return NULL;
}

static struct str joined(struct anonymizer *anonymizer, struct str head, struct str tail)
{
    return arena_printf(&anonymizer->arena, STR_FMT "-" STR_FMT, STR_ARG(head), STR_ARG(tail));
}

static void look_at_pod(struct anonymizer *anonymizer, const struct pod *pod)
{
    const struct owner_ref *set = set_of(pod);
    struct str name = pod->meta.name, none = { 0 };
    if (set && name.len > set->name.len + 1 && str_starts_with(name, set->name)) {
        struct str ordinal = str_slice(name, set->name.len + 1, name.len);
        if (is_number(ordinal))
            register_made(anonymizer, name, set->name, none, ordinal);
    }
    list_for(&pod->spec.volumes, volume) {
        if (volume->ephemeral)
            register_made(anonymizer, joined(anonymizer, name, volume->name), name, volume->name, none);
    }
}

static void look_at_set(struct anonymizer *anonymizer, const struct workload *set)
{
    int32_t replicas = set->spec.replicas.set ? set->spec.replicas.value : 1;
    int32_t start = set->spec.ordinals && set->spec.ordinals->start.set ? set->spec.ordinals->start.value : 0;
    for (int32_t i = 0; i < MIN(replicas, ORDINALS_MAX); i++) {
        struct str ordinal = arena_printf(&anonymizer->arena, "%lld", (long long)start + i);
        struct str pod = joined(anonymizer, set->meta.name, ordinal), none = { 0 };
        register_made(anonymizer, pod, set->meta.name, none, ordinal);
        list_for(&set->spec.volume_claim_templates, template)
            register_made(anonymizer, joined(anonymizer, template->meta.name, pod), template->meta.name, pod,
                          none);
    }
}

void anonymizer_look(struct anonymizer *anonymizer, const struct object *object)
{
    _cleanup_(strbuf_release) struct strbuf nowhere = { 0 };
    struct json_writer json = json_writer(&nowhere, JSON_COMPACT);
    assert(!anonymizer->sealed);
    if (!anonymizer->known.own.len)
        known_words_init(&anonymizer->known);
    if (object->kind == KIND_POD)
        look_at_pod(anonymizer, object->ptr);
    if (object->kind == KIND_STATEFUL_SET)
        look_at_set(anonymizer, object->ptr);
    object_encode_json(object, &(struct record_redactor){ text_of, anonymizer }, &json);
}

struct record_redactor anonymizer_redactor(struct anonymizer *anonymizer)
{
    if (!anonymizer->sealed)
        seal(anonymizer);
    return (struct record_redactor){ text_of, anonymizer };
}

void anonymizer_release(struct anonymizer *anonymizer)
{
    known_words_release(&anonymizer->known);
    strmap_release(&anonymizer->aliases);
    strmap_release(&anonymizer->images);
    strmap_release(&anonymizer->compared);
    strmap_release(&anonymizer->of_device);
    vec_release(&anonymizer->all);
    arena_release(&anonymizer->arena);
}
