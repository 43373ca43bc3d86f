/* error.h: one clear sentence about what went wrong.
 *
 * A function that can fail returns 0 or a negative errno and describes the failure in its last argument, a
 * struct error that may be NULL. error_at() names the place: "cluster.yaml:12:5: spec.replicas: expected ...". */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <errno.h>

#include "base/common.h"
#include "base/str.h"

struct error {
    char text[1024];
};

/* Writes the sentence and returns `code`, so that `return error_set(...)` reads well. */
int error_set(struct error *err, int code, const char *format, ...) _printf_(3, 4);
/* The same, behind "path:line:column: "; line and column of 0 are left out. */
int error_at(struct error *err, int code, const char *path, size_t line, size_t column, const char *format,
             ...) _printf_(6, 7);
/* Puts "text: " in front of the sentence that is there. */
void error_prefix(struct error *err, const char *format, ...) _printf_(2, 3);
/* Hides the passwords of URLs in the sentence, as strbuf_masked() does. */
void error_mask(struct error *err);

#endif
