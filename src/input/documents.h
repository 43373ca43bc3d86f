/* documents.h: reads what users have: files, folders and standard input with Kubernetes objects in them.
 *
 *     paths ──▶ streams ──▶ documents ──▶ Lists taken apart ──▶ visit(), one object after the other
 *
 * Files hold JSON, JSON lines, YAML, several documents, or Lists, in any mixture; they may be compressed with gzip. */
#ifndef INPUT_DOCUMENTS_H
#define INPUT_DOCUMENTS_H

#include "base/vec.h"
#include "codec/doc.h"

/* One object. Its kind and version are its own, or those that the List around it implies; the version may be empty. A
 * negative result ends the reading. */
typedef int document_visit(void *user, const struct doc *doc, yyjson_val *val, struct str kind,
                           struct str version, struct error *err);

/* Zeroed, but for the first members, it is empty. Strings of JSON may lie in the text of the streams, which stays until
 * the release. */
struct documents {
    document_visit *visit;
    void *user;
    void (*on_progress)(const struct doc_stream *stream, double share); /* as of a stream; may be NULL */
    bool keeps_docs; /* values stay valid until the release, not only during the visit */
    VEC(struct doc_stream *) streams;
    VEC(struct doc *) docs; /* those that are kept */
    size_t bytes;           /* of all streams */
    bool stdin_read;
    struct arena arena; /* of paths */
};

/* A file, "-" or a folder with all *.yaml, *.yml, *.json and *.jsonl below it, also with .gz behind that. */
int documents_read(struct documents *documents, const char *path, struct error *err);
void documents_release(struct documents *documents);

#endif
