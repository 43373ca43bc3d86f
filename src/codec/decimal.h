/* decimal.h: floating-point numbers as the shortest digits that read back as the same number.
 *
 * The layouts are those of Go, whose texts users of Kubernetes compare with. */
#ifndef CODEC_DECIMAL_H
#define CODEC_DECIMAL_H

#include "base/str.h"

enum { DECIMAL_LEN_MAX = 32 };

/* As encoding/json writes a float64: plain digits from 1e-6 up to 1e21, an exponent beyond. `value` is finite. */
struct str decimal_json(double value, char buf[static DECIMAL_LEN_MAX]);
/* As strconv.FormatFloat(value, 'g', -1, 32) writes it, but what is beyond float32 as YAML writes infinity: ".inf",
 * "-.inf". */
struct str decimal_single(double value, char buf[static DECIMAL_LEN_MAX]);

#endif
