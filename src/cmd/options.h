/* options.h: a command and its options as tables, from which parsing, checking, --help and completion follow.
 *
 *     static const struct option_row rows[] = {
 *         { 'o', "output", "table|json", OPTION_CHOICE, offsetof(struct settings, output), "How to print it." },
 *     };
 *
 * A row writes its value at `offset` of the command's settings. The settings begin as a copy of the command's
 * defaults, or zeroed. */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "base/error.h"
#include "base/spelling.h"
#include "base/vec.h"

enum { EXIT_DONE = 0, EXIT_TROUBLE = 1, EXIT_INPUT = 2 };
enum { OPTIONS_MAX = 64, OPTION_TABLES_MAX = 4 };

enum option_kind {
    OPTION_FLAG,   /* bool; no argument */
    OPTION_TEXT,   /* const char * */
    OPTION_SERVER, /* const char *; a word without a colon behind it is not its argument: then it is "" */
    OPTION_TEXTS,  /* struct texts; may be given again */
    OPTION_NUMBER, /* int64_t between min and max */
    OPTION_CHOICE, /* int: which of the words in `argument`, from 0 */
    OPTION_HELP,   /* --help, which every command has */
};

struct option_row {
    char letter;          /* 0: none */
    const char *name;     /* NULL: the end of a table */
    const char *argument; /* how help calls it; OPTION_CHOICE: the words, with | between them */
    enum option_kind kind;
    size_t offset;
    const char *help; /* help breaks it into lines */
    int64_t min, max;
};

/* An option as help describes it. */
struct option_text {
    const char *group; /* heading above it and those that follow; NULL: none */
    char letter;
    const char *name, *argument; /* argument NULL: it takes none */
    enum option_kind kind;
    const char *help; /* valid during the call; a line break in it is meant */
};
typedef void option_visit(void *user, const struct option_text *option);

/* Rows that write into a part of the settings, which may be shared by commands. */
struct option_table {
    const struct option_row *rows; /* the last one has no name */
    size_t base;                   /* offset of that part */
};

struct texts {
    const char **items;
    size_t len, cap;
};

struct command {
    const char *name;    /* one word, or two: "cluster fail" is a part of "cluster" */
    const char *summary; /* one line */
    const char *usage;   /* what stands behind "berth NAME " */
    const char *purpose; /* a paragraph or two, an empty line between them; help breaks them into lines */
    const char *examples;
    struct option_table options[OPTION_TABLES_MAX];
    size_t settings_size;
    const void *defaults; /* of the settings; NULL: zeros */
    /* How many words may follow the options, and the end of the sentence "NAME ...; it got N" about another number;
     * NULL: the first word too many is named. */
    size_t words_min, words_max;
    const char *wants;
    int (*run)(void *settings, const struct texts *words); /* returns the exit code */
    /* Of a command that parses its arguments itself; argv[0] is its name. Then nothing above but the
     * texts is used, and its help comes from the other two. */
    int (*main)(int argc, char **argv);
    void (*page)(struct strbuf *out); /* writes the complete help page; its first paragraph is the purpose */
    void (*describe)(option_visit visit, void *user); /* passes all options on, in the order of the page */
};

/* How the user calls the program, in help: "berth", or "kubectl berth" as a plugin of kubectl. */
extern const char *program_words;

/* Every command, in the order of commands.def. */
extern const struct command *const commands[];
extern const size_t commands_len;
/* By name, or NULL. */
const struct command *command_find(const char *name);
/* By its one or two words; `second` may be NULL. Returns how many of the words are the name, 0: none. */
int command_find_words(const char *first, const char *second, const struct command **ret);
/* The second word of the name of a part of the command, or NULL: it is none. */
const char *command_part(const struct command *command, const struct command *of);
/* Parses, answers --help, complains on standard error, or runs the command; returns the exit code. */
int command_run(const struct command *command, int argc, char **argv);
/* All rows of a command with offsets from the beginning of its settings, --help last; returns how many. */
size_t command_options(const struct command *command, struct option_row ret[OPTIONS_MAX]);
/* Passes every option of any command on, --help included. */
void command_describe(const struct command *command, option_visit visit, void *user);
/* The page that --help prints. */
void command_write_help(const struct command *command, struct strbuf *out);
/* Prints the sentence and where to find help; returns EXIT_INPUT. */
int usage_error(const struct command *command, const char *format, ...) _printf_(2, 3);

void texts_release(struct texts *texts);

#endif
