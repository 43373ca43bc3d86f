/* main.c: berth, the program: finds the command that argv names and runs it.
 *
 * Exit codes: 0 it was done, 1 it could not be finished (output, memory), 2 the command line or the input is wrong. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/common.h"
#include "cmd/man_pages.h"
#include "cmd/reload_trial.h"
#include "cmd/trial.h"
#include "config/versions.h"

#define COMMAND(name) extern const struct command command_##name;
#include "cmd/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cmd/commands.def"
#undef COMMAND
};
const size_t commands_len = ARRAY_SIZE(commands);
const char *program_words = "berth";

static void print_overview(FILE *to)
{
    fprintf(to,
            "berth decides where pods run, exactly as kube-scheduler does, and says why.\n\n"
            "usage: %s COMMAND [OPTIONS]\n\ncommands:\n",
            program_words);
    for (size_t i = 0; i < commands_len; i++)
        if (!strchr(commands[i]->name, ' ')) /* its whole describes a part */
            fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`berth help COMMAND` teaches a command. A start:\n"
          "  berth snapshot > cluster.json   # or with kubectl: `berth help simulate`\n"
          "  berth simulate -f cluster.json\n"
          "  berth explain -f cluster.json NAMESPACE/POD\n",
          to);
}

static int unknown_command(const char *name)
{
    const char *names[ARRAY_SIZE(commands)];
    for (size_t i = 0; i < commands_len; i++)
        names[i] = commands[i]->name;
    const char *near = nearest_name(name, names, commands_len);
    fprintf(stderr, "berth: unknown command \"%s\"", name);
    if (near)
        fprintf(stderr, "; did you mean %s?", near);
    fprintf(stderr, "\nTry `%s help`.\n", program_words);
    return EXIT_INPUT;
}

static int run_version(void *settings _unused_, const struct texts *words _unused_)
{
    printf("berth " BERTH_VERSION " (decides as kube-scheduler v1.%d)\n", RELEASE_DEFAULT);
    return EXIT_DONE;
}

struct help_settings {
    const char *man_pages;
};

static const struct option_row help_rows[] = {
    { 0, "man-pages", "DIR", OPTION_TEXT, offsetof(struct help_settings, man_pages),
      "Write the manual pages, berth.1 and one for each command, into this folder." },
    { 0 },
};

static int run_help(void *given, const struct texts *words)
{
    const struct help_settings *settings = given;
    _cleanup_(strbuf_release) struct strbuf page = { 0 };
    struct error err = { "" };
    if (settings->man_pages) {
        if (words->len)
            return usage_error(command_find("help"), "help: --man-pages writes the pages of all commands");
        return man_pages_write(settings->man_pages, &err) < 0 ? fail(EXIT_TROUBLE, &err) : EXIT_DONE;
    }
    if (words->len == 0) {
        print_overview(stdout);
        return EXIT_DONE;
    }
    const struct command *command;
    const char *second = words->len > 1 ? words->items[1] : NULL;
    int used = command_find_words(words->items[0], second, &command);
    if (!used)
        return unknown_command(words->items[0]);
    if (second && used == 1)
        return usage_error(&command_help, "help does not know what to do with \"%s\"", second);
    command_write_help(command, &page);
    fputs(page.text, stdout);
    return EXIT_DONE;
}

const struct command command_version = {
    .name = "version",
    .summary = "Prints the version.",
    .usage = "",
    .run = run_version,
};

const struct command command_help = {
    .name = "help",
    .summary = "Lists the commands, or teaches one of them.",
    .usage = "[COMMAND]\n       berth help --man-pages DIR",
    .examples = "  berth help simulate\n"
                "  berth help cluster fail\n",
    .options = { { help_rows, 0 } },
    .settings_size = sizeof(struct help_settings),
    .words_max = 2,
    .run = run_help,
};

static bool is_called(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, name) == 0;
}

int main(int argc, char **argv)
{
    if (argc > 0 && trial_is_child(argv[0]))
        return reload_rehearse(argv);
    /* Under the name of the program that it replaces, it takes that one's command line. */
    if (argc > 0 && is_called(argv[0], "kube-scheduler"))
        return command_scheduler.main(argc, argv);
    if (argc > 0 && is_called(argv[0], "kubectl-berth"))
        program_words = "kubectl berth";
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_INPUT;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    const struct command *command;
    int used = command_find_words(name, argc > 2 ? argv[2] : NULL, &command);
    if (!used)
        return unknown_command(name);
    int code = command_run(command, argc - used, argv + used);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
        fprintf(stderr, "berth: standard output cannot be written: %s\n", strerror(errno));
        return EXIT_TROUBLE;
    }
    return code;
}
