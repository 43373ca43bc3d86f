/* yaml_scalar.h: what an unquoted word of YAML means.
 *
 * The rules are YAML 1.1 as kubectl and kube-scheduler read it (sigs.k8s.io/yaml over yaml.v2), because a manifest
 * must mean here what it means there: `on` is true, 0777 is octal, 1_000 is a number, 1e999 is a string. */
#ifndef CODEC_YAML_SCALAR_H
#define CODEC_YAML_SCALAR_H

#include <yyjson.h>

#include "base/decimal.h"
#include "base/str.h"

enum yaml_scalar_kind {
    YAML_SCALAR_STRING, /* the text as it is */
    YAML_SCALAR_NULL,
    YAML_SCALAR_BOOL,
    YAML_SCALAR_INT,
    YAML_SCALAR_FLOAT,
    YAML_SCALAR_ENDLESS, /* infinity, or not a number: a float without a form in JSON */
};

/* Sets *ret unless the kind is string or endless. A float stays a real number even when it is a whole one. */
enum yaml_scalar_kind yaml_scalar_resolve(struct str text, yyjson_val *ret);
/* The same below an explicit tag. NULL: fine; else what is wrong, as a sentence. */
const char *yaml_scalar_tagged(struct str text, const char *tag, enum yaml_scalar_kind *ret_kind,
                               yyjson_val *ret);
/* JSON has one kind of number, in which 3.0 is written 3: makes whole real numbers integers. */
void yaml_scalar_settle(yyjson_val *val);
/* The text of a bool or number that is used as a key. `buf` may hold it. */
struct str yaml_scalar_key(const yyjson_val *val, char buf[static DECIMAL_LEN_MAX]);

#endif
