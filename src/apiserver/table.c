/* table.c: tables of objects. Resources without columns of their own show their name and when they were created;
 * custom resources have the columns of their definition. */
#include "apiserver/table.h"

#include <string.h>

#include "apiserver/json_path.h"
#include "apiserver/table_cells.h"
#include "apiserver/tree.h"
#include "base/clock.h"
#include "base/quote.h"
#include "codec/json_writer.h"

enum column_type { STRING, NAME_TYPE, INTEGER, BOOLEAN, DATE };

struct column {
    const char *name;
    enum column_type type;
    cell_function write;
    const char *argument, *absent;
    bool is_wide;
};

enum { COLUMNS_MAX = 12 };

#define C(title, kind, cell, arg, none) { title, kind, cell_##cell, arg, none, false }
#define W(title, kind, cell, arg, none) { title, kind, cell_##cell, arg, none, true }
#define NAME C("Name", NAME_TYPE, text, "metadata.name", "")
#define AGE C("Age", STRING, age, "metadata.creationTimestamp", "<unknown>")
#define TEMPLATE \
    W("Containers", STRING, container_names, "spec.template.spec.containers", ""), \
        W("Images", STRING, container_images, "spec.template.spec.containers", "")
#define SELECTOR W("Selector", STRING, selector, "spec.selector", "")
#define SUBJECTS \
    W("Users", STRING, subjects, "User", ""), W("Groups", STRING, subjects, "Group", ""), \
        W("ServiceAccounts", STRING, subjects, "ServiceAccount", "")
#define COLUMNS(in, many, ...) { in, many, { __VA_ARGS__ } },
static const struct columns {
    const char *group, *plural;
    struct column list[COLUMNS_MAX];
} tables[] = {
#include "apiserver/columns.def"
};

static const struct columns others = {
    "", "", { NAME, C("Created At", DATE, text, "metadata.creationTimestamp", "") }
};
static const struct columns *find(const struct api_resource *resource)
{
    /* Events are shown alike in both versions, and computed from what is stored. */
    bool is_event = str_is(resource->plural, "events") && str_is(resource->group, "events.k8s.io");
    struct str group = is_event ? STR("") : resource->group;
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        if (str_is(group, tables[i].group) && str_is(resource->plural, tables[i].plural))
            return &tables[i];
    return &others;
}

static const char *const type_names[] = {
    [STRING] = "string",   [NAME_TYPE] = "string", [INTEGER] = "integer",
    [BOOLEAN] = "boolean", [DATE] = "date",
};

/* ---- custom resources ---- */
/* The columns of the definition; without any, one with the age. */
static yyjson_val *custom_columns(const struct api_resource *resource, yyjson_doc **ret_doc)
{
    static const char age[] =
        "[{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":\".metadata.creationTimestamp\"}]";
    yyjson_val *columns = tree_at(resource->definition, "additionalPrinterColumns");
    *ret_doc = yyjson_arr_size(columns) ? NULL : yyjson_read(age, strlen(age), 0);
    return *ret_doc ? yyjson_doc_get_root(*ret_doc) : columns;
}

static void write_custom_columns(const struct api_resource *resource, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    yyjson_doc *doc;
    yyjson_val *columns = custom_columns(resource, &doc), *column;
    size_t i, max;
    json_begin_array(&json);
    json_raw(&json, STR("{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\",\"description\":\"\","
                        "\"priority\":0}"));
    yyjson_arr_foreach(doc_items(columns), i, max, column) {
        json_begin_object(&json);
        json_member_str(&json, "name", tree_text(column, "name"));
        json_member_str(&json, "type", tree_text(column, "type"));
        json_member_str(&json, "format", tree_text(column, "format"));
        json_member_str(&json, "description", tree_text(column, "description"));
        json_member_int(&json, "priority", tree_int(column, "priority", 0));
        json_end_object(&json);
    }
    json_end_array(&json);
    yyjson_doc_free(doc);
}

/* A value of another type than that of the column is null. */
static void write_custom_cell(struct str type, yyjson_val *val, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct cell cell = { .now_s = clock_now_ns(CLOCK_REALTIME) / NS_PER_S };
    bool is_text = yyjson_is_str(val);
    if (str_is(type, "string") && val && !yyjson_is_null(val)) {
        if (is_text)
            strbuf_str(&text, doc_text(val));
        else
            tree_write(val, &text);
        quote_json(out, strbuf_slice(&text), QUOTE_JSON);
    } else if (str_is(type, "date") && is_text) {
        cell_write_since(&cell, doc_text(val), "<invalid>", &text);
        quote_json(out, strbuf_slice(&text), QUOTE_JSON);
    } else if (str_is(type, "integer") && yyjson_is_num(val)) {
        strbuf_printf(out, "%lld",
                      yyjson_is_int(val) ? (long long)yyjson_get_sint(val) : (long long)yyjson_get_real(val));
    } else if ((str_is(type, "number") && yyjson_is_num(val)) ||
               (str_is(type, "boolean") && yyjson_is_bool(val))) {
        tree_write(val, out);
    } else {
        strbuf_puts(out, "null");
    }
}

static void write_custom_cells(const struct api_resource *resource, yyjson_val *object, struct strbuf *out)
{
    yyjson_doc *doc;
    yyjson_val *columns = custom_columns(resource, &doc), *column;
    size_t i, max;
    strbuf_putc(out, '[');
    quote_json(out, tree_text(object, "metadata.name"), QUOTE_JSON);
    yyjson_arr_foreach(doc_items(columns), i, max, column) {
        strbuf_putc(out, ',');
        write_custom_cell(tree_text(column, "type"), json_path_first(object, tree_text(column, "jsonPath")),
                          out);
    }
    strbuf_putc(out, ']');
    yyjson_doc_free(doc);
}

/* ---- tables ---- */
void table_write_columns(const struct api_resource *resource, struct strbuf *out)
{
    if (resource->is_custom) {
        write_custom_columns(resource, out);
        return;
    }
    const struct columns *columns = find(resource);
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_array(&json);
    for (size_t i = 0; i < COLUMNS_MAX && columns->list[i].name; i++) {
        const struct column *column = &columns->list[i];
        json_begin_object(&json);
        json_member_str(&json, "name", str_from(column->name));
        json_member_str(&json, "type", str_from(type_names[column->type]));
        json_member_str(&json, "format", column->type == NAME_TYPE ? STR("name") : STR(""));
        json_member_str(&json, "description", STR(""));
        json_member_int(&json, "priority", column->is_wide);
        json_end_object(&json);
    }
    json_end_array(&json);
}

void table_write_cells(const struct api_resource *resource, yyjson_val *object, struct strbuf *out)
{
    if (resource->is_custom) {
        write_custom_cells(resource, object, out);
        return;
    }
    const struct columns *columns = find(resource);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    int64_t now_s = clock_now_ns(CLOCK_REALTIME) / NS_PER_S;
    strbuf_putc(out, '[');
    for (size_t i = 0; i < COLUMNS_MAX && columns->list[i].name; i++) {
        const struct column *column = &columns->list[i];
        strbuf_clear(&text);
        column->write(&(struct cell){ object, column->argument, column->absent, now_s }, &text);
        if (i)
            strbuf_putc(out, ',');
        if (column->type == INTEGER || column->type == BOOLEAN)
            strbuf_str(out, strbuf_slice(&text));
        else
            quote_json(out, strbuf_slice(&text), QUOTE_JSON);
    }
    strbuf_putc(out, ']');
}
