/* doc.h: one parsed document, JSON or YAML, that knows where each of its values came from.
 *
 * Both formats end as one yyjson tree, so decoders are written once. JSON is parsed in place: its strings stay
 * in the stream's text. YAML goes through libyaml (anchors and aliases resolved, sizes bounded) and carries a
 * position per value. Hostile input ends in one sentence: depth, aliases and sizes have limits.
 *
 *     stream ──doc_stream_next()──▶ doc, doc, doc      (YAML documents, JSON values one after another, one value)
 */
#ifndef CODEC_DOC_H
#define CODEC_DOC_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum { DOC_DEPTH_MAX = 200 };
/* A longer text is refused, so that sizes of strings fit struct str even after YAML's escapes grew them. */
#define DOC_BYTES_MAX ((size_t)1 << 31)

struct doc {
    const struct doc_stream *stream;
    yyjson_doc *json;
    yyjson_val *root;     /* never NULL in a doc that was handed out */
    uint64_t *positions;  /* YAML: line << 32 | column per value in document order; JSON: NULL */
    struct arena strings; /* YAML: the text of its strings */
    size_t start;         /* JSON: where it begins in the stream's text */
};

/* A text with any number of documents. The text belongs to the stream; strings of JSON docs point into it
 * (and stay valid after doc_release, until doc_stream_release). Strings of YAML docs die with their doc. */
struct doc_stream {
    const char *path; /* for messages; "-" reads "standard input" there; not owned */
    char *text;
    size_t len, at;
    bool yaml;
    bool secret;  /* what it frees is overwritten, strings of docs too; to be set before the first one */
    void *parser; /* libyaml's, when yaml */
    /* Where the lines end, noted before the parser of JSON writes real newlines in place of escaped ones. */
    uint32_t *line_ends;
    size_t line_end_count;
    /* How much of it was read, now and then: from 0 to 1. To be set after the stream is opened; may be NULL. */
    void (*on_progress)(const struct doc_stream *stream, double share);
};

/* Takes over `text` (malloc'ed, with at least YYJSON_PADDING_SIZE zero bytes after len). JSON or YAML is decided by
 * the first byte that is neither space nor comment ('#' to the end of its line): '{' or '[' is JSON, unless what
 * follows can only be YAML, as in {a: b}. A byte order mark is skipped. Between JSON values may stand space,
 * comments and lines of "---"; each value is an object or a list. */
void doc_stream_init(struct doc_stream *stream, const char *path, char *text, size_t len);
/* Reads a complete file ("-": standard input) into memory and starts a stream on it. */
int doc_stream_open(struct doc_stream *stream, const char *path, struct error *err);
/* The same for a file with secrets. */
int doc_stream_open_secret(struct doc_stream *stream, const char *path, struct error *err);
/* 1: a document; 0: no more; negative errno: a sentence with path, line and column, after which there is no more.
 * Empty YAML documents (and those that are only null) are skipped. */
int doc_stream_next(struct doc_stream *stream, struct doc *ret, struct error *err);
void doc_stream_release(struct doc_stream *stream);
void doc_release(struct doc *doc);

/* Do strings of this doc outlive it (JSON), or must a decoder copy them (YAML)? */
static inline bool doc_strings_stay(const struct doc *doc)
{
    return !doc->positions;
}

/* Line and column (from 1) of a value of this doc. JSON remembers where strings are: for any other value it is the
 * place of the nearest string before it, most often its key. Without one, or for NULL: where the doc begins. JSON's
 * columns count bytes, YAML's characters. */
void doc_where(const struct doc *doc, const yyjson_val *val, size_t *ret_line, size_t *ret_column);
/* Line and column of a byte of the stream's text. */
void doc_stream_where(const struct doc_stream *stream, size_t offset, size_t *ret_line, size_t *ret_column);
/* error_at() with the place of `val`. */
int doc_error(const struct doc *doc, const yyjson_val *val, int code, struct error *err, const char *format,
              ...) _printf_(5, 6);
/* The name of a value's type as a user reads it: "string", "number", "boolean", "null", "list", "object". */
const char *doc_type_name(const yyjson_val *val);

/* For the loops of yyjson, which must not be given NULL: a value without items stands for it. */
static inline yyjson_val *doc_items(yyjson_val *val)
{
    static yyjson_val none;
    return val ? val : &none;
}

/* The text of a string; an empty one of anything else, and of NULL. */
static inline struct str doc_text(yyjson_val *val)
{
    bool is_text = yyjson_is_str(val) && yyjson_get_len(val) <= UINT32_MAX;
    return is_text ? (struct str){ yyjson_get_str(val), (uint32_t)yyjson_get_len(val) } : (struct str){ 0 };
}

/* The same of a member of an object. */
static inline struct str doc_member_text(yyjson_val *object, const char *key)
{
    return doc_text(yyjson_obj_get(object, key));
}

#endif
