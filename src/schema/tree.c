/* tree.c: changing JSON trees in linear time. Recursion is bounded by the depth that the callers check first. */
#include "schema/tree.h"

#include <inttypes.h>

#include "base/decimal.h"
#include "base/quote.h"

enum { INDEX_FROM = 12 }; /* fewer members are found by looking at each */

static struct member *find(const struct members *members, struct str name)
{
    if (members->index.len) {
        size_t at = (size_t)strmap_get(&members->index, name);
        return at ? &members->all.items[at - 1] : NULL;
    }
    for (size_t i = 0; i < members->all.len; i++)
        if (str_eq(members->all.items[i].name, name))
            return &members->all.items[i];
    return NULL;
}

static void index_from(struct members *members, size_t first)
{
    for (size_t i = first; i < members->all.len; i++)
        strmap_put(&members->index, members->all.items[i].name, (void *)(i + 1));
}

static void append(struct members *members, yyjson_mut_val *key, yyjson_mut_val *value)
{
    *vec_push(&members->all) = (struct member){ mut_str(key), key, value };
    if (members->index.len)
        index_from(members, members->all.len - 1);
    else if (members->all.len > INDEX_FROM)
        index_from(members, 0);
}

void members_open(struct members *members, yyjson_mut_val *object)
{
    *members = (struct members){ .object = object };
    size_t i, max;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(mut_items(object), i, max, key, value)
    {
        struct member *old = find(members, mut_str(key));
        if (old)
            old->value = value;
        else
            append(members, key, value);
    }
    yyjson_mut_obj_clear(object);
}

yyjson_mut_val *members_get(const struct members *members, struct str name)
{
    struct member *member = find(members, name);
    return member ? member->value : NULL;
}

void members_set(struct members *members, yyjson_mut_doc *doc, struct str name, yyjson_mut_val *value)
{
    struct member *member = find(members, name);
    if (member)
        member->value = value;
    else
        append(members, yyjson_mut_strncpy(doc, name.ptr ? name.ptr : "", name.len), value);
}

void members_remove(struct members *members, struct str name)
{
    struct member *member = find(members, name);
    if (member)
        member->value = NULL;
}

void members_drop(struct members *members)
{
    vec_release(&members->all);
    strmap_release(&members->index);
}

void members_close(struct members *members)
{
    vec_for(&members->all, member)
        if (member->value)
            yyjson_mut_obj_add(members->object, member->key, member->value);
    members_drop(members);
}

void tree_drop_duplicates(yyjson_mut_val *val)
{
    size_t i, max;
    yyjson_mut_val *item;
    if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_foreach(val, i, max, item) tree_drop_duplicates(item);
    } else if (yyjson_mut_is_obj(val)) {
        struct members members;
        members_open(&members, val);
        vec_for(&members.all, member)
            tree_drop_duplicates(member->value);
        members_close(&members);
    }
}

/* ---- depth ---- */

bool tree_depth_within(yyjson_val *val, uint32_t max)
{
    if (!yyjson_is_ctn(val))
        return true;
    if (!max)
        return false;
    size_t i, count;
    yyjson_val *key, *item;
    if (yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, i, count, item)
            if (!tree_depth_within(item, max - 1))
                return false;
    } else {
        yyjson_obj_foreach(val, i, count, key, item)
            if (!tree_depth_within(item, max - 1))
                return false;
    }
    return true;
}

bool tree_mut_depth_within(yyjson_mut_val *val, uint32_t max)
{
    if (!yyjson_mut_is_ctn(val))
        return true;
    if (!max)
        return false;
    size_t i, count;
    yyjson_mut_val *key, *item;
    if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_foreach(val, i, count, item) if (!tree_mut_depth_within(item, max - 1)) return false;
    } else {
        yyjson_mut_obj_foreach(val, i, count, key,
                               item) if (!tree_mut_depth_within(item, max - 1)) return false;
    }
    return true;
}

/* ---- comparison ---- */

static int compare_members(const void *a, const void *b)
{
    return str_cmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

typedef VEC(struct member) member_vec;

static void sorted_members(yyjson_mut_val *object, member_vec *ret)
{
    size_t i, max;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(mut_items(object), i, max, key, value) * vec_push(ret) =
        (struct member){ mut_str(key), key, value };
    vec_sort(ret, compare_members);
}

static bool objects_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    member_vec left = { 0 }, right = { 0 };
    sorted_members(a, &left);
    sorted_members(b, &right);
    bool equal = left.len == right.len;
    for (size_t i = 0; equal && i < left.len; i++)
        equal = str_eq(left.items[i].name, right.items[i].name) &&
                tree_equal(left.items[i].value, right.items[i].value);
    vec_release(&left);
    vec_release(&right);
    return equal;
}

bool tree_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    if (!a || !b)
        return a == b;
    if (yyjson_mut_get_type(a) != yyjson_mut_get_type(b))
        return false;
    if (yyjson_mut_is_obj(a))
        return yyjson_mut_obj_size(a) == yyjson_mut_obj_size(b) && objects_equal(a, b);
    if (!yyjson_mut_is_arr(a))
        return yyjson_mut_equals(a, b);
    if (yyjson_mut_arr_size(a) != yyjson_mut_arr_size(b))
        return false;
    yyjson_mut_arr_iter left, right;
    yyjson_mut_arr_iter_init(a, &left);
    yyjson_mut_arr_iter_init(b, &right);
    for (yyjson_mut_val *item; (item = yyjson_mut_arr_iter_next(&left));)
        if (!tree_equal(item, yyjson_mut_arr_iter_next(&right)))
            return false;
    return true;
}

static void print_number(struct strbuf *out, yyjson_mut_val *val, enum decimal_form form)
{
    char buf[DECIMAL_LEN_MAX];
    if (yyjson_mut_is_real(val))
        strbuf_str(out, decimal_format(yyjson_mut_get_real(val), form, buf));
    else if (yyjson_mut_is_sint(val))
        strbuf_printf(out, "%" PRId64, yyjson_mut_get_sint(val));
    else
        strbuf_printf(out, "%" PRIu64, yyjson_mut_get_uint(val));
}

bool tree_scalar_key(yyjson_mut_val *val, struct strbuf *out)
{
    if (!val || yyjson_mut_is_ctn(val))
        return false;
    strbuf_putc(out, yyjson_mut_is_real(val) ? 'r' : (char)('0' + yyjson_mut_get_type(val)));
    if (yyjson_mut_is_str(val))
        strbuf_str(out, mut_str(val));
    else if (yyjson_mut_is_num(val))
        print_number(out, val, DECIMAL_JSON);
    else if (yyjson_mut_is_bool(val))
        strbuf_puts(out, yyjson_mut_get_bool(val) ? "true" : "false");
    return true;
}

void tree_drop_nulls(yyjson_mut_val *val)
{
    size_t i, max;
    yyjson_mut_val *item;
    if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_foreach(val, i, max, item) tree_drop_nulls(item);
    } else if (yyjson_mut_is_obj(val)) {
        struct members members;
        members_open(&members, val);
        vec_for(&members.all, member) {
            if (yyjson_mut_is_null(member->value))
                member->value = NULL;
            else
                tree_drop_nulls(member->value);
        }
        members_close(&members);
    }
}

/* ---- printing ---- */

void tree_print_go(struct strbuf *out, yyjson_mut_val *val)
{
    size_t i, max;
    yyjson_mut_val *item;
    if (yyjson_mut_is_str(val))
        strbuf_str(out, mut_str(val));
    else if (yyjson_mut_is_num(val))
        print_number(out, val, DECIMAL_GO);
    else if (yyjson_mut_is_bool(val))
        strbuf_puts(out, yyjson_mut_get_bool(val) ? "true" : "false");
    else if (yyjson_mut_is_arr(val)) {
        strbuf_putc(out, '[');
        yyjson_mut_arr_foreach(val, i, max, item)
        {
            if (i)
                strbuf_putc(out, ' ');
            tree_print_go(out, item);
        }
        strbuf_putc(out, ']');
    } else if (yyjson_mut_is_obj(val)) {
        member_vec members = { 0 };
        sorted_members(val, &members);
        strbuf_puts(out, "map[");
        for (i = 0; i < members.len; i++) {
            strbuf_printf(out, "%s" STR_FMT ":", i ? " " : "", STR_ARG(members.items[i].name));
            tree_print_go(out, members.items[i].value);
        }
        strbuf_putc(out, ']');
        vec_release(&members);
    } else
        strbuf_puts(out, "<nil>");
}

void tree_print_json(struct strbuf *out, yyjson_mut_val *val)
{
    size_t i, max;
    yyjson_mut_val *item;
    if (yyjson_mut_is_str(val))
        quote_json(out, mut_str(val), QUOTE_JSON_GO);
    else if (yyjson_mut_is_num(val))
        print_number(out, val, DECIMAL_JSON);
    else if (yyjson_mut_is_bool(val))
        strbuf_puts(out, yyjson_mut_get_bool(val) ? "true" : "false");
    else if (yyjson_mut_is_arr(val)) {
        strbuf_putc(out, '[');
        yyjson_mut_arr_foreach(val, i, max, item)
        {
            if (i)
                strbuf_putc(out, ',');
            tree_print_json(out, item);
        }
        strbuf_putc(out, ']');
    } else if (yyjson_mut_is_obj(val)) {
        member_vec members = { 0 };
        sorted_members(val, &members);
        strbuf_putc(out, '{');
        for (i = 0; i < members.len; i++) {
            if (i)
                strbuf_putc(out, ',');
            quote_json(out, members.items[i].name, QUOTE_JSON_GO);
            strbuf_putc(out, ':');
            tree_print_json(out, members.items[i].value);
        }
        strbuf_putc(out, '}');
        vec_release(&members);
    } else
        strbuf_puts(out, "null");
}
