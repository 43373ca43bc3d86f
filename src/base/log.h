/* log.h: structured log lines in klog's two formats, text and JSON, to standard error.
 *
 *     log_info(2, "Successfully bound pod to node", log_ref("pod", namespace, name), log_str("node", node));
 *     log_error(&err, "Error scheduling pod; retrying", log_ref("pod", namespace, name));
 *     log_warning("Watch ended", log_str("kind", STR("Pod")), log_int("after_ms", 12));
 *
 *     I1115 09:45:24.123456       1 binder.c:42] "Successfully bound pod to node" pod="default/web" node="n1"
 *
 * A line that the verbosity hides costs one comparison: its values are not even computed. From any thread; a line is
 * written with one call. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/common.h"
#include "base/error.h"
#include "base/str.h"

enum log_severity { LOG_INFO, LOG_WARNING, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

enum log_value_kind {
    LOG_VALUE_STR,
    LOG_VALUE_INT,
    LOG_VALUE_REF,
    LOG_VALUE_DURATION,
    LOG_VALUE_LIST,
    LOG_VALUE_SET,
    LOG_VALUE_NUMBERS,
    LOG_VALUE_REFS,
};

struct log_value {
    const char *key;
    enum log_value_kind kind;
    struct str text, namespace; /* STR; REF: name and namespace */
    int64_t number;             /* INT; DURATION: nanoseconds; LIST, SET, NUMBERS, REFS: how many */
    const struct str *items;    /* LIST, SET; REFS: pairs of namespace and name */
    const int64_t *numbers;     /* NUMBERS */
};

struct log_options {
    enum log_format format;
    int32_t verbosity;   /* -v */
    const char *vmodule; /* "pattern=N,..." by file name without .c; NULL: none */
    int fd;              /* 0: standard error */
    bool split;          /* what is no error goes to standard output */
};

/* Before other threads start. -EINVAL: a pattern of vmodule is wrong. */
int log_init(const struct log_options *options, struct error *err);
/* Changes -v while running. */
void log_set_verbosity(int32_t verbosity);
/* Is a line of this verbosity of this file written? */
bool log_enabled_in(int32_t verbosity, const char *file);
void log_write(enum log_severity severity, int32_t verbosity, const char *file, int line,
               const struct error *err, const char *message, const struct log_value *values, size_t len);

/* A text that is no message with values, as klog.Info writes it: it may have several lines. */
void log_write_text(int32_t verbosity, const char *file, int line, const char *text);

extern int32_t log_highest_verbosity; /* of -v and vmodule: the quick check */

#define LOG_VALUES(...) ((const struct log_value[]){ { 0 }, ##__VA_ARGS__ })
#define LOG_LEN(...) (ARRAY_SIZE(LOG_VALUES(__VA_ARGS__)) - 1)

/* Is a line of this verbosity written? For what is costly to find out, or takes several lines. */
#define log_shows(level) \
    ((level) <= __atomic_load_n(&log_highest_verbosity, __ATOMIC_RELAXED) && \
     log_enabled_in((level), __FILE__))

#define log_info(level, message, ...) \
    do { \
        if (log_shows(level)) \
            log_write(LOG_INFO, (level), __FILE__, __LINE__, NULL, (message), LOG_VALUES(__VA_ARGS__) + 1, \
                      LOG_LEN(__VA_ARGS__)); \
    } while (0)
#define log_plain(level, text) \
    do { \
        if (log_shows(level)) \
            log_write_text((level), __FILE__, __LINE__, (text)); \
    } while (0)
#define log_warning(message, ...) \
    log_write(LOG_WARNING, 0, __FILE__, __LINE__, NULL, (message), LOG_VALUES(__VA_ARGS__) + 1, \
              LOG_LEN(__VA_ARGS__))
#define log_error(err, message, ...) \
    log_write(LOG_ERROR, 0, __FILE__, __LINE__, (err), (message), LOG_VALUES(__VA_ARGS__) + 1, \
              LOG_LEN(__VA_ARGS__))

static inline struct log_value log_str(const char *key, struct str text)
{
    return (struct log_value){ .key = key, .kind = LOG_VALUE_STR, .text = text };
}
static inline struct log_value log_int(const char *key, int64_t number)
{
    return (struct log_value){ .key = key, .kind = LOG_VALUE_INT, .number = number };
}

/* An object, as klog.KObj shows it: "namespace/name", or "name". */
static inline struct log_value log_ref(const char *key, struct str namespace, struct str name)
{
    return (struct log_value){ .key = key, .kind = LOG_VALUE_REF, .text = name, .namespace = namespace };
}
/* Texts: ["a","b"]. */
static inline struct log_value log_list(const char *key, const struct str *items, size_t len)
{
    return (struct log_value){ .key = key, .kind = LOG_VALUE_LIST, .items = items, .number = (int64_t)len };
}
/* Texts in their order, as klog shows a set: {"a":{},"b":{}}. */
static inline struct log_value log_set(const char *key, const struct str *items, size_t len)
{
    return (struct log_value){ .key = key, .kind = LOG_VALUE_SET, .items = items, .number = (int64_t)len };
}
/* Objects, as klog shows a list of them: [{"name":"a","namespace":"b"}]. */
static inline struct log_value log_refs(const char *key, const struct str *pairs, size_t len)
{
    return (struct log_value){ .key = key, .kind = LOG_VALUE_REFS, .items = pairs, .number = (int64_t)len };
}
/* [1,2]. */
static inline struct log_value log_numbers(const char *key, const int64_t *numbers, size_t len)
{
    return (struct log_value){
        .key = key, .kind = LOG_VALUE_NUMBERS, .numbers = numbers, .number = (int64_t)len
    };
}
static inline struct log_value log_duration(const char *key, int64_t ns)
{
    return (struct log_value){ .key = key, .kind = LOG_VALUE_DURATION, .number = ns };
}

#endif
