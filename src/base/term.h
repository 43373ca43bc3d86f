/* term.h: what a person looks at: colours where they are wanted, columns that line up, bars, wrapped text.
 *
 * Widths count columns, not characters or bytes: East Asian wide characters take two, marks that combine none. Colours
 * are on only for a terminal, and never when NO_COLOR is set. */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

enum { TERM_WIDTH_MIN = 60, TERM_WIDTH_MAX = 240, TERM_WIDTH_FILE = 120 };

enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_GOOD, PAINT_BAD, PAINT_WARN };

struct term {
    struct strbuf *out;
    unsigned width; /* columns */
    bool colours;
    bool folds; /* a screen: tables stay within the width as well */
};

/* Of standard output: its width (COLUMNS, the terminal's, or TERM_WIDTH_FILE) and whether colours are wanted. */
struct term term_stdout(struct strbuf *out);
/* Writes everything to standard output; negative errno with a sentence when that fails. */
int term_flush(struct term *term, struct error *err);

void term_paint(struct term *term, enum paint paint, const char *format, ...) _printf_(3, 4);
/* Text broken to the width, at spaces and between wide characters, each line after `indent` spaces. */
void term_wrap(struct term *term, unsigned indent, struct str text);
/* A bar of `cells` characters that is filled to `share` (0 to 1), in steps of an eighth of a character. */
void term_bar(struct term *term, double share, unsigned cells);
/* How many columns a text takes. */
size_t text_width(struct str text);
/* A number with commas between thousands, in a buffer of its own that is used again after 8 more calls. */
const char *grouped(int64_t number);
/* The same, of things: "1 pod", "2,000 pods". */
const char *counted(uint64_t number, const char *noun);
/* The same, of an age: "93s", "15m", "3h", "2d". */
const char *aged(int64_t seconds);

/* A table whose columns are as wide as their widest cell. The first row is the heading. Where it is wider than a
 * screen, cells of several words go on below themselves; words are not broken, but between wide characters. */
struct grid_cell {
    struct str text;
    enum paint paint;
    bool right; /* numbers line up at the right */
};

struct grid {
    struct arena arena;
    unsigned columns;
    VEC(struct grid_cell) cells; /* row after row */
};

/* First of all the columns, by their headings. */
void grid_column(struct grid *grid, bool right, const char *heading);
/* Several of them: "NODE|>TOTAL" are two columns, of which the second lines up at the right. */
void grid_columns(struct grid *grid, const char *headings);
/* The next cell, row after row. */
void grid_cell(struct grid *grid, enum paint paint, const char *format, ...) _printf_(3, 4);
void grid_str(struct grid *grid, enum paint paint, struct str text);
/* A number with commas between thousands. */
void grid_count(struct grid *grid, uint64_t number);
void grid_print(const struct grid *grid, struct term *term, unsigned indent);
void grid_release(struct grid *grid);

#endif
