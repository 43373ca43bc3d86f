/* go_time.c: see go_time.h. A layout is a list of parts, each found by its text, and literal characters. */
#include "go_time.h"

#include <ctype.h>
#include <strings.h>

enum part_kind {
    PART_YEAR,
    PART_YEAR_SHORT,
    PART_MONTH,
    PART_MONTH_NAME,
    PART_DAY,
    PART_DAY_OF_YEAR,
    PART_WEEKDAY,
    PART_HOUR,
    PART_HOUR_12,
    PART_MINUTE,
    PART_SECOND,
    PART_AFTERNOON,
    PART_OFFSET,   /* +01:00 */
    PART_OFFSET_Z, /* the same, or Z */
    PART_ZONE,     /* MST */
};

/* Longer ones before those that they begin with. */
static const struct part {
    const char *text;
    enum part_kind kind;
    uint8_t digits_min, digits_max; /* of numbers; of an offset: hours, minutes, seconds */
    char separator;                 /* of an offset */
} parts[] = {
    { "January", PART_MONTH_NAME, 0, 0, 0 },
    { "Jan", PART_MONTH_NAME, 3, 0, 0 },
    { "Monday", PART_WEEKDAY, 0, 0, 0 },
    { "Mon", PART_WEEKDAY, 3, 0, 0 },
    { "MST", PART_ZONE, 0, 0, 0 },
    { "2006", PART_YEAR, 4, 4, 0 },
    { "002", PART_DAY_OF_YEAR, 3, 3, 0 },
    { "__2", PART_DAY_OF_YEAR, 1, 3, 0 },
    { "_2", PART_DAY, 1, 2, 0 },
    { "01", PART_MONTH, 2, 2, 0 },
    { "02", PART_DAY, 2, 2, 0 },
    { "03", PART_HOUR_12, 2, 2, 0 },
    { "04", PART_MINUTE, 2, 2, 0 },
    { "05", PART_SECOND, 2, 2, 0 },
    { "06", PART_YEAR_SHORT, 2, 2, 0 },
    { "15", PART_HOUR, 1, 2, 0 },
    { "PM", PART_AFTERNOON, 0, 0, 0 },
    { "pm", PART_AFTERNOON, 0, 0, 0 },
    { "-07:00:00", PART_OFFSET, 3, 0, ':' },
    { "-070000", PART_OFFSET, 3, 0, 0 },
    { "-07:00", PART_OFFSET, 2, 0, ':' },
    { "-0700", PART_OFFSET, 2, 0, 0 },
    { "-07", PART_OFFSET, 1, 0, 0 },
    { "Z07:00:00", PART_OFFSET_Z, 3, 0, ':' },
    { "Z070000", PART_OFFSET_Z, 3, 0, 0 },
    { "Z07:00", PART_OFFSET_Z, 2, 0, ':' },
    { "Z0700", PART_OFFSET_Z, 2, 0, 0 },
    { "Z07", PART_OFFSET_Z, 1, 0, 0 },
    { "1", PART_MONTH, 1, 2, 0 },
    { "2", PART_DAY, 1, 2, 0 },
    { "3", PART_HOUR_12, 1, 2, 0 },
    { "4", PART_MINUTE, 1, 2, 0 },
    { "5", PART_SECOND, 1, 2, 0 },
};

static const char *const months[] = { "January", "February", "March",     "April",   "May",      "June",
                                      "July",    "August",   "September", "October", "November", "December" };
static const char *const weekdays[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday" };
enum { NAME_SHORT = 3 };

/* What was read so far. */
struct reading {
    const char *text, *end;
    int64_t year, month, day, day_of_year, hour, minute, second, offset;
    bool is_afternoon, has_half, is_utc;
};

/* ".000" or ",999" after the seconds: the number of its characters, or 0. */
static size_t fraction_len(const char *layout)
{
    size_t len = 1;
    if ((layout[0] != '.' && layout[0] != ',') || (layout[1] != '0' && layout[1] != '9'))
        return 0;
    while (layout[len] == layout[1])
        len++;
    return isdigit((unsigned char)layout[len]) ? 0 : len;
}

/* The part at the beginning of a layout, or NULL: a literal character. */
static const struct part *part_at(const char *layout)
{
    if (strncmp(layout, "_2006", 5) == 0) /* a literal, and the year */
        return NULL;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t len = strlen(parts[i].text);
        bool is_word = parts[i].kind == PART_MONTH_NAME || parts[i].kind == PART_WEEKDAY;
        if (strncmp(layout, parts[i].text, len) == 0 && !(is_word && islower((unsigned char)layout[len])))
            return &parts[i];
    }
    return NULL;
}

bool go_time_layout_ok(const char *layout)
{
    for (; *layout; layout++)
        if (part_at(layout))
            return true;
    return false;
}

/* ---- values ---- */
static bool take_number(struct reading *in, int digits_min, int digits_max, int64_t *ret)
{
    int digits = 0;
    *ret = 0;
    while (digits < digits_max && in->text < in->end && isdigit((unsigned char)*in->text)) {
        *ret = *ret * 10 + (*in->text++ - '0');
        digits++;
    }
    return digits >= digits_min;
}

/* The number of the name from 1, or 0. `len`: of short names; 0: complete ones. */
static int64_t take_name(struct reading *in, const char *const *names, size_t count, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = len ? len : strlen(names[i]);
        if ((size_t)(in->end - in->text) >= size && strncasecmp(in->text, names[i], size) == 0) {
            in->text += size;
            return (int64_t)i + 1;
        }
    }
    return 0;
}

/* The number of digits of a fraction, or 0: there is none. */
static size_t take_fraction(struct reading *in)
{
    size_t digits = 0;
    if (in->end - in->text < 2 || (*in->text != '.' && *in->text != ',') ||
        !isdigit((unsigned char)in->text[1]))
        return 0;
    for (in->text++; in->text < in->end && isdigit((unsigned char)*in->text); in->text++)
        digits++;
    return digits;
}

static bool take_offset(struct reading *in, const struct part *part)
{
    static const int64_t seconds[] = { 3600, 60, 1 }, limits[] = { 24, 60, 60 };
    if (part->kind == PART_OFFSET_Z && in->text < in->end && *in->text == 'Z') {
        in->text++;
        return true;
    }
    if (in->text == in->end || (*in->text != '+' && *in->text != '-'))
        return false;
    int64_t sign = *in->text++ == '-' ? -1 : 1;
    for (int i = 0; i < part->digits_min; i++) {
        int64_t number;
        if (i && part->separator && (in->text == in->end || *in->text++ != part->separator))
            return false;
        if (!take_number(in, 2, 2, &number) || number > limits[i])
            return false;
        in->offset += sign * number * seconds[i];
    }
    return true;
}

/* A zone by its letters is UTC: Go knows no other, unless it is the zone of the machine. The name UTC overrides an
 * offset; names of more than three letters end with T. */
static bool take_zone(struct reading *in)
{
    const char *name = in->text;
    while (in->text < in->end && isupper((unsigned char)*in->text))
        in->text++;
    long len = in->text - name;
    in->is_utc = len == 3 && memcmp(name, "UTC", 3) == 0;
    return len == 3 || ((len == 4 || len == 5) && name[len - 1] == 'T');
}

/* AM or PM, in the case of the layout. */
static bool take_half(struct reading *in, const char *layout)
{
    char morning = layout[0] == 'P' ? 'A' : 'a';
    if (in->end - in->text < 2 || in->text[1] != layout[1] ||
        (in->text[0] != layout[0] && in->text[0] != morning))
        return false;
    in->has_half = true;
    in->is_afternoon = in->text[0] == layout[0];
    in->text += 2;
    return true;
}

static bool take_part(struct reading *in, const struct part *part)
{
    int64_t ignored;
    int low = part->digits_min, high = part->digits_max;
    for (const char *blank = part->text; *blank == '_' && in->text < in->end && *in->text == ' '; blank++)
        in->text++;
    switch (part->kind) {
    case PART_YEAR:
        return take_number(in, low, high, &in->year);
    case PART_YEAR_SHORT:
        if (!take_number(in, low, high, &in->year))
            return false;
        in->year += in->year >= 69 ? 1900 : 2000;
        return true;
    case PART_MONTH:
        return take_number(in, low, high, &in->month);
    case PART_MONTH_NAME:
        in->month = take_name(in, months, 12, part->digits_min);
        return in->month > 0;
    case PART_DAY:
        return take_number(in, low, high, &in->day);
    case PART_DAY_OF_YEAR:
        return take_number(in, low, high, &in->day_of_year) && in->day_of_year > 0;
    case PART_WEEKDAY:
        ignored = take_name(in, weekdays, 7, part->digits_min);
        return ignored > 0;
    case PART_HOUR:
        return take_number(in, low, high, &in->hour) && in->hour < 24;
    case PART_HOUR_12:
        return take_number(in, low, high, &in->hour) && in->hour <= 12;
    case PART_MINUTE:
        return take_number(in, low, high, &in->minute) && in->minute < 60;
    case PART_SECOND:
        return take_number(in, low, high, &in->second) && in->second < 60;
    case PART_AFTERNOON:
        return take_half(in, part->text);
    case PART_OFFSET:
    case PART_OFFSET_Z:
        return take_offset(in, part);
    case PART_ZONE:
        return take_zone(in);
    }
    return false;
}

/* ---- the calendar ---- */
static int64_t days_of_month(int64_t year, int64_t month)
{
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 ? 28 + is_leap : 30 + ((month + month / 8) & 1);
}

/* Days since 1970-01-01 of the first day of a year. */
static int64_t year_begins(int64_t year)
{
    int64_t before = year - 1, shift = 400; /* so that nothing is negative */
    before += shift * 10;
    return before * 365 + before / 4 - before / 100 + before / 400 - 719162 - shift * 10 / 400 * 146097;
}

static bool to_seconds(struct reading *in, int64_t *ret)
{
    int64_t days = year_begins(in->year);
    if (in->month < 1 || in->month > 12 || in->day < 1 || in->day > days_of_month(in->year, in->month))
        return false;
    if (in->day_of_year > 365 + (days_of_month(in->year, 2) == 29))
        return false;
    for (int64_t month = 1; !in->day_of_year && month < in->month; month++)
        days += days_of_month(in->year, month);
    days += (in->day_of_year ? in->day_of_year : in->day) - 1;
    if (in->has_half && in->is_afternoon && in->hour < 12)
        in->hour += 12;
    else if (in->has_half && !in->is_afternoon && in->hour == 12)
        in->hour = 0;
    *ret = days * 86400 + in->hour * 3600 + in->minute * 60 + in->second - (in->is_utc ? 0 : in->offset);
    return true;
}

/* A character of the layout that is no part. Blanks stand for any number of them. */
static bool take_literal(struct reading *in, const char **layout)
{
    if (**layout != ' ')
        return in->text < in->end && *in->text++ == *(*layout)++;
    if (in->text < in->end && *in->text != ' ')
        return false;
    while (**layout == ' ')
        (*layout)++;
    while (in->text < in->end && *in->text == ' ')
        in->text++;
    return true;
}

/* Seconds may have a fraction, whether or not the layout has one. One of zeros has as many digits; one of nines may be
 * absent. */
static bool take_fraction_of(struct reading *in, const char **layout)
{
    size_t len = fraction_len(*layout), digits = take_fraction(in);
    bool is_exact = len && (*layout)[1] == '0';
    *layout += len;
    return !is_exact || digits == len - 1;
}

bool go_time_parse(const char *layout, struct berth_str text, int64_t *ret_seconds)
{
    struct reading in = { .text = text.ptr, .end = text.ptr + text.len, .month = 1, .day = 1 };
    if (!text.ptr)
        return false;
    while (*layout) {
        const struct part *part = part_at(layout);
        if (!part) {
            if (!take_literal(&in, &layout))
                return false;
            continue;
        }
        layout += strlen(part->text);
        if (!take_part(&in, part) || (part->kind == PART_SECOND && !take_fraction_of(&in, &layout)))
            return false;
    }
    return in.text == in.end && to_seconds(&in, ret_seconds);
}
