/* value.h: lists, maps, equality and order of values, and what values need from the libraries of their kinds. */
#ifndef CEL_VALUE_H
#define CEL_VALUE_H

#include "cel/run.h"
#include "cel/type.h"

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

/* An empty map; cel_map_put() adds and replaces entries. */
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

/* ---- library/ ---- */
/* device.c: the type of a field of `device`; NULL: there is none. */
const struct cel_type *cel_device_field(struct cel_types *types, struct str name, bool dyn_attributes);

/* quantity.c. COMPUTED: the result of add() or sub(). DECIMAL: counted in more digits than 64 bits have, which is
 * never an integer to the reference. */
enum { CEL_QUANTITY_COMPUTED = 1, CEL_QUANTITY_DECIMAL = 2 };
int cel_quantity_order(const struct cel_value *a, const struct cel_value *b);

/* semver.c */
int cel_semver_order(const struct cel_semver *a, const struct cel_semver *b);

/* url.c */
bool cel_url_equal(const struct cel_url *a, const struct cel_url *b);
/* Whether Go's url.ParseRequestURI takes it; NULL, or why not. */
const char *cel_url_check(struct str text, struct arena *arena);

/* net.c */
bool cel_ip_equal(const struct cel_ip *a, const struct cel_ip *b);

/* net_problem.c: writes why a text is no address or prefix; false: nothing is wrong with it. An address may have a
 * zone. */
bool cel_ip_problem(struct strbuf *out, struct str text);
bool cel_cidr_problem(struct strbuf *out, struct str text);
size_t cel_ip_size(const struct cel_value *value);
struct str cel_ip_text(const struct cel_value *value, struct arena *arena);

/* format.c */
uint64_t cel_format_regex_size(const struct cel_format *format);

/* string_format.c */
struct cel_value cel_string_format(struct cel_run *run, const struct cel_value *args, size_t len);

/* time.c */
struct cel_value cel_timestamp_parse(struct str text);
struct cel_value cel_duration_parse(struct str text);
struct str cel_timestamp_text(struct cel_timestamp time, struct arena *arena);
struct str cel_duration_text(int64_t duration_ns, struct arena *arena);
/* "no such overload", for a function that works on the values that have a trait of Go's: those of `kinds`, a bit each.
 * The function is named unless the first argument has it, or is a kind that takes any function. */
struct cel_value cel_no_trait(struct cel_run *run, const struct cel_value *first, uint32_t kinds);
struct cel_value cel_timestamp_of(int64_t seconds);
struct cel_value cel_timestamp_add(struct cel_timestamp time, int64_t duration_ns);
struct cel_value cel_timestamp_sub(struct cel_timestamp a, struct cel_timestamp b);

/* operators.c: a + b */
struct cel_value cel_add(struct cel_run *run, const struct cel_value *args, size_t len);

/* convert.c: string(value) where it exists; an error otherwise. */
struct cel_value cel_convert_text(struct cel_run *run, const struct cel_value *value);
/* As Go's strconv reads them. */
bool cel_parse_double(struct str text, double *ret);
bool cel_parse_uint(struct str text, uint64_t *ret);

#endif
