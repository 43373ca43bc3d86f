/* output.c: see output.h. */
#include "api/output.h"

void output_begin(struct json_writer *json, const char *kind)
{
    json_begin_object(json);
    json_member_str(json, "apiVersion", STR(OUTPUT_API_VERSION));
    json_member_str(json, "kind", str_from(kind));
}

void output_end(struct json_writer *json)
{
    json_end_object(json);
    strbuf_putc(json->out, '\n');
}

void output_name_members(struct json_writer *json, const struct meta *meta)
{
    json_member_str(json, "namespace", meta->namespace);
    json_member_str(json, "name", meta->name);
}

void output_name(struct json_writer *json, const struct meta *meta)
{
    if (!meta) {
        json_null(json);
        return;
    }
    enum json_style style = json->style; /* inside an object that is one line, too */
    json_begin_line(json);
    output_name_members(json, meta);
    json_end_line(json);
    json->style = style;
}

void output_member_name(struct json_writer *json, const char *key, const struct meta *meta)
{
    json_key(json, str_from(key));
    output_name(json, meta);
}

void output_member_text(struct json_writer *json, const char *key, struct str text)
{
    json_key(json, str_from(key));
    if (str_empty(text))
        json_null(json);
    else
        json_str(json, text);
}

void output_member_null(struct json_writer *json, const char *key)
{
    json_key(json, str_from(key));
    json_null(json);
}
