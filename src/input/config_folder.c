/* config_folder.c: see config_folder.h. */
#include "input/config_folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A ConfigMap has at most 1 MiB. Folders with more, such as /etc, are no place to guess. */
enum { FILE_BYTES_MAX = 1 << 20, FILES_MAX = 100, NAMED_MAX = 5 };

struct search {
    const char *folder;
    struct arena *arena;
    struct str found[NAMED_MAX];
    size_t count;
};

/* The files of a ConfigMap are links to ..data. */
static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_small_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= FILE_BYTES_MAX;
}

static bool is_configuration(const char *path)
{
    struct doc_stream stream = { 0 };
    struct doc doc;
    struct error ignored;
    if (!is_small_file(path) || doc_stream_open_secret(&stream, path, &ignored) < 0)
        return false;
    bool any = doc_stream_next(&stream, &doc, &ignored) > 0;
    bool is = any && yyjson_equals_str(yyjson_obj_get(doc.root, "kind"), "KubeSchedulerConfiguration");
    if (any)
        doc_release(&doc);
    doc_stream_release(&stream);
    return is;
}

static void look_at(struct search *search, const char *name)
{
    struct str path = arena_printf(search->arena, "%s/%s", search->folder, name);
    if (!is_configuration(path.ptr))
        return;
    if (search->count < NAMED_MAX)
        search->found[search->count] = path;
    search->count++;
}

static int look_into(struct search *search, struct error *err)
{
    struct dirent **entries;
    int count = scandir(search->folder, &entries, visible, alphasort);
    if (count < 0)
        return error_at(err, -errno, search->folder, 0, 0, "cannot be read: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        if (count <= FILES_MAX)
            look_at(search, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return 0;
}

/* "--config=a or --config=b" */
static void list_found(const struct search *search, struct strbuf *out)
{
    size_t len = MIN(search->count, (size_t)NAMED_MAX);
    for (size_t i = 0; i < len; i++)
        strbuf_printf(out, "%s--config=" STR_FMT, i ? " or " : "", STR_ARG(search->found[i]));
    if (len < search->count)
        strbuf_puts(out, " or another one");
}

static int refuse(const struct search *search, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf files = { 0 };
    if (!search->count)
        return error_at(
            err, -EISDIR, search->folder, 0, 0,
            "is a folder, expected a file, and no file in it is a KubeSchedulerConfiguration; if a "
            "ConfigMap is mounted there, its key is the name of the file: write "
            "--config=%s/KEY",
            search->folder);
    list_found(search, &files);
    return error_at(err, -EISDIR, search->folder, 0, 0,
                    "is a folder, expected a file, and several files in it are a KubeSchedulerConfiguration; "
                    "write %s",
                    files.text);
}

int config_folder_resolve(const char *path, struct arena *arena, const char **ret, struct warnings *warnings,
                          struct error *err)
{
    struct stat info;
    struct search search = { .folder = path, .arena = arena };
    *ret = path;
    if (!path || stat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return 0;
    int r = look_into(&search, err);
    if (r < 0)
        return r;
    if (search.count != 1)
        return refuse(&search, err);
    *ret = search.found[0].ptr;
    if (warnings)
        *vec_push(&warnings->list) =
            arena_printf(arena, "--config=%s is a folder: its file %s is read; write --config=%s", path,
                         search.found[0].ptr + strlen(path) + 1, search.found[0].ptr);
    return 0;
}
