/* screen.c: see screen.h. Signals are read from a descriptor, so that nothing is restored in a handler. */
#include "cmd/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cmd/common.h"

#define ENTER "\033[?1049h\033[?25l" /* the other screen, no cursor */
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define REST_OF_LINE "\033[K"
#define REST_OF_SCREEN "\033[J"
#define PLAIN "\033[0m"

struct screen {
    const struct screen_view *view;
    int signals;
    bool has_keys; /* standard input is a terminal */
    struct termios before;
    struct strbuf shown; /* the last view that could be drawn */
};

static void write_all(const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno != EINTR)
            return;
        text += MAX(n, 0);
        len -= (size_t)MAX(n, 0);
    }
}

static void enter(struct screen *screen)
{
    screen->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->has_keys) {
        struct termios quiet = screen->before;
        quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    }
    write_all(ENTER, strlen(ENTER));
}

static void leave(struct screen *screen)
{
    write_all(LEAVE, strlen(LEAVE));
    if (screen->has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

/* ---- what is seen ---- */

/* The end of an escape sequence that begins at `at`. */
static uint32_t sequence_end(struct str line, uint32_t at)
{
    uint32_t end = at + 1;
    if (end < line.len && line.ptr[end] == '[')
        end++;
    while (end < line.len && (line.ptr[end] < '@' || line.ptr[end] > '~'))
        end++;
    return MIN(end + 1, line.len);
}

void screen_cut(struct str line, unsigned width, struct strbuf *out)
{
    size_t used = 0, bytes;
    bool painted = false;
    for (uint32_t at = 0; at < line.len; at += (uint32_t)bytes) {
        if (line.ptr[at] == '\033') {
            bytes = sequence_end(line, at) - at;
            painted = true;
        } else {
            used += utf8_rune_width(utf8_rune_at(line, at, &bytes));
            if (used > width)
                break;
        }
        strbuf_add(out, line.ptr + at, bytes);
    }
    if (painted && used > width)
        strbuf_puts(out, PLAIN);
}

unsigned screen_lines(struct str text)
{
    unsigned lines = 0;
    for (uint32_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    return lines;
}

static struct winsize size_now(void)
{
    struct winsize size = { 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
        size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    return size;
}

/* `problem`: a sentence below the view, or empty. */
static void paint(const struct screen *screen, struct str problem)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct winsize size = size_now();
    struct str rest = strbuf_slice(&screen->shown);
    unsigned lines = screen_lines(rest), room = size.ws_row - (problem.len > 0);
    bool cut = room && lines > room;
    unsigned shown = cut ? room - 1 : MIN(lines, room);
    strbuf_puts(&out, HOME);
    for (unsigned i = 0; i < shown; i++) {
        screen_cut(str_cut(&rest, '\n'), size.ws_col, &out);
        strbuf_puts(&out, i + 1 < size.ws_row ? REST_OF_LINE "\r\n" : REST_OF_LINE);
    }
    if (cut) {
        _cleanup_(strbuf_release) struct strbuf more = { 0 };
        strbuf_printf(&more, "... and %s more lines", grouped((int64_t)(lines - shown)));
        screen_cut(strbuf_slice(&more), size.ws_col, &out);
        strbuf_puts(&out, problem.len ? REST_OF_LINE "\r\n" : REST_OF_LINE);
    }
    screen_cut(problem, size.ws_col, &out);
    strbuf_puts(&out, problem.len ? REST_OF_LINE REST_OF_SCREEN : REST_OF_SCREEN);
    write_all(out.text, out.len);
}

static int draw(struct screen *screen, struct error *err)
{
    struct strbuf out = { 0 };
    struct term term = term_stdout(&out);
    int r = screen->view->draw(screen->view->user, &term, size_now().ws_row, err);
    if (r < 0) {
        strbuf_release(&out);
        return r;
    }
    strbuf_release(&screen->shown);
    screen->shown = out;
    return 0;
}

/* ---- until the end ---- */

static void stop_and_continue(struct screen *screen)
{
    leave(screen);
    raise(SIGSTOP);
    enter(screen);
}

/* Waits for the next turn. False: it is to end. */
static bool wait_for_turn(struct screen *screen)
{
    struct pollfd fds[] = { { screen->signals, POLLIN, 0 },
                            { screen->has_keys ? STDIN_FILENO : -1, POLLIN, 0 } };
    int n = poll(fds, ARRAY_SIZE(fds), (int)screen->view->every_ms);
    struct signalfd_siginfo signal = { 0 };
    char key = 0;
    if (n > 0 && fds[0].revents && read(screen->signals, &signal, sizeof(signal)) == sizeof(signal)) {
        if (signal.ssi_signo == SIGTSTP)
            stop_and_continue(screen);
        else if (signal.ssi_signo != SIGWINCH)
            return false;
    }
    if (n > 0 && fds[1].revents && read(STDIN_FILENO, &key, 1) <= 0)
        screen->has_keys = false;
    return key != 'q' && key != 'Q';
}

static int run_screen(struct screen *screen, struct error *err)
{
    int r = draw(screen, err);
    if (r < 0)
        return r;
    enter(screen);
    do {
        paint(screen, r < 0 ? str_from(err->text) : (struct str){ 0 });
        if (!wait_for_turn(screen))
            break;
        r = draw(screen, err);
    } while (true);
    leave(screen);
    return 0;
}

static int run_once(const struct screen_view *view)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct term term = term_stdout(&out);
    struct error err;
    return view->draw(view->user, &term, 0, &err) < 0 ? fail(EXIT_TROUBLE, &err) : finish(&term);
}

int screen_run(const struct screen_view *view)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH };
    const char *name = getenv("TERM");
    struct error err;
    sigset_t signals;
    if (!isatty(STDOUT_FILENO) || !view->every_ms || (name && strcmp(name, "dumb") == 0))
        return run_once(view);
    struct screen screen = { .view = view };
    sigemptyset(&signals);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        sigaddset(&signals, ends[i]);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    screen.signals = signalfd(-1, &signals, SFD_CLOEXEC);
    if (screen.signals < 0)
        return fail(EXIT_TROUBLE,
                    (error_set(&err, -errno, "signals cannot be read: %s", strerror(errno)), &err));
    int r = run_screen(&screen, &err);
    close(screen.signals);
    strbuf_release(&screen.shown);
    return r < 0 ? fail(EXIT_TROUBLE, &err) : EXIT_DONE;
}
