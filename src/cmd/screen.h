/* screen.h: a view in the terminal that is drawn again in place, until Ctrl-C or q.
 *
 * Where standard output is not a terminal, or --once is meant, it is written once, as any other command does it. On a
 * terminal it has a screen of its own, and what was there comes back at the end, also after SIGTERM. Lines are cut to
 * the terminal's size, however small. */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include "base/term.h"

struct screen_view {
    int64_t every_ms;
    /* Writes the view into term->out; `lines` is how many the screen has, 0: any number. A failure shows its sentence
     * instead; of the first time it ends the command. */
    int (*draw)(void *user, struct term *term, unsigned lines, struct error *err);
    void *user;
};

/* Returns the exit code. */
int screen_run(const struct screen_view *view);

/* How many lines a text has. */
unsigned screen_lines(struct str text);
/* One line of at most `width` columns; escape sequences take none. Adds it, without a line break. */
void screen_cut(struct str line, unsigned width, struct strbuf *out);

#endif
