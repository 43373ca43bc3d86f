/* schema.c: reads the embedded data once. The data is ours, so a mistake in it is a failed assertion, which the unit
 * test finds; nothing here sees bytes of a client. */
#include "schema/schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "schema/data.h"

static struct {
    bool ready;
    struct arena arena;
    struct strmap by_name; /* full name → struct schema_type */
    struct strmap by_kind; /* group/version/kind → struct schema_type */
    const struct schema_type **sorted;
} all;

static const char *const scalar_words[] = {
#define X(name, word) word,
    SCHEMA_SCALARS(X)
#undef X
};

const char *schema_scalar_word(enum schema_kind kind)
{
    return scalar_words[kind];
}

/* ---- words of a line ---- */

static struct str word_value(struct str word, const char *prefix)
{
    struct str name = str_from(prefix);
    return str_starts_with(word, name) ? str_slice(word, name.len, word.len) : (struct str){ 0 };
}

static struct schema_type *type_named(struct str full_name)
{
    struct schema_type *type = strmap_get(&all.by_name, full_name);
    if (!type) {
        type = arena_new(&all.arena, struct schema_type);
        type->full_name = full_name;
        strmap_put(&all.by_name, full_name, type);
    }
    return type;
}

static struct schema_value parse_value(struct str word, struct str package)
{
    if (str_starts_with(word, STR("[]")) || str_starts_with(word, STR("{}"))) {
        struct schema_value *item = arena_new(&all.arena, struct schema_value);
        *item = parse_value(str_slice(word, 2, word.len), package);
        return (struct schema_value){ .kind = word.ptr[0] == '[' ? SCHEMA_LIST : SCHEMA_MAP, .item = item };
    }
    for (size_t i = 0; i < ARRAY_SIZE(scalar_words); i++)
        if (str_is(word, scalar_words[i]))
            return (struct schema_value){ .kind = (enum schema_kind)i };
    struct str name = str_find(word, '.') >= 0
                          ? word
                          : arena_printf(&all.arena, STR_FMT "." STR_FMT, STR_ARG(package), STR_ARG(word));
    return (struct schema_value){ .kind = SCHEMA_OBJECT, .type = type_named(name) };
}

static void parse_keys(struct schema_field *field, struct str keys)
{
    while (keys.ptr) {
        assert(field->key_count < SCHEMA_KEYS_MAX);
        field->keys[field->key_count++] = str_cut(&keys, ',');
    }
}

static void parse_field_word(struct schema_field *field, struct str word)
{
    struct str value;
    if (str_is(word, "required"))
        field->required = true;
    else if (str_is(word, "null"))
        field->null = true;
    else if (str_is(word, "omit"))
        field->omit = true;
    else if (str_is(word, "atomic"))
        field->atomic = true;
    else if (str_is(word, "set"))
        field->set = true;
    else if ((value = word_value(word, "keys=")).ptr)
        parse_keys(field, value);
    else if ((value = word_value(word, "patch=")).ptr)
        while (value.ptr) {
            struct str strategy = str_cut(&value, ',');
            field->patch_merge |= str_is(strategy, "merge");
            field->patch_replace |= str_is(strategy, "replace");
            field->patch_retain |= str_is(strategy, "retainKeys");
        }
    else if ((value = word_value(word, "mergekey=")).ptr)
        field->merge_key = value;
    else if ((value = word_value(word, "default=")).ptr)
        field->default_json = value;
    else if ((value = word_value(word, "enum=")).ptr)
        field->enum_words = value;
    else if ((value = word_value(word, "go=")).ptr)
        field->go = value;
    else if ((value = word_value(word, "via=")).ptr)
        field->via = value;
    else
        assert(!"schema data: an unknown word in a field");
}

static void parse_field(struct schema_field *field, struct str line, struct str package)
{
    *field = (struct schema_field){ .name = str_cut(&line, ' ') };
    field->value = parse_value(str_cut(&line, ' '), package);
    while (line.ptr)
        parse_field_word(field, str_cut(&line, ' '));
}

static struct schema_type *parse_type(struct str line, struct str package)
{
    struct str name = str_cut(&line, ' ');
    struct schema_type *type =
        type_named(arena_printf(&all.arena, STR_FMT "." STR_FMT, STR_ARG(package), STR_ARG(name)));
    type->package = package;
    type->name = str_slice(type->full_name, package.len + 1, type->full_name.len);
    while (line.ptr) {
        struct str word = str_cut(&line, ' '), value = word_value(word, "kind=");
        type->atomic |= str_is(word, "atomic");
        type->open |= str_is(word, "open");
        if (value.ptr) {
            strmap_put(&all.by_kind, value, type);
            type->group = str_cut(&value, '/');
            type->version = str_cut(&value, '/');
            type->kind = value;
        }
    }
    return type;
}

/* ---- the data ---- */

typedef VEC(struct schema_field) field_vec;

static void end_type(struct schema_type *type, field_vec *fields)
{
    if (type) {
        type->fields = arena_copy(&all.arena, struct schema_field, fields->items, fields->len, fields->len);
        type->field_count = (uint32_t)fields->len;
    }
    vec_clear(fields);
}

static int compare_types(const void *a, const void *b)
{
    return str_cmp((*(const struct schema_type *const *)a)->full_name,
                   (*(const struct schema_type *const *)b)->full_name);
}

static void sort_types(void)
{
    all.sorted = arena_array(&all.arena, const struct schema_type *, all.by_name.len);
    size_t count = 0;
    map_for(&all.by_name, slot) {
        const struct schema_type *type = slot->value;
        assert(type->package.ptr && "schema data: a type is used that is not there");
        all.sorted[count++] = type;
    }
    qsort(all.sorted, count, sizeof(const struct schema_type *), compare_types);
}

static void load(void)
{
    if (all.ready)
        return;
    struct str text = str_from(schema_data), package = { 0 };
    struct schema_type *type = NULL;
    field_vec fields = { 0 };
    while (text.ptr) {
        struct str line = str_cut(&text, '\n');
        if (str_empty(line))
            continue;
        struct str rest = line, first = str_cut(&rest, ' ');
        /* A field may be called "type", but the name of a type begins with a capital letter. */
        if (str_is(first, "package")) {
            end_type(type, &fields);
            type = NULL;
            package = rest;
        } else if (str_is(first, "type") && rest.ptr && rest.ptr[0] >= 'A' && rest.ptr[0] <= 'Z') {
            end_type(type, &fields);
            type = parse_type(rest, package);
        } else
            parse_field(vec_push(&fields), line, package);
    }
    end_type(type, &fields);
    vec_release(&fields);
    sort_types();
    all.ready = true;
}

const struct schema_type *schema_by_name(struct str full_name)
{
    load();
    return strmap_get(&all.by_name, full_name);
}

const struct schema_type *schema_of(struct str group, struct str version, struct str kind)
{
    load();
    char text[256];
    int len = snprintf(text, sizeof(text), STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(group), STR_ARG(version),
                       STR_ARG(kind));
    if (len < 0 || (size_t)len >= sizeof(text))
        return NULL;
    return strmap_get(&all.by_kind, (struct str){ text, (uint32_t)len });
}

const struct schema_type *schema_of_custom(void)
{
    return schema_by_name(STR("berth.custom.CustomObject"));
}

size_t schema_types(const struct schema_type *const **ret)
{
    load();
    *ret = all.sorted;
    return all.by_name.len;
}

static int compare_name(const void *name, const void *field)
{
    return str_cmp(*(const struct str *)name, ((const struct schema_field *)field)->name);
}

const struct schema_field *schema_field(const struct schema_type *type, struct str name)
{
    if (!type || !type->field_count)
        return NULL;
    return bsearch(&name, type->fields, type->field_count, sizeof(*type->fields), compare_name);
}
