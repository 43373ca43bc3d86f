/* term.c: colours, columns, bars and wrapped text; see term.h. */
#include "base/term.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

static const char *const paint_codes[] = {
    [PAINT_NONE] = "",         [PAINT_BOLD] = "\033[1m", [PAINT_DIM] = "\033[2m",
    [PAINT_GOOD] = "\033[32m", [PAINT_BAD] = "\033[31m", [PAINT_WARN] = "\033[33m",
};

/* 0: there is none to keep to. */
static unsigned screen_width(void)
{
    int64_t wanted = 0;
    struct winsize size = { 0 };
    const char *columns = getenv("COLUMNS");
    if (columns && str_to_int64(str_from(columns), &wanted) && wanted > 0)
        return (unsigned)MIN(MAX(wanted, TERM_WIDTH_MIN), TERM_WIDTH_MAX);
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return MIN(MAX((unsigned)size.ws_col, (unsigned)TERM_WIDTH_MIN), (unsigned)TERM_WIDTH_MAX);
    return 0;
}

struct term term_stdout(struct strbuf *out)
{
    const char *off = getenv("NO_COLOR"), *name = getenv("TERM");
    bool plain = (off && *off) || (name && strcmp(name, "dumb") == 0);
    unsigned width = screen_width();
    return (struct term){ .out = out,
                          .width = width ? width : TERM_WIDTH_FILE,
                          .colours = !plain && isatty(STDOUT_FILENO),
                          .folds = width > 0 };
}

int term_flush(struct term *term, struct error *err)
{
    size_t len = term->out->len;
    bool bad = len && fwrite(term->out->text, 1, len, stdout) != len;
    if (bad || fflush(stdout) != 0)
        return error_set(err, -EIO, "standard output cannot be written: %s", strerror(errno));
    strbuf_clear(term->out);
    return 0;
}

static void paint_begin(const struct term *term, enum paint paint)
{
    if (term->colours && paint != PAINT_NONE)
        strbuf_puts(term->out, paint_codes[paint]);
}

static void paint_end(const struct term *term, enum paint paint)
{
    if (term->colours && paint != PAINT_NONE)
        strbuf_puts(term->out, "\033[0m");
}

/* Texts come from files: what would move a terminal's cursor is shown as '?'. */
static void add_safely(struct strbuf *out, struct str text)
{
    size_t bytes;
    for (uint32_t i = 0; i < text.len; i += bytes) {
        uint32_t rune = utf8_rune_at(text, i, &bytes);
        bool obeyed = (rune < 0x20 && rune != '\n') || (rune >= 0x7f && rune < 0xa0);
        bool bad = rune == RUNE_ERROR && bytes == 1;
        if (obeyed || bad)
            strbuf_putc(out, '?');
        else
            strbuf_add(out, text.ptr + i, bytes);
    }
}

void term_paint(struct term *term, enum paint paint, const char *format, ...)
{
    struct arena scratch = { 0 };
    va_list args;
    va_start(args, format);
    struct str text = arena_vprintf(&scratch, format, args);
    va_end(args);
    paint_begin(term, paint);
    add_safely(term->out, text);
    paint_end(term, paint);
    arena_release(&scratch);
}

size_t text_width(struct str text)
{
    size_t width = 0, bytes;
    for (size_t at = 0; at < text.len; at += bytes)
        width += utf8_rune_width(utf8_rune_at(text, at, &bytes));
    return width;
}

/* Wide characters that end a phrase stay with it. */
static bool ends_phrase(uint32_t rune)
{
    static const uint32_t ends[] = { 0x3001, 0x3002, 0x300B, 0x300D, 0x300F, 0x3011,
                                     0xFF01, 0xFF09, 0xFF0C, 0xFF1A, 0xFF1B, 0xFF1F };
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (rune == ends[i])
            return true;
    return false;
}

/* May a line end behind `rune`, with `next` to follow? */
static bool may_break(uint32_t rune, uint32_t next)
{
    if (rune == ' ' || next == ' ')
        return rune != ' ';
    bool wide = utf8_rune_width(rune) == 2 || utf8_rune_width(next) == 2;
    return wide && utf8_rune_width(next) > 0 && !ends_phrase(next);
}

/* The words at the beginning of *rest that fit, one at least; *rest is what is left. */
static struct str take_line(struct str *rest, size_t width)
{
    struct str text = *rest;
    size_t end = 0, used = 0, bytes, more;
    for (size_t at = 0; at < text.len; at += bytes) {
        uint32_t rune = utf8_rune_at(text, at, &bytes);
        size_t behind = at + bytes;
        bool last = behind == text.len;
        used += utf8_rune_width(rune);
        if (last ? rune == ' ' : !may_break(rune, utf8_rune_at(text, behind, &more)))
            continue;
        if (end && used > width)
            break;
        end = behind;
    }
    bool spaced = end < text.len && text.ptr[end] == ' ';
    *rest = str_slice(text, (uint32_t)end + spaced, text.len);
    return str_slice(text, 0, (uint32_t)end);
}

void term_wrap(struct term *term, unsigned indent, struct str text)
{
    size_t width = MAX(term->width, indent + 20) - indent;
    do {
        struct str line = take_line(&text, width);
        strbuf_printf(term->out, "%*s", line.len ? (int)indent : 0, "");
        add_safely(term->out, line);
        strbuf_putc(term->out, '\n');
    } while (text.len);
}

void term_bar(struct term *term, double share, unsigned cells)
{
    static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    double bounded = share < 0 ? 0 : share > 1 ? 1 : share;
    unsigned eighths = (unsigned)(bounded * cells * 8 + 0.5);
    unsigned full = eighths / 8, part = eighths % 8;
    enum paint paint = share > 0.9 ? PAINT_BAD : share > 0.7 ? PAINT_WARN : PAINT_GOOD;
    if (eighths) {
        paint_begin(term, paint);
        for (unsigned i = 0; i < full; i++)
            strbuf_puts(term->out, "█");
        strbuf_puts(term->out, parts[part]);
        paint_end(term, paint);
    }
    paint_begin(term, PAINT_DIM);
    for (unsigned i = full + (part > 0); i < cells; i++)
        strbuf_puts(term->out, "·");
    paint_end(term, PAINT_DIM);
}

/* ---- tables ---- */

enum { GRID_COLUMNS_MAX = 64 };

void grid_column(struct grid *grid, bool right, const char *heading)
{
    *vec_push(&grid->cells) =
        (struct grid_cell){ arena_printf(&grid->arena, "%s", heading), PAINT_BOLD, right };
    grid->columns++;
    assert(grid->cells.len == grid->columns);
}

void grid_columns(struct grid *grid, const char *headings)
{
    for (size_t len; *headings; headings += len + (headings[len] == '|')) {
        bool right = *headings == '>';
        len = strcspn(headings, "|");
        grid_column(grid, right, arena_strndup(&grid->arena, headings + right, len - right));
    }
}

void grid_str(struct grid *grid, enum paint paint, struct str text)
{
    bool right = grid->cells.items[grid->cells.len % grid->columns].right;
    *vec_push(&grid->cells) = (struct grid_cell){ arena_str(&grid->arena, text), paint, right };
}

void grid_cell(struct grid *grid, enum paint paint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    grid_str(grid, paint, arena_vprintf(&grid->arena, format, args));
    va_end(args);
}

void grid_count(struct grid *grid, uint64_t number)
{
    grid_cell(grid, PAINT_NONE, "%s", grouped((int64_t)number));
}

static size_t longest_word(struct str text)
{
    size_t longest = 0;
    while (text.len) {
        size_t width = text_width(take_line(&text, 0));
        longest = MAX(longest, width);
    }
    return longest;
}

/* No column gets narrower than this, nor than its longest word. */
static size_t narrowest(const struct grid *grid, size_t column)
{
    size_t width = 16;
    for (size_t i = column; i < grid->cells.len; i += grid->columns)
        width = MAX(width, longest_word(grid->cells.items[i].text));
    return width;
}

/* Takes what is too much from the widest columns, one after the other. */
static void fold(const struct grid *grid, size_t width_max, size_t *widths)
{
    size_t total = 2 * (size_t)(grid->columns - 1);
    uint64_t tried = 0;
    for (size_t c = 0; c < grid->columns; c++)
        total += widths[c];
    for (size_t turn = 0; turn < grid->columns && total > width_max; turn++) {
        size_t widest = grid->columns;
        for (size_t c = 0; c < grid->columns; c++)
            if (!(tried >> c & 1) && (widest == grid->columns || widths[c] > widths[widest]))
                widest = c;
        tried |= UINT64_C(1) << widest;
        size_t least = MIN(narrowest(grid, widest), widths[widest]);
        size_t less = MIN(total - width_max, widths[widest] - least);
        widths[widest] -= less;
        total -= less;
    }
}

/* `gap`: the spaces before the cell, which are not written where nothing follows them. */
static void print_cell(struct term *term, const struct grid_cell *cell, struct str line, size_t width,
                       size_t *gap)
{
    size_t used = text_width(line), left = width > used ? width - used : 0;
    if (cell->right)
        *gap += left;
    if (line.len) {
        strbuf_printf(term->out, "%*s", (int)*gap, "");
        paint_begin(term, cell->paint);
        add_safely(term->out, line);
        paint_end(term, cell->paint);
        *gap = 0;
    }
    *gap += cell->right ? 2 : left + 2;
}

static void print_row(const struct grid *grid, struct term *term, unsigned indent,
                      const struct grid_cell *cells, const size_t *widths)
{
    struct str rest[GRID_COLUMNS_MAX];
    for (size_t c = 0; c < grid->columns; c++)
        rest[c] = cells[c].text;
    for (bool more = true; more;) {
        size_t gap = indent;
        more = false;
        for (size_t c = 0; c < grid->columns; c++) {
            bool fits = text_width(rest[c]) <= widths[c];
            struct str line = fits ? rest[c] : take_line(&rest[c], widths[c]);
            rest[c] = fits ? (struct str){ 0 } : rest[c];
            print_cell(term, &cells[c], line, widths[c], &gap);
            more |= rest[c].len > 0;
        }
        strbuf_putc(term->out, '\n');
    }
}

void grid_print(const struct grid *grid, struct term *term, unsigned indent)
{
    size_t widths[GRID_COLUMNS_MAX] = { 0 };
    assert(grid->columns && grid->columns <= GRID_COLUMNS_MAX);
    for (size_t i = 0; i < grid->cells.len; i++) {
        size_t *width = &widths[i % grid->columns];
        *width = MAX(*width, text_width(grid->cells.items[i].text));
    }
    if (term->folds)
        fold(grid, MAX(term->width, indent) - indent, widths);
    for (size_t i = 0; i + grid->columns <= grid->cells.len; i += grid->columns)
        print_row(grid, term, indent, &grid->cells.items[i], widths);
}

void grid_release(struct grid *grid)
{
    vec_release(&grid->cells);
    arena_release(&grid->arena);
}

enum { BUFFERS = 8, BUFFER_LEN = 64 };

static char *next_buffer(void)
{
    static _Thread_local char buffers[BUFFERS][BUFFER_LEN];
    static _Thread_local unsigned next;
    return buffers[next++ % BUFFERS];
}

const char *grouped(int64_t number)
{
    char digits[24];
    char *out = next_buffer();
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)number);
    int at = 0;
    for (int i = 0; i < len; i++) {
        bool group = i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-';
        if (group)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

const char *counted(uint64_t number, const char *noun)
{
    char *out = next_buffer();
    snprintf(out, BUFFER_LEN, "%s %s%s", grouped((int64_t)number), noun, number == 1 ? "" : "s");
    return out;
}

const char *aged(int64_t seconds)
{
    static const struct {
        int64_t from, unit;
        char name;
    } units[] = {
        { 2 * 86400, 86400, 'd' }, { 2 * 3600, 3600, 'h' }, { 600, 60, 'm' }, { INT64_MIN, 1, 's' }
    };
    char *out = next_buffer();
    size_t i = 0;
    while (seconds < units[i].from)
        i++;
    snprintf(out, BUFFER_LEN, "%lld%c", (long long)(MAX(seconds, 0) / units[i].unit), units[i].name);
    return out;
}
