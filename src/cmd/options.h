/* options.h: a command's options as a table, from which parsing, checking and --help follow.
 *
 *     static const struct option_row rows[] = {
 *         { 'o', "output", "table|json", OPTION_CHOICE, offsetof(struct settings, output), "How to print it." },
 *     };
 *
 * A row writes its value at `offset` of the command's settings. The settings start zeroed but for what the command
 * sets before: a default is simply there first. */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "base/error.h"
#include "base/vec.h"

enum option_kind {
    OPTION_FLAG,   /* bool; no argument */
    OPTION_TEXT,   /* const char * */
    OPTION_TEXTS,  /* struct texts; may be given again */
    OPTION_NUMBER, /* int64_t between min and max */
    OPTION_CHOICE, /* int: which of the words in `argument`, from 0 */
};

struct option_row {
    char letter; /* 0: none */
    const char *name;
    const char *argument; /* how help calls it; OPTION_CHOICE: the words, with | between them */
    enum option_kind kind;
    size_t offset;
    const char *help; /* help breaks it into lines */
    int64_t min, max;
};

struct texts {
    VEC(const char *) list;
};

struct command {
    const char *name;
    const char *summary; /* one line */
    const char *usage;   /* what stands behind "berth NAME " */
    const char *purpose; /* a paragraph or two, an empty line between them; help breaks them into lines */
    const char *examples;
    const struct option_row *options;
    size_t options_len;
    void (*page)(struct strbuf *out);  /* writes the whole help page itself; NULL: it is made of the above */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
};

/* Every command, in the order of commands.def. */
extern const struct command *const commands[];
extern const size_t commands_len;
/* By name, or NULL. */
const struct command *command_find(const char *name);

enum parsed { PARSED_RUN, PARSED_HELP, PARSED_ERROR };

/* Reads argv into `settings`, and what is left over into `ret_words`. --help is known to every command.
 * PARSED_ERROR: err has the sentence. */
enum parsed options_parse(const struct command *command, int argc, char **argv, void *settings,
                          struct texts *ret_words, struct error *err);
/* The page that --help prints. */
void options_help(const struct command *command, struct strbuf *out);
/* The whole beginning of a command: parses, answers --help, complains on standard error. Returns -1 to go on, else the
 * exit code. */
int options_start(const struct command *command, int argc, char **argv, void *settings,
                  struct texts *ret_words);
/* The nearest of the names in spelling, or NULL when none is near. */
const char *nearest_name(const char *wanted, const char *const *names, size_t len);

void texts_release(struct texts *texts);

#endif
