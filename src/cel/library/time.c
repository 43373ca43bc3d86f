/* time.c: durations and timestamps, read and written as Go does.
 *
 * A timestamp keeps the offset it was written with, because string() shows it; everything else is in UTC. Of
 * time zones by name there is only UTC: the others need a database that this library does not read. */
#include "base/decimal.h"
#include "base/duration.h"
#include "base/quote.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "cel/value.h"

#include <stdio.h>

static const int64_t SECONDS_MIN = -62135596800, SECONDS_MAX = 253402300799; /* years 1 to 9999 */
static const int64_t NANO = 1000000000;

static struct cel_value duration(int64_t ns)
{
    return (struct cel_value){ .kind = CEL_DURATION, .duration_ns = ns };
}

static struct cel_value timestamp(int64_t seconds, uint32_t nanos, int32_t offset)
{
    if (seconds < SECONDS_MIN || seconds > SECONDS_MAX)
        return cel_fail_static("timestamp overflow");
    return (struct cel_value){ .kind = CEL_TIMESTAMP, .timestamp = { seconds, nanos, offset } };
}

struct cel_value cel_timestamp_of(int64_t seconds)
{
    return timestamp(seconds, 0, 0);
}

struct cel_value cel_timestamp_add(struct cel_timestamp time, int64_t duration_ns)
{
    int64_t nanos = (int64_t)time.nanos + duration_ns % NANO, carry = nanos < 0 ? -1 : nanos >= NANO ? 1 : 0;
    return timestamp(time.seconds + duration_ns / NANO + carry, (uint32_t)(nanos - carry * NANO),
                     time.offset_seconds);
}

struct cel_value cel_timestamp_sub(struct cel_timestamp a, struct cel_timestamp b)
{
    int64_t ns;
    if (__builtin_mul_overflow(a.seconds - b.seconds, NANO, &ns) ||
        __builtin_add_overflow(ns, (int64_t)a.nanos - (int64_t)b.nanos, &ns))
        return cel_fail_static("integer overflow");
    return duration(ns);
}

struct cel_value cel_timestamp_parse(struct str text)
{
    struct cel_value bad =
        cel_fail_static("type conversion error from 'string' to 'google.protobuf.Timestamp'");
    struct timestamp time;
    return timestamp_parse(text, &time) ? timestamp(time.seconds, (uint32_t)time.nanos, time.offset_seconds)
                                        : bad;
}

struct str cel_timestamp_text(struct cel_timestamp time, struct arena *arena)
{
    struct calendar c = calendar_of(time.seconds + time.offset_seconds);
    char fraction[16] = "", zone[16] = "Z";
    if (time.nanos) {
        int len = snprintf(fraction, sizeof(fraction), ".%09u", time.nanos);
        while (fraction[len - 1] == '0')
            fraction[--len] = '\0';
    }
    int32_t minutes = time.offset_seconds / 60, positive = minutes < 0 ? -minutes : minutes;
    if (minutes)
        snprintf(zone, sizeof(zone), "%c%02d:%02d", minutes < 0 ? '-' : '+', positive / 60 % 100,
                 positive % 60);
    return arena_printf(arena, "%04lld-%02d-%02dT%02d:%02d:%02d%s%s", (long long)c.year, c.month, c.day,
                        c.hour, c.minute, c.second, fraction, zone);
}

struct cel_value cel_duration_parse(struct str text)
{
    struct cel_value bad =
        cel_fail_static("type conversion error from 'string' to 'google.protobuf.Duration'");
    int64_t ns;
    return duration_parse(text, &ns) ? duration(ns) : bad;
}

struct str cel_duration_text(int64_t ns, struct arena *arena)
{
    char text[DECIMAL_LEN_MAX];
    double seconds = (double)(ns / NANO) + (double)(ns % NANO) / 1e9;
    struct str number = decimal_format(seconds, DECIMAL_PLAIN, text);
    return arena_printf(arena, STR_FMT "s", STR_ARG(number));
}

CEL_FUNCTION(to_duration)
{
    if (args->kind == CEL_INT) /* declared, and then never done */
        return cel_fail_static("type conversion error from 'int' to 'google.protobuf.Duration'");
    return args->kind == CEL_DURATION ? *args : cel_duration_parse(args->text);
}

CEL_RETURNS(to_timestamp, args->kind == CEL_TIMESTAMP ? *args
                          : args->kind == CEL_INT     ? timestamp(args->integer, 0, 0)
                                                      : cel_timestamp_parse(args->text))

/* A whole number as Go's Atoi reads it, or an error. */
static struct cel_value parse_number(struct cel_run *run, struct str text)
{
    int64_t value;
    if (str_to_int64(text, &value))
        return cel_int(value);
    size_t sign = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
    bool digits = text.len > sign;
    for (size_t i = sign; i < text.len; i++)
        digits &= text.ptr[i] >= '0' && text.ptr[i] <= '9';
    _cleanup_(strbuf_release) struct strbuf quoted = { 0 };
    quote_go(&quoted, text);
    return cel_fail(run, "strconv.Atoi: parsing %s: %s", quoted.text,
                    digits ? "value out of range" : "invalid syntax");
}

/* The offset of a zone in seconds: "+02:30", or a name. */
static struct cel_value zone_offset(struct cel_run *run, struct str zone)
{
    ptrdiff_t colon = str_find(zone, ':');
    if (colon < 0) {
        bool known = zone.len == 0 || str_is(zone, "UTC") || str_is(zone, "Local");
        if (!known && (utf8_find(zone, STR(".."), 0) >= 0 || zone.ptr[0] == '/' || zone.ptr[0] == '\\'))
            return cel_fail_static("time: invalid location name");
        return known ? cel_int(0) : cel_fail(run, "unknown time zone " STR_FMT, STR_ARG(zone));
    }
    struct cel_value hours = parse_number(run, str_slice(zone, 0, (size_t)colon));
    if (cel_is_error(&hours))
        return hours;
    struct cel_value minutes = parse_number(run, str_slice(zone, (size_t)colon + 1, zone.len));
    if (cel_is_error(&minutes))
        return minutes;
    /* In 64 bits of nanoseconds, whatever that makes of large numbers. */
    uint64_t total = hours.uinteger * 60 + (zone.ptr[0] == '-' ? 0 - minutes.uinteger : minutes.uinteger);
    int64_t ns = (int64_t)(total * 60 * (uint64_t)NANO);
    return cel_int((int64_t)((double)(ns / NANO) + (double)(ns % NANO) / 1e9));
}

static struct cel_value local_time(struct cel_run *run, const struct cel_value *args, size_t len,
                                   struct calendar *ret)
{
    struct cel_value offset = len > 1 ? zone_offset(run, args[1].text) : cel_int(0);
    if (!cel_is_error(&offset))
        *ret = calendar_of(args->timestamp.seconds + offset.integer);
    return offset;
}

/* A part of a timestamp's local time. */
#define GETTER(name, expression) \
    CEL_FUNCTION(name) \
    { \
        struct calendar c = { 0 }; \
        struct cel_value offset = local_time(run, args, len, &c); \
        return cel_is_error(&offset) ? offset : cel_int(expression); \
    }
GETTER(get_year, c.year)
GETTER(get_month, c.month - 1)
GETTER(get_day_of_year, c.yearday)
GETTER(get_day_of_month, c.day - 1)
GETTER(get_date, c.day)
GETTER(get_day_of_week, c.weekday)
GETTER(get_hours, c.hour)
GETTER(get_minutes, c.minute)
GETTER(get_seconds, c.second)
GETTER(get_milliseconds, args->timestamp.nanos / 1000000)

CEL_RETURNS(in_hours, cel_int(args->duration_ns / (3600 * NANO)))
CEL_RETURNS(in_minutes, cel_int(args->duration_ns / (60 * NANO)))
CEL_RETURNS(in_seconds, cel_int(args->duration_ns / NANO))
CEL_RETURNS(in_milliseconds, cel_int(args->duration_ns / (NANO / 1000)))

#define PART "timestamp -> int; timestamp, string -> int"

const struct cel_overload cel_lib_time[] = {
    { "duration", "duration -> duration; int -> duration; string -> duration", to_duration, CEL_CONSTANT,
      .lacks = CEL_NO_INT_DURATION },
    { "duration", "duration -> duration; string -> duration", to_duration, CEL_CONSTANT,
      .needs = CEL_NO_INT_DURATION },
    { "timestamp", "timestamp -> timestamp; int -> timestamp; string -> timestamp", to_timestamp,
      CEL_CONSTANT },
    { "getFullYear", PART, get_year, CEL_MEMBER },
    { "getMonth", PART, get_month, CEL_MEMBER },
    { "getDayOfYear", PART, get_day_of_year, CEL_MEMBER },
    { "getDayOfMonth", PART, get_day_of_month, CEL_MEMBER },
    { "getDate", PART, get_date, CEL_MEMBER },
    { "getDayOfWeek", PART, get_day_of_week, CEL_MEMBER },
    { "getHours", PART, get_hours, CEL_MEMBER },
    { "getMinutes", PART, get_minutes, CEL_MEMBER },
    { "getSeconds", PART, get_seconds, CEL_MEMBER },
    { "getMilliseconds", PART, get_milliseconds, CEL_MEMBER },
    { "getHours", "duration -> int", in_hours, CEL_MEMBER },
    { "getMinutes", "duration -> int", in_minutes, CEL_MEMBER },
    { "getSeconds", "duration -> int", in_seconds, CEL_MEMBER },
    { "getMilliseconds", "duration -> int", in_milliseconds, CEL_MEMBER },
    { 0 },
};
