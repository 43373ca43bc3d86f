/* options.c: getopt_long driven by a table of rows; see options.h.
 *
 * getopt's own messages are silenced: an unknown option or a missing argument is one sentence with a hint. */
#include "cmd/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/term.h"

enum { VALUE_FIRST = 1000 }; /* what getopt_long() returns for the first row, beyond all letters */
/* Where the texts of options begin; how wide a page is without a terminal, and at most. */
enum { HELP_COLUMN = 28, PAGE_WIDTH = 80, PAGE_WIDTH_MAX = 100 };

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < commands_len; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

int command_find_words(const char *first, const char *second, const struct command **ret)
{
    for (size_t i = 0; second && i < commands_len; i++) {
        const char *space = strchr(commands[i]->name, ' ');
        if (space && strncmp(commands[i]->name, first, (size_t)(space - commands[i]->name)) == 0 &&
            strlen(first) == (size_t)(space - commands[i]->name) && strcmp(space + 1, second) == 0) {
            *ret = commands[i];
            return 2;
        }
    }
    *ret = command_find(first);
    return *ret ? 1 : 0;
}

const char *command_part(const struct command *command, const struct command *of)
{
    size_t len = strlen(of->name);
    bool is_part = strncmp(command->name, of->name, len) == 0 && command->name[len] == ' ';
    return is_part ? command->name + len + 1 : NULL;
}

void texts_release(struct texts *texts)
{
    vec_release(texts);
}

/* ---- parsing ---- */

static int set_number(const struct option_row *row, const char *text, void *at, struct error *err)
{
    int64_t value;
    if (!str_to_int64(str_from(text), &value) || value < row->min || value > row->max)
        return error_set(err, -EINVAL, "--%s wants a number from %lld to %lld, not \"%s\"", row->name,
                         (long long)row->min, (long long)row->max, text);
    *(int64_t *)at = value;
    return 0;
}

static int set_choice(const struct option_row *row, const char *text, void *at, struct error *err)
{
    int number = 0;
    for (const char *word = row->argument; word; number++) {
        const char *bar = strchr(word, '|');
        size_t len = bar ? (size_t)(bar - word) : strlen(word);
        if (strlen(text) == len && memcmp(word, text, len) == 0) {
            *(int *)at = number;
            return 0;
        }
        word = bar ? bar + 1 : NULL;
    }
    return error_set(err, -EINVAL, "--%s wants %s, not \"%s\"", row->name, row->argument, text);
}

static bool takes_argument(const struct option_row *row)
{
    return row->kind != OPTION_FLAG && row->kind != OPTION_HELP;
}

size_t command_options(const struct command *command, struct option_row ret[OPTIONS_MAX])
{
    size_t len = 0;
    for (size_t i = 0; i < OPTION_TABLES_MAX; i++)
        for (const struct option_row *row = command->options[i].rows; row && row->name; row++) {
            assert(len + 1 < OPTIONS_MAX);
            ret[len] = *row;
            ret[len++].offset += command->options[i].base;
        }
    ret[len++] = (struct option_row){ 'h', "help", NULL, OPTION_HELP, 0, "Show this page.", 0, 0 };
    return len;
}

static int set_row(const struct option_row *row, const char *text, void *settings, struct error *err)
{
    void *at = (char *)settings + row->offset;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)at = true;
        return 0;
    case OPTION_TEXT:
    case OPTION_SERVER:
        *(const char **)at = text;
        return 0;
    case OPTION_TEXTS:
        *vec_push((struct texts *)at) = text;
        return 0;
    case OPTION_NUMBER:
        return set_number(row, text, at, err);
    case OPTION_CHOICE:
        return set_choice(row, text, at, err);
    case OPTION_HELP:
        break;
    }
    return -EINVAL;
}

struct getopt_tables {
    struct option longs[OPTIONS_MAX + 1];
    char shorts[2 * OPTIONS_MAX + 2];
};

static void make_tables(const struct option_row *rows, size_t len, struct getopt_tables *ret)
{
    char *letter = ret->shorts;
    *letter++ = ':'; /* tell a missing argument apart from an unknown option */
    for (size_t i = 0; i < len; i++) {
        int argument = rows[i].kind == OPTION_SERVER ? optional_argument
                       : takes_argument(&rows[i])    ? required_argument
                                                     : no_argument;
        ret->longs[i] = (struct option){ rows[i].name, argument, NULL, VALUE_FIRST + (int)i };
        if (rows[i].letter)
            *letter++ = rows[i].letter;
        if (rows[i].letter && argument == required_argument)
            *letter++ = ':';
    }
    *letter = '\0';
    ret->longs[len] = (struct option){ 0 };
}

static const struct option_row *find_row(const struct option_row *rows, int value)
{
    if (value >= VALUE_FIRST)
        return &rows[value - VALUE_FIRST];
    while (rows->letter != value)
        rows++;
    return rows;
}

/* What getopt_long did not understand: `value` is '?' or ':', the word is argv[optind - 1] or part of it. */
static int complain(const struct option_row *rows, size_t len, int value, char **argv, struct error *err)
{
    const char *word = argv[optind - 1];
    if (value == ':')
        return error_set(err, -EINVAL, "%s needs an argument", word);
    if (optopt >= VALUE_FIRST)
        return error_set(err, -EINVAL, "%s takes no argument", word);
    if (optopt)
        return error_set(err, -EINVAL, "unknown option -%c", optopt);
    const char *names[OPTIONS_MAX];
    for (size_t i = 0; i < len; i++)
        names[i] = rows[i].name;
    const char *near = nearest_name(word + strspn(word, "-"), names, len);
    if (near)
        return error_set(err, -EINVAL, "unknown option %s; did you mean --%s?", word, near);
    return error_set(err, -EINVAL, "unknown option %s", word);
}

/* The address of a server is taken from the next word, too, if that can be one. */
static const char *server_argument(int argc, char **argv)
{
    if (optarg)
        return optarg;
    return optind < argc && argv[optind][0] != '-' && strchr(argv[optind], ':') ? argv[optind++] : "";
}

/* Reads argv into `settings`, and what is left over into `ret_words`. 1: --help is wanted. */
static int parse(const struct option_row *rows, size_t len, int argc, char **argv, void *settings,
                 struct texts *ret_words, struct error *err)
{
    struct getopt_tables tables;
    make_tables(rows, len, &tables);
    opterr = 0;
    optind = 0; /* starts getopt anew */
    for (int value; (value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1;) {
        if (value == '?' || value == ':')
            return complain(rows, len, value, argv, err);
        const struct option_row *row = find_row(rows, value);
        if (row->kind == OPTION_HELP)
            return 1;
        int r =
            set_row(row, row->kind == OPTION_SERVER ? server_argument(argc, argv) : optarg, settings, err);
        if (r < 0)
            return r;
    }
    for (int i = optind; i < argc; i++)
        *vec_push(ret_words) = argv[i];
    return 0;
}

/* ---- help ---- */

static void help_row(const struct option_row *row, const struct term *page)
{
    struct strbuf *out = page->out;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct term lines = { .out = &text, .width = page->width };
    size_t start = out->len;
    if (row->letter)
        strbuf_printf(out, "  -%c, --%s", row->letter, row->name);
    else
        strbuf_printf(out, "      --%s", row->name);
    if (row->argument)
        strbuf_printf(out, " %s", row->argument);
    size_t used = out->len - start;
    if (used + 2 > HELP_COLUMN) {
        strbuf_putc(out, '\n');
        used = 0;
    }
    term_wrap(&lines, HELP_COLUMN, str_from(row->help));
    strbuf_puts(out, text.text + used); /* of the first line's indentation */
}

/* An empty line stands before each paragraph. */
static void help_paragraphs(const char *text, struct term *page)
{
    while (text) {
        const char *end = strstr(text, "\n\n");
        struct str all = str_from(text);
        strbuf_putc(page->out, '\n');
        term_wrap(page, 0, end ? str_slice(all, 0, (size_t)(end - text)) : all);
        text = end ? end + 2 : NULL;
    }
}

void command_describe(const struct command *command, option_visit visit, void *user)
{
    struct option_row rows[OPTIONS_MAX];
    if (command->describe) {
        command->describe(visit, user);
        return;
    }
    size_t len = command_options(command, rows);
    for (size_t i = 0; i < len; i++)
        visit(user, &(struct option_text){ .letter = rows[i].letter,
                                           .name = rows[i].name,
                                           .argument = rows[i].argument,
                                           .kind = rows[i].kind,
                                           .help = rows[i].help });
}

static void help_parts(const struct command *command, struct strbuf *out)
{
    bool has_any = false;
    for (size_t i = 0; i < commands_len; i++) {
        if (!command_part(commands[i], command))
            continue;
        strbuf_printf(out, "%s  %-16s %s\n", has_any ? "" : "\ncommands:\n", commands[i]->name,
                      commands[i]->summary);
        has_any = true;
    }
}

void command_write_help(const struct command *command, struct strbuf *out)
{
    if (command->page) {
        command->page(out);
        return;
    }
    struct option_row rows[OPTIONS_MAX];
    size_t len = command_options(command, rows);
    struct term page = term_stdout(out);
    page.width = page.folds ? MIN(page.width, (unsigned)PAGE_WIDTH_MAX) : PAGE_WIDTH;
    strbuf_printf(out, "%s\n\nusage: %s %s%s%s\n", command->summary, program_words, command->name,
                  command->usage[0] ? " " : "", command->usage);
    help_paragraphs(command->purpose, &page);
    help_parts(command, out);
    strbuf_puts(out, "\noptions:\n");
    for (size_t i = 0; i < len; i++)
        help_row(&rows[i], &page);
    if (command->examples)
        strbuf_printf(out, "\nexamples:\n%s", command->examples);
}

/* ---- running ---- */

int usage_error(const struct command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("berth: ", stderr);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nTry `%s %s --help`.\n", program_words, command->name);
    va_end(args);
    return EXIT_INPUT;
}

static int run(const struct command *command, void *settings, const struct texts *words)
{
    size_t len = words->len;
    if (len >= command->words_min && len <= command->words_max)
        return command->run(settings, words);
    if (command->wants)
        return usage_error(command, "%s %s; it got %zu", command->name, command->wants, len);
    return usage_error(command, "%s does not know what to do with \"%s\"", command->name,
                       words->items[command->words_max]);
}

int command_run(const struct command *command, int argc, char **argv)
{
    if (command->main)
        return command->main(argc, argv);
    struct error err = { "" };
    struct option_row rows[OPTIONS_MAX];
    size_t len = command_options(command, rows);
    _cleanup_(strbuf_release) struct strbuf page = { 0 };
    _cleanup_(texts_release) struct texts words = { 0 };
    char *settings = xcalloc(1, command->settings_size + 1);
    if (command->defaults)
        memcpy(settings, command->defaults, command->settings_size);
    int r = parse(rows, len, argc, argv, settings, &words, &err);
    int code = EXIT_DONE;
    if (r < 0) {
        code = usage_error(command, "%s", err.text);
    } else if (r > 0) {
        command_write_help(command, &page);
        fputs(page.text, stdout);
    } else {
        code = run(command, settings, &words);
    }
    for (size_t i = 0; i < len; i++)
        if (rows[i].kind == OPTION_TEXTS)
            texts_release((struct texts *)(void *)(settings + rows[i].offset));
    free(settings);
    return code;
}
