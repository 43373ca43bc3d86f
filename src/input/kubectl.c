/* kubectl.c: see kubectl.h. */
#include "input/kubectl.h"

static const char *const resources[KIND_COUNT] = {
    [KIND_POD] = "pods",
    [KIND_NODE] = "nodes",
    [KIND_NAMESPACE] = "ns",
    [KIND_PV] = "pv",
    [KIND_PVC] = "pvc",
    [KIND_STORAGE_CLASS] = "sc",
    [KIND_CSI_NODE] = "csinodes",
    [KIND_CSI_DRIVER] = "csidrivers",
    [KIND_CSI_STORAGE_CAPACITY] = "csistoragecapacities",
    [KIND_VOLUME_ATTACHMENT] = "volumeattachments",
    [KIND_SERVICE] = "svc",
    [KIND_REPLICATION_CONTROLLER] = "rc",
    [KIND_REPLICA_SET] = "rs",
    [KIND_DEPLOYMENT] = "deploy",
    [KIND_STATEFUL_SET] = "sts",
    [KIND_DAEMON_SET] = "ds",
    [KIND_JOB] = "jobs",
    [KIND_PDB] = "pdb",
    [KIND_PRIORITY_CLASS] = "pc",
    [KIND_RESOURCE_CLAIM] = "resourceclaims",
    [KIND_RESOURCE_SLICE] = "resourceslices",
    [KIND_DEVICE_CLASS] = "deviceclasses",
    [KIND_CLAIM_TEMPLATE] = "resourceclaimtemplates",
};

const char *kubectl_resource(enum api_kind kind)
{
    return resources[kind];
}
