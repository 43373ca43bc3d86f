/* lib.h: what values need from the libraries that their kinds come from. */
#ifndef CEL_LIB_H
#define CEL_LIB_H

#include "cel/run.h"
#include "cel/type.h"

/* device.c: the type of a field of `device`; NULL: there is none. */
const struct cel_type *cel_device_field(struct cel_types *types, struct str name, bool list_type_attributes);

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
/* An IPv6 address, of whatever kind. */
bool cel_ip_is_v6(struct str text);
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
struct cel_value cel_timestamp_add(struct cel_timestamp time, int64_t duration_ns);
struct cel_value cel_timestamp_sub(struct cel_timestamp a, struct cel_timestamp b);

/* operators.c: a + b */
struct cel_value cel_add(struct cel_run *run, const struct cel_value *args, size_t len);

/* convert.c: string(value) where it exists; an error otherwise. */
struct cel_value cel_convert_text(struct cel_run *run, const struct cel_value *value);
/* As Go's strconv reads them. */
bool cel_parse_double(struct str text, double *ret);
bool cel_parse_int(struct str text, int64_t *ret);
bool cel_parse_uint(struct str text, uint64_t *ret);

#endif
