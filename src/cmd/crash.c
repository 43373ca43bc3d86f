/* crash.c: see crash.h. What is called in a signal's handler is safe there: memory that was filled before, system
 * calls, and backtrace(), once it has loaded what it needs. Should the stack be such a mess that it faults as well,
 * nothing is written, and the process ends as it would. */
#include "cmd/crash.h"

#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/common.h"

enum { FILES_MAX = 64, CALLS_MAX = 128, OWN_STACK_BYTES = 1 << 17 };

/* Code of a file: [from, to). */
static struct watched {
    uintptr_t from, to;
    char sentence[512]; /* up to the name of the signal */
} watched[FILES_MAX];
static volatile sig_atomic_t watched_len;
static pid_t owner; /* a trial in a child reports to its parent only */

static const struct fatal {
    int signal;
    const char *words;
} fatal[] = {
    { SIGSEGV, "Segmentation fault\n" }, { SIGBUS, "Bus error\n" }, { SIGILL, "Illegal instruction\n" },
    { SIGFPE, "Arithmetic error\n" },    { SIGABRT, "Aborted\n" },
};
static struct sigaction before[ARRAY_SIZE(fatal)];

/* ---- when it happens ---- */
static const struct watched *code_of(uintptr_t address)
{
    for (int i = 0; i < watched_len; i++)
        if (address >= watched[i].from && address < watched[i].to)
            return &watched[i];
    return NULL;
}

/* The innermost of the calls under way that is a plugin's. This function and the signal's frame are among them. */
static const struct watched *culprit(void)
{
    void *calls[CALLS_MAX];
    int len = backtrace(calls, CALLS_MAX);
    for (int i = 0; i < len; i++) {
        const struct watched *found = code_of((uintptr_t)calls[i]);
        if (found)
            return found;
    }
    return NULL;
}

static void say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    size_t i = 0;
    (void)context;
    while (i + 1 < ARRAY_SIZE(fatal) && fatal[i].signal != number)
        i++;
    sigaction(number, &before[i], NULL);
    const struct watched *found = getpid() == owner ? culprit() : NULL;
    if (found) {
        say(found->sentence);
        say(fatal[i].words);
    }
    /* A fault comes again by itself when this returns; a signal that was sent does not. */
    if (info->si_code <= 0 && number != SIGABRT)
        raise(number);
}

/* ---- before ---- */
static int note(struct dl_phdr_info *object, size_t size, void *user)
{
    const uintptr_t module = (uintptr_t)((void **)user)[0];
    struct watched *own = ((void **)user)[1];
    bool is_it = false;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
        if (part->p_type != PT_LOAD)
            continue;
        is_it |= module >= from && module < to;
        if (part->p_flags & PF_X) {
            own->from = from;
            own->to = to;
        }
    }
    return is_it;
}

static void install(void)
{
    static char stack[OWN_STACK_BYTES]; /* the thread's own may be what ran out */
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    void *none[1];
    backtrace(none, 1);
    sigemptyset(&action.sa_mask);
    sigaltstack(&own, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
        sigaction(fatal[i].signal, &action, &before[i]);
}

void crash_watch(const struct berth_module *module, const char *file)
{
    if (watched_len == FILES_MAX)
        return;
    struct watched *own = &watched[watched_len];
    void *user[] = { (void *)module, own };
    if (!dl_iterate_phdr(note, user) || !own->to)
        return;
    if (module->plugins_len == 1)
        snprintf(own->sentence, sizeof(own->sentence),
                 "berth: plugin \"%s\" of %s crashed: ", module->plugins[0]->name, file);
    else
        snprintf(own->sentence, sizeof(own->sentence), "berth: a plugin of %s crashed: ", file);
    if (!watched_len)
        install();
    owner = getpid();
    watched_len++;
}
