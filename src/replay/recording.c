/* recording.c: files, blocks, entries; see recording.h. */
#include "replay/recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which files ---- */

/* "<start>-<number>.berth": the start, or an empty text where the name is another. */
static struct str recording_of(struct str file)
{
    ptrdiff_t dash = str_rfind(file, '-');
    return str_ends_with(file, STR(JOURNAL_SUFFIX)) && dash > 0 ? str_slice(file, 0, (size_t)dash)
                                                                : (struct str){ 0 };
}

static int is_of_recording(const struct dirent *entry)
{
    return recording_of(str_from(entry->d_name)).len > 0;
}

static int list_folder(struct recording *recording, const char *path, struct error *err)
{
    struct dirent **entries;
    int len = scandir(path, &entries, is_of_recording, alphasort);
    if (len < 0)
        return error_set(err, -errno, "cannot open the folder %s: %s", path, strerror(errno));
    for (int i = 0; i < len; i++) {
        *vec_push(&recording->files) = (struct recording_file){
            .name = arena_str(&recording->arena, str_from(entries[i]->d_name)),
            .path = arena_printf(&recording->arena, "%s/%s", path, entries[i]->d_name),
        };
        free(entries[i]);
    }
    free(entries);
    if (!len)
        return error_set(err, -ENOENT, "%s has no recording: no files that end with " JOURNAL_SUFFIX, path);
    return 0;
}

/* Leaves the files of the recording that is wanted. */
static void choose(struct recording *recording, struct str wanted)
{
    struct str last = { 0 };
    size_t kept = 0;
    for (size_t i = 0; i < recording->files.len; i++) {
        struct str name = recording_of(recording->files.items[i].name);
        if (str_eq(name, wanted))
            recording->files.items[kept++] = recording->files.items[i];
        else if (!str_eq(name, last))
            recording->others++;
        last = name;
    }
    recording->files.len = kept;
    recording->name = wanted;
}

/* When the recording began whose first file this is; false: its beginning is not there. */
static bool read_beginning(const struct recording_file *file, int64_t *ret_ns)
{
    struct recording one = { .rest = protobuf_reader((struct str){ 0 }) };
    struct recording_entry entry;
    *vec_push(&one.files) = *file;
    bool there = recording_next(&one, &entry) && entry.kind == JOURNAL_HEAD;
    if (there)
        *ret_ns = entry.now_ns;
    recording_close(&one);
    return there;
}

/* The last one that had begun by then, or the oldest. */
static struct str find_by_time(const struct recording *recording, int64_t at_ns)
{
    struct str last = { 0 }, found = { 0 };
    int64_t begun_ns;
    vec_for(&recording->files, file) {
        struct str name = recording_of(file->name);
        if (!str_eq(name, last) && read_beginning(file, &begun_ns) && (!found.len || begun_ns <= at_ns))
            found = name;
        last = name;
    }
    return found;
}

static int find_files(struct recording *recording, const char *path, int64_t at_ns, struct error *err)
{
    struct stat stat_of;
    if (stat(path, &stat_of) < 0)
        return error_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    struct str folder = str_from(path), name = { 0 };
    if (!S_ISDIR(stat_of.st_mode)) {
        ptrdiff_t slash = str_rfind(folder, '/');
        name = str_slice(folder, (size_t)(slash + 1), folder.len);
        folder = slash < 0 ? STR(".") : str_slice(folder, 0, (size_t)MAX(slash, 1));
        if (!recording_of(name).len)
            return error_set(err, -EINVAL,
                             "%s is no file of a recording: its name does not end with " JOURNAL_SUFFIX,
                             path);
    }
    int r = list_folder(recording, arena_str(&recording->arena, folder).ptr, err);
    if (r < 0)
        return r;
    struct str wanted = recording_of(name.len ? arena_str(&recording->arena, name)
                                              : recording->files.items[recording->files.len - 1].name);
    if (!name.len && at_ns != INT64_MAX)
        wanted = find_by_time(recording, at_ns);
    if (!wanted.len)
        return error_set(err, -EBADMSG, "%s has no recording with a beginning", path);
    choose(recording, wanted);
    return 0;
}

/* ---- blocks ---- */

static void cut_here(struct recording *recording, const char *why)
{
    const struct recording_file *file = &recording->files.items[recording->file];
    size_t after = recording->files.len - recording->file - 1;
    error_set(&recording->cut, -EBADMSG, STR_FMT ": %s at byte %zu; what is behind that is left out%s",
              STR_ARG(file->name), why, recording->at, after ? ", the files that follow as well" : "");
    recording->over = true;
}

static int map_file(struct recording_file *file, struct error *err)
{
    struct stat stat_of;
    int fd = open(file->path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set(err, -errno, "cannot open %s: %s", file->path.ptr, strerror(errno));
    int r = fstat(fd, &stat_of) < 0 ? -errno : 0;
    if (r == 0 && !S_ISREG(stat_of.st_mode))
        r = -EINVAL;
    if (r == 0 && stat_of.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)stat_of.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            r = -errno;
        else
            *file = (struct recording_file){ file->name, file->path, bytes, (size_t)stat_of.st_size };
    }
    close(fd);
    return r < 0 ? error_set(err, r, "cannot read %s: %s", file->path.ptr, strerror(-r)) : 0;
}

/* A file that does not begin as ours do. */
static void cut_at_beginning(struct recording *recording, const struct recording_file *file)
{
    static const char magic[] = JOURNAL_MAGIC;
    size_t words_len = strcspn(magic, "0123456789"), end = words_len;
    char why[128] = "this is no file of a recording";
    if (!file->len)
        snprintf(why, sizeof(why), "the file is empty");
    else if (file->len > words_len && memcmp(file->bytes, magic, words_len) == 0)
        while (end < file->len && end < words_len + 9 && file->bytes[end] >= '0' && file->bytes[end] <= '9')
            end++;
    if (end > words_len)
        snprintf(why, sizeof(why), "it is of format %.*s, and this berth reads format %.*s",
                 (int)(end - words_len), &file->bytes[words_len],
                 (int)strspn(&magic[words_len], "0123456789"), &magic[words_len]);
    cut_here(recording, why);
}

/* The present file is mapped and its magic read. False: the recording ends here. */
static bool open_file(struct recording *recording)
{
    struct recording_file *file = &recording->files.items[recording->file];
    struct error err;
    if (!file->bytes && map_file(file, &err) < 0) {
        cut_here(recording, err.text);
        return false;
    }
    if (recording->at)
        return true;
    if (file->len < JOURNAL_MAGIC_LEN || memcmp(file->bytes, JOURNAL_MAGIC, JOURNAL_MAGIC_LEN) != 0) {
        cut_at_beginning(recording, file);
        return false;
    }
    recording->at = JOURNAL_MAGIC_LEN;
    return true;
}

static uint64_t fixed(const char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)(unsigned char)at[i] << 8 * i;
    return value;
}

static bool open_block(struct recording *recording)
{
    const struct recording_file *file = &recording->files.items[recording->file];
    size_t left = file->len - recording->at;
    const char *at = file->bytes + recording->at;
    uint64_t len = left < JOURNAL_BLOCK_HEAD_LEN ? 0 : fixed(at, 4);
    if (left < JOURNAL_BLOCK_HEAD_LEN || len > left - JOURNAL_BLOCK_HEAD_LEN ||
        len > JOURNAL_BLOCK_BYTES_MAX) {
        cut_here(recording, "a block is cut off");
        return false;
    }
    struct str payload = { at + JOURNAL_BLOCK_HEAD_LEN, (uint32_t)len };
    if (fixed(at + 4, 8) != recording->blocks) {
        cut_here(recording, "blocks before this one are missing");
        return false;
    }
    if (fixed(at + 12, 8) != journal_checksum(payload, recording->blocks)) {
        cut_here(recording, "a block is damaged");
        return false;
    }
    recording->blocks++;
    recording->at += JOURNAL_BLOCK_HEAD_LEN + len;
    recording->bytes += len;
    recording->rest = protobuf_reader(payload);
    return true;
}

static bool next_block(struct recording *recording)
{
    while (!recording->over && recording->file < recording->files.len) {
        if (!open_file(recording))
            return false;
        if (recording->at < recording->files.items[recording->file].len)
            return open_block(recording);
        recording->file++;
        recording->at = 0;
    }
    return false;
}

/* ---- entries ---- */

bool recording_next(struct recording *recording, struct recording_entry *ret)
{
    struct protobuf_field field;
    for (int r; !recording->over;) {
        if (recording->rest.at == recording->rest.end && !next_block(recording))
            break;
        r = protobuf_next(&recording->rest, &field);
        if (r < 0) {
            cut_here(recording, "an entry cannot be read before the block that ends");
            break;
        }
        if (r == 0 || field.wire != WIRE_BYTES || field.tag >= JOURNAL_ENTRY_KINDS)
            continue;
        struct protobuf_reader body = protobuf_reader(field.bytes);
        struct protobuf_field time = { 0 };
        bool has_time =
            protobuf_next(&body, &time) > 0 && time.tag == JOURNAL_TIME && time.wire == WIRE_VARINT;
        ret->kind = (enum journal_entry_kind)field.tag;
        ret->body = field.bytes;
        ret->now_ns = has_time ? (int64_t)MIN(time.number, RECORDING_TIME_MAX_NS) : 0;
        recording->entries++;
        return true;
    }
    recording->over = true;
    return false;
}

int entry_read(struct str body, struct entry_fields *ret, struct error *err)
{
    struct protobuf_reader reader = protobuf_reader(body);
    struct protobuf_field field;
    int r;
    *ret = (struct entry_fields){ 0 };
    while ((r = protobuf_next(&reader, &field)) > 0) {
        if (field.tag >= ENTRY_TAGS)
            continue;
        if (field.wire == WIRE_BYTES)
            ret->texts[field.tag] = field.bytes;
        else
            ret->numbers[field.tag] = field.number;
    }
    return r < 0 ? error_set(err, r, "an entry of the recording cannot be read: %s", protobuf_problem(r)) : 0;
}

/* ---- life ---- */

int recording_open(struct recording *recording, const char *path, int64_t at_ns, struct error *err)
{
    *recording = (struct recording){ .rest = protobuf_reader((struct str){ 0 }) };
    int r = find_files(recording, path, at_ns, err);
    if (r < 0)
        recording_close(recording);
    return r;
}

void recording_close(struct recording *recording)
{
    vec_for(&recording->files, file)
        if (file->bytes)
            munmap((void *)file->bytes, file->len);
    vec_release(&recording->files);
    arena_release(&recording->arena);
    *recording = (struct recording){ 0 };
}

/* ---- all of them ---- */

static void summarize(struct recording *recording, struct arena *arena, struct recording_summary *ret)
{
    struct recording_entry entry;
    *ret = (struct recording_summary){ .name = arena_str(arena, recording->name),
                                       .files = recording->files.len,
                                       .headless = true };
    while (recording_next(recording, &entry)) {
        if (recording->entries == 1 && entry.kind == JOURNAL_HEAD &&
            entry_read(entry.body, &entry.fields, NULL) == 0) {
            ret->headless = false;
            ret->version = arena_str(arena, entry.fields.texts[HEAD_VERSION]);
        }
        if (!ret->first_ns)
            ret->first_ns = entry.now_ns;
        if (entry.now_ns)
            ret->last_ns = entry.now_ns;
        ret->decisions += entry.kind == JOURNAL_DECISION;
    }
    ret->entries = recording->entries;
    ret->cut = arena_str(arena, str_from(recording->cut.text));
    vec_for(&recording->files, file) {
        struct stat stat_of;
        ret->bytes += stat(file->path.ptr, &stat_of) == 0 ? (uint64_t)stat_of.st_size : 0;
    }
}

int recording_list(const char *path, struct arena *arena, struct recording_summary **ret, size_t *ret_len,
                   struct error *err)
{
    struct recording all = { 0 };
    struct str last = { 0 };
    int r = list_folder(&all, path, err);
    *ret = arena_array(arena, struct recording_summary, all.files.len);
    *ret_len = 0;
    for (size_t i = 0; r == 0 && i < all.files.len; i++) {
        struct recording one;
        struct str name = recording_of(all.files.items[i].name);
        if (str_eq(name, last))
            continue;
        last = name;
        if (recording_open(&one, all.files.items[i].path.ptr, INT64_MAX, err) < 0)
            continue; /* it has gone meanwhile */
        summarize(&one, arena, &(*ret)[(*ret_len)++]);
        recording_close(&one);
    }
    recording_close(&all);
    return r;
}

int64_t recording_clock(const struct recording_entry *entry)
{
    struct protobuf_reader reader = protobuf_reader(entry->body);
    struct protobuf_field field;
    const int64_t max_ns = (int64_t)RECORDING_TIME_MAX_NS;
    int64_t ahead_ns = 0;
    while (protobuf_next(&reader, &field) > 0)
        if (field.tag == CLOCK_AHEAD_NS && field.wire == WIRE_VARINT)
            ahead_ns = (int64_t)field.number;
    return MAX(MIN(ahead_ns, max_ns), -max_ns);
}
