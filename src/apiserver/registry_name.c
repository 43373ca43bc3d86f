/* registry_name.c: names of objects: what they may be, and those that the server makes up. */
#include <stdio.h>

#include "api/names.h"
#include "apiserver/registry_impl.h"
#include "apiserver/tree.h"
#include "base/quote.h"

static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";

enum { SUFFIX_LEN = 5, NAME_MAX_GENERATED = 63, SUBDOMAIN_MAX = 253, LABEL_MAX = 63 };

void name_uid(struct rng *rng, char ret[static 37])
{
    uint64_t a = rng_next(rng), b = rng_next(rng);
    a = (a & ~UINT64_C(0xf000)) | UINT64_C(0x4000);           /* version 4 */
    b = (b & ~(UINT64_C(0xc) << 60)) | (UINT64_C(0x8) << 60); /* variant 1 */
    snprintf(ret, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32), (unsigned)(a >> 16) & 0xffff,
             (unsigned)a & 0xffff, (unsigned)(b >> 48), (unsigned long long)(b & UINT64_C(0xffffffffffff)));
}

void name_generate(struct rng *rng, struct str base, struct strbuf *out)
{
    strbuf_str(out, str_slice(base, 0, MIN(base.len, (uint32_t)(NAME_MAX_GENERATED - SUFFIX_LEN))));
    for (int i = 0; i < SUFFIX_LEN; i++)
        strbuf_putc(out, letters[rng_below(rng, sizeof(letters) - 1)]);
}

/* ---- what a name may be ---- */
static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (!is_lower(text.ptr[i]) && !(text.ptr[i] == '-' && i > 0 && i + 1 < text.len))
            return false;
    return text.len > 0;
}

static bool is_subdomain(struct str text)
{
    while (text.ptr) {
        if (!is_label(str_cut(&text, '.')))
            return false;
    }
    return true;
}

static bool is_path_segment(struct str text)
{
    return !str_is(text, ".") && !str_is(text, "..") && str_find(text, '/') < 0 && str_find(text, '%') < 0;
}

#define SUBDOMAIN_TEXT \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " \
    "must " \
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL_TEXT \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " \
    "and " \
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define LABEL_1035_TEXT \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic " \
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for " \
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

enum name_form { FORM_SUBDOMAIN, FORM_LABEL, FORM_LABEL_1035, FORM_PATH };

/* Others are subdomains. */
static const struct {
    const char *group, *plural;
    enum name_form form;
} forms[] = {
    { "", "namespaces", FORM_LABEL },
    { "", "services", FORM_LABEL_1035 },
    { "apps", "statefulsets", FORM_LABEL },
    { "rbac.authorization.k8s.io", "roles", FORM_PATH },
    { "rbac.authorization.k8s.io", "rolebindings", FORM_PATH },
    { "rbac.authorization.k8s.io", "clusterroles", FORM_PATH },
    { "rbac.authorization.k8s.io", "clusterrolebindings", FORM_PATH },
};

static enum name_form form_of(const struct api_resource *resource)
{
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (str_is(resource->group, forms[i].group) && str_is(resource->plural, forms[i].plural))
            return forms[i].form;
    return FORM_SUBDOMAIN;
}

static void fault(struct api_error *err, const char *field, struct str name, const char *text)
{
    _cleanup_(strbuf_release) struct strbuf value = { 0 };
    quote_go(&value, name);
    api_error_field(err, FIELD_INVALID, field, strbuf_slice(&value), text);
}

void name_check(const struct api_resource *resource, struct str name, const char *field,
                struct api_error *err)
{
    enum name_form form = form_of(resource);
    if (form == FORM_PATH) {
        if (!is_path_segment(name))
            fault(err, field, name, "may not contain '/' or '%', or be '.' or '..'");
        return;
    }
    uint32_t max = form == FORM_SUBDOMAIN ? SUBDOMAIN_MAX : LABEL_MAX;
    if (name.len > max)
        fault(err, field, name,
              max == LABEL_MAX ? "must be no more than 63 characters"
                               : "must be no more than 253 characters");
    if (form == FORM_SUBDOMAIN && !is_subdomain(name))
        fault(err, field, name, SUBDOMAIN_TEXT);
    if (form == FORM_LABEL && !is_label(name))
        fault(err, field, name, LABEL_TEXT);
    if (form == FORM_LABEL_1035 && (!is_label(name) || (name.ptr[0] >= '0' && name.ptr[0] <= '9')))
        fault(err, field, name, LABEL_1035_TEXT);
}

static void add_faults(struct api_error *err, struct str text, struct name_faults faults)
{
    for (size_t i = 0; i < faults.len; i++)
        fault(err, "metadata.labels", text, faults.items[i]);
}

void name_check_labels(yyjson_mut_val *meta, struct api_error *err)
{
    yyjson_mut_val *labels = yyjson_mut_obj_get(meta, "labels"), *key, *val;
    size_t i, max;
    if (!yyjson_mut_is_obj(labels))
        return;
    yyjson_mut_obj_foreach(labels, i, max, key, val)
    {
        add_faults(err, tree_mut_str(key), name_check_label_key(tree_mut_str(key)));
        add_faults(err, tree_mut_str(val), name_check_label_value(tree_mut_str(val)));
    }
}
