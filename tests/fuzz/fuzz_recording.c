/* Any bytes as a recording: read to its end and decided again, with a sentence where that cannot be. The first byte
 * says how much of it is left to the input: 0 the whole file, 1 what is in its one block, 2 the entries behind a head
 * that is in order. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "plugins/registry.h"
#include "replay/replay.h"

#include "fuzz/fuzz.h"

static struct str good_head(void)
{
    static struct strbuf head;
    static struct arena arena;
    static struct scheduler_config config;
    if (head.len)
        return strbuf_slice(&head);
    struct features features;
    struct error err;
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &arena);
    features_default(&features);
    must(config_default(&(struct config_env){ .catalog = &catalog }, &arena, &config, &err) == 0);
    journal_put_head(&head, &(struct engine_options){ .config = &config, .seed = 1, .now_ns = 1 }, &features);
    return strbuf_slice(&head);
}

static void put_block(struct strbuf *out, struct str payload)
{
    const uint64_t numbers[] = { payload.len, 0, journal_checksum(payload, 0) };
    for (int i = 0; i < 3; i++)
        for (int byte = 0; byte < (i ? 8 : 4); byte++)
            strbuf_putc(out, (char)(numbers[i] >> 8 * byte));
    strbuf_str(out, payload);
}

static void make_file(struct strbuf *out, int how, struct str bytes)
{
    if (how == 0) {
        strbuf_str(out, bytes);
        return;
    }
    struct strbuf payload = { 0 };
    if (how == 2)
        strbuf_str(&payload, good_head());
    strbuf_str(&payload, bytes);
    strbuf_puts(out, JOURNAL_MAGIC);
    put_block(out, strbuf_slice(&payload));
    strbuf_release(&payload);
}

/* One file in memory, by a name that ends as it should. */
static const char *the_file(void)
{
    static char path[128];
    if (path[0])
        return path;
    char dir[] = "/dev/shm/berth-fuzz-XXXXXX";
    must(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/x-000001.berth", dir);
    return path;
}

static void clean_up(void)
{
    char dir[128];
    unlink(the_file());
    snprintf(dir, sizeof(dir), "%s", the_file());
    *strrchr(dir, '/') = '\0';
    rmdir(dir);
}

static void must_say(const struct error *err)
{
    must(err->text[0] && !strchr(err->text, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    struct strbuf file = { 0 };
    struct error err = { 0 };
    if (!size)
        return 0;
    if (!begun) {
        begun = true;
        atexit(clean_up);
        must(log_init(&(struct log_options){ .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) }, &err) == 0);
    }
    make_file(&file, data[0] % 3, (struct str){ (const char *)data + 1, (uint32_t)size - 1 });
    int fd = open(the_file(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, file.text ? file.text : "", file.len) == (ssize_t)file.len);
    close(fd);

    struct replay *replay = xcalloc(1, sizeof(*replay));
    const struct replay_options options = { .path = the_file(), .until_ns = INT64_MAX, .from_ns = INT64_MIN };
    int r = replay_run(replay, &options, &err);
    if (r < 0)
        must_say(&err);
    must(replay->recording.bytes <= file.len);
    must(replay->decisions <= replay->recording.entries);
    replay_release(replay);
    free(replay);
    strbuf_release(&file);
    return 0;
}
