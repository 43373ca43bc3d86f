/* yaml_writer.h: JSON as YAML, laid out as Kubernetes writes it: keys in order, lists not indented, strings
 * without quotes where they cannot be mistaken for anything else. */
#ifndef CODEC_YAML_WRITER_H
#define CODEC_YAML_WRITER_H

#include "base/str.h"

/* Adds one document: a JSON text that this program wrote. What is nested deeper than DOC_DEPTH_MAX is cut off. */
void yaml_write(struct strbuf *out, struct str json);

#endif
