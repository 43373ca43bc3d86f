/* cmd_completion.c: `berth completion SHELL`: a script that completes commands, options and their words.
 *
 * It is made of the same tables as --help. Options of a command that writes its own page are taken from that page:
 * lines that begin with one. */
#include <stdio.h>

#include "cmd/common.h"

extern const struct command command_completion;

typedef VEC(struct option_row) options_vec;

/* "  -o, --output string   Text" and "      --output string   Text". */
static void read_page(const struct command *command, struct arena *arena, options_vec *ret)
{
    _cleanup_(strbuf_release) struct strbuf page = { 0 };
    command->page(&page);
    for (struct str rest = strbuf_slice(&page); rest.len;) {
        const char *line = arena_str(arena, str_cut(&rest, '\n')).ptr, *at = line + strspn(line, " ");
        char letter = 0;
        if (at == line)
            continue;
        if (at[0] == '-' && at[1] != '-' && strncmp(at + 2, ", ", 2) == 0) {
            letter = at[1];
            at += 4;
        }
        if (strncmp(at, "--", 2) != 0)
            continue;
        size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
        if (len)
            *vec_push(ret) = (struct option_row){ .letter = letter,
                                                  .name = arena_strndup(arena, at + 2, len),
                                                  .kind = OPTION_TEXT };
    }
}

static options_vec read_options(const struct command *command, struct arena *arena)
{
    options_vec all = { 0 };
    if (command->page) {
        read_page(command, arena, &all);
    } else {
        vec_reserve(&all, OPTIONS_MAX);
        all.len = command_options(command, all.items);
    }
    return all;
}

static void add_names(struct strbuf *out)
{
    for (size_t i = 0; i < commands_len; i++)
        strbuf_printf(out, "%s%s", i ? " " : "", commands[i]->name);
}

/* Words with spaces between them. */
static void add_words(struct strbuf *out, const char *words)
{
    for (; *words; words++)
        strbuf_putc(out, *words == '|' ? ' ' : *words);
}

/* ---- bash, and zsh in its manner ---- */

static void bash_command(struct strbuf *out, const struct command *command)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    options_vec options = read_options(command, &arena);
    strbuf_printf(out, "    %s)\n        case $before in\n", command->name);
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
    if (command == command_find("help"))
        add_names(out);
    strbuf_printf(out, "%s' ;;\n        esac ;;\n", command == &command_completion ? "bash zsh fish" : "");
    vec_release(&options);
}

static void bash(struct strbuf *out)
{
    strbuf_puts(out, "_berth() {\n"
                     "    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
                     "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                     "        COMPREPLY=($(compgen -W '");
    add_names(out);
    strbuf_puts(out, "' -- \"$now\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < commands_len; i++)
        bash_command(out, commands[i]);
    strbuf_puts(out, "    esac\n"
                     "    COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
                     "}\n"
                     "complete -o default -F _berth berth\n");
}

static void zsh(struct strbuf *out)
{
    strbuf_puts(out, "autoload -U +X bashcompinit && bashcompinit\n");
    bash(out);
}

/* ---- fish ---- */

/* Within single quotes. */
static void fish_quoted(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        strbuf_printf(out, "%s%c", text[i] == '\'' || text[i] == '\\' ? "\\" : "", text[i]);
}

static void fish_command(struct strbuf *out, const struct command *command)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    options_vec options = read_options(command, &arena);
    strbuf_printf(out, "complete -c berth -n __fish_use_subcommand -f -a %s -d '", command->name);
    fish_quoted(out, command->summary, strcspn(command->summary, "\n"));
    strbuf_puts(out, "'\n");
    vec_for(&options, option) {
        strbuf_printf(out, "complete -c berth -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                      option->name);
        if (option->letter)
            strbuf_printf(out, " -s %c", option->letter);
        if (option->kind == OPTION_CHOICE) {
            strbuf_puts(out, " -x -a '");
            add_words(out, option->argument);
            strbuf_putc(out, '\'');
        } else if (option->kind != OPTION_FLAG && option->kind != OPTION_HELP && !command->page) {
            strbuf_puts(out, " -r");
        }
        strbuf_putc(out, '\n');
    }
    vec_release(&options);
}

static void fish(struct strbuf *out)
{
    for (size_t i = 0; i < commands_len; i++)
        fish_command(out, commands[i]);
    strbuf_puts(out, "complete -c berth -n '__fish_seen_subcommand_from help' -f -a '");
    add_names(out);
    strbuf_puts(out,
                "'\ncomplete -c berth -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n");
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
