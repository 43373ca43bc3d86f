/* Any text gives policies that pods can be decided by, or an error that names a place. */
#include "fuzz/fuzz.h"

#include "plugins/registry.h"
#include "policy/policies.h"

/* Pods without anything of their own, and with a list of each kind. */
static void derive_pods(struct policies *policies, struct cluster *cluster)
{
    static struct selector_requirement requirement = { .key = STR("a"),
                                                       .operator= STR("Exists"),
                                                       .op = OP_EXISTS };
    static struct node_selector_term terms[2] = { { .match_expressions = { &requirement, 1 } } };
    static struct node_selector selector = { .terms = { terms, 2 } };
    static struct node_affinity node = { .required = &selector };
    static struct affinity affinity = { .node = &node };
    static struct toleration toleration = { .operator= STR("Exists") };
    struct pair label = { STR("app"), STR("web") };
    struct pod pods[2] = { { .meta.name = STR("p") }, { .meta.name = STR("q") } };
    pods[1].meta.labels = (struct str_map){ &label, 1 };
    pods[1].spec.affinity = &affinity;
    pods[1].spec.tolerations.items = &toleration;
    pods[1].spec.tolerations.len = 1;
    for (int i = 0; i < 2; i++) {
        pods[i].spec.scheduler_name = STR("s");
        struct pod_info *info = cluster_add_pod(cluster, &pods[i]);
        must(policies_is_current(policies, info));
        must(pod_info_object(info) == &pods[i]);
        must(!info->api->policy == (info->api == &pods[i]));
        must(info->api->spec.tolerations.len >= pods[i].spec.tolerations.len);
        if (info->api->policy) {
            struct strbuf words = { 0 };
            policy_describe(policy_of(info->api), &words);
            must(words.len);
            strbuf_release(&words);
        }
    }
    cluster_release(cluster); /* before they go */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pair entry = { STR("key"), { (const char *)data, (uint32_t)size } };
    const struct config_map map = { .meta.name = STR("input"), .data = { &entry, 1 } };
    struct profile_config profile = { .scheduler_name = STR("s") };
    struct scheduler_config config = { .profiles = { &profile, 1 } };
    struct policy_set *set;
    struct error err = { "" };
    if (policy_set_read(&map, &builtin_plugins, &set, &err) < 0) {
        must(strncmp(err.text, "input/key", strlen("input/key")) == 0);
        must(!strchr(err.text, '\n'));
        return 0;
    }
    must(policy_set_equal(set, set));
    struct cluster cluster;
    struct policies policies;
    cluster_init(&cluster);
    policies_init(&policies, &cluster, &config);
    policies_use(&policies, set);
    policy_set_unref(set);
    derive_pods(&policies, &cluster);
    policies.cluster = NULL;
    policies_release(&policies);
    return 0;
}
