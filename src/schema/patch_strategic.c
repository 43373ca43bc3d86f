/* patch_strategic.c: strategic merge patch: lists of objects are merged by a key, lists of scalars as sets, where the
 * type says so. Directives in the patch ask for more:
 *
 *     $patch: replace | delete          of an object, or of an element of a merged list
 *     $retainKeys: [a, b]               other members of the object go
 *     $deleteFromPrimitiveList/NAME     scalars to remove from the list NAME
 *     $setElementOrder/NAME             order of the elements of the list NAME
 *
 * Elements are looked up in maps by their key, so a merge of two lists takes linear time. */
#include <errno.h>

#include "schema/patch.h"
#include "schema/tree.h"

#define RETAIN_KEYS STR("$retainKeys")
#define DELETE_PREFIX STR("$deleteFromPrimitiveList")
#define ORDER_PREFIX STR("$setElementOrder")

struct merge {
    yyjson_mut_doc *doc;
    struct schema_error *err;
    struct arena keys; /* texts of keys in maps */
};

typedef VEC(yyjson_mut_val *) val_vec;

static int merge_object(struct merge *merge, yyjson_mut_val **target, yyjson_mut_val *patch,
                        const struct schema_value *value);

/* ---- errors ---- */

static int bad_request(struct merge *merge, const char *text)
{
    return schema_error(merge->err, 400, "BadRequest", "%s", text);
}

/* "text: MAP more" */
static int internal(struct merge *merge, const char *before, yyjson_mut_val *val, const char *after,
                    struct str name)
{
    struct strbuf text = { 0 };
    tree_print_go(&text, val);
    schema_error(merge->err, 500, "", "%s%s%s" STR_FMT, before, text.text ? text.text : "", after,
                 STR_ARG(name));
    strbuf_release(&text);
    return -EINVAL;
}

static int no_merge_key(struct merge *merge, yyjson_mut_val *val, struct str key)
{
    return internal(merge, "map: ", val, " does not contain declared merge key: ", key);
}

static int unknown_directive(struct merge *merge, yyjson_mut_val *directive, yyjson_mut_val *patch)
{
    struct strbuf word = { 0 }, text = { 0 };
    tree_print_go(&word, directive);
    strbuf_printf(&text, "unknown patch type: %s in map: ", word.text ? word.text : "");
    internal(merge, text.text, patch, "", (struct str){ 0 });
    strbuf_release(&word);
    strbuf_release(&text);
    return -EINVAL;
}

static int not_a_list(struct merge *merge, yyjson_mut_val *val)
{
    const char *type = yyjson_mut_is_str(val)    ? "string"
                       : yyjson_mut_is_bool(val) ? "bool"
                       : yyjson_mut_is_real(val) ? "float64"
                       : yyjson_mut_is_num(val)  ? "int64"
                       : yyjson_mut_is_obj(val)  ? "map[string]interface {}"
                                                 : "%!s(<nil>)";
    return schema_error(merge->err, 500, "", "expected a []interface {}, but received a %s", type);
}

/* ---- values of the patch that become part of the object ---- */

/* Objects with a directive go, at any depth. False: this one goes. */
static bool remove_directives(yyjson_mut_val *val)
{
    if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_iter iter;
        yyjson_mut_arr_iter_init(val, &iter);
        for (yyjson_mut_val *item; (item = yyjson_mut_arr_iter_next(&iter));)
            if (!remove_directives(item))
                yyjson_mut_arr_iter_remove(&iter);
    } else if (yyjson_mut_is_obj(val)) {
        if (yyjson_mut_obj_getn(val, "$patch", 6))
            return false;
        yyjson_mut_obj_iter iter;
        yyjson_mut_obj_iter_init(val, &iter);
        for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&iter));)
            if (!remove_directives(yyjson_mut_obj_iter_get_val(key)))
                yyjson_mut_obj_iter_remove(&iter);
    }
    return true;
}

static void set_new(struct merge *merge, struct members *members, struct str name, yyjson_mut_val *val)
{
    tree_drop_nulls(val);
    if (remove_directives(val))
        members_set(members, merge->doc, name, val);
    else
        members_remove(members, name);
}

/* ---- lists ---- */

/* The text that elements are compared by: of the element itself, or of its member `key`. No pointer: it has none. */
static struct str key_of(struct merge *merge, yyjson_mut_val *item, struct str key)
{
    yyjson_mut_val *val = key.len ? yyjson_mut_obj_getn(item, key.ptr, key.len) : item;
    struct strbuf text = { 0 };
    struct str result = { 0 };
    if (val && tree_scalar_key(val, &text))
        result = arena_str(&merge->keys, strbuf_slice(&text));
    else if (val) /* an object or a list equals nothing */
        result = arena_printf(&merge->keys, "%p", (void *)val);
    strbuf_release(&text);
    return result;
}

/* The first position + 1 of every key. Fails if an element has none. */
static int positions(struct merge *merge, const val_vec *list, struct str key, struct strmap *ret)
{
    for (size_t i = 0; i < list->len; i++) {
        struct str text = key_of(merge, list->items[i], key);
        if (!text.ptr)
            return no_merge_key(merge, list->items[i], key);
        if (!strmap_get(ret, text))
            strmap_put(ret, text, (void *)(i + 1));
    }
    return 0;
}

/* Where keys stand in the patch and in the object. Taken before elements are merged, which takes those of the patch
 * apart. */
struct orders {
    struct strmap patch, server;
};

static int orders_take(struct merge *merge, struct orders *orders, const val_vec *patch,
                       const val_vec *server, struct str key)
{
    *orders = (struct orders){ 0 };
    int r = positions(merge, patch, key, &orders->patch);
    return r < 0 ? r : positions(merge, server, key, &orders->server);
}

static void orders_release(struct orders *orders)
{
    strmap_release(&orders->patch);
    strmap_release(&orders->server);
}

struct placed {
    size_t rank; /* position in the order; 0: not in it */
    size_t was;
    size_t server_rank;
    yyjson_mut_val *item;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return COMPARE(x->rank, y->rank) ?: COMPARE(x->was, y->was);
}

typedef VEC(struct placed) placed_vec;

/* Elements that the patch names come in its order, the others in the order that they had; where both kinds meet, an
 * element of the object comes first if it stood before that of the patch. */
static int order_elements(struct merge *merge, const val_vec *merged, const struct orders *orders,
                          struct str key, val_vec *ret)
{
    placed_vec left = { 0 }, right = { 0 };
    int r = 0;
    for (size_t i = 0; r == 0 && i < merged->len; i++) {
        struct str text = key_of(merge, merged->items[i], key);
        if (!text.ptr) {
            r = no_merge_key(merge, merged->items[i], key);
            break;
        }
        size_t patch_rank = (size_t)strmap_get(&orders->patch, text);
        size_t rank = (size_t)strmap_get(&orders->server, text);
        struct placed placed = { patch_rank ? patch_rank : rank, i, rank, merged->items[i] };
        if (patch_rank)
            *vec_push(&right) = placed;
        else
            *vec_push(&left) = placed;
    }
    vec_sort(&left, compare_placed);
    vec_sort(&right, compare_placed);
    vec_clear(ret);
    for (size_t i = 0, j = 0; r == 0 && (i < left.len || j < right.len);) {
        bool from_left =
            j == right.len || (i < left.len && left.items[i].server_rank && right.items[j].server_rank &&
                               left.items[i].server_rank < right.items[j].server_rank);
        *vec_push(ret) = from_left ? left.items[i++].item : right.items[j++].item;
    }
    vec_release(&left);
    vec_release(&right);
    return r;
}

static void to_vec(yyjson_mut_val *list, val_vec *ret)
{
    size_t i, max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(mut_items(list), i, max, item) * vec_push(ret) = item;
}

static yyjson_mut_val *to_list(struct merge *merge, const val_vec *items)
{
    yyjson_mut_val *list = yyjson_mut_arr(merge->doc);
    for (size_t i = 0; i < items->len; i++)
        yyjson_mut_arr_append(list, items->items[i]);
    return list;
}

static int different_types(struct merge *merge, const val_vec *original, const val_vec *patch)
{
    yyjson_mut_val *both = yyjson_mut_arr(merge->doc);
    yyjson_mut_arr_append(both, to_list(merge, original));
    yyjson_mut_arr_append(both, to_list(merge, patch));
    return internal(merge, "list element types are not identical: ", both, "", (struct str){ 0 });
}

/* The elements of both lists must have one type, which must not be a list. */
static int element_type(struct merge *merge, const val_vec *original, const val_vec *patch, bool *ret_objects)
{
    yyjson_mut_val *first = original->len ? original->items[0] : patch->len ? patch->items[0] : NULL;
    if (!first)
        return schema_error(merge->err, 500, "", "no elements in any of the given slices");
    if (yyjson_mut_is_arr(first))
        return schema_error(merge->err, 422, "Invalid",
                            "the server rejected our request due to an error in our request");
    *ret_objects = yyjson_mut_is_obj(first);
    for (size_t i = 0; i < original->len + patch->len; i++) {
        yyjson_mut_val *item = i < original->len ? original->items[i] : patch->items[i - original->len];
        if (yyjson_mut_get_type(item) != yyjson_mut_get_type(first) ||
            yyjson_mut_is_real(item) != yyjson_mut_is_real(first))
            return different_types(merge, original, patch);
    }
    return 0;
}

/* Splits elements with directives off the patch, and removes what they delete. *ret_replace: the list is replaced. */
static int take_directives(struct merge *merge, val_vec *original, val_vec *patch, struct str key,
                           bool *ret_replace)
{
    struct strmap deleted = { 0 };
    size_t kept = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < patch->len; i++) {
        yyjson_mut_val *item = patch->items[i], *directive = yyjson_mut_obj_getn(item, "$patch", 6);
        if (!directive) {
            patch->items[kept++] = item;
        } else if (str_is(mut_str(directive), "delete")) {
            struct str text = key_of(merge, item, key);
            if (text.ptr)
                strmap_put(&deleted, text, item);
            else
                r = no_merge_key(merge, item, key);
        } else if (str_is(mut_str(directive), "replace")) {
            *ret_replace = true;
        } else if (str_is(mut_str(directive), "merge")) {
            r = schema_error(merge->err, 500, "", "merging lists cannot yet be specified in the patch");
        } else
            r = unknown_directive(merge, directive, item);
    }
    patch->len = kept;
    size_t left = 0;
    for (size_t i = 0; r == 0 && deleted.len && i < original->len; i++) {
        struct str text = key_of(merge, original->items[i], key);
        if (!text.ptr || !strmap_get(&deleted, text))
            original->items[left++] = original->items[i];
    }
    if (deleted.len)
        original->len = left;
    strmap_release(&deleted);
    return r;
}

static int merge_elements(struct merge *merge, const val_vec *original, const val_vec *patch, struct str key,
                          const struct schema_value *item, val_vec *merged)
{
    struct strmap index = { 0 };
    int r = 0;
    for (size_t i = 0; i < original->len; i++) {
        struct str text = key_of(merge, original->items[i], key);
        if (text.ptr && !strmap_get(&index, text))
            strmap_put(&index, text, (void *)(i + 1));
        *vec_push(merged) = original->items[i];
    }
    for (size_t i = 0; r == 0 && i < patch->len; i++) {
        struct str text = key_of(merge, patch->items[i], key);
        size_t at = text.ptr ? (size_t)strmap_get(&index, text) : 0;
        if (!text.ptr)
            r = no_merge_key(merge, patch->items[i], key);
        else if (at)
            r = merge_object(merge, &merged->items[at - 1], patch->items[i], item);
        else {
            *vec_push(merged) = patch->items[i];
            strmap_put(&index, text, (void *)merged->len);
        }
    }
    strmap_release(&index);
    return r;
}

static int merge_object_lists(struct merge *merge, val_vec *original, val_vec *patch,
                              const struct schema_field *field, val_vec *ret)
{
    struct str key = field ? field->merge_key : (struct str){ 0 };
    if (!key.len)
        return schema_error(merge->err, 500, "", "cannot merge lists without merge key for struct");
    bool replace = false;
    int r = take_directives(merge, original, patch, key, &replace);
    if (r < 0)
        return r;
    if (replace) {
        for (size_t i = 0; i < patch->len; i++)
            *vec_push(ret) = patch->items[i];
        return 0;
    }
    val_vec merged = { 0 };
    struct orders orders;
    r = orders_take(merge, &orders, patch, original, key);
    if (r == 0)
        r = merge_elements(merge, original, patch, key, field->value.item, &merged);
    if (r == 0)
        r = order_elements(merge, &merged, &orders, key, ret);
    orders_release(&orders);
    vec_release(&merged);
    return r;
}

static int merge_scalar_lists(struct merge *merge, const val_vec *original, const val_vec *patch, bool remove,
                              val_vec *ret)
{
    struct strmap seen = { 0 };
    val_vec merged = { 0 };
    int r = 0;
    if (remove) {
        r = positions(merge, patch, (struct str){ 0 }, &seen);
        for (size_t i = 0; i < original->len; i++)
            if (!strmap_get(&seen, key_of(merge, original->items[i], (struct str){ 0 })))
                *vec_push(ret) = original->items[i];
    } else {
        for (size_t i = 0; i < original->len + patch->len; i++) {
            yyjson_mut_val *item = i < original->len ? original->items[i] : patch->items[i - original->len];
            struct str text = key_of(merge, item, (struct str){ 0 });
            if (!strmap_put(&seen, text, item))
                *vec_push(&merged) = item;
        }
        struct orders orders;
        r = orders_take(merge, &orders, patch, original, (struct str){ 0 });
        if (r == 0)
            r = order_elements(merge, &merged, &orders, (struct str){ 0 }, ret);
        orders_release(&orders);
    }
    vec_release(&merged);
    strmap_release(&seen);
    return r;
}

/* The new elements of a list that both have. */
static int merge_lists(struct merge *merge, yyjson_mut_val *old, yyjson_mut_val *new,
                       const struct schema_field *field, bool remove, val_vec *ret)
{
    val_vec original = { 0 }, patch = { 0 };
    to_vec(old, &original);
    to_vec(new, &patch);
    bool objects = false;
    int r = 0;
    if (!(field && field->patch_merge) && !remove)
        to_vec(new, ret);
    else if (original.len || patch.len) {
        r = element_type(merge, &original, &patch, &objects);
        if (r == 0 && objects)
            r = merge_object_lists(merge, &original, &patch, field, ret);
        else if (r == 0)
            r = merge_scalar_lists(merge, &original, &patch, remove, ret);
    }
    vec_release(&original);
    vec_release(&patch);
    return r;
}

/* ---- types ---- */

/* The field of a member that is an object or list in both. A member of a map or of unknown fields is no field, and
 * the API server says so. */
static int field_of(struct merge *merge, const struct schema_value *value, struct str name,
                    const struct schema_field **ret)
{
    *ret = value->kind == SCHEMA_OBJECT ? schema_field(value->type, name) : NULL;
    if (*ret)
        return 0;
    if (value->kind == SCHEMA_OBJECT)
        return schema_error(merge->err, 500, "",
                            "unable to find api field in struct " STR_FMT " for the json field \"" STR_FMT
                            "\"",
                            STR_ARG(value->type->name), STR_ARG(name));
    return schema_error(merge->err, 500, "",
                        "merging an object in json but data type is not struct, instead is: %s",
                        value->kind == SCHEMA_MAP    ? "map"
                        : value->kind == SCHEMA_LIST ? "slice"
                                                     : "string");
}

/* ---- directives of an object ---- */

static bool is_prefixed(struct str name, struct str prefix)
{
    return str_starts_with(name, prefix);
}

/* "$setElementOrder/containers": "containers"; no pointer: malformed. */
static struct str directive_field(struct str name, struct str prefix)
{
    struct str head = str_cut(&name, '/');
    return str_eq(head, prefix) ? name : (struct str){ 0 };
}

static int retain_keys(struct merge *merge, struct members *target, struct members *patch)
{
    yyjson_mut_val *list = members_get(patch, RETAIN_KEYS);
    if (!list)
        return 0;
    members_remove(patch, RETAIN_KEYS);
    if (!yyjson_mut_is_arr(list))
        return bad_request(merge, "invalid patch format of retainKeys");
    struct strmap keys = { 0 };
    size_t i, max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, max, item) if (yyjson_mut_is_str(item))
        strmap_put(&keys, mut_str(item), item);
    int r = 0;
    vec_for(&patch->all, member) {
        if (member->value && !yyjson_mut_is_null(member->value) &&
            !is_prefixed(member->name, DELETE_PREFIX) && !is_prefixed(member->name, ORDER_PREFIX) &&
            !strmap_get(&keys, member->name))
            r = bad_request(merge, "invalid patch format of retainKeys");
    }
    vec_for(&target->all, member)
        if (r == 0 && !strmap_get(&keys, member->name))
            member->value = NULL;
    strmap_release(&keys);
    return r;
}

/* The elements that the patch adds or changes must come in the order that it asks for. */
static int check_order(struct merge *merge, const val_vec *patch, const val_vec *order, struct str key)
{
    if (!patch->len || !order->len)
        return 0;
    size_t at = 0;
    for (size_t i = 0; i < patch->len; i++) {
        if (key.len && yyjson_mut_obj_getn(patch->items[i], "$patch", 6))
            continue;
        struct str want = key_of(merge, patch->items[i], key);
        if (!want.ptr)
            return no_merge_key(merge, patch->items[i], key);
        while (at < order->len) {
            struct str have = key_of(merge, order->items[at++], key);
            if (!have.ptr)
                return no_merge_key(merge, order->items[at - 1], key);
            if (str_eq(want, have)) {
                want.ptr = NULL;
                break;
            }
        }
        if (want.ptr) {
            struct strbuf text = { 0 };
            strbuf_puts(&text, "The order in patch list:\n");
            tree_print_go(&text, to_list(merge, patch));
            strbuf_puts(&text, "\n doesn't match $setElementOrder list:\n");
            internal(merge, text.text, to_list(merge, order), "\n", (struct str){ 0 });
            strbuf_release(&text);
            return -EINVAL;
        }
    }
    return 0;
}

static int order_list(struct merge *merge, struct members *target, struct members *patch, struct str name,
                      const struct schema_field *field, yyjson_mut_val *order_list)
{
    yyjson_mut_val *old = members_get(target, name), *new = members_get(patch, name);
    struct str key = field->merge_key;
    val_vec merged = { 0 }, order = { 0 }, changes = { 0 }, server = { 0 }, result = { 0 };
    to_vec(order_list, &order);
    to_vec(new, &changes);
    to_vec(old, &server);
    struct orders orders = { 0 };
    int r = check_order(merge, &changes, &order, key);
    if (r == 0)
        r = orders_take(merge, &orders, &order, &server, key);
    if (r == 0 && old && new)
        r = merge_lists(merge, old, new, field, false, &merged);
    else if (r == 0) {
        if (new)
            remove_directives(new);
        to_vec(old ? old : new, &merged);
    }
    bool objects;
    if (r == 0)
        r = element_type(merge, &server, &changes, &objects);
    if (r == 0)
        r = order_elements(merge, &merged, &orders, key, &result);
    if (r == 0) {
        members_set(target, merge->doc, name, to_list(merge, &result));
        members_remove(patch, name);
    }
    orders_release(&orders);
    vec_release(&merged);
    vec_release(&order);
    vec_release(&changes);
    vec_release(&server);
    vec_release(&result);
    return r;
}

static int order_lists(struct merge *merge, struct members *target, struct members *patch,
                       const struct schema_value *value)
{
    for (size_t i = 0; i < patch->all.len; i++) {
        struct member member = patch->all.items[i];
        if (!member.value || !is_prefixed(member.name, ORDER_PREFIX))
            continue;
        patch->all.items[i].value = NULL;
        if (!yyjson_mut_is_arr(member.value))
            return not_a_list(merge, member.value);
        struct str name = directive_field(member.name, ORDER_PREFIX);
        if (!name.ptr)
            return bad_request(merge, "invalid patch format of setElementOrder list");
        yyjson_mut_val *old = members_get(target, name), *new = members_get(patch, name);
        if (old && !yyjson_mut_is_arr(old))
            return not_a_list(merge, old);
        if (new && !yyjson_mut_is_arr(new))
            return not_a_list(merge, new);
        const struct schema_field *field;
        int r = field_of(merge, value, name, &field);
        if (r == 0 && (old || new))
            r = order_list(merge, target, patch, name, field, member.value);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- members ---- */

static bool same_type(yyjson_mut_val *a, yyjson_mut_val *b)
{
    return yyjson_mut_get_type(a) == yyjson_mut_get_type(b) && yyjson_mut_is_real(a) == yyjson_mut_is_real(b);
}

static int merge_both(struct merge *merge, struct members *target, struct str name, yyjson_mut_val *old,
                      yyjson_mut_val *new, const struct schema_value *value, bool remove)
{
    const struct schema_field *field;
    if (!yyjson_mut_is_ctn(new)) {
        members_set(target, merge->doc, name, new);
        return 0;
    }
    int r = field_of(merge, value, name, &field);
    if (r < 0)
        return r;
    if (yyjson_mut_is_obj(new)) {
        if (field->patch_replace)
            old = new;
        else
            r = merge_object(merge, &old, new, &field->value);
        members_set(target, merge->doc, name, old);
        return r;
    }
    val_vec result = { 0 };
    r = merge_lists(merge, old, new, field, remove, &result);
    if (r == 0)
        members_set(target, merge->doc, name, to_list(merge, &result));
    vec_release(&result);
    return r;
}

static int merge_member(struct merge *merge, struct members *target, const struct member *member,
                        const struct schema_value *value)
{
    struct str name = member->name;
    bool remove = is_prefixed(name, DELETE_PREFIX);
    if (remove) {
        name = directive_field(name, DELETE_PREFIX);
        if (!name.ptr)
            return bad_request(merge, "invalid patch format of primitive list");
    }
    if (yyjson_mut_is_null(member->value)) {
        members_remove(target, name);
        return 0;
    }
    yyjson_mut_val *old = members_get(target, name);
    if (old && same_type(old, member->value))
        return merge_both(merge, target, name, old, member->value, value, remove);
    if (!remove)
        set_new(merge, target, name, member->value);
    return 0;
}

static int merge_object(struct merge *merge, yyjson_mut_val **target, yyjson_mut_val *patch,
                        const struct schema_value *value)
{
    yyjson_mut_val *directive = yyjson_mut_obj_getn(patch, "$patch", 6);
    if (directive && str_is(mut_str(directive), "replace")) {
        yyjson_mut_obj_remove_keyn(patch, "$patch", 6);
        *target = patch;
        return 0;
    }
    if (directive && str_is(mut_str(directive), "delete")) {
        *target = yyjson_mut_obj(merge->doc);
        return 0;
    }
    if (directive)
        return unknown_directive(merge, directive, patch);
    struct members members, changes;
    members_open(&members, *target);
    members_open(&changes, patch);
    int r = retain_keys(merge, &members, &changes);
    if (r == 0)
        r = order_lists(merge, &members, &changes, value);
    for (size_t i = 0; r == 0 && i < changes.all.len; i++)
        if (changes.all.items[i].value)
            r = merge_member(merge, &members, &changes.all.items[i], value);
    members_drop(&changes);
    members_close(&members);
    return r;
}

int patch_strategic(yyjson_mut_doc *doc, yyjson_mut_val **root, yyjson_mut_val *patch,
                    const struct schema_type *type, struct schema_error *err)
{
    struct merge merge = { .doc = doc, .err = err };
    struct schema_value value = { .kind = SCHEMA_OBJECT, .type = type };
    int r = merge_object(&merge, root, patch, &value);
    arena_release(&merge.keys);
    return r;
}
