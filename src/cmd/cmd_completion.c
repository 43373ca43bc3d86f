/* cmd_completion.c: `berth completion SHELL`: a script that completes commands, options and their words.
 *
 * It is made of the same tables as --help. The scripts for zsh and fish can also be installed as files that the shell
 * finds by their names. */
#include <stdio.h>

#include "cmd/common.h"

extern const struct command command_completion;

typedef VEC(struct option_text) options_vec;

static void keep_option(void *user, const struct option_text *option)
{
    *vec_push((options_vec *)user) = *option;
}

static options_vec read_options(const struct command *command)
{
    options_vec all = { 0 };
    command_describe(command, keep_option, &all);
    vec_for(&all, option)
        option->help = NULL; /* is gone after the call */
    return all;
}

static bool is_part(const struct command *command)
{
    return strchr(command->name, ' ') != NULL;
}

static void add_names(struct strbuf *out)
{
    for (size_t i = 0; i < commands_len; i++)
        if (!is_part(commands[i]))
            strbuf_printf(out, "%s%s", i ? " " : "", commands[i]->name);
}

/* "fail recover slow" of "cluster"; false: it has no parts. */
static bool add_parts(struct strbuf *out, const struct command *command)
{
    bool has_any = false;
    for (size_t i = 0; i < commands_len; i++) {
        const char *part = command_part(commands[i], command);
        if (part)
            strbuf_printf(out, "%s%s", has_any ? " " : "", part);
        has_any |= part != NULL;
    }
    return has_any;
}

/* 'cluster fail'|'cluster recover': names of two words, as a pattern of a shell's case. */
static void add_part_pattern(struct strbuf *out)
{
    bool has_any = false;
    for (size_t i = 0; i < commands_len; i++)
        if (is_part(commands[i])) {
            strbuf_printf(out, "%s'%s'", has_any ? "|" : "", commands[i]->name);
            has_any = true;
        }
}

/* Words with spaces between them. */
static void add_words(struct strbuf *out, const char *words)
{
    for (; *words; words++)
        strbuf_putc(out, *words == '|' ? ' ' : *words);
}

/* The words that a command takes, if they are known; false: it takes files, or none. */
static bool add_command_words(struct strbuf *out, const struct command *command)
{
    if (command == command_find("help"))
        add_names(out);
    else if (command == &command_completion)
        strbuf_puts(out, "bash zsh fish");
    else
        return add_parts(out, command);
    return true;
}

/* ---- bash ---- */

static void bash_command(struct strbuf *out, const struct command *command)
{
    options_vec options = read_options(command);
    strbuf_printf(out, "    '%s')\n        case $before in\n", command->name);
    vec_for(&options, option) {
        if (option->kind != OPTION_CHOICE)
            continue;
        strbuf_printf(out, "        --%s", option->name);
        if (option->letter)
            strbuf_printf(out, "|-%c", option->letter);
        strbuf_puts(out, ") words='");
        add_words(out, option->argument);
        strbuf_puts(out, "' ;;\n");
    }
    strbuf_puts(out, "        *) words='");
    vec_for(&options, option)
        strbuf_printf(out, "--%s ", option->name);
    strbuf_puts(out, "'; [[ $now == -* ]] || words='");
    add_command_words(out, command);
    strbuf_puts(out, "' ;;\n        esac ;;\n");
    vec_release(&options);
}

static void bash(struct strbuf *out)
{
    strbuf_puts(out, "_berth() {\n"
                     "    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
                     "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                     "        COMPREPLY=($(compgen -W '");
    add_names(out);
    strbuf_puts(out, "' -- \"$now\"))\n        return\n    fi\n"
                     "    local command=${COMP_WORDS[1]}\n"
                     "    [ \"$COMP_CWORD\" -gt 2 ] && case \"$command ${COMP_WORDS[2]}\" in\n    ");
    add_part_pattern(out);
    strbuf_puts(out, ") command=\"$command ${COMP_WORDS[2]}\" ;;\n    esac\n    case $command in\n");
    for (size_t i = 0; i < commands_len; i++)
        bash_command(out, commands[i]);
    strbuf_puts(out, "    esac\n"
                     "    COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
                     "}\n"
                     "complete -o default -F _berth berth\n");
}

/* ---- zsh ---- */

/* Within single quotes, in which zsh reads brackets and colons as parts of a description's syntax. */
static void zsh_quoted(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\'')
            strbuf_puts(out, "'\\''");
        else
            strbuf_printf(out, "%s%c", strchr("[]:\\", text[i]) ? "\\" : "", text[i]);
    }
}

/* '(-o --output)'{-o,--output=}'[Text]:value:(table json)' */
static void zsh_option(void *user, const struct option_text *option)
{
    struct strbuf *out = user;
    bool takes = option->kind != OPTION_FLAG && option->kind != OPTION_HELP;
    const char *end = strstr(option->help, ". "), *line = strchr(option->help, '\n');
    size_t len = end ? (size_t)(end - option->help) : strlen(option->help);
    if (line && (size_t)(line - option->help) < len)
        len = (size_t)(line - option->help);
    strbuf_puts(out, " \\\n            ");
    if (option->kind == OPTION_TEXTS)
        strbuf_puts(out, "'*'");
    else if (option->letter)
        strbuf_printf(out, "'(-%c --%s)'", option->letter, option->name);
    if (option->letter)
        strbuf_printf(out, "{-%c,--%s%s}", option->letter, option->name, takes ? "=" : "");
    else
        strbuf_printf(out, "--%s%s", option->name, takes ? "=" : "");
    strbuf_puts(out, "'[");
    zsh_quoted(out, option->help, len);
    strbuf_puts(out, "]");
    if (takes) {
        strbuf_puts(out, ":value:");
        if (option->kind == OPTION_CHOICE) {
            strbuf_putc(out, '(');
            add_words(out, option->argument);
            strbuf_putc(out, ')');
        } else {
            strbuf_puts(out, "_files");
        }
    }
    strbuf_putc(out, '\'');
}

static void zsh(struct strbuf *out)
{
    strbuf_puts(out, "#compdef berth\n\n_berth() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < commands_len; i++) {
        if (is_part(commands[i]))
            continue;
        strbuf_printf(out, "        '%s:", commands[i]->name);
        zsh_quoted(out, commands[i]->summary, strlen(commands[i]->summary));
        strbuf_puts(out, "'\n");
    }
    strbuf_puts(out, "    )\n"
                     "    if (( CURRENT == 2 )); then\n"
                     "        _describe command commands\n"
                     "        return\n"
                     "    fi\n"
                     "    local command=$words[2]\n"
                     "    shift words\n"
                     "    (( CURRENT-- ))\n"
                     "    (( CURRENT > 2 )) && case \"$command $words[2]\" in\n    ");
    add_part_pattern(out);
    strbuf_puts(out, ")\n"
                     "        command=\"$command $words[2]\"\n"
                     "        shift words\n"
                     "        (( CURRENT-- )) ;;\n"
                     "    esac\n"
                     "    case $command in\n");
    for (size_t i = 0; i < commands_len; i++) {
        strbuf_printf(out, "    '%s')\n        _arguments", commands[i]->name);
        command_describe(commands[i], zsh_option, out);
        _cleanup_(strbuf_release) struct strbuf known = { 0 };
        if (add_command_words(&known, commands[i]))
            strbuf_printf(out, " \\\n            '*:word:(%s)' ;;\n", known.text);
        else
            strbuf_puts(out, " \\\n            '*:file:_files' ;;\n");
    }
    /* A file that zsh found by its name is the body of the function; one that was read only defines it. */
    strbuf_puts(out, "    esac\n"
                     "}\n\n"
                     "if [ \"$funcstack[1]\" = _berth ]; then\n"
                     "    _berth \"$@\"\n"
                     "else\n"
                     "    compdef _berth berth\n"
                     "fi\n");
}

/* ---- fish ---- */

/* Within single quotes. */
static void fish_quoted(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        strbuf_printf(out, "%s%c", text[i] == '\'' || text[i] == '\\' ? "\\" : "", text[i]);
}

/* -n '...': the line is about this command, and about no part of it. */
static void fish_condition(struct strbuf *out, const struct command *command)
{
    const char *space = strchr(command->name, ' ');
    strbuf_printf(out, "complete -c berth -n '__fish_seen_subcommand_from %.*s",
                  space ? (int)(space - command->name) : (int)strlen(command->name), command->name);
    _cleanup_(strbuf_release) struct strbuf parts = { 0 };
    if (space)
        strbuf_printf(out, "; and __fish_seen_subcommand_from %s", space + 1);
    else if (add_parts(&parts, command))
        strbuf_printf(out, "; and not __fish_seen_subcommand_from %s", parts.text);
    strbuf_puts(out, "'");
}

static void fish_name(struct strbuf *out, const struct command *command)
{
    const char *space = strchr(command->name, ' ');
    if (space) {
        char whole[32];
        snprintf(whole, sizeof(whole), "%.*s", (int)(space - command->name), command->name);
        fish_condition(out, command_find(whole));
        strbuf_printf(out, " -f -a %s -d '", space + 1);
    } else {
        strbuf_printf(out, "complete -c berth -n __fish_use_subcommand -f -a %s -d '", command->name);
    }
    fish_quoted(out, command->summary, strcspn(command->summary, "\n"));
    strbuf_puts(out, "'\n");
}

static void fish_command(struct strbuf *out, const struct command *command)
{
    options_vec options = read_options(command);
    fish_name(out, command);
    vec_for(&options, option) {
        fish_condition(out, command);
        strbuf_printf(out, " -l %s", option->name);
        if (option->letter)
            strbuf_printf(out, " -s %c", option->letter);
        if (option->kind == OPTION_CHOICE) {
            strbuf_puts(out, " -x -a '");
            add_words(out, option->argument);
            strbuf_putc(out, '\'');
        } else if (option->kind != OPTION_FLAG && option->kind != OPTION_HELP) {
            strbuf_puts(out, " -r");
        }
        strbuf_putc(out, '\n');
    }
    vec_release(&options);
    _cleanup_(strbuf_release) struct strbuf known = { 0 }, parts = { 0 };
    if (add_parts(&parts, command) || !add_command_words(&known, command))
        return; /* parts have their own lines */
    fish_condition(out, command);
    strbuf_printf(out, " -f -a '%s'\n", known.text);
}

static void fish(struct strbuf *out)
{
    for (size_t i = 0; i < commands_len; i++)
        fish_command(out, commands[i]);
}

/* ---- the command ---- */

static int run(void *settings _unused_, const struct texts *words)
{
    static const struct {
        const char *shell;
        void (*write)(struct strbuf *out);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct term term = term_stdout(&out);
    for (size_t i = 0; words->len == 1 && i < ARRAY_SIZE(shells); i++)
        if (strcmp(words->items[0], shells[i].shell) == 0) {
            shells[i].write(&out);
            return finish(&term);
        }
    return usage_error(&command_completion, "completion wants one of bash, zsh, fish");
}

const struct command command_completion = {
    .name = "completion",
    .summary = "Prints a script with which a shell completes commands and options.",
    .usage = "bash|zsh|fish",
    .examples = "  source <(berth completion bash)                        # in ~/.bashrc\n"
                "  source <(berth completion zsh)                        # in ~/.zshrc\n"
                "  berth completion fish > ~/.config/fish/completions/berth.fish\n",
    .words_max = SIZE_MAX,
    .run = run,
};
