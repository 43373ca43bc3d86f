/* time.c: durations and timestamps, read and written as Go does.
 *
 * A timestamp keeps the offset it was written with, because string() shows it; everything else is in UTC. Of
 * time zones by name there is only UTC: the others need a database that this library does not read. */
#include "cel/lib.h"
#include "cel/value.h"

#include <stdio.h>

static const int64_t SECONDS_MIN = -62135596800, SECONDS_MAX = 253402300799; /* years 1 to 9999 */
static const int64_t DAY = 86400, NANO = 1000000000;

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

/* Days since 1970 of a date of the Gregorian calendar, and back. */
static int64_t days_from(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

struct civil {
    int64_t year;
    int month, day, hour, minute, second, weekday, yearday;
};

static struct civil civil_of(int64_t seconds)
{
    int64_t days = seconds / DAY - (seconds % DAY < 0), of_day = seconds - days * DAY;
    int64_t shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t of_era = shifted - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    struct civil c = {
        .day = (int)(of_year - (153 * month + 2) / 5 + 1),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .hour = (int)(of_day / 3600),
        .minute = (int)(of_day / 60 % 60),
        .second = (int)(of_day % 60),
        .weekday = (int)(((days + 4) % 7 + 7) % 7),
    };
    c.year = year + era * 400 + (c.month <= 2);
    c.yearday = (int)(days - days_from(c.year, 1, 1));
    return c;
}

/* Exactly, or up to, so many digits at *at; -1 if there is none. */
static int take_number(struct str text, size_t *at, size_t digits, bool exact)
{
    int value = 0;
    size_t from = *at;
    while (*at < text.len && *at - from < digits && text.ptr[*at] >= '0' && text.ptr[*at] <= '9')
        value = value * 10 + text.ptr[(*at)++] - '0';
    size_t got = *at - from;
    return got == 0 || (exact && got != digits) ? -1 : value;
}

static bool take_char(struct str text, size_t *at, char c)
{
    if (*at >= text.len || text.ptr[*at] != c)
        return false;
    (*at)++;
    return true;
}

static uint32_t take_fraction(struct str text, size_t *at)
{
    uint32_t nanos = 0, unit = (uint32_t)NANO / 10;
    if (*at + 1 >= text.len || (text.ptr[*at] != '.' && text.ptr[*at] != ',') || text.ptr[*at + 1] < '0' ||
        text.ptr[*at + 1] > '9')
        return 0;
    for ((*at)++; *at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9'; (*at)++, unit /= 10)
        nanos += (uint32_t)(text.ptr[*at] - '0') * unit;
    return nanos;
}

static bool take_zone(struct str text, size_t *at, int32_t *ret)
{
    *ret = 0;
    if (take_char(text, at, 'Z'))
        return true;
    int sign = take_char(text, at, '+') ? 1 : take_char(text, at, '-') ? -1 : 0;
    int hours = take_number(text, at, 2, true);
    if (!sign || hours < 0 || hours > 24 || !take_char(text, at, ':'))
        return false;
    int minutes = take_number(text, at, 2, true);
    *ret = sign * (hours * 3600 + minutes * 60);
    return minutes >= 0 && minutes <= 60;
}

static int days_in(int64_t year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

struct cel_value cel_timestamp_parse(struct str text)
{
    struct cel_value bad =
        cel_fail_static("type conversion error from 'string' to 'google.protobuf.Timestamp'");
    size_t at = 0;
    int32_t offset;
    int year = take_number(text, &at, 4, true);
    int month = take_char(text, &at, '-') ? take_number(text, &at, 2, true) : -1;
    int day = take_char(text, &at, '-') ? take_number(text, &at, 2, true) : -1;
    int hour = take_char(text, &at, 'T') ? take_number(text, &at, 2, false) : -1;
    int minute = take_char(text, &at, ':') ? take_number(text, &at, 2, true) : -1;
    int second = take_char(text, &at, ':') ? take_number(text, &at, 2, true) : -1;
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > days_in(year, month) || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
        return bad;
    uint32_t nanos = take_fraction(text, &at);
    if (!take_zone(text, &at, &offset) || at != text.len)
        return bad;
    int64_t seconds = days_from(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
    return timestamp(seconds, nanos, offset);
}

struct str cel_timestamp_text(struct cel_timestamp time, struct arena *arena)
{
    struct civil c = civil_of(time.seconds + time.offset_seconds);
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

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {
    { "ns", 1 },       { "us", 1000 },      { "\u00b5s", 1000 },  { "\u03bcs", 1000 },
    { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
};

static const struct unit *take_unit(struct str text, size_t *at)
{
    size_t from = *at;
    while (*at < text.len && text.ptr[*at] != '.' && (text.ptr[*at] < '0' || text.ptr[*at] > '9'))
        (*at)++;
    struct str name = str_slice(text, from, *at);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (str_is(name, units[i].name))
            return &units[i];
    return NULL;
}

/* "12.5h": false if it is none, or more than 2^63. */
static bool take_part(struct str text, size_t *at, uint64_t *total)
{
    static const uint64_t LIMIT = (uint64_t)1 << 63;
    uint64_t whole = 0, fraction = 0;
    double scale = 1;
    size_t digits = 0;
    bool full = false;
    for (; *at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9'; (*at)++, digits++)
        if (__builtin_mul_overflow(whole, 10u, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(text.ptr[*at] - '0'), &whole) || whole > LIMIT)
            return false;
    if (take_char(text, at, '.')) {
        for (; *at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9'; (*at)++, digits++) {
            uint64_t next = fraction * 10 + (uint64_t)(text.ptr[*at] - '0');
            full = full || fraction > (LIMIT - 1) / 10 || next > LIMIT;
            if (!full) {
                fraction = next;
                scale *= 10;
            }
        }
    }
    const struct unit *unit = digits ? take_unit(text, at) : NULL;
    if (!unit || whole > LIMIT / unit->ns)
        return false;
    whole *= unit->ns;
    if (fraction)
        whole += (uint64_t)((double)fraction * ((double)unit->ns / scale));
    return whole <= LIMIT && !__builtin_add_overflow(*total, whole, total) && *total <= LIMIT;
}

struct cel_value cel_duration_parse(struct str text)
{
    struct cel_value bad =
        cel_fail_static("type conversion error from 'string' to 'google.protobuf.Duration'");
    size_t at = 0;
    uint64_t total = 0;
    bool negative = take_char(text, &at, '-');
    if (!negative)
        take_char(text, &at, '+');
    if (text.len - at == 1 && text.ptr[at] == '0')
        return duration(0);
    if (at == text.len)
        return bad;
    while (at < text.len)
        if (!take_part(text, &at, &total))
            return bad;
    if (total > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return bad;
    return duration(negative ? (int64_t)(0 - total) : (int64_t)total);
}

struct str cel_duration_text(int64_t ns, struct arena *arena)
{
    char text[CEL_DOUBLE_TEXT_MAX];
    double seconds = (double)(ns / NANO) + (double)(ns % NANO) / 1e9;
    struct str number = cel_double_text(seconds, true, text);
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

/* The offset of a zone: "+02:30", or a name. */
static bool zone_offset(struct str zone, int64_t *ret)
{
    ptrdiff_t colon = str_find(zone, ':');
    int64_t hours, minutes;
    *ret = 0;
    if (colon < 0)
        return zone.len == 0 || str_is(zone, "UTC") || str_is(zone, "Local");
    if (!cel_parse_int(str_slice(zone, 0, (size_t)colon), &hours) ||
        !cel_parse_int(str_slice(zone, (size_t)colon + 1, zone.len), &minutes) || hours < -10000 ||
        hours > 10000 || minutes < -100000 || minutes > 100000)
        return false;
    *ret = (hours * 60 + (zone.ptr[0] == '-' ? -minutes : minutes)) * 60;
    return true;
}

static bool local_time(const struct cel_value *args, size_t len, struct civil *ret)
{
    int64_t offset = 0;
    if (len > 1 && !zone_offset(args[1].text, &offset))
        return false;
    *ret = civil_of(args->timestamp.seconds + offset);
    return true;
}

/* A part of a timestamp's local time. */
#define GETTER(name, expression) \
    CEL_FUNCTION(name) \
    { \
        struct civil c; \
        if (!local_time(args, len, &c)) \
            return cel_fail(run, "unknown time zone " STR_FMT, STR_ARG(args[1].text)); \
        return cel_int(expression); \
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
    { "duration", "duration -> duration; int -> duration; string -> duration", to_duration, CEL_CONSTANT },
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
