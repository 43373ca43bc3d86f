/* value.h: lists, maps, equality and order of values. */
#ifndef CEL_VALUE_H
#define CEL_VALUE_H

#include "cel/run.h"

enum cel_equality { CEL_DIFFERENT, CEL_EQUAL, CEL_INCOMPARABLE };

/* As ==, for values that are no errors. INCOMPARABLE: a quantity or the like with something else. */
enum cel_equality cel_values_equal(struct cel_run *run, const struct cel_value *a, const struct cel_value *b);
/* Of one kind of the language that is no container, as it is; false for other kinds. */
bool cel_scalars_equal(const struct cel_value *a, const struct cel_value *b);
/* An int of -1, 0 or 1, or an error. */
struct cel_value cel_values_compare(const struct cel_value *a, const struct cel_value *b);
bool cel_is_ordered(enum cel_kind kind);

/* The steps to it are work of the evaluation; callers with loops check that. */
struct cel_value cel_list_item(struct cel_run *run, const struct cel_list *list, size_t i);
/* An optional that holds a copy of the value; NULL: none. */
struct cel_value cel_optional(struct cel_run *run, const struct cel_value *value);
/* Adds to a text; false: it would be longer than an evaluation may hold, which ends the evaluation. */
bool cel_text_add(struct cel_run *run, struct strbuf *text, struct str part);
/* The text in the memory of the evaluation. */
struct cel_value cel_text(struct cel_run *run, const struct strbuf *text);

/* A list that takes over `items`. */
struct cel_value cel_list_make(struct cel_run *run, const struct cel_value *items, size_t len);
struct cel_value cel_list_concat(struct cel_run *run, const struct cel_value *a, const struct cel_value *b);
bool cel_list_contains(struct cel_run *run, const struct cel_list *list, const struct cel_value *item);

/* A list that grows in place: the accumulator of map(), filter() and so on. */
struct cel_value cel_list_grower(struct cel_run *run);
/* An error, or the list with an item more. */
struct cel_value cel_list_push(struct cel_run *run, const struct cel_value *grower, struct cel_value item);
struct cel_value cel_list_frozen(struct cel_run *run, const struct cel_value *value);

/* A map of a number of entries to come, which cel_map_put() adds and replaces. */
struct cel_value cel_map_new(struct cel_run *run, bool growing);
/* An error, or the map. */
struct cel_value cel_map_put(struct cel_run *run, const struct cel_value *map, const struct cel_value *key,
                             const struct cel_value *value);
void cel_map_remove(const struct cel_value *map, const struct cel_value *key);
/* `map` with an entry more, in place if it grows; an error if the key is there. */
struct cel_value cel_map_insert(struct cel_run *run, const struct cel_value *map, const struct cel_value *key,
                                const struct cel_value *value);
/* For m[key], m.key and has(): numbers of other kinds find the same number. False: no such key. */
bool cel_map_find(const struct cel_map *map, const struct cel_value *key, struct cel_value *ret);
/* For `key in m`. */
bool cel_map_has(struct cel_run *run, const struct cel_map *map, const struct cel_value *key);

/* Exact conversions between numbers. */
bool cel_double_to_int(double value, int64_t *ret);
bool cel_double_to_uint(double value, uint64_t *ret);

/* For messages: as the reference prints a value. */
struct str cel_value_text(struct cel_run *run, const struct cel_value *value);

#endif
