/* field_values.c: see field_values.h. The words of fields are those of the schema. */
#include "input/field_values.h"

#include "codec/doc.h"
#include "codec/path.h"

enum { SLIPS_MAX = 2, SHOWN_MAX = 100 };

/* The word of the list, which commas separate, that is nearest and has at most so many slips of the pen; none: no
 * pointer. */
static struct str nearest_word(struct str words, struct str text, size_t slips_max)
{
    struct str best = { 0 };
    size_t near = slips_max + 1;
    while (words.ptr) {
        struct str word = str_cut(&words, ',');
        size_t distance = str_distance(word, text, true);
        if (!str_empty(word) && !str_ends_with(word, STR("-")) && distance < near) {
            near = distance;
            best = word;
        }
    }
    return best;
}

static bool has_word(struct str words, struct str text)
{
    while (words.ptr)
        if (str_eq(str_cut(&words, ','), text))
            return true;
    return false;
}

static void print_words(struct strbuf *out, struct str words)
{
    while (words.ptr) {
        strbuf_str(out, str_cut(&words, ','));
        if (words.ptr)
            strbuf_puts(out, str_find(words, ',') < 0 ? " or " : ", ");
    }
}

/* OpenAPI has none for selectors. */
static struct str words_of(const struct schema_type *type, const struct schema_field *field)
{
    if (str_is(type->name, "LabelSelectorRequirement") && str_is(field->name, "operator"))
        return STR("DoesNotExist,Exists,In,NotIn");
    return field->enum_words;
}

bool field_word_refused(const struct schema_type *type, const struct schema_field *field, struct str text,
                        struct strbuf *out)
{
    struct str words = words_of(type, field);
    if (str_empty(words) || str_empty(text) || has_word(words, text))
        return false;
    struct str meant = nearest_word(words, text, MAX((size_t)SLIPS_MAX, text.len / 3));
    strbuf_puts(out, "unsupported value \"");
    path_print_shown(out, text, SHOWN_MAX);
    strbuf_puts(out, meant.len ? "\"; did you mean " : "\"; expected ");
    if (meant.len)
        strbuf_printf(out, STR_FMT "?", STR_ARG(meant));
    else
        print_words(out, words);
    return true;
}

static bool is_whole_number(yyjson_val *val)
{
    int64_t number;
    return yyjson_is_str(val) && str_to_int64(doc_text(val), &number);
}

bool field_values_refused(const struct schema_type *type, yyjson_val *requirement, struct strbuf *out)
{
    struct str operator= doc_member_text(requirement, "operator");
    yyjson_val *values = yyjson_obj_get(requirement, "values");
    size_t count = yyjson_arr_size(values);
    const char *wants = NULL;
    if (!str_is(type->name, "NodeSelectorRequirement") && !str_is(type->name, "LabelSelectorRequirement"))
        return false;
    if ((str_is(operator, "In") || str_is(operator, "NotIn")) && count == 0)
        wants = "wants values";
    else if ((str_is(operator, "Exists") || str_is(operator, "DoesNotExist")) && count > 0)
        wants = "takes no values";
    else if ((str_is(operator, "Gt") || str_is(operator, "Lt")) &&
             (count != 1 || !is_whole_number(yyjson_arr_get_first(values))))
        wants = "wants one value, a whole number";
    if (wants)
        strbuf_printf(out, "the operator " STR_FMT " %s", STR_ARG(operator), wants);
    return wants;
}

/* Resources without a domain; those that end in a hyphen have more behind it. */
static const struct {
    const char *type, *names;
} owners[] = {
    { "ResourceRequirements", "cpu,memory,ephemeral-storage,hugepages-" },
    { "NodeStatus", "cpu,memory,ephemeral-storage,pods,storage,hugepages-,attachable-volumes-" },
};

static bool is_resource(struct str words, struct str name)
{
    while (words.ptr) {
        struct str word = str_cut(&words, ',');
        if (str_eq(word, name) || (str_ends_with(word, STR("-")) && str_starts_with(name, word)))
            return true;
    }
    return str_find(name, '/') >= 0;
}

static bool is_negative(yyjson_val *amount)
{
    return yyjson_is_num(amount) ? yyjson_get_num(amount) < 0 : str_starts_with(doc_text(amount), STR("-"));
}

static bool amount_refused(struct str names, struct str resource, yyjson_val *amount, struct strbuf *out)
{
    if (is_resource(names, resource) && !is_negative(amount))
        return false;
    bool is_known = is_resource(names, resource);
    size_t slips_max = str_is(resource, "gpu") ? 0 : SLIPS_MAX; /* it is not meant to be cpu */
    struct str meant = is_known ? (struct str){ 0 } : nearest_word(names, resource, slips_max);
    strbuf_puts(out, is_known ? "the amount of " : "there is no resource ");
    path_print_shown(out, resource, SHOWN_MAX);
    if (is_known)
        strbuf_puts(out, " is negative");
    if (meant.len)
        strbuf_printf(out, "; did you mean " STR_FMT "?", STR_ARG(meant));
    return true;
}

bool field_amount_refused(const struct schema_type *type, const struct schema_field *field,
                          struct str resource, yyjson_val *amount, struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
        if (str_is(type->name, owners[i].type) && field->value.item->kind == SCHEMA_QUANTITY)
            return amount_refused(str_from(owners[i].names), resource, amount, out);
    return false;
}
