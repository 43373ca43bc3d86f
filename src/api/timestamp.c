/* timestamp.c: RFC 3339 with the proleptic Gregorian calendar, no time zone database. */
#include "api/timestamp.h"

#include <errno.h>

enum { NANO_DIGITS = 9, SECONDS_PER_DAY = 86400 };

struct scan {
    struct str rest;
    bool failed;
};

static int take_number(struct scan *scan, uint32_t digits, int min, int max)
{
    int value = 0;
    if (scan->rest.len < digits) {
        scan->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < digits; i++) {
        char c = scan->rest.ptr[i];
        if (c < '0' || c > '9')
            scan->failed = true;
        value = value * 10 + (c - '0');
    }
    scan->rest = str_slice(scan->rest, digits, scan->rest.len);
    if (value < min || value > max)
        scan->failed = true;
    return scan->failed ? 0 : value;
}

static bool take(struct scan *scan, char wanted)
{
    if (!scan->rest.len || scan->rest.ptr[0] != wanted)
        return false;
    scan->rest = str_slice(scan->rest, 1, scan->rest.len);
    return true;
}

static void must_take(struct scan *scan, char wanted)
{
    if (!take(scan, wanted))
        scan->failed = true;
}

/* Digits behind a point; those behind the ninth do not count. */
static int32_t take_fraction(struct scan *scan)
{
    int32_t nanos = 0;
    uint32_t digits = 0;
    for (; digits < scan->rest.len; digits++) {
        char c = scan->rest.ptr[digits];
        if (c < '0' || c > '9')
            break;
        if (digits < NANO_DIGITS)
            nanos = nanos * 10 + (c - '0');
    }
    for (uint32_t i = digits; i < NANO_DIGITS; i++)
        nanos *= 10;
    scan->failed |= digits == 0;
    scan->rest = str_slice(scan->rest, digits, scan->rest.len);
    return nanos;
}

static int64_t take_offset(struct scan *scan)
{
    if (take(scan, 'Z'))
        return 0;
    bool west = take(scan, '-');
    if (!west)
        must_take(scan, '+');
    int hours = take_number(scan, 2, 0, 23);
    must_take(scan, ':');
    int minutes = take_number(scan, 2, 0, 59);
    int64_t seconds = hours * 3600 + minutes * 60;
    return west ? -seconds : seconds;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in(int64_t year, int month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Days since 1970-01-01. Years begin in March here, so that the leap day is the last of its year. */
static int64_t days_from_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

int timestamp_parse(struct str text, struct opt_time *ret)
{
    struct scan scan = { text, false };
    int year = take_number(&scan, 4, 0, 9999);
    must_take(&scan, '-');
    int month = take_number(&scan, 2, 1, 12);
    must_take(&scan, '-');
    int day = take_number(&scan, 2, 1, scan.failed ? 31 : days_in(year, month));
    must_take(&scan, 'T');
    int hour = take_number(&scan, 2, 0, 23);
    must_take(&scan, ':');
    int minute = take_number(&scan, 2, 0, 59);
    must_take(&scan, ':');
    int second = take_number(&scan, 2, 0, 59);
    int32_t nanos = take(&scan, '.') ? take_fraction(&scan) : 0;
    int64_t offset = take_offset(&scan);
    if (scan.failed || scan.rest.len)
        return -EINVAL;
    int64_t seconds = days_from_date(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    *ret = (struct opt_time){ true, seconds - offset, nanos };
    return 0;
}

static void put_number(char *at, int64_t value, int digits)
{
    for (; digits > 0; digits--, value /= 10)
        at[digits - 1] = (char)('0' + value % 10);
}

struct str timestamp_format(int64_t seconds, char buf[static TIMESTAMP_LEN + 1])
{
    int64_t first = days_from_date(0, 1, 1) * SECONDS_PER_DAY;
    int64_t last = days_from_date(10000, 1, 1) * SECONDS_PER_DAY - 1;
    seconds = MAX(first, MIN(seconds, last));
    int64_t days = seconds / SECONDS_PER_DAY, second = seconds % SECONDS_PER_DAY;
    if (second < 0) {
        days--;
        second += SECONDS_PER_DAY;
    }
    /* A good guess of the year from the mean length of one, then at most one step. */
    int64_t year = 1970 + days * 400 / 146097;
    while (days_from_date(year + 1, 1, 1) <= days)
        year++;
    while (days_from_date(year, 1, 1) > days)
        year--;
    int month = 1, day = (int)(days - days_from_date(year, 1, 1)) + 1;
    for (; day > days_in(year, month); month++)
        day -= days_in(year, month);
    const struct {
        int64_t value;
        uint8_t at, digits;
    } parts[] = { { year, 0, 4 },
                  { month, 5, 2 },
                  { day, 8, 2 },
                  { second / 3600, 11, 2 },
                  { second / 60 % 60, 14, 2 },
                  { second % 60, 17, 2 } };
    memcpy(buf, "0000-00-00T00:00:00Z", TIMESTAMP_LEN + 1);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        put_number(buf + parts[i].at, parts[i].value, parts[i].digits);
    return (struct str){ buf, TIMESTAMP_LEN };
}
