/* log.c: a line is put together in memory and leaves with one write(2), so that lines of different threads
 * and processes do not mix.
 *
 *     text   I1115 09:45:24.123456       1 binder.c:42] "message" err="..." key="value" ref="namespace/name"
 *     JSON   {"ts":1700041524123.456,"caller":"client/binder.c:42","msg":"message","v":2,"key":"value"}
 *
 * As there, the column before the file is the process, a text with line breaks stands as a block between =<
 * and >, and a line of an error has no "v". Settings are written once before threads start, except for the
 * verbosity. */
#include "base/log.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/duration.h"
#include "base/quote.h"
#include "base/vec.h"

struct module_rule {
    char *pattern;
    int32_t verbosity;
};

static struct {
    enum log_format format;
    int fd;
    bool split;
    int32_t modules_highest;
    VEC(struct module_rule) modules;
} settings = { .fd = STDERR_FILENO };

static atomic_int_least32_t verbosity;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
int32_t log_highest_verbosity;

void log_set_verbosity(int32_t level)
{
    atomic_store_explicit(&verbosity, level, memory_order_relaxed);
    __atomic_store_n(&log_highest_verbosity, MAX(level, settings.modules_highest), __ATOMIC_RELAXED);
}

static void forget_modules(void)
{
    vec_for(&settings.modules, rule)
        free(rule->pattern);
    vec_release(&settings.modules);
    settings.modules_highest = 0;
}

/* One "pattern=N". */
static int add_module(struct str text, struct error *err)
{
    struct str number = text, pattern = str_cut(&number, '=');
    int64_t level;
    if (!pattern.len || !str_to_int64(number, &level) || level > INT32_MAX)
        return error_set(err, -EINVAL, "syntax error: expect comma-separated list of filename=N");
    if (level < 0)
        return error_set(err, -EINVAL, "negative value for vmodule level");
    if (level == 0)
        return 0;
    *vec_push(&settings.modules) = (struct module_rule){ (char *)str_dup(pattern).ptr, (int32_t)level };
    settings.modules_highest = MAX(settings.modules_highest, (int32_t)level);
    return 0;
}

int log_init(const struct log_options *options, struct error *err)
{
    settings.format = options->format;
    settings.fd = options->fd ? options->fd : STDERR_FILENO;
    settings.split = options->split;
    forget_modules();
    int r = 0;
    for (struct str rest = str_from(options->vmodule); rest.len && r == 0;) {
        struct str part = str_cut(&rest, ',');
        if (part.len)
            r = add_module(part, err);
    }
    if (r < 0)
        forget_modules();
    log_set_verbosity(options->verbosity);
    return r;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool log_enabled_in(int32_t level, const char *file)
{
    if (level <= atomic_load_explicit(&verbosity, memory_order_relaxed))
        return true;
    if (!settings.modules.len)
        return false;
    struct str name = str_from(file_name(file));
    char module[256];
    if (str_ends_with(name, STR(".c")))
        name.len -= 2;
    name.len = MIN(name.len, sizeof(module) - 1);
    memcpy(module, name.ptr, name.len);
    module[name.len] = '\0';
    vec_for(&settings.modules, rule)
        if (fnmatch(rule->pattern, module, FNM_PATHNAME) == 0)
            return level <= rule->verbosity;
    return false;
}

/* Text */

static void put_text_header(struct strbuf *out, enum log_severity severity, const struct timespec *now,
                            const char *file, int line)
{
    struct tm local = { 0 };
    localtime_r(&now->tv_sec, &local);
    strbuf_printf(out, "%c%02d%02d %02d:%02d:%02d.%06ld %7ld %s:%d] ", "IWE"[severity], local.tm_mon + 1,
                  local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, now->tv_nsec / 1000,
                  (long)getpid(), file_name(file), line);
}

/* Several lines stand below each other, indented by a tab, so that no line of a value can look like a log
 * line. */
static void put_text_string(struct strbuf *out, struct str text)
{
    if (str_find(text, '\n') < 0) {
        quote_go(out, text);
        return;
    }
    strbuf_puts(out, "<\n");
    while (text.len) {
        strbuf_putc(out, '\t');
        strbuf_str(out, str_cut(&text, '\n'));
        strbuf_putc(out, '\n');
    }
    strbuf_puts(out, " >");
}

/* The same in both formats. */
static void put_list(struct strbuf *out, const struct log_value *value)
{
    strbuf_putc(out, '[');
    for (int64_t i = 0; i < value->number; i++) {
        if (i)
            strbuf_putc(out, ',');
        quote_json(out, value->items[i], QUOTE_JSON_LOGS);
    }
    strbuf_putc(out, ']');
}

static void put_set(struct strbuf *out, const struct log_value *value)
{
    strbuf_putc(out, '{');
    for (int64_t i = 0; i < value->number; i++) {
        if (i)
            strbuf_putc(out, ',');
        quote_json(out, value->items[i], QUOTE_JSON_LOGS);
        strbuf_puts(out, ":{}");
    }
    strbuf_putc(out, '}');
}

static void put_numbers(struct strbuf *out, const struct log_value *value)
{
    strbuf_putc(out, '[');
    for (int64_t i = 0; i < value->number; i++)
        strbuf_printf(out, "%s%lld", i ? "," : "", (long long)value->numbers[i]);
    strbuf_putc(out, ']');
}

static void put_json(struct strbuf *out, struct str text)
{
    quote_json(out, text, QUOTE_JSON_LOGS);
}

static void put_json_key(struct strbuf *out, const char *key)
{
    strbuf_putc(out, ',');
    put_json(out, str_from(key));
    strbuf_putc(out, ':');
}

static void put_json_reference(struct strbuf *out, struct str namespace, struct str name)
{
    strbuf_puts(out, "{\"name\":");
    put_json(out, name);
    if (namespace.len) {
        put_json_key(out, "namespace");
        put_json(out, namespace);
    }
    strbuf_putc(out, '}');
}

static void put_references(struct strbuf *out, const struct log_value *value)
{
    strbuf_putc(out, '[');
    for (int64_t i = 0; i < value->number; i++) {
        if (i)
            strbuf_putc(out, ',');
        put_json_reference(out, value->items[2 * i], value->items[2 * i + 1]);
    }
    strbuf_putc(out, ']');
}

static void put_reference(struct strbuf *out, const struct log_value *value, bool json)
{
    _cleanup_(strbuf_release) struct strbuf ref = { 0 };
    if (json) {
        put_json_reference(out, value->namespace, value->text);
        return;
    }
    if (value->namespace.len)
        strbuf_printf(&ref, STR_FMT "/", STR_ARG(value->namespace));
    strbuf_str(&ref, value->text);
    quote_go(out, strbuf_slice(&ref));
}

static void put_value(struct strbuf *out, const struct log_value *value, bool json)
{
    char duration[DURATION_TEXT_MAX];
    switch (value->kind) {
    case LOG_VALUE_STR:
        (json ? put_json : put_text_string)(out, value->text);
        break;
    case LOG_VALUE_REF:
        put_reference(out, value, json);
        break;
    case LOG_VALUE_INT:
        strbuf_printf(out, "%lld", (long long)value->number);
        break;
    case LOG_VALUE_DURATION:
        duration_format(value->number, duration);
        strbuf_printf(out, "\"%s\"", duration);
        break;
    case LOG_VALUE_LIST:
        put_list(out, value);
        break;
    case LOG_VALUE_SET:
        put_set(out, value);
        break;
    case LOG_VALUE_NUMBERS:
        put_numbers(out, value);
        break;
    case LOG_VALUE_REFS:
        put_references(out, value);
        break;
    }
}

static void put_text(struct strbuf *out, const struct error *err, const char *message,
                     const struct log_value *values, size_t len)
{
    quote_go(out, str_from(message));
    if (err) {
        strbuf_puts(out, " err=");
        put_text_string(out, str_from(err->text));
    }
    for (size_t i = 0; i < len; i++) {
        strbuf_printf(out, " %s=", values[i].key);
        put_value(out, &values[i], false);
    }
}

/* JSON */

/* The file with the folder it is in. */
static const char *caller_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    while (slash && slash > path && slash[-1] != '/')
        slash--;
    return slash ? slash : path;
}

static void put_json_header(struct strbuf *out, const struct timespec *now, const char *file, int line,
                            const char *message)
{
    char millis[DECIMAL_LEN_MAX];
    double ns = (double)((int64_t)now->tv_sec * 1000000000 + now->tv_nsec);
    _cleanup_(strbuf_release) struct strbuf caller = { 0 };
    strbuf_puts(out, "{\"ts\":");
    strbuf_str(out, decimal_format(ns / 1e6, DECIMAL_PLAIN, millis));
    strbuf_printf(&caller, "%s:%d", caller_of(file), line);
    put_json_key(out, "caller");
    put_json(out, strbuf_slice(&caller));
    put_json_key(out, "msg");
    put_json(out, str_from(message));
}

static void put_json_rest(struct strbuf *out, enum log_severity severity, int32_t level,
                          const struct error *err, const struct log_value *values, size_t len)
{
    if (severity != LOG_ERROR)
        strbuf_printf(out, ",\"v\":%d", level);
    for (size_t i = 0; i < len; i++) {
        put_json_key(out, values[i].key);
        put_value(out, &values[i], true);
    }
    if (err) {
        put_json_key(out, "err");
        put_json(out, str_from(err->text));
    }
    strbuf_putc(out, '}');
}

/* With split streams a warning is an error in text and none in JSON, as there. */
static int stream_of(enum log_severity severity)
{
    bool is_info = severity == LOG_INFO || (severity == LOG_WARNING && settings.format == LOG_JSON);
    return settings.split && is_info ? STDOUT_FILENO : settings.fd;
}

/* A line that cannot be written cannot be reported either. */
static void write_line(int fd, struct str line)
{
    pthread_mutex_lock(&writing);
    while (line.len) {
        ssize_t n = write(fd, line.ptr, line.len);
        if (n < 0 && errno != EINTR)
            break;
        line = str_slice(line, n > 0 ? (size_t)n : 0, line.len);
    }
    pthread_mutex_unlock(&writing);
}

void log_write_text(int32_t level, const char *file, int line, const char *text)
{
    int saved = errno;
    struct timespec now;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    clock_gettime(CLOCK_REALTIME, &now);
    if (settings.format == LOG_JSON) {
        put_json_header(&out, &now, file, line, text);
        put_json_rest(&out, LOG_INFO, level, NULL, NULL, 0);
    } else {
        put_text_header(&out, LOG_INFO, &now, file, line);
        strbuf_puts(&out, text);
    }
    strbuf_putc(&out, '\n');
    write_line(stream_of(LOG_INFO), strbuf_slice(&out));
    errno = saved;
}

void log_write(enum log_severity severity, int32_t level, const char *file, int line, const struct error *err,
               const char *message, const struct log_value *values, size_t len)
{
    int saved = errno;
    struct timespec now;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    clock_gettime(CLOCK_REALTIME, &now);
    if (settings.format == LOG_JSON) {
        put_json_header(&out, &now, file, line, message);
        put_json_rest(&out, severity, level, err, values, len);
    } else {
        put_text_header(&out, severity, &now, file, line);
        put_text(&out, err, message, values, len);
    }
    strbuf_putc(&out, '\n');
    write_line(stream_of(severity), strbuf_slice(&out));
    errno = saved;
}
