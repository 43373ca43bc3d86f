/* policy_files.c: see policy_files.h. */
#include "cmd/policy_files.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/fields.h"
#include "base/clock.h"
#include "base/log.h"
#include "input/policy_folder.h"
#include "net/reread.h"
#include "policy/policy_set.h"

enum { LOOK_MS = 500, SLOW_MS = 10 * 1000 };

/* A reading of the folder. */
struct content {
    struct arena arena;
    struct config_map map;
};

struct policy_files {
    const char *folder;
    struct inbox *inbox;
    struct reread looks;
    bool started;
    struct content *last; /* of the last look; equal to `known`, or it may still be written to */
    bool is_lost;         /* it cannot be read, which was logged */
    bool is_slow;         /* likewise: it is being read */
    pthread_mutex_t lock;
    struct content *known; /* what was posted, or is to be; under the lock, as the number */
    uint64_t number;       /* of its version */
};

static void content_free(struct content *content)
{
    if (content)
        arena_release(&content->arena);
    free(content);
}

static struct content *content_read(const char *folder, struct error *err)
{
    struct content *content = xcalloc(1, sizeof(*content));
    if (policy_folder_read(folder, &content->arena, &content->map, err) == 0)
        return content;
    content_free(content);
    return NULL;
}

static bool same(const struct content *a, const struct content *b)
{
    return a && b && record_equal(api_kinds[KIND_CONFIG_MAP].type, &a->map, &b->map);
}

int policy_files_new(const char *folder, const struct registry *registry, struct policy_files **ret,
                     struct error *err)
{
    struct policy_set *set = NULL;
    struct content *content = content_read(folder, err);
    int r = content ? policy_set_read(&content->map, registry, &set, err) : -EINVAL;
    policy_set_unref(set);
    if (r < 0) {
        content_free(content);
        return r;
    }
    struct policy_files *files = xcalloc(1, sizeof(*files));
    *files = (struct policy_files){ .folder = folder, .known = content, .number = 1 };
    pthread_mutex_init(&files->lock, NULL);
    *ret = files;
    return 0;
}

/* ---- messages ---- */
static void post(struct inbox *inbox, enum inbox_message_kind kind, struct live_object *object)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = KIND_CONFIG_MAP;
    message->object = object;
    inbox_post(inbox, message);
}

/* Under the lock. */
static struct live_object *object_of(const struct policy_files *files)
{
    const struct kind_info *info = &api_kinds[KIND_CONFIG_MAP];
    struct live_object *live = live_object_new();
    struct config_map *map = arena_new(&live->arena, struct config_map);
    record_copy(info->type, &files->known->map, &live->arena, map);
    map->meta.kind = KIND_CONFIG_MAP;
    map->meta.uid = STR("folder");
    map->meta.resource_version = arena_printf(&live->arena, "%llu", (unsigned long long)files->number);
    live->object = (struct object){ .kind = KIND_CONFIG_MAP,
                                    .ptr = map,
                                    .meta = &map->meta,
                                    .api_version = info->api_version,
                                    .kind_name = info->kind };
    return live;
}

void policy_files_post(struct policy_files *files, struct inbox *inbox)
{
    pthread_mutex_lock(&files->lock);
    post(inbox, MESSAGE_LIST_BEGIN, NULL);
    post(inbox, MESSAGE_SET, object_of(files));
    post(inbox, MESSAGE_LIST_END, NULL);
    pthread_mutex_unlock(&files->lock);
}

/* ---- looks ---- */
static void take(struct policy_files *files, struct content *content)
{
    pthread_mutex_lock(&files->lock);
    content_free(files->known);
    files->known = content;
    files->number++;
    post(files->inbox, MESSAGE_SET, object_of(files));
    pthread_mutex_unlock(&files->lock);
}

static void lost(struct policy_files *files, const struct error *err)
{
    if (!files->is_lost)
        log_warning("Folder of scheduling policies cannot be read, nothing changes",
                    log_str("err", str_from(err->text)));
    files->is_lost = true;
}

/* A file that is written in steps is taken when it stays as it is. */
static void look(struct reread *looks)
{
    struct policy_files *files = container_of(looks, struct policy_files, looks);
    struct error err;
    struct content *content = content_read(files->folder, &err);
    if (!content) {
        lost(files, &err);
        return;
    }
    if (files->is_lost)
        log_info(0, "Folder of scheduling policies is back", log_str("folder", str_from(files->folder)));
    files->is_lost = false;
    if (!same(content, files->known) && same(content, files->last)) {
        take(files, content);
        content = NULL;
    }
    content_free(files->last);
    files->last = content;
}

static int64_t looked(struct reread *looks)
{
    struct policy_files *files = container_of(looks, struct policy_files, looks);
    files->is_slow = false;
    return monotonic_ns() + LOOK_MS * NS_PER_MS;
}

static void on_slow_look(struct reread *looks)
{
    struct policy_files *files = container_of(looks, struct policy_files, looks);
    if (!files->is_slow)
        log_warning("Folder of scheduling policies cannot be read, nothing changes",
                    log_str("err", STR("reading it takes too long")),
                    log_str("folder", str_from(files->folder)));
    files->is_slow = true;
}

void policy_files_start(struct policy_files *files, struct loop *loop, struct inbox *inbox)
{
    files->inbox = inbox;
    files->looks = (struct reread){ .read = look, .took = looked, .slow = on_slow_look, .slow_ms = SLOW_MS };
    files->started = true;
    reread_start(&files->looks, loop, monotonic_ns());
}

void policy_files_free(struct policy_files *files)
{
    if (!files)
        return;
    if (files->started)
        reread_stop(&files->looks);
    content_free(files->known);
    content_free(files->last);
    pthread_mutex_destroy(&files->lock);
    free(files);
}
