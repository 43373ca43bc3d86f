/* output.c: forms of answers.
 *
 * Most objects are answered with the very text that is stored. Events have two versions with other names of fields,
 * and custom resources may have several versions that differ in their apiVersion: these are rewritten. */
#include "apiserver/output.h"

#include "apiserver/table.h"
#include "apiserver/tree.h"

/* Fields of core/v1 Events, which are stored, and of events.k8s.io/v1. */
static const struct {
    const char *stored, *shown;
} event_fields[] = {
    { "involvedObject", "regarding" },
    { "message", "note" },
    { "source", "deprecatedSource" },
    { "firstTimestamp", "deprecatedFirstTimestamp" },
    { "lastTimestamp", "deprecatedLastTimestamp" },
    { "count", "deprecatedCount" },
    { "reportingComponent", "reportingController" },
};

/* Objects of a custom resource may have been stored in another version. */
static bool is_stored_form(const struct api_resource *resource)
{
    return !resource->is_custom && resource->number == resource->storage;
}

static void rename_member(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *from, const char *to)
{
    yyjson_mut_val *val = yyjson_mut_obj_remove_key(object, from);
    if (val)
        tree_mut_put(doc, object, str_from(to), val);
}

void output_to_stored(const struct api_resource *resource, yyjson_mut_doc *doc)
{
    if (!is_stored_form(resource) && str_is(resource->group, "events.k8s.io"))
        for (size_t i = 0; i < ARRAY_SIZE(event_fields); i++)
            rename_member(doc, yyjson_mut_doc_get_root(doc), event_fields[i].shown, event_fields[i].stored);
}

static void to_shown(const struct api_resource *resource, yyjson_mut_doc *doc)
{
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
    resource_write_version(resource, &version);
    tree_mut_put_str(doc, object, "apiVersion", strbuf_slice(&version));
    if (str_is(resource->group, "events.k8s.io"))
        for (size_t i = 0; i < ARRAY_SIZE(event_fields); i++)
            rename_member(doc, object, event_fields[i].stored, event_fields[i].shown);
}

static bool has_version(const struct api_resource *resource, yyjson_val *object)
{
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    resource_write_version(resource, &version);
    return str_eq(tree_text(object, "apiVersion"), strbuf_slice(&version));
}

static void write_whole(const struct api_resource *resource, struct str json, struct strbuf *out)
{
    if (is_stored_form(resource)) {
        strbuf_str(out, json);
        return;
    }
    yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
    if (resource->is_custom && has_version(resource, yyjson_doc_get_root(doc))) {
        strbuf_str(out, json);
    } else {
        yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
        to_shown(resource, copy);
        tree_mut_write(yyjson_mut_doc_get_root(copy), out);
        yyjson_mut_doc_free(copy);
    }
    yyjson_doc_free(doc);
}

/* {"kind":"PartialObjectMetadata", ..., "metadata":{...}}. */
static void write_partial(const struct output *output, yyjson_val *object, struct strbuf *out)
{
    strbuf_puts(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/");
    strbuf_str(out, output->accepted.version.len ? output->accepted.version : STR("v1"));
    strbuf_puts(out, "\",\"metadata\":");
    tree_write(yyjson_obj_get(object, "metadata"), out);
    strbuf_putc(out, '}');
}

static void begin_table(struct output *output, struct str revision, struct strbuf *out)
{
    strbuf_puts(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/");
    strbuf_str(out, output->accepted.version);
    strbuf_puts(out, "\",\"metadata\":{\"resourceVersion\":\"");
    strbuf_str(out, revision);
    strbuf_puts(out, "\"");
}

static void write_row(struct output *output, struct str json, struct strbuf *out)
{
    yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
    yyjson_val *object = yyjson_doc_get_root(doc);
    strbuf_puts(out, "{\"cells\":");
    table_write_cells(output->resource, object, out);
    if (!str_is(output->include_object, "None")) {
        strbuf_puts(out, ",\"object\":");
        if (str_is(output->include_object, "Object"))
            write_whole(output->resource, json, out);
        else
            write_partial(output, object, out);
    }
    strbuf_putc(out, '}');
    yyjson_doc_free(doc);
}

static struct str revision_of(yyjson_val *object)
{
    return tree_text(object, "metadata.resourceVersion");
}

void output_object(struct output *output, struct str json, struct strbuf *out)
{
    if (output->accepted.form == FORM_OBJECT) {
        write_whole(output->resource, json, out);
        return;
    }
    yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
    yyjson_val *object = yyjson_doc_get_root(doc);
    if (output->accepted.form == FORM_PARTIAL) {
        write_partial(output, object, out);
    } else {
        begin_table(output, revision_of(object), out);
        strbuf_puts(out, "},\"columnDefinitions\":");
        if (output->has_columns)
            strbuf_puts(out, "null");
        else
            table_write_columns(output->resource, out);
        output->has_columns = true;
        strbuf_puts(out, ",\"rows\":[");
        write_row(output, json, out);
        strbuf_puts(out, "]}");
    }
    yyjson_doc_free(doc);
}

/* ---- lists ---- */
static void write_list_type(const struct output *output, struct strbuf *out)
{
    if (output->accepted.form == FORM_PARTIAL) {
        strbuf_puts(out, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/");
        strbuf_str(out, output->accepted.version.len ? output->accepted.version : STR("v1"));
    } else {
        const struct api_resource *resource = output->resource;
        bool is_named = resource->list_kind.len;
        strbuf_printf(out, "{\"kind\":\"" STR_FMT "%s\",\"apiVersion\":\"",
                      STR_ARG(is_named ? resource->list_kind : resource->kind), is_named ? "" : "List");
        resource_write_version(output->resource, out);
    }
    strbuf_puts(out, "\",\"items\":[");
}

void output_list_begin(struct output_list *list, struct output *output, struct str revision,
                       struct strbuf *out)
{
    *list = (struct output_list){ .output = output, .out = out };
    if (output->accepted.form != FORM_TABLE) {
        write_list_type(output, out);
        return;
    }
    (void)revision;
    strbuf_puts(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/");
    strbuf_str(out, output->accepted.version);
    strbuf_puts(out, "\",\"columnDefinitions\":");
    table_write_columns(output->resource, out);
    strbuf_puts(out, ",\"rows\":[");
}

void output_list_item(struct output_list *list, struct str json)
{
    if (list->count++)
        strbuf_putc(list->out, ',');
    if (list->output->accepted.form == FORM_TABLE) {
        write_row(list->output, json, list->out);
    } else if (list->output->accepted.form == FORM_PARTIAL) {
        yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
        write_partial(list->output, yyjson_doc_get_root(doc), list->out);
        yyjson_doc_free(doc);
    } else {
        write_whole(list->output->resource, json, list->out);
    }
}

void output_list_end(struct output_list *list, struct str revision, struct str continue_token,
                     int64_t remaining)
{
    strbuf_puts(list->out, "],\"metadata\":{\"resourceVersion\":\"");
    strbuf_str(list->out, revision);
    strbuf_putc(list->out, '"');
    if (continue_token.len)
        strbuf_printf(list->out, ",\"continue\":\"" STR_FMT "\"", STR_ARG(continue_token));
    if (remaining > 0)
        strbuf_printf(list->out, ",\"remainingItemCount\":%lld", (long long)remaining);
    strbuf_puts(list->out, "}}");
}
