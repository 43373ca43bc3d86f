/* openapi_pages.c: the documents are made at the first request, and again when custom resources have changed. */
#include "apiserver/openapi_pages.h"

#include <stdlib.h>

#include "apiserver/resources.h"
#include "apiserver/tree.h"
#include "base/arena.h"
#include "schema/openapi.h"

struct openapi_pages {
    struct openapi openapi;
    uint64_t changes; /* of the table of resources that they were made of */
    bool is_built;
};

struct openapi_pages *openapi_pages_new(void)
{
    return xcalloc(1, sizeof(struct openapi_pages));
}

void openapi_pages_free(struct openapi_pages *pages)
{
    if (!pages)
        return;
    openapi_release(&pages->openapi);
    free(pages);
}

static const struct {
    uint32_t verb;
    unsigned openapi;
} verbs[] = {
    { VERB_CREATE, OPENAPI_CREATE },
    { VERB_DELETE, OPENAPI_DELETE },
    { VERB_DELETECOLLECTION, OPENAPI_DELETE_COLLECTION },
    { VERB_GET, OPENAPI_GET },
    { VERB_LIST, OPENAPI_LIST },
    { VERB_PATCH, OPENAPI_PATCH },
    { VERB_UPDATE, OPENAPI_UPDATE },
};

static unsigned verbs_of(uint32_t set)
{
    unsigned ret = 0;
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (set & verbs[i].verb)
            ret |= verbs[i].openapi;
    return ret;
}

static struct openapi_resource describe(const struct api_resource *row)
{
    return (struct openapi_resource){ .group = row->group,
                                      .version = row->version,
                                      .plural = row->plural,
                                      .kind_group = row->group,
                                      .kind_version = row->version,
                                      .kind = row->kind,
                                      .namespaced = row->namespaced,
                                      .verbs = verbs_of(row->verbs) };
}

static struct openapi_resource describe_part(const struct api_resource *row,
                                             const struct subresource_row *part, struct arena *arena)
{
    struct openapi_resource ret = describe(row);
    ret.plural = arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(row->plural), STR_ARG(part->name));
    ret.verbs = verbs_of(part->verbs);
    if (part->kind.len)
        ret.kind = part->kind;
    if (part->version.len) {
        ret.kind_group = part->group;
        ret.kind_version = part->version;
    }
    return ret;
}

/* Of a custom resource, as its definition has it; empty: none. */
static struct str schema_text(const struct api_resource *row, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    yyjson_val *schema = tree_at(row->definition, "schema.openAPIV3Schema");
    if (schema)
        tree_write(schema, &text);
    return arena_str(arena, strbuf_slice(&text));
}

static void build(struct openapi_pages *pages)
{
    VEC(struct openapi_resource) list = { 0 };
    struct arena arena = { 0 };
    const struct api_resource *const *rows;
    size_t count = resources_listed(&rows);
    for (size_t i = 0; i < count; i++) {
        const struct api_resource *row = rows[i];
        *vec_push(&list) = describe(row);
        if (row->is_custom)
            list.items[list.len - 1].json_schema = schema_text(row, &arena);
        for (int part = 0; part < SUB_NUMBER_COUNT; part++)
            if (row->subresources & (1u << part))
                *vec_push(&list) = describe_part(row, &subresource_rows[part], &arena);
    }
    openapi_release(&pages->openapi);
    pages->openapi = (struct openapi){ 0 };
    openapi_build(&pages->openapi, list.items, list.len);
    pages->is_built = true;
    pages->changes = resources_changes();
    vec_release(&list);
    arena_release(&arena);
}

bool openapi_pages_find(struct openapi_pages *pages, struct str path, struct str accept, struct str *ret_body,
                        const char **ret_content_type)
{
    /* Clients ask for ...v2@v1.0+protobuf. That is no valid media type, and kube-apiserver answers with this one. */
    static const char v2_protobuf[] = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    struct str rest = str_trim(path, "/");
    struct str root = str_cut(&rest, '/'), version = str_cut(&rest, '/');
    if (!str_is(root, "openapi"))
        return false;
    if (!pages->is_built || pages->changes != resources_changes())
        build(pages);
    *ret_content_type = "application/json";
    if (str_is(version, "v2") && !rest.len) {
        bool is_protobuf = str_contains(accept, STR("proto-openapi.spec.v2"));
        *ret_body = strbuf_slice(is_protobuf ? &pages->openapi.v2_protobuf : &pages->openapi.v2);
        if (is_protobuf)
            *ret_content_type = v2_protobuf;
        return true;
    }
    if (!str_is(version, "v3"))
        return false;
    const struct openapi_document *document = rest.len ? openapi_find(&pages->openapi, rest) : NULL;
    if (rest.len && !document)
        return false;
    *ret_body = strbuf_slice(document ? &document->text : &pages->openapi.index);
    return true;
}
