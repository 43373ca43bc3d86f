/* common.c: opening the input and ending a command; see common.h. */
#include "cmd/common.h"

#include <stdio.h>

int fail(int code, const struct error *err)
{
    fprintf(stderr, "berth: %s\n", err->text);
    return code;
}

static void warn_about_plugins(const struct world *world)
{
    struct arena arena = { 0 };
    struct warnings warnings = { 0 };
    plugins_warn(&world->config, &arena, &warnings);
    vec_for(&warnings.list, sentence)
        fprintf(stderr, "berth: warning: " STR_FMT "\n", STR_ARG(*sentence));
    warnings_release(&warnings);
    arena_release(&arena);
}

int open_world(struct world *world, const struct command *command, const struct input_settings *input)
{
    struct error err = { "" };
    if (input->files.list.len == 0) {
        fprintf(stderr, "berth: %s needs the objects of a cluster: -f FILE\nTry `berth %s --help`.\n",
                command->name, command->name);
        return EXIT_INPUT;
    }
    if (plugins_load(&input->plugins, input->config, &err) < 0)
        return fail(EXIT_INPUT, &err);
    const struct world_options options = {
        .paths = input->files.list.items,
        .paths_len = input->files.list.len,
        .config = input->config,
        .registry = plugins_registry(),
    };
    if (world_open(world, &options, &err) < 0)
        return fail(EXIT_INPUT, &err);
    warn_about_plugins(world);
    return 0;
}

void input_settings_release(struct input_settings *input)
{
    texts_release(&input->files);
    plugin_settings_release(&input->plugins);
}

int finish(struct term *term)
{
    struct error err = { "" };
    if (term_flush(term, &err) < 0)
        return fail(EXIT_TROUBLE, &err);
    return EXIT_DONE;
}

const char *grouped(int64_t number)
{
    enum { BUFFERS = 8 };
    static char buffers[BUFFERS][32];
    static unsigned next;
    char digits[24];
    char *out = buffers[next++ % BUFFERS];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)number);
    int at = 0;
    for (int i = 0; i < len; i++) {
        bool group = i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-';
        if (group)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

void add_count(struct strbuf *out, size_t count, const char *noun)
{
    strbuf_printf(out, "%s %s%s", grouped((int64_t)count), noun, count == 1 ? "" : "s");
}
