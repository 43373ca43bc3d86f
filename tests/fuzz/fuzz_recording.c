/* Any bytes as a recording: it is read to its end and replayed, or gives an error. The first byte selects which part is
 * the input: 0 the complete file, 1 the contents of its only block, 2 the entries after a valid header. */
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
    features_default(&features, NULL, 0);
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

/* A file in memory, with the right suffix. */
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

static void must_explain(const struct error *err)
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
        must_explain(&err);
    must(replay->recording.bytes <= file.len);
    must(replay->decisions <= replay->recording.entries);
    replay_release(replay);
    free(replay);
    strbuf_release(&file);
    return 0;
}
