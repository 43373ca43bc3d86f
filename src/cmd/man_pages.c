/* man_pages.c: manual pages in the man(7) macros, which groff and mandoc read.
 *
 * Texts are those of --help. They are broken into short lines here, so that every line of a page begins with a macro of
 * ours or with text whose first character is no request. */
#include "cmd/man_pages.h"

#include <ctype.h>
#include <stdio.h>

#include "cmd/options.h"
#include "config/versions.h"

enum { PAGE_LEN_MAX = 32 };
enum { LINE_WIDTH = 72, LONG_WORD = 60 }; /* a word longer than that may be broken behind a "=" */

/* ---- text ---- */

/* Characters that roff reads as something else, or prints as something else. */
static void add_escaped(struct strbuf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '\\':
            strbuf_puts(out, "\\(rs");
            break;
        case '-':
            strbuf_puts(out, "\\-");
            break;
        case '\'':
            strbuf_puts(out, "\\(aq");
            break;
        case '`':
            strbuf_puts(out, "\\(ga");
            break;
        case '^':
            strbuf_puts(out, "\\(ha");
            break;
        case '~':
            strbuf_puts(out, "\\(ti");
            break;
        default:
            strbuf_putc(out, text.ptr[i]);
        }
    }
}

/* A line of its own; a request begins with a dot, which escaped text may do as well. */
static void add_line(struct strbuf *out, struct str text)
{
    if (text.len && text.ptr[0] == '.')
        strbuf_puts(out, "\\&");
    add_escaped(out, text);
    strbuf_putc(out, '\n');
}

/* A word of running text; what stands between backquotes is bold, and `bold` says whether that goes on. */
static void add_word(struct strbuf *out, struct str word, bool *bold)
{
    if (word.len && word.ptr[0] == '.')
        strbuf_puts(out, "\\&");
    while (word.len) {
        size_t plain = 0;
        while (plain < word.len && word.ptr[plain] != '`')
            plain++;
        struct str text = str_slice(word, 0, plain);
        const char *equals = text.len > LONG_WORD ? memchr(text.ptr, '=', text.len) : NULL;
        if (equals) {
            size_t head = (size_t)(equals - text.ptr) + 1;
            add_escaped(out, str_slice(text, 0, head));
            strbuf_puts(out, "\\:");
            text = str_slice(text, head, text.len);
        }
        add_escaped(out, text);
        if (plain == word.len)
            return;
        *bold = !*bold;
        strbuf_puts(out, *bold ? "\\fB" : "\\fR");
        word = str_slice(word, plain + 1, word.len);
    }
}

/* A paragraph in short lines. */
static void add_paragraph(struct strbuf *out, struct str text)
{
    size_t start = out->len; /* of the line */
    bool bold = false;
    while (text.len) {
        size_t len = 0;
        while (len < text.len && !strchr(" \n", text.ptr[len]))
            len++;
        if (len) {
            size_t before = out->len;
            strbuf_puts(out, before > start ? " " : "");
            add_word(out, str_slice(text, 0, len), &bold);
            if (before > start && out->len - start > LINE_WIDTH) {
                out->text[before] = '\n';
                start = before + 1;
            }
        }
        text = str_slice(text, MIN(len + 1, text.len), text.len);
    }
    strbuf_puts(out, bold ? "\\fR\n" : "\n");
}

/* Paragraphs with an empty line between them. */
static void add_paragraphs(struct strbuf *out, const char *text)
{
    for (bool first = true; text; first = false) {
        const char *end = strstr(text, "\n\n");
        if (!first)
            strbuf_puts(out, ".PP\n");
        add_paragraph(out, str_slice(str_from(text), 0, end ? (size_t)(end - text) : strlen(text)));
        text = end ? end + 2 : NULL;
    }
}

/* Lines that stay as they are, each without up to `indent` spaces at its beginning. */
static void add_literal(struct strbuf *out, struct str text, size_t indent)
{
    strbuf_puts(out, ".nf\n");
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        size_t spaces = 0;
        while (spaces < indent && spaces < line.len && line.ptr[spaces] == ' ')
            spaces++;
        add_line(out, str_slice(line, spaces, line.len));
    }
    strbuf_puts(out, ".fi\n");
}

/* ---- parts of a page ---- */

static void add_upper(struct strbuf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            strbuf_puts(out, "\\-");
        else
            strbuf_putc(out, (char)toupper((unsigned char)*text));
}

/* As its page is called: "cluster-fail". */
static const char *page_of(const struct command *command, char ret[static PAGE_LEN_MAX])
{
    snprintf(ret, PAGE_LEN_MAX, "%s", command->name);
    for (char *space = ret; (space = strchr(space, ' '));)
        *space = '-';
    return ret;
}

/* .BR berth\-cluster\-fail (1), behind it what follows in the line. */
static void add_reference(struct strbuf *out, const struct command *command, const char *end)
{
    char page[PAGE_LEN_MAX];
    strbuf_puts(out, ".BR berth\\-");
    add_escaped(out, str_from(page_of(command, page)));
    strbuf_printf(out, " (1)%s\n", end);
}

/* The heading, and NAME with a summary as whatis lists it: without a capital at the beginning and a full stop. Lines
 * are not stretched to the right margin, which flags with long names leave ragged anyway. */
static void add_name(struct strbuf *out, const char *command, const char *summary)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    strbuf_puts(out, ".\\\" Made by `berth help --man-pages` of the tables of --help.\n.TH BERTH");
    strbuf_puts(out, *command ? "\\-" : "");
    add_upper(out, command);
    strbuf_puts(out, " 1 \"" BERTH_RELEASED "\" \"berth " BERTH_VERSION
                     "\" \"berth manual\"\n.ad l\n.nh\n.SH NAME\n");
    strbuf_printf(&name, "berth%s%s - %c%s", *command ? "-" : "", command, tolower((unsigned char)summary[0]),
                  summary + 1);
    struct str text = strbuf_slice(&name);
    add_paragraph(out, str_slice(text, 0, text.len - (text.ptr[text.len - 1] == '.')));
}

struct options_part {
    struct strbuf *out;
    const char *group;
};

/* A term, and its text below; a line break in the text is one. */
static void add_option(void *user, const struct option_text *option)
{
    struct options_part *part = user;
    struct strbuf *out = part->out;
    if (option->group && option->group != part->group) {
        strbuf_puts(out, ".SS ");
        part->group = option->group;
        strbuf_putc(out, (char)toupper((unsigned char)option->group[0]));
        add_escaped(out, str_from(option->group + 1));
        strbuf_puts(out, " flags\n");
    }
    strbuf_puts(out, ".TP\n");
    if (option->letter)
        strbuf_printf(out, "\\fB\\-%c\\fR, ", option->letter);
    strbuf_puts(out, "\\fB\\-\\-");
    add_escaped(out, str_from(option->name));
    strbuf_puts(out, "\\fR");
    if (option->argument) {
        strbuf_puts(out, " \\fI");
        add_escaped(out, str_from(option->argument));
        strbuf_puts(out, "\\fR");
    }
    strbuf_putc(out, '\n');
    struct str text = str_from(option->help);
    for (bool first = true; text.len; first = false) {
        if (!first)
            strbuf_puts(out, ".br\n");
        add_paragraph(out, str_cut(&text, '\n'));
    }
}

static void add_see_also(struct strbuf *out, const struct command *but)
{
    strbuf_puts(out, ".SH SEE ALSO\n");
    if (but)
        strbuf_puts(out, ".BR berth (1),\n");
    for (size_t i = 0, left = commands_len - (but ? 1 : 0); i < commands_len; i++) {
        if (commands[i] == but)
            continue;
        add_reference(out, commands[i], --left ? "," : "");
    }
    strbuf_puts(out, ".PP\nThe folder doc/berth of the installation has the other documents.\n");
}

/* ---- pages ---- */

static void write_overview(struct strbuf *out)
{
    add_name(out, "", "a Kubernetes scheduler, and what explains its decisions.");
    strbuf_puts(out, ".SH SYNOPSIS\n\\fBberth\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n");
    strbuf_printf(out,
                  "berth decides where pods run, exactly as kube\\-scheduler v1.%d does,\nand says why.\n"
                  "A program that is called kube\\-scheduler takes the command line of\n"
                  ".BR berth\\-scheduler (1).\n"
                  "Under the name kubectl\\-berth it is a plugin of kubectl.\n.SH COMMANDS\n",
                  RELEASE_DEFAULT);
    for (size_t i = 0; i < commands_len; i++) {
        strbuf_puts(out, ".TP\n");
        add_reference(out, commands[i], "");
        add_paragraph(out, str_from(commands[i]->summary));
    }
    strbuf_puts(
        out, ".SH EXIT STATUS\n"
             ".TP\n0\nSuccess. A pod that cannot be scheduled is a result, not an error.\n"
             ".TP\n1\nThe command could not finish.\n"
             ".TP\n2\nThe command line or the input is invalid, or the cluster cannot be read.\n"
             ".SH ENVIRONMENT\n"
             ".TP\nKUBECONFIG\nThe kubeconfig file of commands that read a cluster, if no option names one.\n"
             ".TP\nNO_COLOR\nIf it is set, no output has colours.\n");
    add_see_also(out, NULL);
}

static void write_page(const struct command *command, struct strbuf *out)
{
    char name[PAGE_LEN_MAX];
    add_name(out, page_of(command, name), command->summary);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_puts(out, ".SH SYNOPSIS\n");
    strbuf_printf(&text, "berth %s %s", command->name, command->usage);
    add_literal(out, strbuf_slice(&text), strlen("usage: "));
    strbuf_puts(out, ".SH DESCRIPTION\n");
    strbuf_clear(&text);
    if (command->page) {
        command->page(&text);
        const char *end = strstr(text.text, "\n\n");
        text.len = end ? (size_t)(end - text.text) : text.len;
        text.text[text.len] = '\0';
    } else {
        strbuf_puts(&text, command->purpose ? command->purpose : command->summary);
    }
    add_paragraphs(out, text.text);
    strbuf_puts(out, ".SH OPTIONS\n");
    command_describe(command, add_option, &(struct options_part){ out, NULL });
    if (command->examples) {
        strbuf_puts(out, ".SH EXAMPLES\n");
        add_literal(out, str_from(command->examples), 2);
    }
    add_see_also(out, command);
}

static int save(const char *folder, const char *command, struct strbuf *page, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    strbuf_printf(&path, "%s/berth%s%s.1", folder, *command ? "-" : "", command);
    FILE *file = fopen(path.text, "we");
    if (!file)
        return error_set(err, -errno, "%s cannot be written: %s", path.text, strerror(errno));
    bool failed = fwrite(page->text, 1, page->len, file) != page->len;
    if (fclose(file) != 0 || failed)
        return error_set(err, -EIO, "%s cannot be written: %s", path.text, strerror(errno));
    strbuf_clear(page);
    return 0;
}

int man_pages_write(const char *folder, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf page = { 0 };
    write_overview(&page);
    int r = save(folder, "", &page, err);
    for (size_t i = 0; r == 0 && i < commands_len; i++) {
        char name[PAGE_LEN_MAX];
        write_page(commands[i], &page);
        r = save(folder, page_of(commands[i], name), &page, err);
    }
    return r;
}
