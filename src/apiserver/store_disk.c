/* store_disk.c: see store_disk.h. */
#include "apiserver/store_disk.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "net/loop.h"

enum { APPLICATION_ID = 0x62727468 /* "brth" */, FORMAT = 1 };

struct disk_op {
    struct str kind;
    struct stored *added; /* NULL: */
    uint64_t dropped;     /* the row of this revision goes */
};

struct batch {
    VEC(struct disk_op) ops;
    uint64_t oldest, revision; /* of the store after it */
};

struct disk {
    struct disk_options options;
    sqlite3 *database;
    sqlite3_stmt *insert, *remove, *set_oldest;
    struct batch queued, writing;
    struct loop_call begin; /* posted: a transaction begins with the next turn */
    bool prepared, begins, has_failed;
    struct loop_work work;
    int result;         /* of the work: of SQLite */
    struct error error; /* likewise */
};

/* ---- sentences ---- */
static int failure(struct disk *disk, int code, struct error *err)
{
    const char *path = disk->options.path;
    switch (code & 0xff) {
    case SQLITE_NOTADB:
        return error_set(err, -EINVAL, "%s is not a database of berth cluster; name another file", path);
    case SQLITE_CORRUPT:
        return error_set(err, -EUCLEAN, "%s is damaged: %s; restore a copy, or start with another file", path,
                         sqlite3_errmsg(disk->database));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, -EBUSY, "%s is in use by another process", path);
    default:
        return error_set(err, -EIO, "%s: %s", path, sqlite3_errmsg(disk->database));
    }
}

static int execute(struct disk *disk, const char *sql, struct error *err)
{
    int code = sqlite3_exec(disk->database, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : failure(disk, code, err);
}

static int prepare(struct disk *disk, const char *sql, sqlite3_stmt **ret, struct error *err)
{
    int code = sqlite3_prepare_v3(disk->database, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
    return code == SQLITE_OK ? 0 : failure(disk, code, err);
}

/* The first value of the first row. */
static int ask(struct disk *disk, const char *sql, char answer[static 64], struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int r = prepare(disk, sql, &statement, err);
    int code = r < 0 ? SQLITE_OK : sqlite3_step(statement);
    if (code == SQLITE_ROW)
        snprintf(answer, 64, "%s", (const char *)sqlite3_column_text(statement, 0));
    else if (r == 0)
        r = failure(disk, code == SQLITE_DONE ? SQLITE_CORRUPT : code, err);
    sqlite3_finalize(statement);
    return r;
}

/* ---- the file ---- */
static const char schema[] =
    "BEGIN;"
    "CREATE TABLE versions (revision INTEGER PRIMARY KEY, created INTEGER NOT NULL, deleted INTEGER NOT NULL,"
    " kind TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, json TEXT NOT NULL,"
    " hash INTEGER NOT NULL);"
    "CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 0), oldest INTEGER NOT NULL);"
    "INSERT INTO state VALUES (0, 1);"
    "PRAGMA application_id = 1651668072;"
    "PRAGMA user_version = 1;"
    "COMMIT;";
static_assert(APPLICATION_ID == 1651668072 && FORMAT == 1, "the numbers in the schema");

/* A file that something else wrote must not be touched: this comes before anything is written. */
static int check_format(struct disk *disk, bool *ret_is_new, struct error *err)
{
    char tables[64], id[64], format[64], check[64];
    int r = ask(disk, "SELECT count(*) FROM sqlite_schema", tables, err);
    if (r == 0)
        r = ask(disk, "PRAGMA application_id", id, err);
    if (r == 0)
        r = ask(disk, "PRAGMA user_version", format, err);
    if (r < 0)
        return r;
    *ret_is_new = str_is(str_from(tables), "0") && str_is(str_from(id), "0");
    if (*ret_is_new)
        return 0;
    int64_t number = 0;
    if (!str_to_int64(str_from(id), &number) || number != APPLICATION_ID)
        return failure(disk, SQLITE_NOTADB, err);
    if (!str_to_int64(str_from(format), &number) || number != FORMAT)
        return error_set(err, -EINVAL,
                         "%s has format %s, and this version of berth reads format %d; name another file",
                         disk->options.path, format, FORMAT);
    r = ask(disk, "PRAGMA quick_check(1)", check, err);
    if (r == 0 && !str_is(str_from(check), "ok"))
        r = error_set(err, -EUCLEAN, "%s is damaged: %s; restore a copy, or start with another file",
                      disk->options.path, check);
    return r;
}

static int prepare_file(struct disk *disk, struct error *err)
{
    char mode[64];
    bool is_new = false;
    int r = execute(disk, "PRAGMA locking_mode = EXCLUSIVE", err);
    if (r == 0)
        r = check_format(disk, &is_new, err);
    if (r == 0)
        r = ask(disk, "PRAGMA journal_mode = WAL", mode, err);
    if (r == 0 && !str_is(str_from(mode), "wal"))
        r = error_set(err, -EIO, "%s: this file system cannot hold a database with a write-ahead log",
                      disk->options.path);
    if (r == 0)
        r = execute(disk, "PRAGMA synchronous = FULL; BEGIN EXCLUSIVE; COMMIT;", err);
    if (r == 0 && is_new)
        r = execute(disk, schema, err);
    if (r == 0)
        r = prepare(disk, "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &disk->insert, err);
    if (r == 0)
        r = prepare(disk, "DELETE FROM versions WHERE revision = ?", &disk->remove, err);
    if (r == 0)
        r = prepare(disk, "UPDATE state SET oldest = ?", &disk->set_oldest, err);
    return r;
}

/* ---- rows ---- */
static int64_t row_hash(struct str kind, const struct stored *row)
{
    const struct str texts[] = { kind, row->ns, row->name, row->uid, row->json };
    uint64_t hash = row->revision * 31 + row->created * 2 + row->is_deleted;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        hash = hash_bytes(texts[i].ptr, texts[i].len, hash + texts[i].len);
    return (int64_t)hash;
}

static struct str column_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return (struct str){ text ? text : "", (uint32_t)sqlite3_column_bytes(row, column) };
}

static int load_row(struct disk *disk, sqlite3_stmt *columns, disk_load_row load, void *user,
                    struct error *err)
{
    struct stored row = { .revision = (uint64_t)sqlite3_column_int64(columns, 0),
                          .created = (uint64_t)sqlite3_column_int64(columns, 1),
                          .is_deleted = sqlite3_column_int(columns, 2),
                          .ns = column_text(columns, 4),
                          .name = column_text(columns, 5),
                          .uid = column_text(columns, 6),
                          .json = column_text(columns, 7) };
    struct str kind = column_text(columns, 3);
    int r = -EUCLEAN;
    if (row_hash(kind, &row) != sqlite3_column_int64(columns, 8))
        error_set(err, r, "its texts are not those that were written");
    else
        r = load(user, kind, &row, err);
    if (r < 0)
        error_prefix(err, "%s is damaged: revision %llu", disk->options.path,
                     (unsigned long long)row.revision);
    return r;
}

int disk_load(struct disk *disk, uint64_t *ret_oldest, disk_load_row load, void *user, struct error *err)
{
    char oldest[64];
    int64_t number = 0;
    int r = ask(disk, "SELECT oldest FROM state", oldest, err);
    if (r == 0 && (!str_to_int64(str_from(oldest), &number) || number < 1))
        r = error_set(err, -EUCLEAN, "%s is damaged: its oldest revision is %s", disk->options.path, oldest);
    *ret_oldest = disk->queued.oldest = disk->queued.revision = (uint64_t)number;
    sqlite3_stmt *rows = NULL;
    if (r == 0)
        r = prepare(disk, "SELECT * FROM versions ORDER BY revision", &rows, err);
    int code = SQLITE_ROW;
    while (r == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW)
        r = load_row(disk, rows, load, user, err);
    if (r == 0 && code != SQLITE_DONE)
        r = failure(disk, code, err);
    sqlite3_finalize(rows);
    return r;
}

/* ---- transactions, on a thread of the worker pool ---- */
static int run(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static void bind(sqlite3_stmt *statement, int at, struct str text)
{
    sqlite3_bind_text(statement, at, text.ptr ? text.ptr : "", (int)text.len, SQLITE_STATIC);
}

static int write_op(struct disk *disk, const struct disk_op *op)
{
    const struct stored *added = op->added;
    if (!added) {
        sqlite3_bind_int64(disk->remove, 1, (sqlite3_int64)op->dropped);
        return run(disk->remove);
    }
    sqlite3_bind_int64(disk->insert, 1, (sqlite3_int64)added->revision);
    sqlite3_bind_int64(disk->insert, 2, (sqlite3_int64)added->created);
    sqlite3_bind_int(disk->insert, 3, added->is_deleted);
    bind(disk->insert, 4, op->kind);
    bind(disk->insert, 5, added->ns);
    bind(disk->insert, 6, added->name);
    bind(disk->insert, 7, added->uid);
    bind(disk->insert, 8, added->json);
    sqlite3_bind_int64(disk->insert, 9, row_hash(op->kind, added));
    return run(disk->insert);
}

static void write_batch(struct loop_work *work)
{
    struct disk *disk = container_of(work, struct disk, work);
    const struct batch *batch = &disk->writing;
    int code = sqlite3_exec(disk->database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < batch->ops.len && code == SQLITE_OK; i++)
        code = write_op(disk, &batch->ops.items[i]);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(disk->set_oldest, 1, (sqlite3_int64)batch->oldest);
        code = run(disk->set_oldest);
    }
    if (code == SQLITE_OK)
        code = sqlite3_exec(disk->database, "COMMIT", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        failure(disk, code, &disk->error);
    disk->result = code;
}

/* ---- on the loop's thread ---- */
static void batch_release(struct batch *batch)
{
    vec_for(&batch->ops, op)
        stored_unref(op->added);
    vec_release(&batch->ops);
}

static void begin(struct loop_call *call)
{
    struct disk *disk = container_of(call, struct disk, begin);
    disk->writing = disk->queued;
    disk->queued = (struct batch){ .oldest = disk->writing.oldest, .revision = disk->writing.revision };
    loop_work(disk->options.loop, &disk->work);
}

static void begin_soon(struct disk *disk)
{
    if (disk->begins || disk->has_failed || !disk->queued.ops.len)
        return;
    disk->begins = true;
    loop_post(disk->options.loop, &disk->begin);
}

static void done(struct loop_work *work)
{
    struct disk *disk = container_of(work, struct disk, work);
    uint64_t revision = disk->writing.revision;
    batch_release(&disk->writing);
    disk->begins = false;
    if (disk->result == SQLITE_OK) {
        disk->options.committed(disk->options.user, revision);
        begin_soon(disk);
    } else {
        disk->has_failed = true;
        disk->options.failed(disk->options.user, disk->error.text);
    }
}

void disk_add(struct disk *disk, struct str kind, struct stored *version)
{
    *vec_push(&disk->queued.ops) = (struct disk_op){ .kind = kind, .added = stored_ref(version) };
    disk->queued.revision = version->revision;
    begin_soon(disk);
}

void disk_drop(struct disk *disk, uint64_t revision)
{
    *vec_push(&disk->queued.ops) = (struct disk_op){ .dropped = revision };
    begin_soon(disk);
}

void disk_set_oldest(struct disk *disk, uint64_t oldest)
{
    disk->queued.oldest = oldest;
}

/* ---- the disk ---- */
int disk_open(const struct disk_options *options, struct disk **ret, struct error *err)
{
    struct disk *disk = xcalloc(1, sizeof(*disk));
    disk->options = *options;
    disk->begin.run = begin;
    disk->work = (struct loop_work){ .work = write_batch, .done = done };
    int code = sqlite3_open_v2(options->path, &disk->database,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    int r = code == SQLITE_OK ? prepare_file(disk, err) : failure(disk, code, err);
    disk->prepared = r == 0;
    if (r < 0)
        disk_close(disk);
    else
        *ret = disk;
    return r;
}

/* Is a transaction under way, or about to begin? On the loop's thread, behind what was posted before. */
static void look(void *context)
{
    const struct disk **disk = context;
    if (!(*disk)->begins)
        *disk = NULL;
}

void disk_close(struct disk *disk)
{
    if (!disk)
        return;
    for (const struct disk *busy = disk; busy && disk->prepared;) {
        loop_run_wait(disk->options.loop, look, &busy);
        if (busy)
            loop_work_wait(disk->options.loop, &disk->work);
    }
    batch_release(&disk->queued);
    sqlite3_finalize(disk->insert);
    sqlite3_finalize(disk->remove);
    sqlite3_finalize(disk->set_oldest);
    sqlite3_close(disk->database);
    free(disk);
}
