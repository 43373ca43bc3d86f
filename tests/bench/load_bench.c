/* load_bench.c: writes a dump as kubectl prints it, and loads it as the commands do.
 *
 * The objects have fields of real ones that no scheduler reads: managedFields, environment, mounts, probes, statuses
 * with identifiers, and the lists of images that kubelets report. */
#include "bench/load_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "bench/measure.h"
#include "input/input.h"

enum { PODS_PER_NODE = 30, RUNS = 3 };

/* Indents JSON as kubectl does, 4 spaces per level. */
static void pretty(struct strbuf *out, const char *compact)
{
    int depth = 2;
    bool quoted = false;
    strbuf_puts(out, "        ");
    for (const char *at = compact; *at; at++) {
        if (*at == '"' && at[-1] != '\\')
            quoted = !quoted;
        bool opens = !quoted && (*at == '{' || *at == '['), closes = !quoted && (*at == '}' || *at == ']');
        depth += opens - closes;
        if (closes)
            strbuf_printf(out, "\n%*s", depth * 4, "");
        strbuf_putc(out, *at);
        if (!quoted && *at == ':')
            strbuf_putc(out, ' ');
        if (opens || (!quoted && *at == ','))
            strbuf_printf(out, "\n%*s", depth * 4, "");
    }
}

static void managed_fields(struct strbuf *out, const char *manager, const char *subresource)
{
    strbuf_printf(
        out,
        "{\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\"."
        "\":\"\","
        "\"f:app\":\"\",\"f:pod-template-hash\":\"\"},\"f:ownerReferences\":{\".\":\"\",\"k:{\\\"uid\\\":"
        "\\\"6f0e3c1a\\\"}\":\"\"}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"app\\\"}\":{\".\":"
        "\"\","
        "\"f:env\":{\".\":\"\",\"k:{\\\"name\\\":\\\"MODE\\\"}\":{\".\":\"\",\"f:name\":\"\",\"f:value\":"
        "\"\"}},"
        "\"f:image\":\"\",\"f:imagePullPolicy\":\"\",\"f:name\":\"\",\"f:resources\":{\".\":\"\",\"f:"
        "limits\":{"
        "\".\":\"\",\"f:memory\":\"\"},\"f:requests\":{\".\":\"\",\"f:cpu\":\"\",\"f:memory\":\"\"}}}},"
        "\"f:dnsPolicy\":\"\",\"f:restartPolicy\":\"\"}},\"manager\":\"%s\",\"operation\":\"Update\","
        "\"subresource\":\"%s\",\"time\":\"2026-01-02T03:04:05Z\"}",
        manager, subresource);
}

static void node_json(struct strbuf *out, unsigned number)
{
    strbuf_printf(
        out,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"annotations\":{\"csi.volume.kubernetes.io/"
        "nodeid\":"
        "\"{\\\"ebs.csi.aws.com\\\":\\\"i-%08x\\\"}\",\"node.alpha.kubernetes.io/"
        "ttl\":\"0\"},\"creationTimestamp\":"
        "\"2026-01-01T00:00:00Z\",\"labels\":{\"kubernetes.io/arch\":\"amd64\",\"kubernetes.io/hostname\":"
        "\"node-%05u\",\"kubernetes.io/os\":\"linux\",\"node.kubernetes.io/instance-type\":\"m6i.2xlarge\","
        "\"topology.kubernetes.io/region\":\"west\",\"topology.kubernetes.io/zone\":\"west-%u\"},\"name\":"
        "\"node-%05u\",\"resourceVersion\":\"%u\",\"uid\":\"00000000-0000-0000-0000-%012u\","
        "\"managedFields\":[",
        number, number, number % 3, number, number + 1000, number);
    managed_fields(out, "kubelet", "status");
    strbuf_puts(
        out,
        "]},\"spec\":{\"podCIDR\":\"10.0.0.0/24\",\"podCIDRs\":[\"10.0.0.0/24\"],\"providerID\":\"aws:///"
        "west/i\"},"
        "\"status\":{\"addresses\":[{\"address\":\"10.1.2.3\",\"type\":\"InternalIP\"}],\"allocatable\":{"
        "\"cpu\":\"7910m\",\"ephemeral-storage\":\"76224326324\",\"memory\":\"31482284Ki\",\"pods\":\"58\"},"
        "\"capacity\":{\"cpu\":\"8\",\"ephemeral-storage\":\"83873772Ki\",\"memory\":\"32498092Ki\",\"pods\":"
        "\"58\"},"
        "\"conditions\":[");
    static const char *const types[] = { "MemoryPressure", "DiskPressure", "PIDPressure", "Ready" };
    for (unsigned i = 0; i < 4; i++)
        strbuf_printf(out,
                      "%s{\"lastHeartbeatTime\":\"2026-01-02T03:04:05Z\",\"lastTransitionTime\":\"2026-01-"
                      "01T00:00:00Z\","
                      "\"message\":\"kubelet says "
                      "so\",\"reason\":\"KubeletReports%s\",\"status\":\"%s\",\"type\":\"%s\"}",
                      i ? "," : "", types[i], i == 3 ? "True" : "False", types[i]);
    strbuf_puts(out, "],\"images\":[");
    for (unsigned i = 0; i < 40; i++)
        strbuf_printf(
            out,
            "%s{\"names\":[\"registry.example.com/team/service-%u@sha256:%064x\",\"registry.example.com/team/"
            "service-%u:v1.%u.0\"],\"sizeBytes\":%u}",
            i ? "," : "", i, i * 2654435761u, i, number % 7, 50000000 + i * 1234567);
    strbuf_puts(
        out, "],\"nodeInfo\":{\"architecture\":\"amd64\",\"containerRuntimeVersion\":\"containerd://2.1.0\","
             "\"kernelVersion\":\"6.12.0\",\"kubeletVersion\":\"v1.36.4\",\"operatingSystem\":\"linux\"}}}");
}

static void environment(struct strbuf *out)
{
    strbuf_puts(out, "\"env\":[");
    for (unsigned i = 0; i < 12; i++)
        strbuf_printf(
            out,
            "%s{\"name\":\"SERVICE_SETTING_%u\",\"value\":\"postgres://db-%u.prod.svc:5432/app?ssl=on\"}",
            i ? "," : "", i, i);
    strbuf_puts(out, ",{\"name\":\"POD_IP\",\"valueFrom\":{\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":"
                     "\"status.podIP\"}}}],");
}

static void pod_json(struct strbuf *out, unsigned number, unsigned node)
{
    unsigned app = number % 400;
    strbuf_printf(
        out,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"annotations\":{\"prometheus.io/"
        "scrape\":\"true\"},"
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"generateName\":\"service-%u-7d9c5b8f6-\","
        "\"labels\":{"
        "\"app\":\"service-%u\",\"pod-template-hash\":\"7d9c5b8f6\"},\"name\":\"service-%u-7d9c5b8f6-%05u\","
        "\"namespace\":\"team-%u\",\"ownerReferences\":[{\"apiVersion\":\"apps/"
        "v1\",\"blockOwnerDeletion\":true,"
        "\"controller\":true,\"kind\":\"ReplicaSet\",\"name\":\"service-%u-7d9c5b8f6\",\"uid\":\"6f0e3c1a\"}]"
        ","
        "\"resourceVersion\":\"%u\",\"uid\":\"11111111-0000-0000-0000-%012u\",\"managedFields\":[",
        app, app, app, number, app % 20, app, number, number);
    managed_fields(out, "kube-controller-manager", "");
    strbuf_putc(out, ',');
    managed_fields(out, "kubelet", "status");
    strbuf_puts(out, "]},\"spec\":{\"containers\":[{");
    environment(out);
    strbuf_printf(
        out,
        "\"image\":\"registry.example.com/team/"
        "service-%u:v1.2.3\",\"imagePullPolicy\":\"IfNotPresent\",\"livenessProbe\":{"
        "\"failureThreshold\":3,\"httpGet\":{\"path\":\"/"
        "healthz\",\"port\":8080,\"scheme\":\"HTTP\"},\"periodSeconds\":"
        "10},\"name\":\"app\",\"ports\":[{\"containerPort\":8080,\"name\":\"http\",\"protocol\":\"TCP\"}],"
        "\"resources\":{"
        "\"limits\":{\"memory\":\"256Mi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"}},"
        "\"volumeMounts\":[{"
        "\"mountPath\":\"/var/run/secrets/kubernetes.io/"
        "serviceaccount\",\"name\":\"token\",\"readOnly\":true}]}],"
        "\"dnsPolicy\":\"ClusterFirst\",\"enableServiceLinks\":true,\"nodeName\":\"node-%05u\","
        "\"preemptionPolicy\":"
        "\"PreemptLowerPriority\",\"priority\":0,\"restartPolicy\":\"Always\",\"schedulerName\":\"default-"
        "scheduler\","
        "\"securityContext\":{},\"serviceAccountName\":\"default\",\"terminationGracePeriodSeconds\":30,"
        "\"tolerations\":[{\"effect\":\"NoExecute\",\"key\":\"node.kubernetes.io/"
        "not-ready\",\"operator\":\"Exists\","
        "\"tolerationSeconds\":300},{\"effect\":\"NoExecute\",\"key\":\"node.kubernetes.io/"
        "unreachable\",\"operator\":"
        "\"Exists\",\"tolerationSeconds\":300}],\"volumes\":[{\"name\":\"token\",\"projected\":{"
        "\"defaultMode\":420,"
        "\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}}]}}]},"
        "\"status\":{",
        app % 40, node);
    strbuf_printf(
        out,
        "\"conditions\":[{\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-01T00:00:05Z\",\"status\":"
        "\"True\","
        "\"type\":\"Ready\"},{\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-01T00:00:00Z\","
        "\"status\":"
        "\"True\",\"type\":\"PodScheduled\"}],\"containerStatuses\":[{\"containerID\":\"containerd://%064x\","
        "\"image\":\"registry.example.com/team/service-%u:v1.2.3\",\"imageID\":\"registry.example.com/team/"
        "service@"
        "sha256:%064x\",\"name\":\"app\",\"ready\":true,\"restartCount\":0,\"started\":true,\"state\":{"
        "\"running\":{"
        "\"startedAt\":\"2026-01-01T00:00:04Z\"}}}],\"hostIP\":\"10.1.2.3\",\"phase\":\"Running\",\"podIP\":"
        "\"10.0.0.%u\",\"qosClass\":\"Burstable\",\"startTime\":\"2026-01-01T00:00:00Z\"}}",
        number, app % 40, number, number % 250);
}

static bool write_dump(FILE *file, size_t bytes)
{
    _cleanup_(strbuf_release) struct strbuf compact = { 0 }, text = { 0 };
    size_t written = 0;
    fputs("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n", file);
    for (unsigned i = 0; written < bytes; i++) {
        strbuf_clear(&compact);
        strbuf_clear(&text);
        if (i % (PODS_PER_NODE + 1) == 0)
            node_json(&compact, i / (PODS_PER_NODE + 1));
        else
            pod_json(&compact, i, i / (PODS_PER_NODE + 1));
        if (i)
            strbuf_puts(&text, ",\n");
        pretty(&text, compact.text);
        if (fwrite(text.text, 1, text.len, file) != text.len)
            return false;
        written += text.len;
    }
    fputs("\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    "
          "}\n}\n",
          file);
    return fflush(file) == 0;
}

/* The best speed of one kind of load. */
struct speed {
    double megabytes_per_second;
    size_t bytes, objects;
};

static void note(struct speed *speed, const struct load *load, double seconds)
{
    speed->bytes = load->documents.bytes;
    speed->objects = load->objects[KIND_NODE].len + load->objects[KIND_POD].len;
    speed->megabytes_per_second =
        MAX(speed->megabytes_per_second, (double)load->documents.bytes / 1e6 / seconds);
}

/* Reads and decodes only. */
static int load_objects(const char *path, struct speed *speed, struct error *err)
{
    struct load load;
    double start = seconds_now();
    load = (struct load){ 0 };
    int r = load_path(&load, path, err);
    note(speed, &load, seconds_now() - start);
    load_release(&load);
    return r;
}

/* Everything that a command does before it decides: also the model with every node and running pod. */
static int load_cluster(const char *path, struct speed *speed, struct error *err)
{
    struct input input;
    const struct input_options options = { .paths = &path, .paths_len = 1 };
    double start = seconds_now();
    int r = input_open(&input, &options, err);
    note(speed, &input.load, seconds_now() - start);
    input_release(&input);
    return r;
}

int load_bench(unsigned megabytes)
{
    char path[] = "/tmp/berth-bench-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file || !write_dump(file, (size_t)megabytes << 20)) {
        fprintf(stderr, "bench: %s cannot be written\n", path);
        return 1;
    }
    fclose(file);
    struct speed objects = { 0 }, input = { 0 };
    struct error err;
    int r = 0;
    for (int i = 0; i < RUNS && r == 0; i++)
        r = load_objects(path, &objects, &err);
    for (int i = 0; i < RUNS && r == 0; i++)
        r = load_cluster(path, &input, &err);
    unlink(path);
    if (r < 0)
        fprintf(stderr, "bench: %s\n", err.text);
    else
        printf("load: %.0f MB of kubectl JSON, %zu nodes and pods: %.0f MB/s read and decoded, %.0f MB/s "
               "with the model "
               "built (best of %d), peak %.0f MB\n",
               (double)objects.bytes / 1e6, objects.objects, objects.megabytes_per_second,
               input.megabytes_per_second, RUNS, peak_megabytes());
    return r < 0;
}
