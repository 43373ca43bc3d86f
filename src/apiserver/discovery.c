/* discovery.c: /version, health, /api, /apis and what is below, all from the table of resources. Groups and versions
 * come in the order of resources_listed(); the first version of a group is the preferred one. */
#include "apiserver/discovery.h"

#include "codec/json_writer.h"

#define DISCOVERY_TYPE "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

#define FOR_EACH_ROW(row) \
    const struct api_resource *const *rows_, *row; \
    size_t count_ = resources_listed(&rows_); \
    for (size_t at_ = 0; at_ < count_ && (row = rows_[at_]); at_++)

/* The first row of the group, or of one of its versions; NULL: there is none. */
static const struct api_resource *first_of(struct str group, struct str version)
{
    FOR_EACH_ROW(row)
    if (str_eq(row->group, group) && (!version.ptr || str_eq(row->version, version)))
        return row;
    return NULL;
}

static bool is_first(const struct api_resource *row, bool of_version)
{
    return first_of(row->group, of_version ? row->version : (struct str){ 0 }) == row;
}

static void write_strs(struct json_writer *json, const char *key, struct str list)
{
    if (!list.len)
        return;
    json_member_array(json, key);
    while (list.len)
        json_str(json, str_cut(&list, ','));
    json_end_array(json);
}

/* Of custom resources in the order of kube-apiserver's own code for them. */
static void write_verbs(struct json_writer *json, uint32_t verbs, bool is_custom)
{
    static const enum api_verb of_custom[VERB_NUMBER_COUNT] = { VERB_DELETE, VERB_DELETECOLLECTION,
                                                                VERB_GET,    VERB_LIST,
                                                                VERB_PATCH,  VERB_CREATE,
                                                                VERB_UPDATE, VERB_WATCH };
    json_member_array(json, "verbs");
    for (int i = 0; i < VERB_NUMBER_COUNT; i++) {
        enum api_verb verb = is_custom ? of_custom[i] : (enum api_verb)(1 << i);
        if (verbs & verb)
            json_str(json, str_from(verb_name(verb)));
    }
    json_end_array(json);
}

/* ---- aggregated ---- */
static void write_response_kind(struct json_writer *json, struct str group, struct str version,
                                struct str kind)
{
    json_member_object(json, "responseKind");
    json_member_str(json, "group", group);
    json_member_str(json, "version", version);
    json_member_str(json, "kind", kind);
    json_end_object(json);
}

static void write_aggregated_parts(struct json_writer *json, const struct api_resource *row)
{
    if (!row->subresources)
        return;
    json_member_array(json, "subresources");
    for (int i = 0; i < SUB_NUMBER_COUNT; i++) {
        const struct subresource_row *part = &subresource_rows[i];
        if (!(row->subresources & (1u << i)))
            continue;
        json_begin_object(json);
        json_member_str(json, "subresource", part->name);
        write_response_kind(json, part->group, part->version, part->kind.len ? part->kind : row->kind);
        write_verbs(json, part->verbs, false);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_aggregated_resource(struct json_writer *json, const struct api_resource *row)
{
    json_begin_object(json);
    json_member_str(json, "resource", row->plural);
    write_response_kind(json, (struct str){ 0 }, (struct str){ 0 }, row->kind);
    json_member_str(json, "scope", row->namespaced ? STR("Namespaced") : STR("Cluster"));
    json_member_str(json, "singularResource", row->singular);
    write_verbs(json, row->verbs, row->is_custom);
    write_strs(json, "shortNames", row->short_names);
    write_strs(json, "categories", row->categories);
    write_aggregated_parts(json, row);
    json_end_object(json);
}

static void write_aggregated_version(struct json_writer *json, const struct api_resource *first)
{
    json_begin_object(json);
    json_member_str(json, "version", first->version);
    json_member_array(json, "resources");
    FOR_EACH_ROW(row)
    if (str_eq(row->group, first->group) && str_eq(row->version, first->version))
        write_aggregated_resource(json, row);
    json_end_array(json);
    json_member_str(json, "freshness", STR("Current"));
    json_end_object(json);
}

static void write_aggregated_versions(struct json_writer *json, const struct api_resource *first)
{
    json_member_array(json, "versions");
    FOR_EACH_ROW(row)
    if (str_eq(row->group, first->group) && is_first(row, true))
        write_aggregated_version(json, row);
    json_end_array(json);
}

static void write_aggregated(struct json_writer *json, bool core)
{
    json_begin_object(json);
    json_member_str(json, "kind", STR("APIGroupDiscoveryList"));
    json_member_str(json, "apiVersion", STR("apidiscovery.k8s.io/v2"));
    json_member_object(json, "metadata");
    json_end_object(json);
    json_member_array(json, "items");
    FOR_EACH_ROW(row)
    {
        if (str_empty(row->group) != core || !is_first(row, false))
            continue;
        json_begin_object(json);
        json_member_object(json, "metadata");
        if (!core)
            json_member_str(json, "name", row->group);
        json_key(json, STR("creationTimestamp"));
        json_null(json);
        json_end_object(json);
        write_aggregated_versions(json, row);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

/* ---- one by one ---- */
static void write_version(struct json_writer *json, const struct api_resource *row)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    resource_write_version(row, &text);
    json_begin_object(json);
    json_member_str(json, "groupVersion", strbuf_slice(&text));
    json_member_str(json, "version", row->version);
    json_end_object(json);
}

static void write_group_members(struct json_writer *json, const struct api_resource *first)
{
    json_member_str(json, "name", first->group);
    json_member_array(json, "versions");
    FOR_EACH_ROW(row)
    if (str_eq(row->group, first->group) && is_first(row, true))
        write_version(json, row);
    json_end_array(json);
    json_key(json, STR("preferredVersion"));
    write_version(json, first);
}

static void write_groups(struct json_writer *json)
{
    json_begin_object(json);
    json_member_str(json, "kind", STR("APIGroupList"));
    json_member_str(json, "apiVersion", STR("v1"));
    json_member_array(json, "groups");
    FOR_EACH_ROW(row)
    {
        if (str_empty(row->group) || !is_first(row, false))
            continue;
        json_begin_object(json);
        write_group_members(json, row);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_group(struct json_writer *json, const struct api_resource *first)
{
    json_begin_object(json);
    json_member_str(json, "kind", STR("APIGroup"));
    json_member_str(json, "apiVersion", STR("v1"));
    write_group_members(json, first);
    json_end_object(json);
}

static void write_resource(struct json_writer *json, const struct api_resource *row,
                           const struct subresource_row *part)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    strbuf_str(&name, row->plural);
    if (part)
        strbuf_printf(&name, "/" STR_FMT, STR_ARG(part->name));
    json_begin_object(json);
    json_member_str(json, "name", strbuf_slice(&name));
    json_member_str(json, "singularName", part ? STR("") : row->singular);
    json_member_bool(json, "namespaced", row->namespaced);
    if (part && part->version.len) {
        json_member_str(json, "group", part->group);
        json_member_str(json, "version", part->version);
    }
    json_member_str(json, "kind", part && part->kind.len ? part->kind : row->kind);
    write_verbs(json, part ? part->verbs : row->verbs, !part && row->is_custom);
    if (!part) {
        write_strs(json, "shortNames", row->short_names);
        write_strs(json, "categories", row->categories);
    }
    json_end_object(json);
}

static void write_resources(struct json_writer *json, const struct api_resource *first)
{
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    resource_write_version(first, &version);
    json_begin_object(json);
    json_member_str(json, "kind", STR("APIResourceList"));
    if (first->group.len)
        json_member_str(json, "apiVersion", STR("v1"));
    json_member_str(json, "groupVersion", strbuf_slice(&version));
    json_member_array(json, "resources");
    FOR_EACH_ROW(row)
    {
        if (!str_eq(row->group, first->group) || !str_eq(row->version, first->version))
            continue;
        write_resource(json, row, NULL);
        for (int j = 0; j < SUB_NUMBER_COUNT; j++)
            if (row->subresources & (1u << j))
                write_resource(json, row, &subresource_rows[j]);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_core_versions(struct json_writer *json, struct str address)
{
    json_begin_object(json);
    json_member_str(json, "kind", STR("APIVersions"));
    json_member_strs(json, "versions", &STR("v1"), 1);
    json_member_array(json, "serverAddressByClientCIDRs");
    json_begin_object(json);
    json_member_str(json, "clientCIDR", STR("0.0.0.0/0"));
    json_member_str(json, "serverAddress", address);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
}

/* As a Kubernetes release that berth follows, so that clients of about that age are content. */
static void write_release(struct json_writer *json)
{
    json_begin_object(json);
    json_member_str(json, "major", STR("1"));
    json_member_str(json, "minor", STR("37"));
    json_member_str(json, "emulationMajor", STR("1"));
    json_member_str(json, "emulationMinor", STR("37"));
    json_member_str(json, "minCompatibilityMajor", STR("1"));
    json_member_str(json, "minCompatibilityMinor", STR("36"));
    json_member_str(json, "gitVersion", STR("v1.37.1+berth"));
    json_member_str(json, "gitCommit", STR(""));
    json_member_str(json, "gitTreeState", STR(""));
    json_member_str(json, "buildDate", STR("1970-01-01T00:00:00Z"));
    json_member_str(json, "goVersion", STR(""));
    json_member_str(json, "compiler", STR("cc"));
    json_member_str(json, "platform", STR("linux/amd64"));
    json_end_object(json);
}

/* ---- paths ---- */
static bool is_health(struct str path)
{
    struct str rest = str_trim(path, "/");
    struct str root = str_cut(&rest, '/');
    return str_is(root, "healthz") || str_is(root, "livez") || str_is(root, "readyz");
}

bool discovery_is_public(struct str path)
{
    return is_health(path) || str_is(str_trim(path, "/"), "version");
}

static bool answer_group(struct str rest, bool core, struct json_writer *json)
{
    struct str group = core ? STR("") : str_cut(&rest, '/');
    struct str version = str_cut(&rest, '/');
    const struct api_resource *first = rest.len ? NULL : first_of(group, version);
    if (!first)
        return false;
    if (version.ptr)
        write_resources(json, first);
    else
        write_group(json, first);
    return true;
}

bool discovery_answer(struct str path, struct str accept, struct str address, struct discovery_answer *ret)
{
    struct json_writer json = json_writer(&ret->body, JSON_COMPACT);
    struct str rest = str_trim(path, "/");
    struct accepted accepted = { 0 };
    ret->content_type = "application/json";
    if (is_health(path)) {
        ret->content_type = "text/plain; charset=utf-8";
        strbuf_puts(&ret->body, "ok");
        return true;
    }
    if (str_is(rest, "version")) {
        write_release(&json);
        return true;
    }
    struct str root = str_cut(&rest, '/');
    bool core = str_is(root, "api");
    if (!core && !str_is(root, "apis"))
        return false;
    if (rest.len)
        return answer_group(rest, core, &json);
    accepted_parse(accept, true, &accepted);
    if (accepted.form == FORM_DISCOVERY) {
        ret->content_type = DISCOVERY_TYPE;
        write_aggregated(&json, core);
    } else if (core) {
        write_core_versions(&json, address);
    } else {
        write_groups(&json);
    }
    return true;
}
