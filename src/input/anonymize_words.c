/* anonymize_words.c: the tables; see anonymize_words.h. */
#include "input/anonymize_words.h"

/* ---- fields ---- */

struct field_row {
    const char *field;
    enum text_kind kind;
};

static const struct field_row fields[] = {
    { "accessModes", TEXT_PLAIN },
    { "action", TEXT_PLAIN },
    { "allocationMode", TEXT_PLAIN },
    { "annotations", TEXT_ANNOTATION },
    { "attacher", TEXT_DRIVER },
    { "attributes", TEXT_ATTRIBUTE },
    { "data", TEXT_DROPPED },
    { "declaredFeatures", TEXT_PLAIN },
    { "distinctAttribute", TEXT_ATTRIBUTE },
    { "diskURI", TEXT_PATH },
    { "driver", TEXT_DRIVER },
    { "effect", TEXT_PLAIN },
    { "expression", TEXT_EXPRESSION },
    { "extendedResourceName", TEXT_RESOURCE },
    { "fieldPath", TEXT_DROPPED },
    { "hardwareAddress", TEXT_DROPPED },
    { "image", TEXT_IMAGE },
    { "interfaceName", TEXT_DROPPED },
    { "ips", TEXT_DROPPED },
    { "key", TEXT_KEY },
    { "labels", TEXT_PAIRS },
    { "matchAttribute", TEXT_ATTRIBUTE },
    { "matchLabelKeys", TEXT_KEY },
    { "matchLabels", TEXT_PAIRS },
    { "message", TEXT_DROPPED },
    { "mismatchLabelKeys", TEXT_KEY },
    { "names", TEXT_IMAGE },
    { "nodeAffinityPolicy", TEXT_PLAIN },
    { "nodeSelector", TEXT_PAIRS },
    { "nodeTaintsPolicy", TEXT_PLAIN },
    { "operator", TEXT_PLAIN },
    { "parameters", TEXT_DROPPED },
    { "phase", TEXT_PLAIN },
    { "podManagementPolicy", TEXT_PLAIN },
    { "preemptionPolicy", TEXT_PLAIN },
    { "protocol", TEXT_PLAIN },
    { "providerID", TEXT_DROPPED },
    { "provisioner", TEXT_DRIVER },
    { "pullPolicy", TEXT_PLAIN },
    { "reclaimPolicy", TEXT_PLAIN },
    { "reference", TEXT_IMAGE },
    { "request", TEXT_PATH },
    { "requests", TEXT_PATH },
    { "resize", TEXT_PLAIN },
    { "resourceVersion", TEXT_PLAIN },
    { "restartPolicy", TEXT_PLAIN },
    { "schedulerName", TEXT_PLAIN },
    { "selector", TEXT_PAIRS },
    { "source", TEXT_PLAIN },
    { "status", TEXT_PLAIN },
    { "string", TEXT_PLAIN }, /* of an attribute: expressions name it */
    { "topologyKey", TEXT_KEY },
    { "topologyKeys", TEXT_KEY },
    { "value", TEXT_VALUE },
    { "values", TEXT_VALUE },
    { "version", TEXT_PLAIN },
    { "volumeBindingMode", TEXT_PLAIN },
    { "volumeID", TEXT_PATH },
    { "volumeMode", TEXT_PLAIN },
    { "whenUnsatisfiable", TEXT_PLAIN },
};

enum text_kind text_kind_of(const struct field *field)
{
    if (field->kind == FIELD_RESOURCES)
        return TEXT_RESOURCE;
    if (field->kind == FIELD_MAP && strcmp(field->name, "capacity") == 0)
        return TEXT_ATTRIBUTE;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcmp(fields[i].field, field->name) == 0)
            return fields[i].kind;
    return TEXT_NAME;
}

/* ---- annotations ---- */

enum text_kind annotation_kind(struct str key)
{
    static const struct field_row deciding[] = {
        { "batch.kubernetes.io/job-completion-index", TEXT_PLAIN },
        { "deployment.kubernetes.io/revision", TEXT_PLAIN },
        { "pv.kubernetes.io/bind-completed", TEXT_PLAIN },
        { "pv.kubernetes.io/bound-by-controller", TEXT_PLAIN },
        { "pv.kubernetes.io/migrated-to", TEXT_DRIVER },
        { "pv.kubernetes.io/provisioned-by", TEXT_DRIVER },
        { "resource.kubernetes.io/extended-resource-claim", TEXT_PLAIN },
        { "resource.kubernetes.io/pod-claim-name", TEXT_NAME },
        { "storage.alpha.kubernetes.io/migrated-plugins", TEXT_PLAIN },
        { "storageclass.beta.kubernetes.io/is-default-class", TEXT_PLAIN },
        { "storageclass.kubernetes.io/is-default-class", TEXT_PLAIN },
        { "volume.beta.kubernetes.io/storage-class", TEXT_NAME },
        { "volume.beta.kubernetes.io/storage-provisioner", TEXT_DRIVER },
        { "volume.kubernetes.io/selected-node", TEXT_NAME },
        { "volume.kubernetes.io/storage-provisioner", TEXT_DRIVER },
    };
    for (size_t i = 0; i < ARRAY_SIZE(deciding); i++)
        if (str_is(key, deciding[i].field))
            return deciding[i].kind;
    return TEXT_DROPPED;
}

/* ---- words ---- */

static bool is_one_of(struct str text, const struct str *words, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (str_eq(text, words[i]))
            return true;
    return false;
}

static bool is_kind(struct str text)
{
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        if (str_eq(api_kinds[kind].kind, text) || str_eq(api_kinds[kind].api_version, text))
            return true;
    return false;
}

static const struct str own_words[] = {
    /* values */
    STR("true"),
    STR("false"),
    STR("linux"),
    STR("windows"),
    STR("amd64"),
    STR("arm64"),
    STR("0.0.0.0"),
    STR("::"),
    STR("127.0.0.1"),
    STR("system-cluster-critical"),
    STR("system-node-critical"),
    /* owners, and who a claim is reserved for */
    STR("CronJob"),
    STR("resource.k8s.io"),
    STR("pods"),
    STR("resource.kubernetes.io/delete-protection"),
    /* parts of disks' addresses */
    STR("aws:"),
    STR("https:"),
    STR("subscriptions"),
    STR("resourceGroups"),
    STR("resourcegroups"),
    STR("providers"),
    STR("Microsoft.Compute"),
    STR("disks"),
    /* kinds of disks */
    STR("Shared"),
    STR("Dedicated"),
    STR("Managed"),
    /* conditions and their reasons */
    STR("Infeasible"),
    STR("Deferred"),
    STR("Unschedulable"),
    STR("SchedulingGated"),
    STR("PreemptionByScheduler"),
    STR("DeletionByTaintManager"),
    STR("DeletionByPodGC"),
    STR("EvictionByEvictionAPI"),
    STR("TerminationByKubelet"),
    STR("PodScheduled"),
    STR("PodResizePending"),
    STR("PodResizeInProgress"),
    STR("DisruptionTarget"),
    STR("ContainersReady"),
    STR("Initialized"),
    STR("PodReadyToStartContainers"),
    STR("Ready"),
    STR("MemoryPressure"),
    STR("DiskPressure"),
    STR("PIDPressure"),
    STR("NetworkUnavailable"),
    /* keys of labels, fields of selectors */
    STR("metadata.name"),
    STR("metadata.namespace"),
    STR("kubernetes.io/arch"),
    STR("kubernetes.io/hostname"),
    STR("kubernetes.io/metadata.name"),
    STR("kubernetes.io/os"),
    STR("beta.kubernetes.io/arch"),
    STR("beta.kubernetes.io/instance-type"),
    STR("beta.kubernetes.io/os"),
    STR("node.kubernetes.io/instance-type"),
    STR("node-role.kubernetes.io/control-plane"),
    STR("node-role.kubernetes.io/master"),
    STR("topology.kubernetes.io/region"),
    STR("topology.kubernetes.io/zone"),
    STR("failure-domain.beta.kubernetes.io/region"),
    STR("failure-domain.beta.kubernetes.io/zone"),
    STR("topology.cinder.csi.openstack.org/zone"),
    STR("topology.disk.csi.azure.com/zone"),
    STR("topology.ebs.csi.aws.com/zone"),
    STR("topology.gke.io/zone"),
    STR("pod-template-hash"),
    STR("controller-revision-hash"),
    STR("apps.kubernetes.io/pod-index"),
    STR("statefulset.kubernetes.io/pod-name"),
    STR("batch.kubernetes.io/job-completion-index"),
    /* keys of taints */
    STR("node.kubernetes.io/disk-pressure"),
    STR("node.kubernetes.io/memory-pressure"),
    STR("node.kubernetes.io/network-unavailable"),
    STR("node.kubernetes.io/not-ready"),
    STR("node.kubernetes.io/out-of-service"),
    STR("node.kubernetes.io/pid-pressure"),
    STR("node.kubernetes.io/unreachable"),
    STR("node.kubernetes.io/unschedulable"),
    STR("node.cloudprovider.kubernetes.io/shutdown"),
    STR("node.cloudprovider.kubernetes.io/uninitialized"),
    /* volume plugins that were part of Kubernetes, and the drivers that took their place */
    STR("kubernetes.io/aws-ebs"),
    STR("kubernetes.io/azure-disk"),
    STR("kubernetes.io/azure-file"),
    STR("kubernetes.io/cinder"),
    STR("kubernetes.io/gce-pd"),
    STR("kubernetes.io/no-provisioner"),
    STR("kubernetes.io/portworx-volume"),
    STR("kubernetes.io/vsphere-volume"),
    STR("cinder.csi.openstack.org"),
    STR("csi.vsphere.vmware.com"),
    STR("disk.csi.azure.com"),
    STR("ebs.csi.aws.com"),
    STR("file.csi.azure.com"),
    STR("pd.csi.storage.gke.io"),
    STR("pxd.portworx.com"),
};

bool is_own_word(struct str text)
{
    return is_one_of(text, own_words, ARRAY_SIZE(own_words)) || is_kind(text);
}

bool is_own_resource(struct str text)
{
    static const struct str words[] = { STR("cpu"), STR("memory"), STR("ephemeral-storage"), STR("pods"),
                                        STR("storage") };
    static const struct str beginnings[] = { STR("hugepages-"), STR("nvidia.com/"), STR("amd.com/"),
                                             STR("gpu.intel.com/") };
    for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
        if (str_starts_with(text, beginnings[i]))
            return true;
    return is_one_of(text, words, ARRAY_SIZE(words));
}
