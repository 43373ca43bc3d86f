/* names.c: the grammar of label keys and values; see names.h. */
#include "api/names.h"

enum { NAME_LEN_MAX = 63, SUBDOMAIN_LEN_MAX = 253 };

#define NAME_RULE \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " \
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE_RULE \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " \
    "must start " \
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " \
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define SUBDOMAIN_RULE \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " \
    "must " \
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool is_name(struct str text)
{
    if (!text.len || !is_alnum(text.ptr[0]) || !is_alnum(text.ptr[text.len - 1]))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!is_alnum(text.ptr[i]) && !strchr("-_.", text.ptr[i]))
            return false;
    return !memchr(text.ptr, '\0', text.len);
}

/* Every label between the dots begins and ends with a letter or digit. */
static bool is_subdomain(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool edge = i == 0 || i + 1 == text.len || text.ptr[i - 1] == '.' || text.ptr[i + 1] == '.';
        if (!is_lower_or_digit(c) && (edge || (c != '-' && c != '.')))
            return false;
    }
    return text.len > 0;
}

static void fault(struct name_faults *faults, const char *text)
{
    faults->items[faults->len++] = text;
}

struct name_faults name_check_label_key(struct str key)
{
    struct name_faults faults = { 0 };
    ptrdiff_t slash = str_find(key, '/');
    struct str name = str_slice(key, (size_t)(slash + 1), key.len);
    if (str_find(name, '/') >= 0) {
        fault(&faults, "a valid label key " NAME_RULE
                       " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
        return faults;
    }
    if (slash == 0) {
        fault(&faults, "prefix part must be non-empty");
    } else if (slash > 0) {
        if (slash > SUBDOMAIN_LEN_MAX)
            fault(&faults, "prefix part must be no more than 253 bytes");
        if (!is_subdomain(str_slice(key, 0, (size_t)slash)))
            fault(&faults, "prefix part " SUBDOMAIN_RULE);
    }
    if (!name.len)
        fault(&faults, "name part must be non-empty");
    else if (name.len > NAME_LEN_MAX)
        fault(&faults, "name part must be no more than 63 bytes");
    if (!is_name(name))
        fault(&faults, "name part " NAME_RULE);
    return faults;
}

struct name_faults name_check_label_value(struct str value)
{
    struct name_faults faults = { 0 };
    if (value.len > NAME_LEN_MAX)
        fault(&faults, "must be no more than 63 bytes");
    if (value.len && !is_name(value))
        fault(&faults, VALUE_RULE);
    return faults;
}

bool name_is_extended_resource(struct str name)
{
    if (str_find(name, '/') < 0 || str_contains(name, STR("kubernetes.io/")) ||
        str_starts_with(name, STR("requests.")) || name_check_label_key(name).len)
        return false;
    /* "requests." and the prefix together must still be a subdomain. */
    return (size_t)str_find(name, '/') + strlen("requests.") <= SUBDOMAIN_LEN_MAX;
}

/* A colon behind the last slash is a tag or a digest; one before it is a registry's port. */
struct str image_name_normalize(struct str name, struct arena *arena)
{
    if (str_rfind(name, ':') > str_rfind(name, '/'))
        return name;
    return arena_printf(arena, STR_FMT ":latest", STR_ARG(name));
}

struct str object_key(struct strbuf *buf, struct str namespace, struct str name)
{
    if (!namespace.len)
        return name;
    strbuf_clear(buf);
    strbuf_str(buf, namespace);
    strbuf_putc(buf, '/');
    strbuf_str(buf, name);
    return strbuf_slice(buf);
}
