/* policy_folder.c: see policy_folder.h. */
#include "input/policy_folder.h"

#include <dirent.h>
#include <stdlib.h>

#include "net/file.h"

enum { FILE_BYTES_MAX = 1 << 20, FILES_MAX = 1000 };

/* The files of a mounted ConfigMap are links to ..data. */
static int is_policy_file(const struct dirent *entry)
{
    struct str name = str_from(entry->d_name);
    return entry->d_name[0] != '.' && (str_ends_with(name, STR(".yaml")) ||
                                       str_ends_with(name, STR(".yml")) || str_ends_with(name, STR(".json")));
}

static int read_one(const char *folder, const char *name, struct arena *arena, struct pair *ret,
                    struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct str path = arena_printf(arena, "%s/%s", folder, name);
    int r = file_read(path.ptr, FILE_BYTES_MAX, &text, err);
    if (r < 0)
        return r;
    ret->key = arena_str(arena, str_from(name));
    ret->value = arena_str(arena, strbuf_slice(&text));
    return 0;
}

int policy_folder_read(const char *folder, struct arena *arena, struct config_map *ret, struct error *err)
{
    struct dirent **entries;
    int r = 0, count = scandir(folder, &entries, is_policy_file, alphasort);
    *ret = (struct config_map){ .meta = { .name = arena_str(arena, str_from(folder)) } };
    if (count < 0)
        return error_at(err, -errno, folder, 0, 0, "cannot be read: %s", strerror(errno));
    if (count > FILES_MAX)
        r = error_at(err, -E2BIG, folder, 0, 0, "has more than %d files", FILES_MAX);
    ret->data.items = arena_array(arena, struct pair, (size_t)count);
    for (int i = 0; i < count; i++) {
        if (r == 0)
            r = read_one(folder, entries[i]->d_name, arena, &ret->data.items[ret->data.len++], err);
        free(entries[i]);
    }
    free(entries);
    return r;
}
