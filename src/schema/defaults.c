/* defaults.c: one walk over the object beside its type: what a type leaves out goes, what it always has comes, then
 * the rules of defaults.def for the type, then the values below it. Every object is taken apart once (schema/tree.h),
 * so the time is linear. */
#include "schema/defaults.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/quantity.h"
#include "base/arena.h"
#include "base/base64.h"
#include "base/decimal.h"
#include "base/timestamp.h"
#include "schema/tree.h"

static void set_defaults(yyjson_mut_doc *doc, const struct schema_type *type, yyjson_mut_val *object,
                         uint32_t depth);

/* ---- small objects, by path ---- */

static yyjson_mut_val *get(yyjson_mut_val *object, const char *name)
{
    return yyjson_mut_obj_get(object, name);
}

/* The value below the object at a path with dots; NULL: absent. */
static yyjson_mut_val *at(yyjson_mut_val *object, const char *path)
{
    struct str rest = str_from(path);
    while (object && rest.ptr) {
        struct str name = str_cut(&rest, '.');
        object = yyjson_mut_obj_getn(object, name.ptr, name.len);
    }
    return object;
}

static bool text_is(yyjson_mut_val *val, const char *text)
{
    return yyjson_mut_is_str(val) && str_is(mut_str(val), text);
}

static yyjson_mut_val *parse(yyjson_mut_doc *doc, struct str json)
{
    yyjson_doc *parsed = yyjson_read(json.ptr, json.len, 0);
    assert(parsed && "a default that is no JSON");
    yyjson_mut_val *val = yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed));
    yyjson_doc_free(parsed);
    return val;
}

static bool is_absent(yyjson_mut_val *val)
{
    return !val || yyjson_mut_is_null(val) || (yyjson_mut_is_str(val) && !yyjson_mut_get_len(val));
}

static void put(yyjson_mut_doc *doc, yyjson_mut_val *object, struct str name, yyjson_mut_val *val)
{
    yyjson_mut_obj_put(object, yyjson_mut_strncpy(doc, name.ptr, name.len), val);
}

/* Sets the value at a path if it is absent; makes the objects on the way. */
static void set_absent(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *path, const char *json)
{
    struct str rest = str_from(path), name = str_cut(&rest, '.');
    for (; rest.ptr; name = str_cut(&rest, '.')) {
        yyjson_mut_val *inner = yyjson_mut_obj_getn(object, name.ptr, name.len);
        if (!yyjson_mut_is_obj(inner)) {
            inner = yyjson_mut_obj(doc);
            put(doc, object, name, inner);
        }
        object = inner;
    }
    if (is_absent(yyjson_mut_obj_getn(object, name.ptr, name.len)))
        put(doc, object, name, parse(doc, str_from(json)));
}

static void copy_absent(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *path, yyjson_mut_val *from)
{
    if (from && !at(object, path)) {
        set_absent(doc, object, path, "0");
        struct str rest = str_from(path);
        ptrdiff_t dot = str_rfind(rest, '.');
        yyjson_mut_val *parent = object;
        while (dot >= 0 && str_find(rest, '.') >= 0) {
            struct str name = str_cut(&rest, '.');
            parent = yyjson_mut_obj_getn(parent, name.ptr, name.len);
        }
        put(doc, parent, rest, yyjson_mut_val_mut_copy(doc, from));
    }
}

/* ---- computed defaults ---- */

/* Requests follow limits, in pods and not in templates. */
static void requests_from_limits(yyjson_mut_doc *doc, yyjson_mut_val *container)
{
    yyjson_mut_val *limits = at(container, "resources.limits");
    if (!yyjson_mut_obj_size(limits))
        return;
    set_absent(doc, container, "resources.requests", "{}");
    struct members requests;
    members_open(&requests, at(container, "resources.requests"));
    size_t i, max;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(limits, i, max, key, val)
    {
        if (!members_get(&requests, mut_str(key)))
            members_set(&requests, doc, mut_str(key), yyjson_mut_val_mut_copy(doc, val));
    }
    members_close(&requests);
}

static void host_ports(yyjson_mut_doc *doc, yyjson_mut_val *container)
{
    size_t i, max;
    yyjson_mut_val *port;
    yyjson_mut_arr_foreach(mut_items(get(container, "ports")), i, max, port)
        copy_absent(doc, port, "hostPort", get(port, "containerPort"));
}

static void each_container(yyjson_mut_doc *doc, yyjson_mut_val *spec,
                           void (*visit)(yyjson_mut_doc *doc, yyjson_mut_val *container))
{
    size_t i, max;
    yyjson_mut_val *container;
    yyjson_mut_arr_foreach(mut_items(get(spec, "containers")), i, max, container) visit(doc, container);
    yyjson_mut_arr_foreach(mut_items(get(spec, "initContainers")), i, max, container) visit(doc, container);
}

static void default_pod(yyjson_mut_doc *doc, yyjson_mut_val *pod)
{
    yyjson_mut_val *spec = get(pod, "spec");
    if (!yyjson_mut_is_obj(spec))
        return;
    each_container(doc, spec, requests_from_limits);
    requests_from_limits(doc, spec); /* those of the pod as a whole */
    set_absent(doc, spec, "enableServiceLinks", "true");
    if (yyjson_mut_get_bool(get(spec, "hostNetwork")))
        each_container(doc, spec, host_ports);
}

/* The field has two names, of which the older one follows. */
static void default_account(yyjson_mut_doc *doc, yyjson_mut_val *spec)
{
    yyjson_mut_val *name = get(spec, "serviceAccountName");
    const char *other = "serviceAccount";
    if (is_absent(name) || !yyjson_mut_get_len(name)) {
        name = get(spec, other);
        other = "serviceAccountName";
    }
    if (!yyjson_mut_is_str(name) || !yyjson_mut_get_len(name))
        return;
    struct str text = mut_str(name);
    yyjson_mut_obj_remove_key(spec, other);
    put(doc, spec, str_from(other), yyjson_mut_strncpy(doc, text.ptr, text.len));
}

static void default_template(yyjson_mut_doc *doc, yyjson_mut_val *template)
{
    if (yyjson_mut_get_bool(at(template, "spec.hostNetwork")))
        each_container(doc, get(template, "spec"), host_ports);
}

/* An image without tag and digest, or with the tag "latest", is pulled always. */
static void default_container(yyjson_mut_doc *doc, yyjson_mut_val *container)
{
    struct str image = mut_str(get(container, "image"));
    struct str name = str_slice(image, (size_t)(str_rfind(image, '/') + 1), image.len);
    bool digest = str_find(name, '@') >= 0;
    ptrdiff_t colon = str_find(name, ':');
    bool latest = !digest && (colon < 0 || str_is(str_slice(name, (size_t)colon + 1, name.len), "latest"));
    set_absent(doc, container, "imagePullPolicy", latest ? "\"Always\"" : "\"IfNotPresent\"");
}

/* A volume that names no source is an empty directory. */
static void default_volume(yyjson_mut_doc *doc, yyjson_mut_val *volume)
{
    if (yyjson_mut_obj_size(volume) <= (get(volume, "name") ? 1u : 0u))
        set_absent(doc, volume, "emptyDir", "{}");
}

static void default_service(yyjson_mut_doc *doc, yyjson_mut_val *service)
{
    yyjson_mut_val *spec = get(service, "spec");
    if (!spec)
        return;
    set_absent(doc, spec, "type", "\"ClusterIP\"");
    yyjson_mut_val *type = get(spec, "type");
    bool external = text_is(type, "LoadBalancer") || text_is(type, "NodePort");
    if (text_is(get(spec, "sessionAffinity"), "ClientIP"))
        set_absent(doc, spec, "sessionAffinityConfig.clientIP.timeoutSeconds", "10800");
    if (external)
        set_absent(doc, spec, "externalTrafficPolicy", "\"Cluster\"");
    if (external || text_is(type, "ClusterIP"))
        set_absent(doc, spec, "internalTrafficPolicy", "\"Cluster\"");
    if (text_is(type, "LoadBalancer"))
        set_absent(doc, spec, "allocateLoadBalancerNodePorts", "true");
}

static void default_service_port(yyjson_mut_doc *doc, yyjson_mut_val *port)
{
    yyjson_mut_val *target = get(port, "targetPort");
    if (is_absent(target) || (yyjson_mut_is_int(target) && !yyjson_mut_get_int(target))) {
        yyjson_mut_obj_remove_key(port, "targetPort");
        copy_absent(doc, port, "targetPort", get(port, "port"));
    }
}

/* ---- others of core/v1 ---- */

static yyjson_mut_val *encoded(yyjson_mut_doc *doc, struct str text)
{
    struct strbuf out = { 0 };
    base64_encode(&out, text);
    yyjson_mut_val *val = yyjson_mut_strncpy(doc, out.text ? out.text : "", out.len);
    strbuf_release(&out);
    return val;
}

/* stringData is for writing only. */
static void default_secret(yyjson_mut_doc *doc, yyjson_mut_val *secret)
{
    yyjson_mut_val *texts = yyjson_mut_obj_remove_key(secret, "stringData");
    if (!yyjson_mut_obj_size(texts))
        return;
    set_absent(doc, secret, "data", "{}");
    struct members data;
    members_open(&data, get(secret, "data"));
    size_t i, max;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(texts, i, max, key, val)
        members_set(&data, doc, mut_str(key), encoded(doc, mut_str(val)));
    members_close(&data);
}

static void default_namespace(yyjson_mut_doc *doc, yyjson_mut_val *namespace)
{
    yyjson_mut_val *name = at(namespace, "metadata.name");
    if (!is_absent(name)) {
        set_absent(doc, namespace, "metadata.labels", "{}");
        put(doc, at(namespace, "metadata.labels"), STR("kubernetes.io/metadata.name"),
            yyjson_mut_val_mut_copy(doc, name));
    }
}

static void default_node_status(yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    copy_absent(doc, status, "allocatable", get(status, "capacity"));
}

static void default_replication_controller(yyjson_mut_doc *doc, yyjson_mut_val *controller)
{
    yyjson_mut_val *labels = at(controller, "spec.template.metadata.labels");
    copy_absent(doc, controller, "spec.selector", labels);
    copy_absent(doc, controller, "metadata.labels", labels);
}

static void fill_from(yyjson_mut_doc *doc, yyjson_mut_val *item, const char *into, const char *from)
{
    size_t i, max;
    yyjson_mut_val *key, *val, *source = get(item, from);
    if (!yyjson_mut_obj_size(source))
        return;
    set_absent(doc, item, into, "{}");
    struct members members;
    members_open(&members, get(item, into));
    yyjson_mut_obj_foreach(source, i, max, key, val)
    {
        if (!members_get(&members, mut_str(key)))
            members_set(&members, doc, mut_str(key), yyjson_mut_val_mut_copy(doc, val));
    }
    members_close(&members);
}

static void default_limit(yyjson_mut_doc *doc, yyjson_mut_val *item)
{
    if (!text_is(get(item, "type"), "Container"))
        return;
    fill_from(doc, item, "default", "max");
    fill_from(doc, item, "defaultRequest", "default");
    fill_from(doc, item, "defaultRequest", "min");
}

/* ---- workloads ---- */

static void default_deployment(yyjson_mut_doc *doc, yyjson_mut_val *deployment)
{
    yyjson_mut_val *spec = get(deployment, "spec");
    if (!spec)
        return;
    set_absent(doc, spec, "strategy.type", "\"RollingUpdate\"");
    if (text_is(at(spec, "strategy.type"), "RollingUpdate")) {
        set_absent(doc, spec, "strategy.rollingUpdate.maxUnavailable", "\"25%\"");
        set_absent(doc, spec, "strategy.rollingUpdate.maxSurge", "\"25%\"");
    }
}

static void default_stateful_set(yyjson_mut_doc *doc, yyjson_mut_val *set)
{
    yyjson_mut_val *spec = get(set, "spec");
    if (!spec)
        return;
    bool typed = !is_absent(at(spec, "updateStrategy.type"));
    set_absent(doc, spec, "updateStrategy.type", "\"RollingUpdate\"");
    if (!typed || at(spec, "updateStrategy.rollingUpdate"))
        if (text_is(at(spec, "updateStrategy.type"), "RollingUpdate")) {
            set_absent(doc, spec, "updateStrategy.rollingUpdate.partition", "0");
            set_absent(doc, spec, "updateStrategy.rollingUpdate.maxUnavailable", "1");
        }
    size_t i, max;
    yyjson_mut_val *claim;
    yyjson_mut_arr_foreach(mut_items(get(spec, "volumeClaimTemplates")), i, max, claim)
    {
        set_absent(doc, claim, "apiVersion", "\"v1\"");
        set_absent(doc, claim, "kind", "\"PersistentVolumeClaim\"");
    }
}

static void default_daemon_set(yyjson_mut_doc *doc, yyjson_mut_val *set)
{
    yyjson_mut_val *spec = get(set, "spec");
    if (!spec)
        return;
    set_absent(doc, spec, "updateStrategy.type", "\"RollingUpdate\"");
    if (text_is(at(spec, "updateStrategy.type"), "RollingUpdate")) {
        set_absent(doc, spec, "updateStrategy.rollingUpdate.maxUnavailable", "1");
        set_absent(doc, spec, "updateStrategy.rollingUpdate.maxSurge", "0");
    }
}

static void default_job(yyjson_mut_doc *doc, yyjson_mut_val *job)
{
    yyjson_mut_val *spec = get(job, "spec");
    if (!spec)
        return;
    bool parallel = get(spec, "parallelism");
    if (!parallel && !get(spec, "completions"))
        set_absent(doc, spec, "completions", "1");
    set_absent(doc, spec, "parallelism", "1");
    set_absent(doc, spec, "backoffLimit", get(spec, "backoffLimitPerIndex") ? "2147483647" : "6");
    set_absent(doc, spec, "podReplacementPolicy",
               get(spec, "podFailurePolicy") ? "\"Failed\"" : "\"TerminatingOrFailed\"");
    copy_absent(doc, job, "metadata.labels", at(spec, "template.metadata.labels"));
}

/* ---- other groups ---- */

static void default_device_request(yyjson_mut_doc *doc, yyjson_mut_val *request)
{
    if (is_absent(get(request, "deviceClassName")))
        return;
    set_absent(doc, request, "allocationMode", "\"ExactCount\"");
    yyjson_mut_val *count = get(request, "count");
    if (text_is(get(request, "allocationMode"), "ExactCount") && !yyjson_mut_get_int(count)) {
        yyjson_mut_obj_remove_key(request, "count");
        set_absent(doc, request, "count", "1");
    }
}

static void default_definition(yyjson_mut_doc *doc, yyjson_mut_val *spec)
{
    yyjson_mut_val *names = get(spec, "names");
    struct str kind = mut_str(names ? get(names, "kind") : NULL);
    if (!kind.len)
        return;
    if (is_absent(get(names, "singular"))) {
        struct arena arena = { 0 };
        struct str singular = arena_lower(&arena, kind);
        put(doc, names, STR("singular"), yyjson_mut_strncpy(doc, singular.ptr, singular.len));
        arena_release(&arena);
    }
    if (is_absent(get(names, "listKind"))) {
        struct strbuf list = { 0 };
        strbuf_printf(&list, STR_FMT "List", STR_ARG(kind));
        put(doc, names, STR("listKind"), yyjson_mut_strncpy(doc, list.text, list.len));
        strbuf_release(&list);
    }
}

#define RBAC_GROUP "\"rbac.authorization.k8s.io\""

static void default_role_binding(yyjson_mut_doc *doc, yyjson_mut_val *binding)
{
    set_absent(doc, binding, "roleRef.apiGroup", RBAC_GROUP);
    size_t i, max;
    yyjson_mut_val *subject;
    yyjson_mut_arr_foreach(mut_items(get(binding, "subjects")), i, max, subject)
    {
        if (text_is(get(subject, "kind"), "User") || text_is(get(subject, "kind"), "Group"))
            set_absent(doc, subject, "apiGroup", RBAC_GROUP);
    }
}

/* Ports of the older Endpoints have the same type name, and no default for the name. */
static void default_endpoint_slice(yyjson_mut_doc *doc, yyjson_mut_val *slice)
{
    size_t i, max;
    yyjson_mut_val *port;
    yyjson_mut_arr_foreach(mut_items(get(slice, "ports")), i, max, port)
        set_absent(doc, port, "name", "\"\"");
}

static void default_network_policy(yyjson_mut_doc *doc, yyjson_mut_val *spec)
{
    if (!yyjson_mut_arr_size(get(spec, "policyTypes"))) {
        bool egress = yyjson_mut_arr_size(get(spec, "egress"));
        yyjson_mut_obj_remove_key(spec, "policyTypes");
        set_absent(doc, spec, "policyTypes", egress ? "[\"Ingress\",\"Egress\"]" : "[\"Ingress\"]");
    }
}

/* ---- the tables ---- */

static const struct {
    const char *type;
    void (*set)(yyjson_mut_doc *doc, yyjson_mut_val *object);
    const char *path, *json;
} rules[] = {
#define COMPUTED(type, function) { #type, function, NULL, NULL },
#define DEFAULT(type, path, json) { #type, NULL, path, json },
#include "schema/defaults.def"
#undef COMPUTED
#undef DEFAULT
};

/* Types are named without their package: `Event` of two groups has no rules, and no other name occurs twice. */
static void apply_rules(yyjson_mut_doc *doc, const struct schema_type *type, yyjson_mut_val *object)
{
    static struct strmap first; /* type → number of its first rule + 1 */
    static uint16_t next[ARRAY_SIZE(rules)];
    if (!first.len)
        for (size_t i = ARRAY_SIZE(rules); i-- > 0;)
            next[i] = (uint16_t)(size_t)strmap_put(&first, str_from(rules[i].type), (void *)(i + 1));
    for (size_t i = (size_t)strmap_get(&first, type->name); i; i = next[i - 1]) {
        if (rules[i - 1].set)
            rules[i - 1].set(doc, object);
        else
            set_absent(doc, object, rules[i - 1].path, rules[i - 1].json);
    }
}

/* ---- canonical values ---- */

static bool is_zero(yyjson_mut_val *val)
{
    return yyjson_mut_is_null(val) || (yyjson_mut_is_str(val) && !yyjson_mut_get_len(val)) ||
           (yyjson_mut_is_bool(val) && !yyjson_mut_get_bool(val)) ||
           (yyjson_mut_is_num(val) && yyjson_mut_get_num(val) == 0) ||
           (yyjson_mut_is_arr(val) && !yyjson_mut_arr_size(val)) ||
           (yyjson_mut_is_obj(val) && !yyjson_mut_obj_size(val));
}

static void set_text(yyjson_mut_doc *doc, yyjson_mut_val *val, struct str text)
{
    yyjson_mut_val *copy = yyjson_mut_strncpy(doc, text.ptr, text.len);
    yyjson_mut_set_strn(val, yyjson_mut_get_str(copy), text.len);
}

static void canonical_quantity(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    struct quantity amount;
    char digits[DECIMAL_LEN_MAX], text[QUANTITY_LEN_MAX];
    struct str given = mut_str(val);
    if (yyjson_mut_is_real(val))
        given = decimal_format(yyjson_mut_get_real(val), DECIMAL_JSON, digits);
    else if (yyjson_mut_is_int(val))
        given = (struct str){ digits, (uint32_t)snprintf(digits, sizeof(digits), "%lld",
                                                         (long long)yyjson_mut_get_sint(val)) };
    if (quantity_parse(given, &amount) == 0)
        set_text(doc, val, quantity_format(amount, text));
}

static void canonical_time(yyjson_mut_doc *doc, yyjson_mut_val *val, bool micro)
{
    struct timestamp time;
    char text[TIMESTAMP_LEN_MAX + 1];
    if (!yyjson_mut_is_str(val) || !timestamp_parse(mut_str(val), &time))
        return;
    set_text(doc, val,
             micro ? timestamp_format_fraction(time.seconds, time.nanos, 6, text)
                   : timestamp_format(time.seconds, text));
}

/* As Go converts: what does not fit is the least number, and of that as many bits as the type has. */
static int64_t whole_of(double real, enum schema_kind kind)
{
    bool fits = real >= -0x1p63 && real < 0x1p63;
    int64_t number = fits ? (int64_t)real : INT64_MIN;
    return kind == SCHEMA_INT64 ? number : (int32_t)(uint32_t)(uint64_t)number;
}

static void canonical(yyjson_mut_doc *doc, const struct schema_value *value, yyjson_mut_val *val,
                      uint32_t depth)
{
    size_t i, max;
    yyjson_mut_val *key, *item;
    switch (value->kind) {
    case SCHEMA_QUANTITY:
        canonical_quantity(doc, val);
        break;
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        canonical_time(doc, val, value->kind == SCHEMA_MICRO_TIME);
        break;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_INT_OR_STRING: /* a port that became the targetPort */
        if (yyjson_mut_is_real(val))
            yyjson_mut_set_sint(val, whole_of(yyjson_mut_get_real(val), value->kind));
        break;
    case SCHEMA_OBJECT:
        if (yyjson_mut_is_obj(val))
            set_defaults(doc, value->type, val, depth + 1);
        break;
    case SCHEMA_LIST:
        yyjson_mut_arr_foreach(mut_items(yyjson_mut_is_arr(val) ? val : NULL), i, max, item)
            canonical(doc, value->item, item, depth);
        break;
    case SCHEMA_MAP:
        yyjson_mut_obj_foreach(mut_items(yyjson_mut_is_obj(val) ? val : NULL), i, max, key, item)
        {
            if (yyjson_mut_is_null(item) && value->item->kind == SCHEMA_STRING)
                yyjson_mut_set_strn(item, "", 0);
            canonical(doc, value->item, item, depth);
        }
        break;
    default:
        break;
    }
}

/* Unknown fields, nulls and zero values go. */
static void drop_fields(const struct schema_type *type, struct members *members)
{
    vec_for(&members->all, member) {
        const struct schema_field *field = schema_field(type, member->name);
        bool drop = field ? yyjson_mut_is_null(member->value) || (field->omit && is_zero(member->value))
                          : !type->open;
        if (drop)
            member->value = NULL;
    }
}

static void set_defaults(yyjson_mut_doc *doc, const struct schema_type *type, yyjson_mut_val *object,
                         uint32_t depth)
{
    if (depth > SCHEMA_DEPTH_MAX)
        return;
    struct members members;
    members_open(&members, object);
    drop_fields(type, &members);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct schema_field *field = &type->fields[i];
        struct str json = field->null ? STR("null") : field->default_json;
        bool omitted = field->omit && (str_is(json, "0") || str_is(json, "false") || str_is(json, "\"\""));
        if (json.ptr && !omitted && !members_get(&members, field->name))
            members_set(&members, doc, field->name, parse(doc, json));
    }
    members_close(&members);
    apply_rules(doc, type, object);
    size_t i, max;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(object, i, max, key, val)
    {
        const struct schema_field *field = schema_field(type, mut_str(key));
        if (field)
            canonical(doc, &field->value, val, depth);
    }
}

void schema_set_defaults(const struct schema_type *type, yyjson_mut_doc *doc)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (yyjson_mut_is_obj(root))
        set_defaults(doc, type, root, 0);
}
