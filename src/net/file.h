/* file.h: small files that others replace under our feet: certificates, tokens. */
#ifndef NET_FILE_H
#define NET_FILE_H

#include "base/error.h"
#include "base/str.h"

/* Adds the file's bytes to `ret`. Only regular files, so that nothing can keep a thread waiting, and no more
 * than `bytes_max`. On failure `ret` is as it was. */
int file_read(const char *path, size_t bytes_max, struct strbuf *ret, struct error *err);

#endif
