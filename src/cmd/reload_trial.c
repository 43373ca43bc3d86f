/* reload_trial.c: see reload_trial.h.
 *
 * The input of the trial: the names of the plugins' files, each with its zero, an empty one, the configuration. */
#include "cmd/reload_trial.h"

#include <stdio.h>

#include "cmd/common.h"
#include "cmd/plugins.h"

int reload_try(const struct config_generation *generation, char *const *argv, int stop_fd, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf input = { 0 };
    _cleanup_(texts_release) struct texts files = { 0 };
    if (!plugins_used(&generation->config))
        return 0;
    plugins_list_files(&files);
    vec_for(&files, file)
        strbuf_add(&input, *file, strlen(*file) + 1);
    strbuf_add(&input, "", 1);
    strbuf_str(&input, strbuf_slice(&generation->text));
    return trial_spawn(argv, strbuf_slice(&input), stop_fd, err);
}

/* ---- in the new process ---- */
static int prepare(char **argv, struct str input, struct trial *trial, struct config_generation **ret,
                   struct error *err)
{
    /* Static: valid until the process ends, whatever a thread of a plugin still does. */
    static struct scheduler_flags flags;
    static struct plugin_settings settings;
    struct features features;
    struct warnings ignored = { 0 };
    int argc = 0;
    trial_note(trial, "before any plugin was loaded", "the trial process");
    while (argv[argc])
        argc++;
    int r = flags_parse(&flags, argc, argv, err);
    if (r == 0)
        r = flags_check(&flags, &features, &ignored, err);
    if (r < 0)
        return r;
    const char *at = input.ptr, *end = input.ptr + input.len;
    for (; at < end && *at; at += strlen(at) + 1)
        *vec_push(&settings.files) = at;
    at += at < end;
    r = plugins_open(&settings, trial, err);
    if (r < 0)
        return r;
    trial_note(trial, "at the configuration", "the trial process");
    const struct str text = { at, (uint32_t)(end - at) };
    return config_generation_read(&flags, &features, &text, NULL, 0, ret, err);
}

static void rehearse(struct trial *trial, void *context)
{
    static struct config_generation *generation; /* static as well */
    struct error err;
    if (prepare(context, trial_input(trial), trial, &generation, &err) < 0)
        trial_fail(trial, &err);
    else
        plugins_try(&generation->config, trial);
}

int reload_rehearse(char **argv)
{
    trial_serve(rehearse, argv);
    fputs("berth: this name is for processes that berth starts itself\n", stderr);
    return EXIT_INPUT;
}
