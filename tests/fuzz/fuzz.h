/* fuzz.h: shared by the fuzz targets: an input as a stream of documents, and a check that is never compiled out. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "codec/doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert(): in every build, and as a crash, so that the fuzzer keeps the input. */
#define must(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* The input as a stream that owns a copy of it. */
static inline void fuzz_stream(struct doc_stream *ret, const uint8_t *data, size_t size)
{
    char *text = xcalloc(size + YYJSON_PADDING_SIZE, 1);
    if (size)
        memcpy(text, data, size);
    doc_stream_init(ret, "input", text, size);
}

/* An error is one printable line that begins with the name of the input. */
static inline void fuzz_must_explain(const struct error *err)
{
    must(strncmp(err->text, "input:", 6) == 0);
    must(!strchr(err->text, '\n'));
}

#endif
