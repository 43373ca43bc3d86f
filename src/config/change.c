/* change.c: see change.h. Differences are looked for in the written form, which has every default filled in: there
 * are no two ways to write the same. */
#include "config/change.h"

#include "codec/record_rows.h"
#include "config/kinds.h"

/* ---- what counts after a restart only ---- */

/* Not here, and without a warning: parallelism and delayCacheUntilActive, which mean nothing to us at any time. */
#define T struct scheduler_config
static const struct record_field fixed_fields[] = {
    /* the election has begun by them */
    F("leaderElection.leaderElect", 0, BOOL, leader_election.leader_elect),
    F("leaderElection.leaseDuration", 0, DURATION, leader_election.lease_duration_ns),
    F("leaderElection.renewDeadline", 0, DURATION, leader_election.renew_deadline_ns),
    F("leaderElection.retryPeriod", 0, DURATION, leader_election.retry_period_ns),
    F("leaderElection.resourceLock", 0, STR, leader_election.resource_lock),
    F("leaderElection.resourceName", 0, STR, leader_election.resource_name),
    F("leaderElection.resourceNamespace", 0, STR, leader_election.resource_namespace),
    /* connections are open */
    F("clientConnection.kubeconfig", 0, STR, client_connection.kubeconfig),
    F("clientConnection.acceptContentTypes", 0, STR, client_connection.accept_content_types),
    F("clientConnection.contentType", 0, STR, client_connection.content_type),
    F("clientConnection.qps", 0, FLOAT, client_connection.qps),
    F("clientConnection.burst", 0, INT32, client_connection.burst),
    /* pages are served */
    F("enableProfiling", 0, BOOL, enable_profiling),
    F("enableContentionProfiling", 0, BOOL, enable_contention_profiling),
};
#undef T

static void copy_field(const struct record_field *field, const struct scheduler_config *from,
                       struct arena *arena, struct scheduler_config *ret)
{
    char *at = (char *)ret + field->offset;
    memcpy(at, (const char *)from + field->offset, field->kind->size);
    if (field->kind->ops->copy)
        field->kind->ops->copy(field->kind, arena, field, at);
}

void config_copy_fixed(const struct scheduler_config *from, struct arena *arena, struct scheduler_config *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(fixed_fields); i++)
        copy_field(&fixed_fields[i], from, arena, ret);
}

void config_keep_fixed(const struct scheduler_config *running, struct arena *arena,
                       struct scheduler_config *next, struct strbuf *names)
{
    for (size_t i = 0; i < ARRAY_SIZE(fixed_fields); i++) {
        const struct record_field *field = &fixed_fields[i];
        if (record_member_equal((struct record_member){ field, field->offset }, running, next))
            continue;
        strbuf_printf(names, "%s%s", names->len ? ", " : "", field->name);
        copy_field(field, running, arena, next);
    }
}

/* ---- differences ---- */
/* Lists whose entries have a name. */
static const struct named_list {
    const char *field, *key, *one;
} named_lists[] = {
    { "profiles", "schedulerName", "profile" },
    { "extenders", "urlPrefix", "extender" },
};

static void add_words(struct strbuf *out, const char *format, ...) _printf_(2, 3);

static void add_words(struct strbuf *out, const char *format, ...)
{
    struct arena arena = { 0 };
    va_list args;
    va_start(args, format);
    struct str words = arena_vprintf(&arena, format, args);
    va_end(args);
    strbuf_printf(out, "%s" STR_FMT, out->len ? "; " : "", STR_ARG(words));
    arena_release(&arena);
}

/* The password in an extender's URL is hidden. */
static void add_one(struct strbuf *out, const struct named_list *list, const char *name, const char *what)
{
    _cleanup_(strbuf_release) struct strbuf shown = { 0 };
    strbuf_masked(&shown, str_from(name));
    add_words(out, "%s %s %s", list->one, shown.len ? shown.text : "", what);
}

static const char *name_of(yyjson_val *entry, const struct named_list *list)
{
    const char *name = yyjson_get_str(yyjson_obj_get(entry, list->key));
    return name ? name : "";
}

/* The entry that is the n-th of its name. */
static yyjson_val *find_entry(yyjson_val *entries, const struct named_list *list, const char *name, size_t n)
{
    yyjson_arr_iter iter = yyjson_arr_iter_with(entries);
    for (yyjson_val *entry; (entry = yyjson_arr_iter_next(&iter));)
        if (strcmp(name_of(entry, list), name) == 0 && n-- == 0)
            return entry;
    return NULL;
}

static size_t number_of(yyjson_val *entries, const struct named_list *list, yyjson_val *of)
{
    size_t n = 0;
    yyjson_arr_iter iter = yyjson_arr_iter_with(entries);
    for (yyjson_val *entry; (entry = yyjson_arr_iter_next(&iter)) && entry != of;)
        n += strcmp(name_of(entry, list), name_of(of, list)) == 0;
    return n;
}

static void compare_list(const struct named_list *list, yyjson_val *before, yyjson_val *after,
                         struct strbuf *out)
{
    size_t len = out->len;
    yyjson_val *entry;
    yyjson_arr_iter iter = yyjson_arr_iter_with(after);
    while ((entry = yyjson_arr_iter_next(&iter))) {
        const char *name = name_of(entry, list);
        yyjson_val *was = find_entry(before, list, name, number_of(after, list, entry));
        if (!was)
            add_one(out, list, name, "added");
        else if (!yyjson_equals(was, entry))
            add_one(out, list, name, "changed");
    }
    iter = yyjson_arr_iter_with(before);
    while ((entry = yyjson_arr_iter_next(&iter)))
        if (!find_entry(after, list, name_of(entry, list), number_of(before, list, entry)))
            add_one(out, list, name_of(entry, list), "removed");
    if (out->len == len)
        add_words(out, "order of %s", list->field);
}

static void compare_field(const char *name, yyjson_val *before, yyjson_val *after, struct strbuf *out)
{
    if (before == after || (before && after && yyjson_equals(before, after)))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(named_lists); i++)
        if (strcmp(name, named_lists[i].field) == 0) {
            compare_list(&named_lists[i], before, after, out);
            return;
        }
    add_words(out, "%s", name);
}

void config_describe_change(struct str before, struct str after, struct strbuf *out)
{
    yyjson_doc *was = yyjson_read(before.ptr, before.len, 0), *is = yyjson_read(after.ptr, after.len, 0);
    yyjson_val *key, *old = yyjson_doc_get_root(was), *new = yyjson_doc_get_root(is);
    yyjson_obj_iter iter = yyjson_obj_iter_with(new);
    while ((key = yyjson_obj_iter_next(&iter)))
        compare_field(yyjson_get_str(key), yyjson_obj_get(old, yyjson_get_str(key)),
                      yyjson_obj_iter_get_val(key), out);
    iter = yyjson_obj_iter_with(old);
    while ((key = yyjson_obj_iter_next(&iter)))
        if (!yyjson_obj_get(new, yyjson_get_str(key)))
            compare_field(yyjson_get_str(key), yyjson_obj_iter_get_val(key), NULL, out);
    yyjson_doc_free(was);
    yyjson_doc_free(is);
}
