/* documents.c: from paths to values; see documents.h.
 *
 * A folder is walked in the order of names, so that the same folder is always the same input. Symbolic links to files
 * are followed, links to folders are not: a walk ends. */
#include "input/documents.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "codec/gzip.h"

enum { FOLDER_DEPTH_MAX = 64, LIST_DEPTH_MAX = 8, ITEMS_BETWEEN_PROGRESS = 256 };

void documents_release(struct documents *documents)
{
    vec_for(&documents->docs, doc) {
        doc_release(*doc);
        free(*doc);
    }
    vec_release(&documents->docs);
    vec_for(&documents->streams, stream) {
        doc_stream_release(*stream);
        free(*stream);
    }
    vec_release(&documents->streams);
    arena_release(&documents->arena);
}

/* ---- documents ---- */

static int walk_value(struct documents *documents, const struct doc *doc, yyjson_val *val, struct str kind,
                      struct str version, unsigned depth, struct error *err);

/* JSON is parsed much faster than its items are decoded; of YAML it is the other way round, and its parser reports. */
static void report_progress(const struct doc *doc, double share)
{
    const struct doc_stream *stream = doc->stream;
    double begin = (double)doc->start, end = (double)stream->at;
    if (stream->on_progress && !stream->yaml)
        stream->on_progress(stream, (begin + (end - begin) * share) / (double)stream->len);
}

static int walk_items(struct documents *documents, const struct doc *doc, yyjson_val *items, struct str kind,
                      struct str version, unsigned depth, struct error *err)
{
    if (yyjson_is_null(items) || !items)
        return 0;
    if (!yyjson_is_arr(items))
        return doc_error(doc, items, -EINVAL, err, "items: expected a list, not a %s", doc_type_name(items));
    size_t i, len;
    yyjson_val *item;
    yyjson_arr_foreach(items, i, len, item) {
        if (i && i % ITEMS_BETWEEN_PROGRESS == 0)
            report_progress(doc, (double)i / (double)len);
        int r = walk_value(documents, doc, item, kind, version, depth, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What a program printed in place of objects says why: "No resources found". */
static int no_object(const struct doc *doc, yyjson_val *val, struct error *err)
{
    enum { SHOWN_RUNES_MAX = 60 };
    struct str text = doc_text(val);
    struct str rest = text, line = str_cut(&rest, '\n');
    struct str shown = { line.ptr, utf8_offset(line, MIN(utf8_runes(line), (size_t)SHOWN_RUNES_MAX)) };
    if (!yyjson_is_str(val))
        return doc_error(doc, val, -EINVAL, err, "expected a Kubernetes object, not a %s",
                         doc_type_name(val));
    return doc_error(doc, val, -EINVAL, err, "expected a Kubernetes object, not the string \"" STR_FMT "%s\"",
                     STR_ARG(shown), shown.len < text.len ? "..." : "");
}

/* An object, or a List of them: then `kind` and `version` are those of items without their own. */
static int walk_value(struct documents *documents, const struct doc *doc, yyjson_val *val, struct str kind,
                      struct str version, unsigned depth, struct error *err)
{
    if (yyjson_is_arr(val) && depth == 0)
        return walk_items(documents, doc, val, kind, version, depth + 1, err);
    if (!yyjson_is_obj(val))
        return no_object(doc, val, err);
    struct str own_kind = doc_member_text(val, "kind"), own_version = doc_member_text(val, "apiVersion");
    if (!str_empty(own_kind))
        kind = own_kind;
    if (!str_empty(own_version))
        version = own_version;
    if (str_empty(kind))
        return doc_error(doc, val, -EINVAL, err, "kind: a Kubernetes object needs a kind");
    yyjson_val *items = yyjson_obj_get(val, "items");
    if (!str_ends_with(kind, STR("List")) || (kind.len > 4 && !items))
        return documents->visit(documents->user, doc, val, kind, version, err);
    if (depth == LIST_DEPTH_MAX)
        return doc_error(doc, val, -EINVAL, err, "Lists within Lists, deeper than %d levels", LIST_DEPTH_MAX);
    struct str item_kind = str_slice(kind, 0, kind.len - 4);
    if (str_empty(item_kind))
        version = (struct str){ 0 };
    return walk_items(documents, doc, items, item_kind, version, depth + 1, err);
}

/* "NAME   STATUS   AGE": the first line is words in capitals, and one of the first two is NAME. */
static bool is_table(const struct doc_stream *stream)
{
    struct str rest = { stream->text + stream->at, (uint32_t)(stream->len - stream->at) };
    struct str line = str_cut(&rest, '\n');
    bool has_name = false;
    size_t words = 0;
    while (line.len) {
        struct str word = str_trim(str_cut(&line, ' '), "\r");
        if (!word.len)
            continue;
        for (uint32_t i = 0; i < word.len; i++)
            if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ-()%", word.ptr[i]))
                return false;
        has_name |= words++ < 2 && str_is(word, "NAME");
    }
    return has_name && words > 1;
}

/* "Name:         web", as kubectl describe begins. */
static bool is_description(const struct doc_stream *stream)
{
    static const char begin[] = "Name:  ";
    size_t len = sizeof(begin) - 1;
    return stream->len - stream->at > len && memcmp(stream->text + stream->at, begin, len) == 0;
}

/* What kubectl prints for people has no objects. */
static int check_printed(const struct doc_stream *stream, struct error *err)
{
    const char *what = !stream->yaml      ? NULL
                       : is_table(stream) ? "is a table as kubectl prints it for people; with `-o yaml` or "
                                            "`-o json` it prints objects"
                       : is_description(stream)
                           ? "is what `kubectl describe` prints for people; `kubectl get -o "
                             "yaml` or `-o json` prints objects"
                           : NULL;
    return what ? error_at(err, -EINVAL, stream->path, 1, 1, "%s", what) : 0;
}

/* In the place of the compressed text. */
static int unpack(struct doc_stream *stream, const char *path, struct error *err)
{
    struct strbuf text = { 0 };
    int r = gzip_decode(stream->text, stream->len, DOC_BYTES_MAX, &text);
    if (r < 0) {
        strbuf_release(&text);
        if (r == -EFBIG)
            return error_at(err, r, stream->path, 0, 0, "is longer than %zu bytes when it is unpacked",
                            DOC_BYTES_MAX);
        return error_at(err, r, stream->path, 0, 0, "is compressed with gzip, and damaged or cut off");
    }
    strbuf_reserve(&text, YYJSON_PADDING_SIZE);
    memset(text.text + text.len, 0, YYJSON_PADDING_SIZE);
    doc_stream_release(stream);
    doc_stream_init(stream, path, text.text, text.len);
    return 0;
}

static int read_stream(struct documents *documents, struct doc_stream *stream, struct error *err)
{
    documents->bytes += stream->len;
    int r = check_printed(stream, err);
    if (r < 0)
        return r;
    for (;;) {
        struct doc doc, *kept = &doc;
        r = doc_stream_next(stream, &doc, err);
        if (r <= 0)
            return r;
        if (documents->keeps_docs) {
            kept = xcalloc(1, sizeof(*kept));
            *kept = doc;
            *vec_push(&documents->docs) = kept;
        }
        r = walk_value(documents, kept, kept->root, (struct str){ 0 }, (struct str){ 0 }, 0, err);
        if (!documents->keeps_docs)
            doc_release(&doc);
        if (r < 0)
            return r;
    }
}

static int read_file(struct documents *documents, const char *path, struct error *err)
{
    struct doc_stream *stream = xcalloc(1, sizeof(*stream));
    char *kept = arena_strndup(&documents->arena, path, strlen(path));
    int r = doc_stream_open(stream, kept, err);
    if (r < 0) {
        free(stream);
        return r;
    }
    *vec_push(&documents->streams) = stream;
    if (gzip_is(stream->text, stream->len) && (r = unpack(stream, kept, err)) < 0)
        return r;
    stream->on_progress = documents->on_progress;
    return read_stream(documents, stream, err);
}

/* ---- folders ---- */

static bool wanted_file(struct str name)
{
    static const struct str endings[] = { STR(".yaml"), STR(".yml"), STR(".json"), STR(".jsonl") };
    if (str_ends_with(name, STR(".gz")))
        name.len -= 3;
    for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
        if (str_ends_with(name, endings[i]))
            return true;
    return false;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int read_folder(struct documents *documents, const char *path, unsigned depth, size_t *files,
                       struct error *err);

static int read_entry(struct documents *documents, const char *path, const char *name, unsigned depth,
                      size_t *files, struct error *err)
{
    struct stat info;
    struct str full = arena_printf(&documents->arena, "%s/%s", path, name);
    if (lstat(full.ptr, &info) < 0)
        return error_at(err, -errno, full.ptr, 0, 0, "cannot be read: %s", strerror(errno));
    if (S_ISDIR(info.st_mode))
        return read_folder(documents, full.ptr, depth + 1, files, err);
    if (!wanted_file(full) || stat(full.ptr, &info) < 0 || !S_ISREG(info.st_mode))
        return 0;
    (*files)++;
    return read_file(documents, full.ptr, err);
}

static int read_folder(struct documents *documents, const char *path, unsigned depth, size_t *files,
                       struct error *err)
{
    if (depth > FOLDER_DEPTH_MAX)
        return error_at(err, -ELOOP, path, 0, 0, "folders deeper than %d levels", FOLDER_DEPTH_MAX);
    struct dirent **entries;
    int count = scandir(path, &entries, visible, alphasort);
    if (count < 0)
        return error_at(err, -errno, path, 0, 0, "cannot be read: %s", strerror(errno));
    int r = 0;
    for (int i = 0; i < count; i++) {
        if (r == 0)
            r = read_entry(documents, path, entries[i]->d_name, depth, files, err);
        free(entries[i]);
    }
    free(entries);
    return r;
}

int documents_read(struct documents *documents, const char *path, struct error *err)
{
    struct stat info;
    if (strcmp(path, "-") == 0) {
        if (documents->stdin_read)
            return error_set(err, -EINVAL, "standard input can be read only once");
        documents->stdin_read = true;
        return read_file(documents, path, err);
    }
    if (stat(path, &info) < 0)
        return error_at(err, -errno, path, 0, 0, "cannot be read: %s", strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return read_file(documents, path, err);
    size_t files = 0;
    int r = read_folder(documents, path, 0, &files, err);
    if (r == 0 && files == 0)
        return error_at(err, -ENOENT, path, 0, 0, "holds no *.yaml, *.yml, *.json or *.jsonl");
    return r;
}
