/* log_format.h: values as Go writes them, for log lines that tools of Kubernetes read. */
#ifndef BASE_LOG_FORMAT_H
#define BASE_LOG_FORMAT_H

#include "base/str.h"

/* In double quotes, escaped as strconv.Quote does. */
void format_quoted(struct strbuf *out, struct str text);
/* In double quotes, escaped as the JSON log format does: bytes that are not UTF-8 become \ufffd. */
void format_json(struct strbuf *out, struct str text);
/* "1.5s", "2h0m3s", "250µs": as time.Duration is shown. */
void format_duration(struct strbuf *out, int64_t ns);

enum float_style {
    FLOAT_PLAIN, /* always plain digits; what is not finite in quotes: "NaN" */
    FLOAT_JSON,  /* as encoding/json: an exponent below 1e-6 and from 1e21 */
};
/* The shortest digits that read back as the same number. */
void format_double(struct strbuf *out, double value, enum float_style style);

#endif
