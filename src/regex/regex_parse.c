/* regex_parse.c: the syntax of RE2 as Go takes it.
 *
 *     choice = concat { "|" concat }      concat = { repeat }
 *     repeat = atom [ ("*" | "+" | "?" | "{" n [ "," [ m ] ] "}") [ "?" ] ]
 *
 * Back references and look-around do not exist there, so they are errors here as well. */
#include "base/utf8.h"
#include "regex/regex_impl.h"

enum { NESTING_MAX = 500, REPEAT_MAX = 1000, RANGES_MAX = 100000 };
enum { FLAG_FOLD = 1, FLAG_MULTILINE = 2, FLAG_DOT_ALL = 4, FLAG_SWAP_GREED = 8 };

struct parser {
    struct str text;
    size_t at;
    struct arena *arena;
    struct error *err;
    unsigned flags;
    int nesting;
    size_t ranges_total;
    bool failed;
};

static void *fail(struct parser *p, const char *what, size_t from, size_t to)
{
    if (!p->failed) {
        struct str part = str_slice(p->text, from, MIN(to, p->text.len));
        error_set(p->err, -EINVAL, "error parsing regexp: %s: `" STR_FMT "`", what, STR_ARG(part));
    }
    p->failed = true;
    return NULL;
}

static int peek(const struct parser *p, size_t ahead)
{
    return p->at + ahead < p->text.len ? (unsigned char)p->text.ptr[p->at + ahead] : -1;
}

static bool accept(struct parser *p, const char *text)
{
    size_t len = strlen(text);
    if (p->text.len - p->at < len || memcmp(p->text.ptr + p->at, text, len) != 0)
        return false;
    p->at += len;
    return true;
}

static uint32_t take_rune(struct parser *p)
{
    size_t bytes;
    uint32_t rune = utf8_rune_at(p->text, p->at, &bytes);
    p->at += bytes;
    return rune;
}

static struct regex_node *node_new(struct parser *p, enum regex_kind kind)
{
    struct regex_node *node = arena_new(p->arena, struct regex_node);
    node->kind = kind;
    return node;
}

static struct regex_node *chars(struct parser *p, struct regex_set *set)
{
    regex_set_finish(set);
    p->ranges_total += set->len;
    if (p->ranges_total > RANGES_MAX)
        return fail(p, "expression too large", 0, p->text.len);
    struct regex_node *node = node_new(p, REGEX_CHARS);
    node->ranges = arena_copy(p->arena, struct regex_range, set->items, set->len, set->len);
    node->ranges_len = (uint32_t)set->len;
    return node;
}

static struct regex_node *one_char(struct parser *p, uint32_t rune)
{
    _cleanup_(regex_set_release) struct regex_set set = { 0 };
    regex_set_add(&set, rune, rune, p->flags & FLAG_FOLD);
    return chars(p, &set);
}

/* Any character, but perhaps not a newline. */
static struct regex_node *any_char(struct parser *p)
{
    _cleanup_(regex_set_release) struct regex_set set = { 0 };
    if (!(p->flags & FLAG_DOT_ALL))
        regex_set_add(&set, '\n', '\n', false);
    regex_set_negate(&set);
    return chars(p, &set);
}

static struct regex_node *assertion(struct parser *p, enum regex_check check)
{
    struct regex_node *node = node_new(p, REGEX_ASSERT);
    node->check = check;
    return node;
}

/* \x7F or \x{10FFFF}, behind the x. */
static bool take_hex(struct parser *p, uint32_t *ret)
{
    *ret = 0;
    if (!accept(p, "{")) {
        int high = hex_digit(peek(p, 0)), low = hex_digit(peek(p, 1));
        *ret = (uint32_t)(high * 16 + low);
        p->at += 2;
        return high >= 0 && low >= 0;
    }
    size_t digits = 0;
    for (; hex_digit(peek(p, 0)) >= 0 && *ret <= RUNE_MAX; p->at++, digits++)
        *ret = *ret * 16 + (uint32_t)hex_digit(peek(p, 0));
    return digits > 0 && *ret <= RUNE_MAX && accept(p, "}");
}

/* The character that an escape sequence stands for; *at is behind the backslash. */
static uint32_t take_escape(struct parser *p)
{
    static const char names[] = "afnrtv", values[] = "\a\f\n\r\t\v";
    size_t from = p->at - 1;
    if (p->at >= p->text.len) {
        fail(p, "trailing backslash at end of expression", p->text.len, p->text.len);
        return 0;
    }
    uint32_t rune = take_rune(p), value;
    const char *name = rune > 0 && rune < 0x80 ? strchr(names, (int)rune) : NULL;
    if (name)
        return (uint32_t)values[name - names];
    if (rune == 'x' && take_hex(p, &value))
        return value;
    if (rune == '0' || (rune >= '1' && rune <= '7' && peek(p, 0) >= '0' && peek(p, 0) <= '7')) {
        value = rune - '0';
        for (int i = 0; i < 2 && peek(p, 0) >= '0' && peek(p, 0) <= '7'; i++)
            value = value * 8 + (uint32_t)(p->text.ptr[p->at++] - '0');
        return value;
    }
    if (rune >= 0x80 || regex_is_word((int)rune))
        fail(p, "invalid escape sequence", from, p->at);
    return rune;
}

/* \pL, \p{Greek}, \P{^Lu}; *at is behind the p. */
static bool take_unicode_class(struct parser *p, struct regex_set *set, bool negated)
{
    size_t from = p->at - 2;
    if (p->at >= p->text.len) {
        fail(p, "invalid character class range", from, p->at);
        return false;
    }
    size_t begin = p->at;
    struct str name;
    if (accept(p, "{")) {
        begin = p->at;
        while (peek(p, 0) >= 0 && peek(p, 0) != '}')
            p->at++;
        name = str_slice(p->text, begin, p->at);
        accept(p, "}");
    } else {
        take_rune(p);
        name = str_slice(p->text, begin, p->at);
    }
    if (name.len > 0 && name.ptr[0] == '^') {
        negated = !negated;
        name = str_slice(name, 1, name.len);
    }
    if (regex_set_add_unicode(set, name, negated, p->flags & FLAG_FOLD))
        return true;
    fail(p, "invalid character class range", from, p->at);
    return false;
}

/* \d, \pL and so on, if that is what comes. */
static bool take_class_escape(struct parser *p, struct regex_set *set)
{
    int c = peek(p, 1);
    if (peek(p, 0) != '\\' || c < 0)
        return false;
    if (c == 'p' || c == 'P') {
        p->at += 2;
        return take_unicode_class(p, set, c == 'P');
    }
    if (!regex_set_add_perl(set, c, p->flags & FLAG_FOLD))
        return false;
    p->at += 2;
    return true;
}

static uint32_t take_class_char(struct parser *p, size_t class_from)
{
    if (p->at >= p->text.len) {
        fail(p, "missing closing ]", class_from, p->text.len);
        return 0;
    }
    return accept(p, "\\") ? take_escape(p) : take_rune(p);
}

/* One item of [...]: a class, a character or a range. */
static void take_class_item(struct parser *p, struct regex_set *set, size_t class_from)
{
    size_t from = p->at;
    if (peek(p, 0) == '[' && peek(p, 1) == ':') {
        ptrdiff_t end = utf8_find(p->text, STR(":]"), p->at + 2);
        if (end >= 0) {
            struct str name = str_slice(p->text, p->at + 2, (size_t)end);
            p->at = (size_t)end + 2;
            if (!regex_set_add_posix(set, name, p->flags & FLAG_FOLD))
                fail(p, "invalid character class range", from, p->at);
            return;
        }
    }
    if (take_class_escape(p, set) || p->failed)
        return;
    uint32_t first = take_class_char(p, class_from), last = first;
    if (!p->failed && peek(p, 0) == '-' && peek(p, 1) >= 0 && peek(p, 1) != ']') {
        p->at++;
        last = take_class_char(p, class_from);
        if (last < first)
            fail(p, "invalid character class range", from, p->at);
    }
    if (!p->failed)
        regex_set_add(set, first, last, p->flags & FLAG_FOLD);
}

static struct regex_node *parse_class(struct parser *p)
{
    size_t from = p->at++;
    _cleanup_(regex_set_release) struct regex_set set = { 0 };
    bool negated = accept(p, "^");
    for (bool first = true; !p->failed && (first || peek(p, 0) != ']'); first = false) {
        if (p->at >= p->text.len) {
            fail(p, "missing closing ]", from, p->text.len);
            break;
        }
        take_class_item(p, &set, from);
    }
    p->at++;
    if (negated)
        regex_set_negate(&set);
    return p->failed ? NULL : chars(p, &set);
}

static struct regex_node *parse_choice(struct parser *p);

/* name> behind "(?P<" or "(?<". */
static bool take_group_name(struct parser *p, size_t from)
{
    size_t begin = p->at;
    while (regex_is_word(peek(p, 0)))
        p->at++;
    if (p->at > begin && accept(p, ">"))
        return true;
    fail(p, "invalid named capture", from, p->at + 1);
    return false;
}

/* i, m, s, U, and - before those to take away; up to : or ), which is passed. False: no group follows. */
static bool take_flags(struct parser *p, size_t from)
{
    static const char names[] = "imsU";
    unsigned flags = p->flags;
    bool away = false, any = false;
    for (;; p->at++) {
        int c = peek(p, 0);
        const char *name = c > 0 ? strchr(names, c) : NULL;
        if (name) {
            unsigned flag = 1u << (name - names);
            flags = away ? flags & ~flag : flags | flag;
            any = true;
        } else if (c == '-' && !away) {
            away = true;
            any = false;
        } else if ((c == ':' || c == ')') && (!away || any)) {
            p->at++;
            p->flags = flags;
            return c == ':';
        } else {
            fail(p, "invalid or unsupported Perl syntax", from, p->at + 1);
            return false;
        }
    }
}

static struct regex_node *parse_group(struct parser *p)
{
    size_t from = p->at++;
    unsigned outer = p->flags;
    if (accept(p, "?")) {
        if (accept(p, "P<") ||
            (peek(p, 0) == '<' && peek(p, 1) != '=' && peek(p, 1) != '!' && accept(p, "<"))) {
            if (!take_group_name(p, from))
                return NULL;
        } else if (!take_flags(p, from)) {
            return p->failed ? NULL : node_new(p, REGEX_FLAGS); /* for the rest of the group around it */
        }
    }
    struct regex_node *node = parse_choice(p);
    if (!node)
        return NULL;
    if (!accept(p, ")"))
        return fail(p, "missing closing )", 0, p->text.len);
    p->flags = outer;
    return node;
}

static struct regex_node *parse_backslash(struct parser *p)
{
    static const struct {
        const char *text;
        enum regex_check check;
    } checks[] = {
        { "\\A", CHECK_TEXT_BEGIN },
        { "\\z", CHECK_TEXT_END },
        { "\\b", CHECK_WORD },
        { "\\B", CHECK_NO_WORD },
    };
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
        if (accept(p, checks[i].text))
            return assertion(p, checks[i].check);
    _cleanup_(regex_set_release) struct regex_set set = { 0 };
    if (take_class_escape(p, &set))
        return chars(p, &set);
    if (p->failed)
        return NULL;
    p->at++;
    uint32_t rune = take_escape(p);
    return p->failed ? NULL : one_char(p, rune);
}

static struct regex_node *parse_atom(struct parser *p)
{
    switch (peek(p, 0)) {
    case '(':
        return parse_group(p);
    case '[':
        return parse_class(p);
    case '\\':
        return parse_backslash(p);
    case '.':
        p->at++;
        return any_char(p);
    case '^':
        p->at++;
        return assertion(p, p->flags & FLAG_MULTILINE ? CHECK_LINE_BEGIN : CHECK_TEXT_BEGIN);
    case '$':
        p->at++;
        return assertion(p, p->flags & FLAG_MULTILINE ? CHECK_LINE_END : CHECK_TEXT_END);
    default:
        return one_char(p, take_rune(p));
    }
}

/* A number without leading zeros; REPEAT_MAX + 1 for all that are larger. */
static bool take_count(struct parser *p, int *ret)
{
    size_t from = p->at;
    for (*ret = 0; peek(p, 0) >= '0' && peek(p, 0) <= '9'; p->at++)
        *ret = MIN(*ret * 10 + (peek(p, 0) - '0'), REPEAT_MAX + 1);
    return p->at > from && !(p->at > from + 1 && p->text.ptr[from] == '0');
}

/* A repetition operator, if one is here: {1,x} is none, but text. */
static bool take_repeat(struct parser *p, int *ret_min, int *ret_max)
{
    static const struct {
        char name;
        int min, max;
    } simple[] = { { '*', 0, REGEX_UNLIMITED }, { '+', 1, REGEX_UNLIMITED }, { '?', 0, 1 } };
    size_t from = p->at;
    for (size_t i = 0; i < ARRAY_SIZE(simple); i++) {
        if (peek(p, 0) == simple[i].name) {
            p->at++;
            *ret_min = simple[i].min;
            *ret_max = simple[i].max;
            return true;
        }
    }
    if (!accept(p, "{"))
        return false;
    bool well = take_count(p, ret_min);
    *ret_max = *ret_min;
    if (well && accept(p, ",")) {
        *ret_max = REGEX_UNLIMITED;
        if (peek(p, 0) != '}')
            well = take_count(p, ret_max);
    }
    if (!well || !accept(p, "}")) {
        p->at = from;
        return false;
    }
    if (*ret_min > REPEAT_MAX || *ret_max > REPEAT_MAX || (*ret_max >= 0 && *ret_max < *ret_min))
        fail(p, "invalid repeat count", from, p->at);
    return true;
}

/* How often what is innermost may be repeated, over all levels. */
static bool repeats_at_most(const struct regex_node *node, int limit)
{
    if (node->kind == REGEX_REPEAT) {
        int count = node->max == REGEX_UNLIMITED ? node->min : node->max;
        if (count > limit)
            return false;
        limit = count > 0 ? limit / count : limit;
    }
    list_for_each(&node->parts, struct regex_node, part, link)
        if (!repeats_at_most(part, limit))
            return false;
    return true;
}

/* The repetition operators behind a node. */
static struct regex_node *repeated(struct parser *p, struct regex_node *node)
{
    int min, max;
    size_t from = p->at;
    for (bool again = false; !p->failed && take_repeat(p, &min, &max) && !p->failed; again = true) {
        bool lazy = accept(p, "?");
        if (again)
            return fail(p, "invalid nested repetition operator", from, p->at);
        struct regex_node *repeat = node_new(p, REGEX_REPEAT);
        repeat->min = min;
        repeat->max = max;
        repeat->lazy = lazy != !!(p->flags & FLAG_SWAP_GREED);
        list_append(&repeat->parts, &node->link);
        if ((min >= 2 || max >= 2) && !repeats_at_most(repeat, REPEAT_MAX))
            return fail(p, "invalid repeat count", from, p->at);
        node = repeat;
    }
    return p->failed ? NULL : node;
}

/* Whether an operator is here that needs something before it; {1,x} is none. */
static bool at_repeat(struct parser *p)
{
    int min, max;
    size_t from = p->at;
    bool is = take_repeat(p, &min, &max);
    p->at = from;
    return is;
}

/* Repeats what came last in a concatenation: flags may stand between it and the operator. */
static void repeat_last(struct parser *p, struct regex_node *concat)
{
    struct regex_node *last = list_item(concat->parts.last, struct regex_node, link);
    if (!last) {
        int min, max;
        size_t from = p->at;
        take_repeat(p, &min, &max);
        accept(p, "?");
        fail(p, "missing argument to repetition operator", from, p->at);
        return;
    }
    list_remove(&concat->parts, &last->link);
    struct regex_node *node = repeated(p, last);
    if (node)
        list_append(&concat->parts, &node->link);
}

/* Everything up to \E as it stands; what is repeated behind that is the last character. */
static void take_quoted(struct parser *p, struct regex_node *concat)
{
    while (!p->failed && p->at < p->text.len && !accept(p, "\\E")) {
        struct regex_node *one = one_char(p, take_rune(p));
        if (one)
            list_append(&concat->parts, &one->link);
    }
}

static struct regex_node *parse_choice(struct parser *p)
{
    if (++p->nesting > NESTING_MAX)
        return fail(p, "expression nests too deeply", 0, p->text.len);
    struct regex_node *choice = node_new(p, REGEX_CHOICE), *concat = node_new(p, REGEX_CONCAT);
    list_append(&choice->parts, &concat->link);
    while (!p->failed && p->at < p->text.len && peek(p, 0) != ')') {
        if (accept(p, "|")) {
            concat = node_new(p, REGEX_CONCAT);
            list_append(&choice->parts, &concat->link);
            continue;
        }
        if (accept(p, "\\Q")) {
            take_quoted(p, concat);
            continue;
        }
        if (at_repeat(p)) {
            repeat_last(p, concat);
            continue;
        }
        struct regex_node *part = parse_atom(p);
        bool flags = part && part->kind == REGEX_FLAGS;
        part = part && !flags ? repeated(p, part) : part;
        if (part && !flags)
            list_append(&concat->parts, &part->link);
    }
    p->nesting--;
    return p->failed ? NULL : choice;
}

struct regex_node *regex_parse(struct str pattern, struct arena *arena, struct error *err)
{
    struct parser p = { .text = pattern, .arena = arena, .err = err };
    if (!utf8_valid(pattern))
        return fail(&p, "invalid UTF-8", 0, 0);
    struct regex_node *node = parse_choice(&p);
    if (node && p.at < pattern.len)
        return fail(&p, "unexpected )", 0, pattern.len);
    return node;
}
