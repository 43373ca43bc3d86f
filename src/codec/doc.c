/* doc.c: streams of documents, their JSON half, and the way back from a value to its place in the text.
 *
 * JSON is parsed in place by yyjson: a string value points into the stream's text, so its address is its position.
 * Nothing moves, but the text inside the quotes is no longer what was read (an escaped newline has become a real
 * one), which is why the ends of the lines are noted before: a pass at the speed of memchr().
 *
 * yyjson keeps a document's values in one array in document order: a container is followed by what it holds, a key
 * by its value. Both the check of the depth and the search for the nearest string use that. */
#include "codec/doc.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "base/vec.h"
#include "codec/yaml.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The length of a UTF-8 byte order mark at the start of the text. */
static size_t mark_len(const struct doc_stream *stream)
{
    return stream->len >= 3 && memcmp(stream->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Is there a line of "---" at this place? */
static bool at_separator(const struct doc_stream *stream, size_t at)
{
    const char *text = stream->text;
    if (stream->len - at < 3 || memcmp(text + at, "---", 3) != 0)
        return false;
    bool begins = at == 0 || text[at - 1] == '\n';
    return begins && (at + 3 == stream->len || is_space(text[at + 3]));
}

/* The first place from `at` on that is neither space nor comment (nor, between values, a separator). */
static size_t skip_blank(const struct doc_stream *stream, size_t at, bool separators)
{
    const char *text = stream->text;
    while (at < stream->len) {
        if (is_space(text[at])) {
            at++;
        } else if (text[at] == '#') {
            const char *end = memchr(text + at, '\n', stream->len - at);
            at = end ? (size_t)(end - text) : stream->len;
        } else if (separators && at_separator(stream, at)) {
            at += 3;
        } else {
            break;
        }
    }
    return at;
}

/* '{' and '[' open a JSON value, and lists and maps of YAML's flow style too: {a: b} cannot be JSON, because
 * what follows the bracket cannot. */
static bool looks_like_json(const struct doc_stream *stream, size_t at)
{
    if (at == stream->len || (stream->text[at] != '{' && stream->text[at] != '['))
        return false;
    const char *begins_json = stream->text[at] == '{' ? "\"}" : "\"]{[-0123456789tfn";
    do
        at++;
    while (at < stream->len && is_space(stream->text[at]));
    return at == stream->len || !stream->text[at] || strchr(begins_json, stream->text[at]);
}

static void note_line_ends(struct doc_stream *stream)
{
    VEC(uint32_t) ends = { 0 };
    const char *at = stream->text, *end = stream->text + stream->len;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        *vec_push(&ends) = (uint32_t)(at - stream->text);
        at++;
    }
    stream->line_ends = ends.items;
    stream->line_end_count = ends.len;
}

void doc_stream_init(struct doc_stream *stream, const char *path, char *text, size_t len)
{
    *stream = (struct doc_stream){
        .path = strcmp(path, "-") == 0 ? "standard input" : path,
        .text = text,
        .len = len,
    };
    stream->at = mark_len(stream);
    size_t first = skip_blank(stream, stream->at, false);
    stream->yaml = !looks_like_json(stream, first);
    if (!stream->yaml || first == len)
        stream->at = first;
    if (len <= DOC_BYTES_MAX)
        note_line_ends(stream);
}

/* Reads until the end; the text grows as needed and ends in zeros. */
static int read_all(int fd, const char *path, size_t size_hint, struct strbuf *ret, struct error *err)
{
    size_t len = 0, cap = size_hint + 1; /* one more than the size, so that the end shows without growing */
    strbuf_reserve(ret, cap + YYJSON_PADDING_SIZE);
    for (;;) {
        ssize_t got = read(fd, ret->text + len, cap - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int code = errno;
            const char *why = code == EISDIR ? "is a folder, expected a file" : strerror(code);
            return error_at(err, -code, path, 0, 0, "%s", why);
        }
        if (got == 0)
            break;
        len += (size_t)got;
        if (len > DOC_BYTES_MAX)
            return error_at(err, -EFBIG, path, 0, 0, "is longer than %zu bytes", DOC_BYTES_MAX);
        ret->len = len;
        if (len == cap) {
            cap *= 2;
            strbuf_reserve(ret, cap - len + YYJSON_PADDING_SIZE);
        }
    }
    memset(ret->text + len, 0, YYJSON_PADDING_SIZE);
    return 0;
}

static int open_stream(struct doc_stream *stream, const char *path, bool secret, struct error *err)
{
    bool standard_input = strcmp(path, "-") == 0;
    const char *shown = standard_input ? "standard input" : path;
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int code = errno;
        return error_at(err, -code, shown, 0, 0, "cannot be opened: %s", strerror(code));
    }
    struct stat info;
    size_t size_hint = 64 * 1024;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
        size_hint = MIN((size_t)info.st_size, DOC_BYTES_MAX);
    struct strbuf text = { .secret = secret };
    int r = read_all(fd, shown, size_hint, &text, err);
    if (!standard_input)
        close(fd);
    if (r < 0) {
        strbuf_release(&text);
        return r;
    }
    doc_stream_init(stream, path, text.text, text.len);
    stream->secret = secret;
    return 0;
}

int doc_stream_open(struct doc_stream *stream, const char *path, struct error *err)
{
    return open_stream(stream, path, false, err);
}

int doc_stream_open_secret(struct doc_stream *stream, const char *path, struct error *err)
{
    return open_stream(stream, path, true, err);
}

/* The first container below more than DOC_DEPTH_MAX - 1 others, or NULL. */
static const yyjson_val *find_too_deep(const yyjson_doc *json)
{
    const yyjson_val *ends[DOC_DEPTH_MAX]; /* of the containers around */
    size_t depth = 0;
    const yyjson_val *end = json->root + json->val_read;
    for (yyjson_val *val = json->root; val != end; val++) {
        if (!unsafe_yyjson_is_ctn(val))
            continue;
        while (depth && val >= ends[depth - 1])
            depth--;
        if (depth == DOC_DEPTH_MAX)
            return val;
        ends[depth++] = unsafe_yyjson_get_next(val);
    }
    return NULL;
}

static int fail_at(const struct doc_stream *stream, size_t offset, int code, struct error *err,
                   const char *what)
{
    size_t line, column;
    doc_stream_where(stream, offset, &line, &column);
    return error_at(err, code, stream->path, line, column, "%s", what);
}

static int next_json(struct doc_stream *stream, struct doc *ret, struct error *err)
{
    stream->at = skip_blank(stream, stream->at, true);
    if (stream->at == stream->len)
        return 0;
    char *text = stream->text + stream->at;
    if (*text != '{' && *text != '[')
        return fail_at(stream, stream->at, -EINVAL, err, "expected an object or a list");
    const yyjson_read_flag flags =
        YYJSON_READ_INSITU | YYJSON_READ_STOP_WHEN_DONE | YYJSON_READ_BIGNUM_AS_RAW;
    yyjson_read_err why;
    yyjson_doc *json = yyjson_read_opts(text, stream->len - stream->at, flags, NULL, &why);
    if (!json) {
        int code = why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? -ENOMEM : -EINVAL;
        return fail_at(stream, stream->at + why.pos, code, err, why.msg);
    }
    struct doc doc = { .stream = stream, .json = json, .root = json->root, .start = stream->at };
    const yyjson_val *deep = find_too_deep(json);
    if (deep) {
        int r = doc_error(&doc, deep, -EINVAL, err, "nested deeper than %d levels", DOC_DEPTH_MAX);
        doc_release(&doc);
        return r;
    }
    stream->at += json->dat_read;
    *ret = doc;
    return 1;
}

int doc_stream_next(struct doc_stream *stream, struct doc *ret, struct error *err)
{
    const unsigned char *text = (const unsigned char *)stream->text;
    int r;
    if (stream->at >= stream->len)
        return 0;
    if (stream->len > DOC_BYTES_MAX)
        r = error_at(err, -EFBIG, stream->path, 0, 0, "is longer than %zu bytes", DOC_BYTES_MAX);
    else if (stream->len >= 2 && ((text[0] == 0xff && text[1] == 0xfe) ||
                                  (text[0] == 0xfe && text[1] == 0xff) || !text[0] || !text[1]))
        r = fail_at(stream, 0, -EINVAL, err,
                    "the text is UTF-16 or UTF-32, expected UTF-8; `iconv -f UTF-16 -t UTF-8` converts it");
    else
        r = stream->yaml ? yaml_next(stream, ret, err) : next_json(stream, ret, err);
    if (r < 0)
        stream->at = stream->len;
    return r;
}

void doc_stream_release(struct doc_stream *stream)
{
    yaml_release(stream);
    if (stream->secret)
        secret_free(stream->text);
    else
        free(stream->text);
    free(stream->line_ends);
    *stream = (struct doc_stream){ 0 };
}

void doc_release(struct doc *doc)
{
    yyjson_doc_free(doc->json);
    free(doc->positions);
    arena_release(&doc->strings);
    *doc = (struct doc){ 0 };
}

/* The number of line ends before this place, and where its line begins. */
static size_t find_line(const struct doc_stream *stream, size_t offset, size_t *ret_begin)
{
    size_t low = 0, high = stream->line_end_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stream->line_ends[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_begin = low ? stream->line_ends[low - 1] + (size_t)1 : mark_len(stream);
    return low;
}

void doc_stream_where(const struct doc_stream *stream, size_t offset, size_t *ret_line, size_t *ret_column)
{
    size_t begin;
    offset = MIN(offset, stream->len);
    *ret_line = 1 + find_line(stream, offset, &begin);
    *ret_column = offset > begin ? offset - begin + 1 : 1;
}

/* Where a JSON string or a number kept as text stands in the stream's text; false for other values. */
static bool find_offset(const struct doc *doc, const yyjson_val *val, size_t *ret)
{
    bool quoted = yyjson_is_str((yyjson_val *)val);
    if (!quoted && !yyjson_is_raw((yyjson_val *)val))
        return false;
    *ret = (size_t)(val->uni.str - doc->stream->text) - quoted;
    return true;
}

void doc_where(const struct doc *doc, const yyjson_val *val, size_t *ret_line, size_t *ret_column)
{
    size_t count = yyjson_doc_get_val_count(doc->json);
    bool inside = val >= doc->root && val < doc->root + count;
    if (doc->positions) {
        uint64_t position = doc->positions[inside ? val - doc->root : 0];
        *ret_line = position >> 32;
        *ret_column = position & UINT32_MAX;
        return;
    }
    size_t offset = doc->start;
    for (const yyjson_val *at = val; inside && at >= doc->root; at--)
        if (find_offset(doc, at, &offset))
            break;
    doc_stream_where(doc->stream, offset, ret_line, ret_column);
}

int doc_error(const struct doc *doc, const yyjson_val *val, int code, struct error *err, const char *format,
              ...)
{
    if (!err)
        return code;
    char text[sizeof(err->text)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t line, column;
    doc_where(doc, val, &line, &column);
    return error_at(err, code, doc->stream->path, line, column, "%s", text);
}

const char *doc_type_name(const yyjson_val *val)
{
    switch (yyjson_get_type((yyjson_val *)val)) {
    case YYJSON_TYPE_NULL:
        return "null";
    case YYJSON_TYPE_BOOL:
        return "boolean";
    case YYJSON_TYPE_RAW:
    case YYJSON_TYPE_NUM:
        return "number";
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_ARR:
        return "list";
    case YYJSON_TYPE_OBJ:
        return "object";
    default:
        return "nothing";
    }
}
