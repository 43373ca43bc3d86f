/* problems.h: everything that is wrong with a configuration or a selector, in the sentences that Kubernetes prints.
 *
 *     profiles[0].schedulerName: Required value
 *     [parallelism: Invalid value: 0: should be ..., podMaxBackoffSeconds: Invalid value: ...]
 *
 * Validation goes on after the first problem; the report names the place of the first one. A sentence that was
 * said already is not said again. */
#ifndef CODEC_PROBLEMS_H
#define CODEC_PROBLEMS_H

#include <yyjson.h>

#include "base/error.h"
#include "base/quote.h"
#include "codec/doc.h"
#include "codec/path.h"

struct problems {
    yyjson_val *root;   /* what paths begin at; NULL: nothing was read */
    yyjson_val *first;  /* the value that the first problem is about */
    struct strbuf text; /* sentences, each with a terminating zero */
    size_t count;
};

/* "Invalid value" with a number, a text, or something already in JSON. */
void problem_int(struct problems *problems, const struct path *path, int64_t value, const char *detail);
void problem_text(struct problems *problems, const struct path *path, struct str value, const char *detail);
void problem_json(struct problems *problems, const struct path *path, struct str json, const char *detail);
void problem_duration(struct problems *problems, const struct path *path, int64_t ns, const char *detail);
void problem_required(struct problems *problems, const struct path *path, const char *detail);
void problem_forbidden(struct problems *problems, const struct path *path, const char *detail);
void problem_duplicate(struct problems *problems, const struct path *path, struct str value);
void problem_duplicate_json(struct problems *problems, const struct path *path, struct str json);
void problem_unsupported(struct problems *problems, const struct path *path, struct str value,
                         const char *const *supported, size_t count);

/* 0 when there are none, else -EINVAL and the sentence, behind `prefix` (may be ""). `doc` may be NULL. */
int problems_report(const struct problems *problems, const struct doc *doc, const char *prefix,
                    struct error *err);
void problems_release(struct problems *problems);

/* A text in quotes, as Go's JSON encoder writes it. */
static inline void print_json(struct strbuf *out, struct str text)
{
    quote_json(out, text, QUOTE_JSON_GO);
}

#endif
