/* output.h: objects as a client wants to read them: whole, only their metadata, or as rows of a table; in the version
 * of the resource that was asked for. */
#ifndef APISERVER_OUTPUT_H
#define APISERVER_OUTPUT_H

#include "apiserver/accept.h"
#include "apiserver/resources.h"
#include "codec/json_writer.h"

struct output {
    const struct api_resource *resource;
    struct accepted accepted;
    struct str include_object; /* of tables: "None", "Metadata" (also if empty) or "Object" */
    bool has_columns;          /* of tables in a watch: the columns were sent */
};

/* One object, appended: of a get or a watch event. `json` is as it is stored. */
void output_object(struct output *output, struct str json, struct strbuf *out);

/* A list: begin, items, end. */
struct output_list {
    struct output *output;
    struct strbuf *out;
    size_t count;
};
/* Of tables the metadata comes first, so the texts are needed now; an empty token and -1 are left out. */
void output_list_begin(struct output_list *list, struct output *output, struct str revision,
                       struct strbuf *out);
void output_list_item(struct output_list *list, struct str json);
/* The metadata of the whole list follows its items. */
void output_list_end(struct output_list *list, struct str revision, struct str continue_token,
                     int64_t remaining);

/* Turns an object of this resource, which is not stored in this form, into what is stored, in place. */
struct yyjson_mut_doc;
void output_to_stored(const struct api_resource *resource, struct yyjson_mut_doc *doc);

#endif
