/* anonymize_words.c: the tables; see anonymize_words.h. Words of a table are separated by spaces. */
#include "input/anonymize_words.h"

struct word_row {
    enum text_kind kind;
    const char *words;
};

static const struct word_row field_names[] = {
    { TEXT_PLAIN,
      "accessModes action allocationMode declaredFeatures effect nodeAffinityPolicy nodeTaintsPolicy "
      "operator phase podManagementPolicy preemptionPolicy protocol pullPolicy reclaimPolicy resize "
      "resourceVersion restartPolicy schedulerName source status string version volumeBindingMode "
      "volumeMode whenUnsatisfiable" },
    { TEXT_ANNOTATION, "annotations" },
    { TEXT_DRIVER, "attacher driver provisioner" },
    { TEXT_ATTRIBUTE, "attributes distinctAttribute matchAttribute" },
    { TEXT_DROPPED, "data fieldPath hardwareAddress interfaceName ips message parameters providerID" },
    { TEXT_PATH, "diskURI request requests volumeID" },
    { TEXT_EXPRESSION, "expression" },
    { TEXT_RESOURCE, "extendedResourceName" },
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
    /* owners, and who a claim is reserved for */
    "CronJob resource.k8s.io pods resource.kubernetes.io/delete-protection",
    /* parts of disks' addresses */
    "aws: https: subscriptions resourceGroups resourcegroups providers Microsoft.Compute disks",
    /* kinds of disks */
    "Shared Dedicated Managed",
    /* conditions and their reasons */
    "Infeasible Deferred Unschedulable SchedulingGated PreemptionByScheduler DeletionByTaintManager "
    "DeletionByPodGC EvictionByEvictionAPI TerminationByKubelet PodScheduled PodResizePending "
    "PodResizeInProgress DisruptionTarget ContainersReady Initialized PodReadyToStartContainers Ready "
    "MemoryPressure DiskPressure PIDPressure NetworkUnavailable",
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

void known_words_init(struct known_words *known)
{
    *known = (struct known_words){ 0 };
    for (size_t i = 0; i < ARRAY_SIZE(field_names); i++)
        add_words(&known->fields, field_names[i].words, field_names[i].kind);
    for (size_t i = 0; i < ARRAY_SIZE(annotations); i++)
        add_words(&known->annotations, annotations[i].words, annotations[i].kind);
    for (size_t i = 0; i < ARRAY_SIZE(own_words); i++)
        add_words(&known->own, own_words[i], 0);
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++) {
        strmap_put(&known->own, api_kinds[kind].kind, known);
        strmap_put(&known->own, api_kinds[kind].api_version, known);
    }
}

void known_words_release(struct known_words *known)
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

enum text_kind field_text_kind(const struct known_words *known, const struct record_field *field)
{
    if (field->kind == &record_RESOURCES)
        return TEXT_RESOURCE;
    if (field->kind == &record_MAP && strcmp(field->name, "capacity") == 0)
        return TEXT_ATTRIBUTE;
    return look_up(&known->fields, str_from(field->name), TEXT_NAME);
}

enum text_kind annotation_text_kind(const struct known_words *known, struct str key)
{
    return look_up(&known->annotations, key, TEXT_DROPPED);
}

bool is_own_word(const struct known_words *known, struct str text)
{
    return strmap_get(&known->own, text) != NULL;
}

bool is_own_resource(struct str text)
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
