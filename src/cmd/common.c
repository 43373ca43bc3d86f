/* common.c: opening the input and ending a command; see common.h. */
#include "cmd/common.h"

#include <stdio.h>

#include "client/listing.h"

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

/* Without files the cluster of the kubeconfig is meant, and with files when it is named too. */
static int list_cluster(const struct command *command, const struct input_settings *input,
                        struct listing *ret, struct error *err)
{
    bool named = input->kubeconfig || input->context;
    if (input->files.list.len && !named)
        return 0;
    int r = listing_read(input->kubeconfig, input->context, LISTING_MS, ret, err);
    if (r < 0 && !named)
        error_prefix(err, "%s needs the objects of a cluster: -f FILE, or a cluster that can be reached",
                     command->name);
    return r;
}

static int open_with(struct world *world, const struct input_settings *input, const struct listing *listing,
                     struct error *err)
{
    const struct world_options options = {
        .paths = input->files.list.items,
        .paths_len = input->files.list.len,
        .listing = listing,
        .config = input->config,
        .asks_extenders = input->asks_extenders,
        .registry = plugins_registry(),
    };
    return world_open(world, &options, err);
}

int open_world(struct world *world, const struct command *command, const struct input_settings *input)
{
    struct error err = { "" };
    struct listing listing = { 0 };
    if (plugins_load(&input->plugins, input->config, &err) < 0)
        return fail(EXIT_INPUT, &err);
    if (list_cluster(command, input, &listing, &err) < 0)
        return fail(EXIT_INPUT, &err);
    int r = open_with(world, input, &listing, &err);
    listing_release(&listing);
    if (r < 0)
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

void add_count(struct strbuf *out, size_t count, const char *noun)
{
    strbuf_printf(out, "%s %s%s", grouped((int64_t)count), noun, count == 1 ? "" : "s");
}
