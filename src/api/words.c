/* words.c: the list, and a small hash table over it that is made once. A word that is missing here costs memory,
 * nothing else. */
#include "api/words.h"

#include <pthread.h>

static const struct str words[] = {
#define W(text) STR(text),
    /* labels, taints and annotations: keys */
    W("app") W("app.kubernetes.io/component") W("app.kubernetes.io/instance") W("app.kubernetes.io/managed-by")
    W("app.kubernetes.io/name") W("app.kubernetes.io/part-of") W("app.kubernetes.io/version")
    W("apps.kubernetes.io/pod-index") W("batch.kubernetes.io/controller-uid") W("batch.kubernetes.io/job-name")
    W("beta.kubernetes.io/arch") W("beta.kubernetes.io/instance-type") W("beta.kubernetes.io/os")
    W("controller-revision-hash") W("controller-uid") W("csi.volume.kubernetes.io/nodeid")
    W("failure-domain.beta.kubernetes.io/region") W("failure-domain.beta.kubernetes.io/zone") W("helm.sh/chart")
    W("job-name") W("k8s-app") W("kubeadm.alpha.kubernetes.io/cri-socket")
    W("kubectl.kubernetes.io/default-container") W("kubectl.kubernetes.io/last-applied-configuration")
    W("kubectl.kubernetes.io/restartedAt") W("kubernetes.io/arch") W("kubernetes.io/hostname")
    W("kubernetes.io/metadata.name") W("kubernetes.io/os") W("kwok.x-k8s.io/node") W("name")
    W("node-role.kubernetes.io/control-plane") W("node-role.kubernetes.io/worker")
    W("node.alpha.kubernetes.io/ttl") W("node.cloudprovider.kubernetes.io/uninitialized")
    W("node.kubernetes.io/disk-pressure") W("node.kubernetes.io/exclude-from-external-load-balancers")
    W("node.kubernetes.io/instance-type") W("node.kubernetes.io/memory-pressure")
    W("node.kubernetes.io/network-unavailable") W("node.kubernetes.io/not-ready")
    W("node.kubernetes.io/pid-pressure") W("node.kubernetes.io/unreachable")
    W("node.kubernetes.io/unschedulable") W("pod-template-generation") W("pod-template-hash")
    W("prometheus.io/path") W("prometheus.io/port") W("prometheus.io/scrape")
    W("statefulset.kubernetes.io/pod-name") W("tier") W("topology.kubernetes.io/region")
    W("topology.kubernetes.io/zone") W("type") W("volumes.kubernetes.io/controller-managed-attach-detach")
    /* owners */
    W("v1") W("apps/v1") W("batch/v1") W("DaemonSet") W("Job") W("Node") W("ReplicaSet")
    W("ReplicationController") W("StatefulSet")
    /* pods */
    W("Always") W("BestEffort") W("Burstable") W("Default") W("Delete") W("DoNotSchedule") W("Equal") W("Exists")
    W("Failed") W("Guaranteed") W("IfNotPresent") W("In") W("Never") W("NoExecute") W("NoSchedule") W("NotIn")
    W("OnFailure") W("Pending") W("PreemptLowerPriority") W("PreferNoSchedule") W("RestartContainer")
    W("NotRequired") W("Running") W("ScheduleAnyway") W("SCTP") W("Succeeded") W("TCP") W("UDP") W("Unschedulable")
    W("Honor") W("Ignore") W("default") W("default-scheduler") W("kube-system") W("http") W("https") W("metrics")
    W("kube-proxy") W("system-cluster-critical") W("system-node-critical")
    /* conditions */
    W("ContainersReady") W("DiskPressure") W("DisruptionTarget") W("Initialized") W("MemoryPressure")
    W("NetworkUnavailable") W("PIDPressure") W("PodReadyToStartContainers") W("PodScheduled") W("Ready")
    W("True") W("False") W("Unknown") W("KubeletReady") W("SchedulerError") W("SchedulingGated")
    /* resources */
    W("cpu") W("memory") W("pods") W("ephemeral-storage") W("hugepages-1Gi") W("hugepages-2Mi") W("nvidia.com/gpu")
    W("attachable-volumes-aws-ebs") W("attachable-volumes-csi-ebs.csi.aws.com") W("storage")
    /* values */
    W("amd64") W("arm64") W("linux") W("true") W("false") W("0")
#undef W
};

enum { SLOTS = 512, WORD_LEN_MAX = 64 };
static_assert(ARRAY_SIZE(words) < SLOTS / 2 && ARRAY_SIZE(words) < UINT8_MAX, "the table has room");

static uint8_t slots[SLOTS]; /* number of the word + 1 */
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static size_t slot_of(struct str text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    uint32_t sum = text.len * 31 + bytes[0] * 7 + bytes[text.len - 1] * 131 + bytes[text.len / 2] * 61;
    return (sum ^ sum >> 9) % SLOTS;
}

static void fill(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t at = slot_of(words[i]);
        while (slots[at])
            at = (at + 1) % SLOTS;
        slots[at] = (uint8_t)(i + 1);
    }
}

struct str words_keep(struct arena *arena, struct str text)
{
    if (text.len == 0)
        return STR("");
    pthread_once(&filled, fill);
    for (size_t at = slot_of(text); text.len <= WORD_LEN_MAX && slots[at]; at = (at + 1) % SLOTS)
        if (str_eq(words[slots[at] - 1], text))
            return words[slots[at] - 1];
    return arena_str(arena, text);
}
