/* openapi.h: OpenAPI documents of the API, from its types and the resources that are served.
 *
 * Version 3: an index, and one document per group version (kubectl explain; kubectl asks it whether the server
 * validates fields). Version 2: one document, as JSON, and as protobuf for kubectl of older releases. They have types,
 * paths and operations as far as clients use them; descriptions only of custom resources. */
#ifndef SCHEMA_OPENAPI_H
#define SCHEMA_OPENAPI_H

#include "base/str.h"
#include "base/vec.h"

enum openapi_verb {
    OPENAPI_LIST = 1,
    OPENAPI_CREATE = 2,
    OPENAPI_DELETE_COLLECTION = 4,
    OPENAPI_GET = 8,
    OPENAPI_UPDATE = 16,
    OPENAPI_PATCH = 32,
    OPENAPI_DELETE = 64,
};

/* A resource, or a subresource of one: its plural is "pods/status". */
struct openapi_resource {
    struct str group, version, plural;
    struct str kind_group, kind_version,
        kind; /* of its objects; a subresource may have those of another group */
    bool namespaced;
    unsigned verbs;
    struct str json_schema; /* of a custom resource, if it has one: a JSON object */
};

struct openapi_document {
    struct str path; /* "api/v1", "apis/apps/v1" */
    struct strbuf text;
};

struct openapi {
    VEC(struct openapi_document) documents; /* of version 3 */
    struct strbuf index;                    /* GET /openapi/v3 */
    struct strbuf v2;                       /* GET /openapi/v2, JSON */
    struct strbuf v2_protobuf;              /* application/com.github.proto-openapi.spec.v2@v1.0+protobuf */
};

/* Resources of a group version stand together. Everything is copied. To be built again when resources change. */
void openapi_build(struct openapi *openapi, const struct openapi_resource *resources, size_t count);
/* The document of GET /openapi/v3/PATH; NULL: none. */
const struct openapi_document *openapi_find(const struct openapi *openapi, struct str path);
void openapi_release(struct openapi *openapi);

#endif
