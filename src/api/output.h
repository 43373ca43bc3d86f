/* output.h: the shape that all JSON documents for users have (docs/OUTPUT.md):
 *
 *     {"apiVersion": "berth.dev/v1", "kind": "Simulation", ...}
 *
 * A pod, or another object with a namespace, is {"namespace": ..., "name": ...}. A member that has nothing to say is
 * null; it is not left out, and it is no empty string. */
#ifndef API_OUTPUT_H
#define API_OUTPUT_H

#include "api/types.h"
#include "codec/json_writer.h"

#define OUTPUT_API_VERSION "berth.dev/v1"

/* The beginning of a document; output_end() adds the line break after it, too. */
void output_begin(struct json_writer *json, const char *kind);
void output_end(struct json_writer *json);

/* A reference to an object; NULL: null. */
void output_name(struct json_writer *json, const struct meta *meta);
void output_member_name(struct json_writer *json, const char *key, const struct meta *meta);
/* The members of such an object, for one that has more of them. */
void output_name_members(struct json_writer *json, const struct meta *meta);
/* A text; an empty one is null. */
void output_member_text(struct json_writer *json, const char *key, struct str text);
void output_member_null(struct json_writer *json, const char *key);

#endif
