/* format.c: the named formats of Kubernetes: format.dns1123Label().validate("x") says what is wrong, if anything. */
#include "cel/value.h"
#include "regex/regex.h"

#include <stdio.h>

#define LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN LABEL "(\\." LABEL ")*"
#define LABEL_1035 "[a-z]([-a-z0-9]*[a-z0-9])?"
#define NAME "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define ALPHANUMERIC "start and end with an alphanumeric character"
#define REGEX_USED(pattern) "regex used for validation is '" pattern "')"

#define SUBDOMAIN_MESSAGE \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " \
    "must " ALPHANUMERIC " (e.g. 'example.com', " REGEX_USED(SUBDOMAIN)
#define LABEL_MESSAGE \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " \
    "must " ALPHANUMERIC " (e.g. 'my-name',  or '123-abc', " REGEX_USED(LABEL)
#define LABEL_1035_MESSAGE \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic " \
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', " REGEX_USED( \
        LABEL_1035)
#define LABEL_VALUE_MESSAGE \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " \
    "must " ALPHANUMERIC " (e.g. 'MyValue',  or 'my_value',  or '12345', " REGEX_USED("(" NAME ")?")
#define NAME_MESSAGE \
    "must consist of alphanumeric characters, '-', '_' or '.', and must " ALPHANUMERIC \
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', " REGEX_USED(NAME)

enum form { FORM_PATTERN, FORM_PREFIX, FORM_QUALIFIED, FORM_URI, FORM_DATE, FORM_DATETIME };

struct cel_format {
    const char *function;
    enum form form; /* FORM_PREFIX: a pattern for what may still get something appended */
    uint32_t len_max;
    const char *pattern, *message;
    uint32_t regex_size;
};

#define UUID "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
#define BASE64 "^(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})$"
#define TIME "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"

static const struct cel_format formats[] = {
    { "format.dns1123Label", FORM_PATTERN, 63, "^" LABEL "$", LABEL_MESSAGE, 30 },
    { "format.dns1123Subdomain", FORM_PATTERN, 253, "^" SUBDOMAIN "$", SUBDOMAIN_MESSAGE, 60 },
    { "format.dns1035Label", FORM_PATTERN, 63, "^" LABEL_1035 "$", LABEL_1035_MESSAGE, 30 },
    { "format.qualifiedName", FORM_QUALIFIED, 63, "^" NAME "$", NAME_MESSAGE, 60 },
    { "format.dns1123LabelPrefix", FORM_PREFIX, 63, "^" LABEL "$", LABEL_MESSAGE, 30 },
    { "format.dns1123SubdomainPrefix", FORM_PREFIX, 253, "^" SUBDOMAIN "$", SUBDOMAIN_MESSAGE, 60 },
    { "format.dns1035LabelPrefix", FORM_PREFIX, 63, "^" LABEL_1035 "$", LABEL_1035_MESSAGE, 30 },
    { "format.labelValue", FORM_PATTERN, 63, "^(" NAME ")?$", LABEL_VALUE_MESSAGE, 40 },
    { "format.uri", FORM_URI, 0, NULL, NULL, 1103 },
    { "format.uuid", FORM_PATTERN, 0, UUID, "does not match the UUID format", sizeof(UUID) - 1 },
    { "format.byte", FORM_PATTERN, 0, BASE64, "invalid base64", 84 },
    { "format.date", FORM_DATE, 0, NULL, "invalid date", sizeof(TIME) - 1 },
    { "format.datetime", FORM_DATETIME, 0, TIME, "invalid datetime", sizeof(TIME) - 1 },
};

uint64_t cel_format_regex_size(const struct cel_format *format)
{
    return format->regex_size;
}

static bool fits(struct cel_run *run, const char *pattern, struct str text)
{
    const struct regex *regex = regex_compile(str_from(pattern), run->scratch, NULL);
    return regex && cel_regex_find(run, regex, text, 0, NULL, NULL);
}

static void complain(struct cel_run *run, struct cel_value *problems, const char *prefix, const char *message)
{
    if (!cel_is_error(problems) && cel_take(run, strlen(message)))
        *problems =
            cel_list_push(run, problems, cel_string(arena_printf(run->scratch, "%s%s", prefix, message)));
}

static void check_pattern(struct cel_run *run, const struct cel_format *format, struct str text,
                          const char *prefix, struct cel_value *problems)
{
    char limit[64];
    /* Two packages of the reference name the unit differently. */
    bool key = prefix[0] || strcmp(format->message, LABEL_VALUE_MESSAGE) == 0;
    snprintf(limit, sizeof(limit), "must be no more than %u %s", format->len_max,
             key ? "bytes" : "characters");
    if (format->len_max && text.len > format->len_max)
        complain(run, problems, prefix, limit);
    if (fits(run, format->pattern, text))
        return;
    bool dots = strcmp(format->message, LABEL_MESSAGE) == 0 && fits(run, "^" SUBDOMAIN "$", text);
    complain(run, problems, prefix, dots ? "must not contain dots" : format->message);
}

static void check_qualified(struct cel_run *run, const struct cel_format *format, struct str text,
                            struct cel_value *problems)
{
    ptrdiff_t slash = str_find(text, '/');
    struct str prefix = slash < 0 ? STR("") : str_slice(text, 0, (size_t)slash);
    struct str name = slash < 0 ? text : str_slice(text, (size_t)slash + 1, text.len);
    if (str_find(name, '/') >= 0) {
        complain(run, problems, "a valid label key ",
                 NAME_MESSAGE " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
        return;
    }
    if (slash == 0)
        complain(run, problems, "", "prefix part must be non-empty");
    else if (slash > 0)
        check_pattern(run, &formats[1], prefix, "prefix part ", problems);
    if (name.len == 0)
        complain(run, problems, "", "name part must be non-empty");
    check_pattern(run, format, name, "name part ", problems);
}

/* A dash at the end may be followed by something; the reference takes away the character before it too. */
static struct str mask_dash(struct str text, struct arena *arena)
{
    if (text.len < 2 || text.ptr[text.len - 1] != '-')
        return text;
    return arena_printf(arena, STR_FMT "a", (int)text.len - 2, text.ptr);
}

static bool is_date(struct str text, struct arena *arena)
{
    struct str timestamp = arena_printf(arena, STR_FMT "T00:00:00Z", STR_ARG(text));
    struct cel_value time = cel_timestamp_parse(timestamp);
    return text.len == 10 && (!cel_is_error(&time) || str_starts_with(text, STR("0000-")));
}

static bool is_datetime(struct cel_run *run, const struct cel_format *format, struct str text)
{
    char *lower = arena_strndup(run->scratch, text.ptr ? text.ptr : "", text.len);
    for (size_t i = 0; i < text.len; i++)
        lower[i] = lower[i] >= 'A' && lower[i] <= 'Z' ? (char)(lower[i] | 0x20) : lower[i];
    struct str all = { lower, text.len };
    ptrdiff_t mark = str_find(all, 't');
    if (text.len < 4 || mark < 0 || !is_date(str_slice(all, 0, (size_t)mark), run->scratch))
        return false;
    struct str time = str_slice(all, (size_t)mark + 1, all.len);
    ptrdiff_t next = str_find(time, 't');
    time = next < 0 ? time : str_slice(time, 0, (size_t)next);
    return fits(run, format->pattern, time) && memcmp(time.ptr, "23", 2) <= 0 &&
           memcmp(time.ptr + 3, "59", 2) <= 0 && memcmp(time.ptr + 6, "59", 2) <= 0;
}

static void check(struct cel_run *run, const struct cel_format *format, struct str text,
                  struct cel_value *problems)
{
    const char *problem;
    switch (format->form) {
    case FORM_PATTERN:
        check_pattern(run, format, text, "", problems);
        return;
    case FORM_PREFIX:
        check_pattern(run, format, mask_dash(text, run->scratch), "", problems);
        return;
    case FORM_QUALIFIED:
        check_qualified(run, format, text, problems);
        return;
    case FORM_URI:
        problem = cel_url_check(text, run->scratch);
        break;
    case FORM_DATE:
        problem = is_date(text, run->scratch) ? NULL : format->message;
        break;
    default:
        problem = is_datetime(run, format, text) ? NULL : format->message;
    }
    if (problem)
        complain(run, problems, "", problem);
}

CEL_FUNCTION(validate)
{
    enum { PROGRAM_BYTES = 16384 }; /* about what the patterns take */
    struct cel_value problems = cel_list_grower(run);
    if (!cel_take(run, PROGRAM_BYTES + 4 * (size_t)args[1].text.len))
        return cel_stop(run);
    check(run, args[0].format, args[1].text, &problems);
    if (run->stopped || cel_is_error(&problems))
        return cel_stop(run);
    problems = cel_list_frozen(run, &problems);
    return cel_optional(run, problems.list->len ? &problems : NULL);
}

static const struct cel_format *find(struct str function)
{
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
        if (str_is(function, formats[i].function))
            return &formats[i];
    return NULL;
}

CEL_FUNCTION(named)
{
    struct str function = arena_printf(run->scratch, "format." STR_FMT, (int)MIN(args->text.len, 64u),
                                       args->text.ptr ? args->text.ptr : "");
    const struct cel_format *format = args->text.len < 64 ? find(function) : NULL;
    struct cel_value value = { .kind = CEL_FORMAT, .format = format };
    return cel_optional(run, format ? &value : NULL);
}

/* One function for all constants: the name of the call selects the format. */
CEL_RETURNS(constant, (struct cel_value){ .kind = CEL_FORMAT, .format = find(run->call->function) })

const struct cel_overload cel_lib_format[] = {
    { "validate", "format, string -> opt(list(string))", validate, CEL_MEMBER, COST_VALIDATE },
    { "format.named", "string -> opt(format)", named },
    { "format.byte", "-> format", constant },
    { "format.date", "-> format", constant },
    { "format.datetime", "-> format", constant },
    { "format.dns1035Label", "-> format", constant },
    { "format.dns1035LabelPrefix", "-> format", constant },
    { "format.dns1123Label", "-> format", constant },
    { "format.dns1123LabelPrefix", "-> format", constant },
    { "format.dns1123Subdomain", "-> format", constant },
    { "format.dns1123SubdomainPrefix", "-> format", constant },
    { "format.labelValue", "-> format", constant },
    { "format.qualifiedName", "-> format", constant },
    { "format.uri", "-> format", constant },
    { "format.uuid", "-> format", constant },
    { 0 },
};
