/* resources.h: the resources that the API server has, and their subresources: the table behind discovery, the paths of
 * requests, the store and OpenAPI.
 *
 * Built-in rows are those of resources.def and never change. Rows of CustomResourceDefinitions come and go, one per
 * version that is served; they stay in memory, and their numbers are not used again while the process runs. */
#ifndef APISERVER_RESOURCES_H
#define APISERVER_RESOURCES_H

#include "base/str.h"

/* In the order in which discovery lists them. */
#define API_VERBS(X) \
    X(CREATE, "create") \
    X(DELETE, "delete") \
    X(DELETECOLLECTION, "deletecollection") \
    X(GET, "get") \
    X(LIST, "list") \
    X(PATCH, "patch") \
    X(UPDATE, "update") \
    X(WATCH, "watch")

enum api_verb_number {
#define X(name, text) VERB_NUMBER_##name,
    API_VERBS(X)
#undef X
        VERB_NUMBER_COUNT
};
enum api_verb {
#define X(name, text) VERB_##name = 1 << VERB_NUMBER_##name,
    API_VERBS(X)
#undef X
        VERBS_ALL = (1 << VERB_NUMBER_COUNT) - 1,
    VERBS_OBJECT = VERB_GET | VERB_PATCH | VERB_UPDATE,
};
/* "get" of VERB_GET. */
const char *verb_name(enum api_verb verb);

/* X(NAME, text, kind where it is not the resource's, its group, its version, verbs), in the order of discovery. */
#define SUBRESOURCES(X) \
    X(BINDING, "binding", "Binding", "", "", VERB_CREATE) \
    X(EPHEMERALCONTAINERS, "ephemeralcontainers", "", "", "", VERBS_OBJECT) \
    X(EVICTION, "eviction", "Eviction", "policy", "v1", VERB_CREATE) \
    X(FINALIZE, "finalize", "", "", "", VERB_UPDATE) \
    X(LOG, "log", "", "", "", VERB_GET) \
    X(RESIZE, "resize", "", "", "", VERBS_OBJECT) \
    X(SCALE, "scale", "Scale", "autoscaling", "v1", VERBS_OBJECT) \
    X(STATUS, "status", "", "", "", VERBS_OBJECT)

enum subresource_number {
#define X(name, ...) SUB_NUMBER_##name,
    SUBRESOURCES(X)
#undef X
        SUB_NUMBER_COUNT
};
enum subresource {
    SUB_NONE = 0,
#define X(name, ...) SUB_##name = 1 << SUB_NUMBER_##name,
    SUBRESOURCES(X)
#undef X
};

struct subresource_row {
    struct str name, kind, group, version;
    uint32_t verbs;
};
extern const struct subresource_row subresource_rows[SUB_NUMBER_COUNT];
/* SUB_NONE: there is none of that name. */
enum subresource subresource_find(struct str name);
const struct subresource_row *subresource_row(enum subresource subresource);

struct api_resource {
    uint32_t number;
    uint32_t
        storage; /* the `kind` of the store that has its objects: for built-in rows the number of a row, that of
                         another one for events.k8s.io; the versions of a custom resource share one */
    struct str group, version, plural, singular, kind;
    struct str short_names, categories; /* commas between them */
    uint32_t verbs, subresources;
    bool namespaced;
    bool is_custom;
    /* Of a custom resource: the version in which objects are stored, the kind of lists, and its entry in spec.versions
     * of the CustomResourceDefinition, valid until the row is registered again. */
    struct str stored_version, list_kind;
    struct yyjson_val *definition;
};

enum { RESOURCES_CUSTOM_MAX = 512 };
/* Numbers are below this. */
uint32_t resources_max(void);
/* By number; NULL: there is none (any more). */
const struct api_resource *resource_at(uint32_t number);
/* One that has its objects in this kind of the store, always the same while it is served; NULL: there is none. */
const struct api_resource *resource_of_storage(uint32_t storage);
/* All that are served, as discovery lists them: built-in ones in the order of the table, then custom ones by group,
 * with versions from the most stable one. Returns how many; valid until resources change. */
size_t resources_listed(const struct api_resource *const **ret);
/* By group, version and plural name; NULL: there is none. */
const struct api_resource *resource_find(struct str group, struct str version, struct str plural);
/* Built-in ones, for code that is about them: RESOURCE_PODS is resource_find("", "v1", "pods"). */
const struct api_resource *resource_named(const char *group, const char *plural);

/* How often resources came or went. */
uint64_t resources_changes(void);
/* A resource of a CustomResourceDefinition, new or changed; texts and definition are copied, `storage` is the
 * caller's. NULL: there are too many. */
const struct api_resource *resource_register(const struct api_resource *row);
/* The number stays reserved for the same group, version and plural. */
void resource_unregister(const struct api_resource *resource);

/* "pods", "deployments.apps": how errors name it. Appended. */
void resource_write_name(const struct api_resource *resource, struct strbuf *out);
/* "v1", "apps/v1". Appended. */
void resource_write_version(const struct api_resource *resource, struct strbuf *out);
/* The same of what is stored. */
void resource_write_stored_version(const struct api_resource *resource, struct strbuf *out);

#endif
