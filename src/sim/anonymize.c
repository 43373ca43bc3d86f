/* anonymize.c: which field holds what kind of text; see anonymize.h. What is not in these tables is no name. */
#include "sim/anonymize.h"

enum text_kind { TEXT_PLAIN, TEXT_NAME, TEXT_KEY, TEXT_VALUE, TEXT_PAIRS, TEXT_DRIVER, TEXT_DROPPED };

static const struct {
    const char *field;
    enum text_kind kind;
} fields[] = {
    { "annotations", TEXT_DROPPED },
    { "message", TEXT_DROPPED },
    { "address", TEXT_DROPPED },
    { "hostIP", TEXT_DROPPED },
    { "podIP", TEXT_DROPPED },
    { "ip", TEXT_DROPPED },
    { "labels", TEXT_PAIRS },
    { "matchLabels", TEXT_PAIRS },
    { "nodeSelector", TEXT_PAIRS },
    { "selector", TEXT_PAIRS },
    { "disruptedPods", TEXT_PAIRS },
    { "key", TEXT_KEY },
    { "topologyKey", TEXT_KEY },
    { "topologyKeys", TEXT_KEY },
    { "matchLabelKeys", TEXT_KEY },
    { "mismatchLabelKeys", TEXT_KEY },
    { "value", TEXT_VALUE },
    { "values", TEXT_VALUE },
    { "driver", TEXT_DRIVER },
    { "provisioner", TEXT_DRIVER },
    { "attacher", TEXT_DRIVER },
    { "name", TEXT_NAME },
    { "names", TEXT_NAME },
    { "generateName", TEXT_NAME },
    { "namespace", TEXT_NAME },
    { "namespaces", TEXT_NAME },
    { "uid", TEXT_NAME },
    { "nodeName", TEXT_NAME },
    { "nominatedNodeName", TEXT_NAME },
    { "claimName", TEXT_NAME },
    { "volumeName", TEXT_NAME },
    { "volumeHandle", TEXT_NAME },
    { "persistentVolumeName", TEXT_NAME },
    { "storageClassName", TEXT_NAME },
    { "resourceClaimName", TEXT_NAME },
    { "resourceClaimTemplateName", TEXT_NAME },
    { "priorityClassName", TEXT_NAME },
    { "serviceAccountName", TEXT_NAME },
    { "serviceName", TEXT_NAME },
    { "hostname", TEXT_NAME },
    { "nodeID", TEXT_NAME },
    { "image", TEXT_NAME },
    { "pool", TEXT_NAME },
    { "device", TEXT_NAME },
    { "pdName", TEXT_NAME },
    { "volumeID", TEXT_NAME },
    { "diskName", TEXT_NAME },
    { "iqn", TEXT_NAME },
    { "targetPortal", TEXT_NAME },
    { "monitors", TEXT_NAME },
};

static enum text_kind kind_of(const char *field)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcmp(fields[i].field, field) == 0)
            return fields[i].kind;
    return TEXT_PLAIN;
}

/* What Kubernetes itself gives a meaning. */
static bool is_own(struct str text)
{
    return str_contains(text, STR("kubernetes.io/")) || str_contains(text, STR("k8s.io/"));
}

/* Values that say nothing about their owner; numbers are compared as such. */
static bool is_harmless(struct str text)
{
    static const struct str words[] = { STR("true"),    STR("false"), STR("linux"),
                                        STR("windows"), STR("amd64"), STR("arm64") };
    bool digits = true;
    for (uint32_t i = 0; i < text.len; i++)
        digits &= text.ptr[i] >= '0' && text.ptr[i] <= '9';
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (str_eq(words[i], text))
            return true;
    return digits;
}

static struct str alias(struct anonymizer *anonymizer, struct str text)
{
    struct str *known = strmap_get(&anonymizer->aliases, text);
    if (strmap_get(&anonymizer->kept, text))
        return text;
    if (known)
        return *known;
    known = arena_new(&anonymizer->arena, struct str);
    *known = arena_printf(&anonymizer->arena, "x%llu", (unsigned long long)++anonymizer->count);
    strmap_put(&anonymizer->aliases, arena_str(&anonymizer->arena, text), known);
    return *known;
}

static struct str veil(void *user, const char *name, struct str text, bool is_key)
{
    struct anonymizer *anonymizer = user;
    if (!text.ptr)
        text = STR("");
    switch (kind_of(name)) {
    case TEXT_DROPPED:
        return (struct str){ 0 };
    case TEXT_NAME:
        return text.len ? alias(anonymizer, text) : text;
    case TEXT_PAIRS:
        if (is_key)
            return is_own(text) ? text : alias(anonymizer, text);
        /* fall through */
    case TEXT_VALUE:
        return is_harmless(text) ? text : alias(anonymizer, text);
    case TEXT_KEY:
        return !text.len || is_own(text) ? text : alias(anonymizer, text);
    case TEXT_DRIVER:
    case TEXT_PLAIN:
        break;
    }
    return text;
}

static struct str look(void *user, const char *name, struct str text, bool is_key)
{
    struct anonymizer *anonymizer = user;
    (void)is_key;
    if (text.len && kind_of(name) == TEXT_DRIVER && !strmap_get(&anonymizer->kept, text))
        strmap_put(&anonymizer->kept, arena_str(&anonymizer->arena, text), anonymizer);
    return text;
}

void anonymizer_look(struct anonymizer *anonymizer, const struct object *object)
{
    _cleanup_(strbuf_release) struct strbuf nowhere = { 0 };
    struct json_writer json = json_writer(&nowhere, JSON_COMPACT);
    object_encode_json(object, &(struct json_veil){ look, anonymizer }, &json);
}

struct json_veil anonymizer_veil(struct anonymizer *anonymizer)
{
    return (struct json_veil){ veil, anonymizer };
}

void anonymizer_release(struct anonymizer *anonymizer)
{
    strmap_release(&anonymizer->aliases);
    strmap_release(&anonymizer->kept);
    arena_release(&anonymizer->arena);
}
