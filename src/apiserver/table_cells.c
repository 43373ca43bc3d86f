/* table_cells.c: cells of most resources, from the JSON of an object; those of pods and nodes are in table_pods.c. */
#include "apiserver/table_cells.h"

#include "apiserver/tree.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "codec/doc.h"

enum { S_PER_M = 60, S_PER_H = 3600, S_PER_D = 86400 };

void cell_write_duration(int64_t s, struct strbuf *out)
{
    int64_t minutes = s / S_PER_M, hours = s / S_PER_H, days = s / S_PER_D;
    if (s < -1)
        strbuf_puts(out, "<invalid>");
    else if (s < 0)
        strbuf_puts(out, "0s");
    else if (s < 2 * S_PER_M)
        strbuf_printf(out, "%llds", (long long)s);
    else if (minutes < 10 && s % 60)
        strbuf_printf(out, "%lldm%llds", (long long)minutes, (long long)s % 60);
    else if (minutes < 180)
        strbuf_printf(out, "%lldm", (long long)minutes);
    else if (hours < 8 && minutes % 60)
        strbuf_printf(out, "%lldh%lldm", (long long)hours, (long long)minutes % 60);
    else if (hours < 48)
        strbuf_printf(out, "%lldh", (long long)hours);
    else if (hours < 24 * 8 && hours % 24)
        strbuf_printf(out, "%lldd%lldh", (long long)days, (long long)hours % 24);
    else if (days < 365 * 2)
        strbuf_printf(out, "%lldd", (long long)days);
    else if (days < 365 * 8 && days % 365)
        strbuf_printf(out, "%lldy%lldd", (long long)days / 365, (long long)days % 365);
    else
        strbuf_printf(out, "%lldy", (long long)days / 365);
}

void cell_write_since(const struct cell *cell, struct str time, const char *absent, struct strbuf *out)
{
    struct timestamp at;
    if (timestamp_parse(time, &at))
        cell_write_duration(cell->now_s - at.seconds, out);
    else
        strbuf_puts(out, absent);
}

/* ---- fields ---- */
static void write_scalar(yyjson_val *val, const char *absent, struct strbuf *out)
{
    if (yyjson_is_str(val) && yyjson_get_len(val))
        strbuf_str(out, doc_text(val));
    else if (yyjson_is_int(val))
        strbuf_printf(out, "%lld", (long long)yyjson_get_sint(val));
    else if (yyjson_is_bool(val))
        strbuf_puts(out, yyjson_get_bool(val) ? "true" : "false");
    else
        strbuf_puts(out, absent);
}

void cell_text(const struct cell *cell, struct strbuf *out)
{
    write_scalar(tree_at(cell->object, cell->argument), cell->absent, out);
}

void cell_trimmed(const struct cell *cell, struct strbuf *out)
{
    strbuf_str(out, utf8_trim(tree_text(cell->object, cell->argument)));
}

void cell_integer(const struct cell *cell, struct strbuf *out)
{
    strbuf_printf(out, "%lld", (long long)tree_int(cell->object, cell->argument, 0));
}

void cell_boolean(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *val = tree_at(cell->object, cell->argument);
    strbuf_puts(out, yyjson_is_bool(val) ? yyjson_get_bool(val) ? "true" : "false" : cell->absent);
}

void cell_count(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *val = tree_at(cell->object, cell->argument);
    strbuf_printf(out, "%zu", yyjson_is_obj(val) ? yyjson_obj_size(val) : yyjson_arr_size(val));
}

void cell_data_count(const struct cell *cell, struct strbuf *out)
{
    strbuf_printf(out, "%zu",
                  yyjson_obj_size(tree_at(cell->object, "data")) +
                      yyjson_obj_size(tree_at(cell->object, "binaryData")));
}

void cell_age(const struct cell *cell, struct strbuf *out)
{
    cell_write_since(cell, tree_text(cell->object, cell->argument), cell->absent, out);
}

void cell_empty(const struct cell *cell _unused_, struct strbuf *out _unused_)
{
}

static void write_joined(yyjson_val *list, const char *key, struct strbuf *out)
{
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach(doc_items(list), i, max, item) {
        strbuf_puts(out, i ? "," : "");
        strbuf_str(out, key ? tree_text(item, key) : doc_text(item));
    }
}

void cell_joined(const struct cell *cell, struct strbuf *out)
{
    size_t before = out->len;
    write_joined(tree_at(cell->object, cell->argument), NULL, out);
    if (out->len == before)
        strbuf_puts(out, cell->absent);
}

void cell_container_names(const struct cell *cell, struct strbuf *out)
{
    write_joined(tree_at(cell->object, cell->argument), "name", out);
}

void cell_container_images(const struct cell *cell, struct strbuf *out)
{
    write_joined(tree_at(cell->object, cell->argument), "image", out);
}

/* ---- selectors ---- */
static void write_pairs(yyjson_val *pairs, struct strbuf *out)
{
    yyjson_val *key, *val;
    size_t i, max;
    yyjson_obj_foreach(doc_items(pairs), i, max, key, val)
        strbuf_printf(out, "%s" STR_FMT "=" STR_FMT, i ? "," : "", STR_ARG(doc_text(key)),
                      STR_ARG(doc_text(val)));
}

void cell_labels(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *pairs = tree_at(cell->object, cell->argument);
    if (yyjson_obj_size(pairs))
        write_pairs(pairs, out);
    else
        strbuf_puts(out, "<none>");
}

static void write_expression(yyjson_val *expression, struct strbuf *out)
{
    struct str op = tree_text(expression, "operator"), key = tree_text(expression, "key");
    if (str_is(op, "DoesNotExist"))
        strbuf_putc(out, '!');
    strbuf_str(out, key);
    if (!str_is(op, "In") && !str_is(op, "NotIn"))
        return;
    strbuf_puts(out, str_is(op, "In") ? " in (" : " notin (");
    write_joined(tree_at(expression, "values"), NULL, out);
    strbuf_putc(out, ')');
}

void cell_selector(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *selector = tree_at(cell->object, cell->argument), *item;
    size_t before = out->len, i, max;
    write_pairs(tree_at(selector, "matchLabels"), out);
    yyjson_arr_foreach(doc_items(tree_at(selector, "matchExpressions")), i, max, item) {
        strbuf_puts(out, out->len > before ? "," : "");
        write_expression(item, out);
    }
    if (out->len == before)
        strbuf_puts(out, "<none>");
}

/* ---- workloads ---- */
void cell_ready_of(const struct cell *cell, struct strbuf *out)
{
    strbuf_printf(out, "%lld/%lld", (long long)tree_int(cell->object, cell->argument, 0),
                  (long long)tree_int(cell->object, "spec.replicas", 1));
}

void cell_controller(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *owner;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(cell->object, "metadata.ownerReferences")), i, max, owner) {
        if (!tree_bool(owner, "controller"))
            continue;
        struct str version = tree_text(owner, "apiVersion"), kind = tree_text(owner, "kind");
        for (uint32_t j = 0; j < kind.len; j++)
            strbuf_putc(out,
                        (char)(kind.ptr[j] >= 'A' && kind.ptr[j] <= 'Z' ? kind.ptr[j] + 32 : kind.ptr[j]));
        struct str group = str_find(version, '/') > 0 ? str_cut(&version, '/') : STR("");
        if (group.len)
            strbuf_printf(out, "." STR_FMT, STR_ARG(group));
        strbuf_printf(out, "/" STR_FMT, STR_ARG(tree_text(owner, "name")));
        return;
    }
    strbuf_puts(out, "<none>");
}

/* The condition of this type; NULL: there is none. */
static yyjson_val *condition_of(yyjson_val *object, const char *type)
{
    yyjson_val *condition;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(object, "status.conditions")), i, max, condition) {
        if (str_is(tree_text(condition, "type"), type))
            return condition;
    }
    return NULL;
}

/* Those that are served, sorted. */
void cell_definition_versions(const struct cell *cell, struct strbuf *out)
{
    VEC(struct str) names = { 0 };
    struct arena arena = { 0 };
    yyjson_val *version;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(cell->object, "spec.versions")), i, max, version) {
        if (tree_bool(version, "served"))
            *vec_push(&names) = arena_printf(&arena, STR_FMT "%s", STR_ARG(tree_text(version, "name")),
                                             tree_bool(version, "storage") ? "(storage)" : "");
    }
    vec_sort(&names, str_qsort_cmp);
    for (i = 0; i < names.len; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? "," : "", STR_ARG(names.items[i]));
    vec_release(&names);
    arena_release(&arena);
}

void cell_definition_established(const struct cell *cell, struct strbuf *out)
{
    struct str status = tree_text(condition_of(cell->object, "Established"), "status");
    strbuf_puts(out, str_is(status, "True") ? "true" : "false");
}

void cell_group_policy(const struct cell *cell, struct strbuf *out)
{
    strbuf_puts(out, tree_at(cell->object, "spec.schedulingPolicy.gang") ? "Gang" : "Basic");
}

void cell_group_status(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *scheduled = condition_of(cell->object, "PodGroupInitiallyScheduled"),
               *target = condition_of(cell->object, "DisruptionTarget");
    if (target)
        strbuf_str(out, tree_text(target, "reason"));
    else if (!scheduled)
        strbuf_puts(out, "Pending");
    else
        strbuf_puts(out, str_is(tree_text(scheduled, "status"), "True") ? "Scheduled" : "Unschedulable");
}

void cell_suspended(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *val = tree_at(cell->object, "spec.suspend");
    strbuf_puts(out, !val ? "\"<unset>\"" : yyjson_is_true(val) ? "\"True\"" : "\"False\"");
}

static bool has_condition(yyjson_val *object, const char *type)
{
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(object, "status.conditions")), i, max, item) {
        if (str_is(tree_text(item, "type"), type))
            return str_is(tree_text(item, "status"), "True");
    }
    return false;
}

void cell_job_status(const struct cell *cell, struct strbuf *out)
{
    static const char *const late[][2] = { { "Suspended", "Suspended" },
                                           { "FailureTarget", "FailureTarget" },
                                           { "SuccessCriteriaMet", "SuccessCriteriaMet" } };
    const char *status = has_condition(cell->object, "Complete")               ? "Complete"
                         : has_condition(cell->object, "Failed")               ? "Failed"
                         : tree_at(cell->object, "metadata.deletionTimestamp") ? "Terminating"
                                                                               : NULL;
    for (size_t i = 0; i < ARRAY_SIZE(late) && !status; i++)
        if (has_condition(cell->object, late[i][0]))
            status = late[i][1];
    strbuf_puts(out, status ? status : "Running");
}

void cell_job_completions(const struct cell *cell, struct strbuf *out)
{
    long long done = tree_int(cell->object, "status.succeeded", 0);
    long long wanted = tree_int(cell->object, "spec.completions", -1);
    long long width = tree_int(cell->object, "spec.parallelism", 0);
    if (wanted >= 0)
        strbuf_printf(out, "%lld/%lld", done, wanted);
    else if (width > 1)
        strbuf_printf(out, "%lld/1 of %lld", done, width);
    else
        strbuf_printf(out, "%lld/1", done);
}

void cell_job_duration(const struct cell *cell, struct strbuf *out)
{
    struct timestamp from, to = { .seconds = cell->now_s };
    if (!timestamp_parse(tree_text(cell->object, "status.startTime"), &from))
        return;
    timestamp_parse(tree_text(cell->object, "status.completionTime"), &to);
    cell_write_duration(to.seconds - from.seconds, out);
}

/* ---- events ---- */
static void write_first_seen(const struct cell *cell, struct strbuf *out)
{
    struct str first = tree_text(cell->object, "firstTimestamp");
    cell_write_since(cell, first.len ? first : tree_text(cell->object, "eventTime"), "<unknown>", out);
}

void cell_first_seen(const struct cell *cell, struct strbuf *out)
{
    write_first_seen(cell, out);
}

void cell_last_seen(const struct cell *cell, struct strbuf *out)
{
    struct str last = tree_text(cell->object, "series.lastObservedTime");
    if (!last.len)
        last = tree_text(cell->object, "lastTimestamp");
    if (last.len)
        cell_write_since(cell, last, "<unknown>", out);
    else
        write_first_seen(cell, out);
}

void cell_event_object(const struct cell *cell, struct strbuf *out)
{
    struct str kind = tree_text(cell->object, "involvedObject.kind"),
               name = tree_text(cell->object, "involvedObject.name");
    for (uint32_t i = 0; i < kind.len; i++)
        strbuf_putc(out, (char)(kind.ptr[i] >= 'A' && kind.ptr[i] <= 'Z' ? kind.ptr[i] + 32 : kind.ptr[i]));
    if (name.len)
        strbuf_printf(out, "/" STR_FMT, STR_ARG(name));
}

void cell_event_source(const struct cell *cell, struct strbuf *out)
{
    struct str component = tree_text(cell->object, "source.component"),
               host = tree_text(cell->object, "source.host");
    strbuf_str(out, component.len ? component : tree_text(cell->object, "reportingComponent"));
    if (!host.len)
        host = tree_text(cell->object, "reportingInstance");
    if (host.len)
        strbuf_printf(out, ", " STR_FMT, STR_ARG(host));
}

void cell_event_count(const struct cell *cell, struct strbuf *out)
{
    int64_t count = tree_int(cell->object, "series.count", tree_int(cell->object, "count", 0));
    strbuf_printf(out, "%lld", (long long)(count ? count : 1));
}

/* ---- volumes ---- */
void cell_volume_phase(const struct cell *cell, struct strbuf *out)
{
    if (tree_at(cell->object, "metadata.deletionTimestamp"))
        strbuf_puts(out, "Terminating");
    else
        strbuf_str(out, tree_text(cell->object, "status.phase"));
}

void cell_volume_claim(const struct cell *cell, struct strbuf *out)
{
    if (tree_at(cell->object, "spec.claimRef"))
        strbuf_printf(out, STR_FMT "/" STR_FMT, STR_ARG(tree_text(cell->object, "spec.claimRef.namespace")),
                      STR_ARG(tree_text(cell->object, "spec.claimRef.name")));
}

static void write_modes(yyjson_val *list, struct strbuf *out)
{
    static const char *const modes[][2] = { { "ReadWriteOnce", "RWO" },
                                            { "ReadOnlyMany", "ROX" },
                                            { "ReadWriteMany", "RWX" },
                                            { "ReadWriteOncePod", "RWOP" } };
    size_t before = out->len, i, max;
    for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
        yyjson_val *item;
        bool is_there = false;
        yyjson_arr_foreach(doc_items(list), i, max, item)
            is_there = is_there || str_is(doc_text(item), modes[m][0]);
        if (is_there)
            strbuf_printf(out, "%s%s", out->len > before ? "," : "", modes[m][1]);
    }
}

void cell_access_modes(const struct cell *cell, struct strbuf *out)
{
    write_modes(tree_at(cell->object, cell->argument), out);
}

void cell_claim_modes(const struct cell *cell, struct strbuf *out)
{
    if (tree_text(cell->object, "spec.volumeName").len)
        write_modes(tree_at(cell->object, "status.accessModes"), out);
}

void cell_claim_capacity(const struct cell *cell, struct strbuf *out)
{
    if (tree_text(cell->object, "spec.volumeName").len)
        write_scalar(tree_at(cell->object, "status.capacity.storage"), "0", out);
}

void cell_storage_class_name(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *annotations = tree_at(cell->object, "metadata.annotations");
    strbuf_str(out, tree_text(cell->object, "metadata.name"));
    if (str_is(doc_text(yyjson_obj_get(annotations, "storageclass.kubernetes.io/is-default-class")), "true"))
        strbuf_puts(out, " (default)");
}

void cell_claim_state(const struct cell *cell, struct strbuf *out)
{
    bool is_deleted = tree_at(cell->object, "metadata.deletionTimestamp");
    bool is_allocated = tree_at(cell->object, "status.allocation");
    if (is_deleted)
        strbuf_puts(out, is_allocated ? "deleted," : "deleted");
    else if (!is_allocated)
        strbuf_puts(out, "pending");
    if (is_allocated)
        strbuf_puts(out, yyjson_arr_size(tree_at(cell->object, "status.reservedFor")) ? "allocated,reserved"
                                                                                      : "allocated");
}

void cell_audiences(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *list = tree_at(cell->object, "spec.tokenRequests");
    if (list)
        write_joined(list, "audience", out);
    else
        strbuf_puts(out, "<unset>");
}

void cell_quota(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *key, *val, *used = tree_at(cell->object, "status.used");
    size_t before = out->len, i, max;
    yyjson_obj_foreach(doc_items(tree_at(cell->object, "status.hard")), i, max, key, val) {
        if (str_starts_with(doc_text(key), STR("limits.")) != (*cell->argument != '\0'))
            continue;
        strbuf_printf(out, "%s" STR_FMT ": ", out->len > before ? ", " : "", STR_ARG(doc_text(key)));
        write_scalar(yyjson_obj_getn(used, yyjson_get_str(key), yyjson_get_len(key)), "0", out);
        strbuf_putc(out, '/');
        write_scalar(val, "0", out);
    }
}

/* ---- services ---- */
void cell_service_external(const struct cell *cell, struct strbuf *out)
{
    struct str type = tree_text(cell->object, "spec.type");
    size_t before = out->len;
    if (str_is(type, "ExternalName")) {
        strbuf_str(out, tree_text(cell->object, "spec.externalName"));
        return;
    }
    if (str_is(type, "LoadBalancer"))
        write_joined(tree_at(cell->object, "status.loadBalancer.ingress"), "ip", out);
    write_joined(tree_at(cell->object, "spec.externalIPs"), NULL, out);
    if (out->len == before)
        strbuf_puts(out, str_is(type, "LoadBalancer") ? "<pending>" : "<none>");
}

void cell_service_ports(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *list = tree_at(cell->object, "spec.ports"), *port;
    size_t i, max;
    yyjson_arr_foreach(doc_items(list), i, max, port) {
        int64_t outside = tree_int(port, "nodePort", 0);
        strbuf_printf(out, "%s%lld", i ? "," : "", (long long)tree_int(port, "port", 0));
        if (outside > 0)
            strbuf_printf(out, ":%lld", (long long)outside);
        struct str protocol = tree_text(port, "protocol");
        strbuf_printf(out, "/" STR_FMT, STR_ARG(protocol.len ? protocol : STR("TCP")));
    }
    if (!yyjson_arr_size(list))
        strbuf_puts(out, "<none>");
}

void cell_endpoints(const struct cell *cell, struct strbuf *out)
{
    enum { SHOWN_MAX = 3 };
    yyjson_val *subset, *port, *address;
    size_t count = 0, i, j, k, imax, jmax, kmax;
    yyjson_arr_foreach(doc_items(tree_at(cell->object, "subsets")), i, imax, subset)
        yyjson_arr_foreach(doc_items(tree_at(subset, "ports")), j, jmax, port)
            yyjson_arr_foreach(doc_items(tree_at(subset, "addresses")), k, kmax, address) {
                if (count++ < SHOWN_MAX)
                    strbuf_printf(out, "%s" STR_FMT ":%lld", count > 1 ? "," : "",
                                  STR_ARG(tree_text(address, "ip")), (long long)tree_int(port, "port", 0));
            }
    if (count > SHOWN_MAX)
        strbuf_printf(out, " + %zu more...", count - SHOWN_MAX);
    if (!count)
        strbuf_puts(out, "<none>");
}

void cell_slice_ports(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *list = tree_at(cell->object, "ports"), *port;
    size_t i, max;
    yyjson_arr_foreach(doc_items(list), i, max, port)
        strbuf_printf(out, "%s%lld", i ? "," : "", (long long)tree_int(port, "port", 0));
    if (!yyjson_arr_size(list))
        strbuf_puts(out, "<unset>");
}

void cell_slice_endpoints(const struct cell *cell, struct strbuf *out)
{
    enum { SHOWN_MAX = 3 };
    yyjson_val *endpoint, *address;
    size_t count = 0, i, j, imax, jmax;
    yyjson_arr_foreach(doc_items(tree_at(cell->object, "endpoints")), i, imax, endpoint)
        yyjson_arr_foreach(doc_items(tree_at(endpoint, "addresses")), j, jmax, address) {
            if (count++ < SHOWN_MAX)
                strbuf_printf(out, "%s" STR_FMT, count > 1 ? "," : "", STR_ARG(doc_text(address)));
        }
    if (count > SHOWN_MAX)
        strbuf_printf(out, " + %zu more...", count - SHOWN_MAX);
    if (!count)
        strbuf_puts(out, "<unset>");
}

void cell_ingress_hosts(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *list = tree_at(cell->object, "spec.rules"), *rule;
    size_t before = out->len, i, max;
    yyjson_arr_foreach(doc_items(list), i, max, rule) {
        struct str host = tree_text(rule, "host");
        if (host.len)
            strbuf_printf(out, "%s" STR_FMT, out->len > before ? "," : "", STR_ARG(host));
    }
    if (out->len == before)
        strbuf_putc(out, '*');
}

void cell_ingress_ports(const struct cell *cell, struct strbuf *out)
{
    strbuf_puts(out, yyjson_arr_size(tree_at(cell->object, "spec.tls")) ? "80, 443" : "80");
}

/* ---- roles ---- */
void cell_role_ref(const struct cell *cell, struct strbuf *out)
{
    strbuf_printf(out, STR_FMT "/" STR_FMT, STR_ARG(tree_text(cell->object, "roleRef.kind")),
                  STR_ARG(tree_text(cell->object, "roleRef.name")));
}

void cell_subjects(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *item;
    size_t before = out->len, i, max;
    yyjson_arr_foreach(doc_items(tree_at(cell->object, "subjects")), i, max, item) {
        struct str ns = tree_text(item, "namespace");
        if (!str_is(tree_text(item, "kind"), cell->argument))
            continue;
        strbuf_puts(out, out->len > before ? ", " : "");
        if (ns.len)
            strbuf_printf(out, STR_FMT "/", STR_ARG(ns));
        strbuf_str(out, tree_text(item, "name"));
    }
}
