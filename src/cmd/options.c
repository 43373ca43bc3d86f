/* options.c: getopt_long driven by a table of rows; see options.h.
 *
 * getopt's own messages are silenced: an unknown option or a missing argument is one sentence with a hint. */
#include "cmd/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/term.h"

enum { ROWS_MAX = 32, VALUE_HELP = 1000, VALUE_FIRST = 1001 };
/* Where the texts of options begin; how wide a page is where nobody says, and at most. */
enum { HELP_COLUMN = 28, PAGE_WIDTH = 80, PAGE_WIDTH_MAX = 100 };

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < commands_len; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

void texts_release(struct texts *texts)
{
    vec_release(&texts->list);
}

/* ---- spelling ---- */

/* How many letters differ (Levenshtein); words of sensible length only. */
static size_t distance(const char *a, const char *b)
{
    enum { LEN_MAX = 63 };
    size_t la = strlen(a), lb = strlen(b);
    size_t row[LEN_MAX + 1];
    if (la > LEN_MAX || lb > LEN_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t above = row[j];
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = MIN(MIN(above, row[j - 1]) + 1, changed);
            diagonal = above;
        }
    }
    return row[lb];
}

const char *nearest_name(const char *wanted, const char *const *names, size_t len)
{
    const char *best = NULL;
    size_t near = MAX(strlen(wanted) / 3, (size_t)1) + 1, begins = 0;
    for (size_t i = 0; i < len && strlen(wanted) > 1; i++) {
        if (strncmp(names[i], wanted, strlen(wanted)) == 0) {
            best = names[i];
            begins++;
        }
    }
    if (begins == 1)
        return best;
    best = NULL;
    for (size_t i = 0; i < len; i++) {
        size_t d = distance(wanted, names[i]);
        if (d < near) {
            near = d;
            best = names[i];
        }
    }
    return best;
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

static int set_row(const struct option_row *row, const char *text, void *settings, struct error *err)
{
    void *at = (char *)settings + row->offset;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)at = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)at = text;
        return 0;
    case OPTION_TEXTS:
        *vec_push(&((struct texts *)at)->list) = text;
        return 0;
    case OPTION_NUMBER:
        return set_number(row, text, at, err);
    case OPTION_CHOICE:
        return set_choice(row, text, at, err);
    }
    return -EINVAL;
}

struct getopt_tables {
    struct option longs[ROWS_MAX + 2];
    char shorts[3 * ROWS_MAX + 8];
};

static void make_tables(const struct command *command, struct getopt_tables *ret)
{
    assert(command->options_len <= ROWS_MAX);
    char *letter = ret->shorts;
    *letter++ = ':'; /* tell a missing argument apart from an unknown option */
    *letter++ = 'h';
    size_t n = 0;
    for (; n < command->options_len; n++) {
        const struct option_row *row = &command->options[n];
        int argument = row->kind == OPTION_FLAG ? no_argument : required_argument;
        ret->longs[n] = (struct option){ row->name, argument, NULL, VALUE_FIRST + (int)n };
        if (!row->letter)
            continue;
        *letter++ = row->letter;
        if (argument == required_argument)
            *letter++ = ':';
    }
    *letter = '\0';
    ret->longs[n++] = (struct option){ "help", no_argument, NULL, VALUE_HELP };
    ret->longs[n] = (struct option){ 0 };
}

static const struct option_row *find_row(const struct command *command, int value)
{
    if (value >= VALUE_FIRST)
        return &command->options[value - VALUE_FIRST];
    for (size_t i = 0; i < command->options_len; i++)
        if (command->options[i].letter == value)
            return &command->options[i];
    return NULL;
}

/* What getopt_long did not understand: `value` is '?' or ':', the word is argv[optind - 1] or part of it. */
static int complain(const struct command *command, int value, char **argv, struct error *err)
{
    const char *word = argv[optind - 1];
    if (value == ':')
        return error_set(err, -EINVAL, "%s needs an argument", word);
    if (optopt >= VALUE_HELP)
        return error_set(err, -EINVAL, "%s takes no argument", word);
    if (optopt)
        return error_set(err, -EINVAL, "unknown option -%c", optopt);
    const char *names[ROWS_MAX];
    for (size_t i = 0; i < command->options_len; i++)
        names[i] = command->options[i].name;
    const char *near = nearest_name(word + strspn(word, "-"), names, command->options_len);
    if (near)
        return error_set(err, -EINVAL, "unknown option %s; did you mean --%s?", word, near);
    return error_set(err, -EINVAL, "unknown option %s", word);
}

enum parsed options_parse(const struct command *command, int argc, char **argv, void *settings,
                          struct texts *ret_words, struct error *err)
{
    struct getopt_tables tables;
    make_tables(command, &tables);
    opterr = 0;
    optind = 0; /* starts getopt anew */
    for (;;) {
        int value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
        if (value == -1)
            break;
        if (value == 'h' || value == VALUE_HELP)
            return PARSED_HELP;
        if (value == '?' || value == ':') {
            complain(command, value, argv, err);
            return PARSED_ERROR;
        }
        if (set_row(find_row(command, value), optarg, settings, err) < 0)
            return PARSED_ERROR;
    }
    for (int i = optind; i < argc; i++)
        *vec_push(&ret_words->list) = argv[i];
    return PARSED_RUN;
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

void options_help(const struct command *command, struct strbuf *out)
{
    if (command->page) {
        command->page(out);
        return;
    }
    static const struct option_row help = { 'h', "help", NULL, OPTION_FLAG, 0, "Show this page.", 0, 0 };
    struct term page = term_stdout(out);
    page.width = page.folds ? MIN(page.width, (unsigned)PAGE_WIDTH_MAX) : PAGE_WIDTH;
    strbuf_printf(out, "%s\n\nusage: berth %s%s%s\n", command->summary, command->name,
                  command->usage[0] ? " " : "", command->usage);
    help_paragraphs(command->purpose, &page);
    strbuf_puts(out, "\noptions:\n");
    for (size_t i = 0; i < command->options_len; i++)
        help_row(&command->options[i], &page);
    help_row(&help, &page);
    if (command->examples)
        strbuf_printf(out, "\nexamples:\n%s", command->examples);
}

int options_start(const struct command *command, int argc, char **argv, void *settings,
                  struct texts *ret_words)
{
    struct error err = { "" };
    _cleanup_(strbuf_release) struct strbuf page = { 0 };
    switch (options_parse(command, argc, argv, settings, ret_words, &err)) {
    case PARSED_RUN:
        return -1;
    case PARSED_HELP:
        options_help(command, &page);
        fputs(page.text, stdout);
        return 0;
    case PARSED_ERROR:
        break;
    }
    fprintf(stderr, "berth: %s\nTry `berth %s --help`.\n", err.text, command->name);
    return 2;
}
