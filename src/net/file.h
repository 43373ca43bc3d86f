/* file.h: small files: those that others replace while we run, as certificates and tokens, and those we write. */
#ifndef NET_FILE_H
#define NET_FILE_H

#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

/* Adds the file's bytes to `ret`. Only regular files, so that nothing can keep a thread waiting, and no more
 * than `bytes_max`. On failure `ret` is as it was. */
int file_read(const char *path, size_t bytes_max, struct strbuf *ret, struct error *err);
/* Makes the file with these bytes and this mode, or replaces what is in it. For files that hold no secret. */
int file_write(const char *path, struct str bytes, mode_t mode, struct error *err);

/* Makes a file that is not there yet, complete or not at all. -EEXIST: there is something of that name, be it a link to
 * nowhere. */
int file_create(const char *path, struct str bytes, mode_t mode, struct error *err);

#endif
