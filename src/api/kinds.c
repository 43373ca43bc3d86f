/* kinds.c: see kinds.h. */
#include "api/kinds.h"

#include <stdio.h>

#include "base/decimal.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "codec/record_ops.h"

enum { NANO = 1000000000, NANO_PER_MICRO = 1000 };
/* Years 0 to 9999, as in JSON. */
static const int64_t SECONDS_MIN = -62167219200, SECONDS_MAX = 253402300799;

/* ---- times ---- */

bool opt_time_parse(struct str text, struct opt_time *ret)
{
    struct timestamp time;
    if (!timestamp_parse(text, &time))
        return false;
    *ret = (struct opt_time){ true, time.seconds, time.nanos };
    return true;
}

READ(time_read)
{
    struct str text = doc_text(val);
    if (!yyjson_is_str(val) || !opt_time_parse(text, at))
        return record_expected(reader, path, val, "a time such as 2006-01-02T15:04:05Z");
    return 0;
}

WRITE(time_write)
{
    const struct opt_time *time = at;
    if (!time->set) { /* Go's zero time */
        json_null(writer->json);
        return;
    }
    char text[TIMESTAMP_LEN_MAX + 1];
    json_str(writer->json, kind == &record_MICRO_TIME
                               ? timestamp_format_fraction(time->seconds, time->nanos, 6, text)
                               : timestamp_format(time->seconds, text));
}

READ_PROTOBUF(time_read_protobuf)
{
    struct protobuf_field parts[] = { { .wire = WIRE_VARINT }, { .wire = WIRE_VARINT } };
    int r = protobuf_parts(in->bytes, parts, ARRAY_SIZE(parts));
    if (r < 0)
        return record_refuse(reader, path, r, "%s", protobuf_problem(r));
    int64_t seconds = (int64_t)parts[0].number;
    int32_t nanos =
        kind == &record_MICRO_TIME ? (int32_t)parts[1].number / NANO_PER_MICRO * NANO_PER_MICRO : 0;
    seconds = MAX(SECONDS_MIN, MIN(seconds, SECONDS_MAX)) + nanos / NANO;
    nanos %= NANO;
    if (nanos < 0) {
        seconds--;
        nanos += NANO;
    }
    /* A time that is zero in Go has no bytes. */
    bool is_set = in->bytes.len > 0;
    *(struct opt_time *)at = (struct opt_time){ is_set, is_set ? seconds : 0, nanos };
    return 0;
}

WRITE_PROTOBUF(time_write_protobuf)
{
    const struct opt_time *time = at;
    size_t begun = protobuf_begin(out, tag);
    protobuf_put_number(out, 1, (uint64_t)time->seconds);
    if (kind == &record_MICRO_TIME)
        protobuf_put_number(out, 2, (uint64_t)(time->nanos / NANO_PER_MICRO * NANO_PER_MICRO));
    protobuf_end(out, begun);
}

PUT_KEY(time_put_key)
{
    const struct opt_time *time = at;
    int64_t numbers[] = { time->set, time->set ? time->seconds : 0, time->set ? time->nanos : 0 };
    strbuf_add(out, (const char *)numbers, sizeof(numbers));
}

VIEW(time_view)
{
    const struct opt_time *time = at;
    return (struct record_view){ .type = time->set ? VIEW_NUMBER : VIEW_ABSENT, .number = time->seconds };
}

static const struct record_ops time_ops = { .read = time_read,
                                            .write = time_write,
                                            .read_protobuf = time_read_protobuf,
                                            .write_protobuf = time_write_protobuf,
                                            .put_key = time_put_key,
                                            .view = time_view };
#define TIME_KIND \
    { .ops = &time_ops, \
      .size = sizeof(struct opt_time), \
      .empty = EMPTY_UNSET, \
      .wire = WIRE_BYTES, \
      .has_null = true }
const struct record_kind record_TIME = TIME_KIND;
const struct record_kind record_MICRO_TIME = TIME_KIND;

/* ---- quantities ---- */

READ(amount_read)
{
    struct quantity *amount = at;
    char digits[DECIMAL_LEN_MAX];
    struct str text = doc_text(val);
    if (yyjson_is_uint(val)) {
        *amount = quantity_from_int((int64_t)MIN(yyjson_get_uint(val), (uint64_t)INT64_MAX));
        return 0;
    }
    if (yyjson_is_sint(val)) {
        *amount = quantity_from_int(yyjson_get_sint(val));
        return 0;
    }
    if (yyjson_is_raw(val) && yyjson_get_len(val) <= UINT32_MAX) /* too big for a machine's number */
        text = (struct str){ yyjson_get_raw(val), (uint32_t)yyjson_get_len(val) };
    else if (yyjson_is_real(val)) /* the shortest digits: 0.1 is meant, and exact digits would round up */
        text = decimal_format(yyjson_get_real(val), DECIMAL_JSON, digits);
    if (!text.ptr || quantity_parse(utf8_trim(text), amount) < 0)
        return record_expected(reader, path, val, "a quantity");
    return 0;
}

WRITE(amount_write)
{
    char buf[QUANTITY_LEN_MAX];
    json_str(writer->json, quantity_format(*(const struct quantity *)at, buf));
}

READ_PROTOBUF(amount_read_protobuf)
{
    enum { SHOWN_BYTES_MAX = 40 };
    struct protobuf_field text = { .wire = WIRE_BYTES };
    int r = protobuf_parts(in->bytes, &text, 1);
    if (r < 0)
        return record_refuse(reader, path, r, "%s",
                             r == -EBADMSG ? "expected a quantity, got a number" : protobuf_problem(r));
    if (!text.tag || quantity_parse(text.bytes, at) == 0)
        return 0;
    _cleanup_(strbuf_release) struct strbuf shown = { 0 };
    path_print_shown(&shown, text.bytes, SHOWN_BYTES_MAX);
    return record_refuse(reader, path, -EINVAL, "expected a quantity, got the string \"%s\"",
                         shown.len ? shown.text : "");
}

/* A message that has the quantity as text, which is read back as it was, `finer` and, if it can be, `binary`. */
WRITE_PROTOBUF(amount_write_protobuf)
{
    const struct quantity q = *(const struct quantity *)at;
    char text[48], digits[DECIMAL_INTEGER_LEN_MAX];
    bool in_ki = q.binary && q.nano == 0 && q.units && q.units % 1024 == 0;
    if (q.nano == 0) {
        int64_t units = in_ki ? q.units / 1024 : q.units;
        struct str number =
            decimal_integer(units < 0, units < 0 ? -(uint64_t)units : (uint64_t)units, digits);
        memcpy(text, number.ptr, number.len);
        const char *suffix = q.finer ? (in_ki ? ".0Ki" : ".0") : in_ki ? "Ki" : "";
        memcpy(text + number.len, suffix, strlen(suffix) + 1);
    } else if (q.units >= 0)
        snprintf(text, sizeof(text), "%lld.%09u", (long long)q.units, q.nano);
    else /* -0.25 is {-1, 750000000} */
        snprintf(text, sizeof(text), "-%lld.%09u", -(long long)(q.units + 1), NANO - q.nano);
    size_t begun = protobuf_begin(out, tag);
    protobuf_put_bytes(out, 1, str_from(text));
    protobuf_end(out, begun);
}

PUT_KEY(amount_put_key)
{
    const struct quantity *amount = at;
    int64_t numbers[] = { amount->units, amount->nano };
    strbuf_add(out, (const char *)numbers, sizeof(numbers));
}

VIEW(amount_view)
{
    const struct quantity *amount = at;
    return (struct record_view){ .type = VIEW_AMOUNT,
                                 .number = quantity_value(*amount),
                                 .milli = quantity_milli_value(*amount),
                                 .real = (double)quantity_milli_value(*amount) / 1000 };
}

static const struct record_ops amount_ops = { .read = amount_read,
                                              .write = amount_write,
                                              .read_protobuf = amount_read_protobuf,
                                              .write_protobuf = amount_write_protobuf,
                                              .put_key = amount_put_key,
                                              .view = amount_view };
const struct record_kind record_AMOUNT = { .ops = &amount_ops,
                                           .size = sizeof(struct quantity),
                                           .wire = WIRE_BYTES };
const struct record_kind record_QUANTITY = RECORD_POINTER(AMOUNT);
const struct record_kind record_QUANTITIES = RECORD_LIST_OF(AMOUNT, WIRE_BYTES);
const struct record_kind record_RESOURCES = RECORD_MAP_OF(AMOUNT, struct resource, amount);
