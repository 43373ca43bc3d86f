/* yaml.h: the YAML half of a doc_stream, behind doc_stream_next() and doc_stream_release(). */
#ifndef CODEC_YAML_H
#define CODEC_YAML_H

#include "codec/doc.h"

/* The next document that is not empty; returns as doc_stream_next() does. */
int yaml_next(struct doc_stream *stream, struct doc *ret, struct error *err);
/* Frees the parser, if there is one. */
void yaml_release(struct doc_stream *stream);

#endif
