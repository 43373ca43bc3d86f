/* yaml_writer.h: a tree as YAML, laid out as Kubernetes writes it: keys in order, lists not indented, strings
 * without quotes where they cannot be mistaken for anything else. */
#ifndef CODEC_YAML_WRITER_H
#define CODEC_YAML_WRITER_H

#include <yyjson.h>

#include "base/str.h"

/* Adds one document. What is nested deeper than DOC_DEPTH_MAX is cut off; trees that were read are never that
 * deep. */
void yaml_write(struct strbuf *out, yyjson_mut_val *root);

#endif
