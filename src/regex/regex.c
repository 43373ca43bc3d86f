/* regex.c: patterns as programs, run over all threads at once (Thompson, Pike).
 *
 * A thread is a place in the program and where its match began. Threads are kept in the order the pattern prefers;
 * each place has at most one, so a character costs at most one step per place. When a thread matches, those
 * behind it are given up. */
#include "base/utf8.h"
#include "regex/regex_impl.h"

enum { STEPS_MAX = 20000, PATTERN_BYTES_MAX = 16 * 1024 };

struct compiler {
    VEC(struct regex_step) steps;
    bool full;
};

static uint32_t emit(struct compiler *c, struct regex_step step)
{
    if (c->steps.len >= STEPS_MAX) {
        c->full = true;
        return 0;
    }
    *vec_push(&c->steps) = step;
    return (uint32_t)c->steps.len - 1;
}

static uint32_t fork_to(struct compiler *c, uint32_t more, uint32_t enough, bool lazy)
{
    return emit(c, (struct regex_step){
                       .op = REGEX_FORK, .next = lazy ? enough : more, .other = lazy ? more : enough });
}

static uint32_t compile(struct compiler *c, const struct regex_node *node, uint32_t next);

/* From the last part to the first: what follows must be there already. */
static uint32_t compile_concat(struct compiler *c, const struct regex_node *node, uint32_t next)
{
    for (struct list_link *link = node->parts.last; link && !c->full; link = link->prev)
        next = compile(c, container_of(link, struct regex_node, link), next);
    return next;
}

/* The first part is tried first. */
static uint32_t compile_choice(struct compiler *c, const struct regex_node *node, uint32_t next)
{
    uint32_t rest = 0;
    for (struct list_link *link = node->parts.last; link && !c->full; link = link->prev) {
        uint32_t start = compile(c, container_of(link, struct regex_node, link), next);
        rest = link->next ? fork_to(c, start, rest, false) : start;
    }
    return rest;
}

static uint32_t compile_repeat(struct compiler *c, const struct regex_node *node, uint32_t next)
{
    const struct regex_node *part = list_first(&node->parts, struct regex_node, link);
    int copies = node->min;
    if (node->max == REGEX_UNLIMITED) {
        uint32_t loop = fork_to(c, 0, next, node->lazy);
        uint32_t start = compile(c, part, loop);
        if (c->full)
            return 0;
        *(node->lazy ? &c->steps.items[loop].other : &c->steps.items[loop].next) = start;
        next = copies > 0 ? start : loop;
        copies -= copies > 0;
    } else {
        uint32_t end = next;
        for (int i = node->min; i < node->max && !c->full; i++)
            next = fork_to(c, compile(c, part, next), end, node->lazy);
    }
    for (int i = 0; i < copies && !c->full; i++)
        next = compile(c, part, next);
    return next;
}

static uint32_t compile(struct compiler *c, const struct regex_node *node, uint32_t next)
{
    if (c->full)
        return 0;
    switch (node->kind) {
    case REGEX_FLAGS:
        return next;
    case REGEX_CHARS:
        return emit(
            c, (struct regex_step){
                   .op = REGEX_SET, .next = next, .ranges = node->ranges, .ranges_len = node->ranges_len });
    case REGEX_ASSERT:
        return emit(c, (struct regex_step){ .op = REGEX_CHECK, .next = next, .check = node->check });
    case REGEX_CONCAT:
        return compile_concat(c, node, next);
    case REGEX_CHOICE:
        return compile_choice(c, node, next);
    case REGEX_REPEAT:
        return compile_repeat(c, node, next);
    }
    return next;
}

const struct regex *regex_compile(struct str pattern, struct arena *arena, struct error *err)
{
    struct error ignored;
    err = err ? err : &ignored;
    if (pattern.len > PATTERN_BYTES_MAX) {
        error_set(err, -EINVAL, "error parsing regexp: expression too large");
        return NULL;
    }
    struct regex_node *node = regex_parse(pattern, arena, err);
    if (!node)
        return NULL;
    struct compiler c = { 0 };
    uint32_t match = emit(&c, (struct regex_step){ .op = REGEX_MATCH });
    uint32_t start = compile(&c, node, match);
    struct regex *regex = NULL;
    if (c.full) {
        error_set(err, -EINVAL, "error parsing regexp: expression too large");
    } else {
        size_t len = c.steps.len;
        regex = arena_new(arena, struct regex);
        *regex = (struct regex){ .steps = arena_copy(arena, struct regex_step, c.steps.items, len, len),
                                 .len = (uint32_t)len,
                                 .start = start };
    }
    vec_release(&c.steps);
    return regex;
}

struct thread {
    uint32_t step;
    size_t began;
};

struct threads {
    struct thread *items;
    size_t len;
};

struct match {
    const struct regex *regex;
    struct str text;
    struct regex_budget *budget;
    struct threads now, soon;
    uint32_t *seen;  /* per step: in which round it was reached */
    uint32_t *stack; /* of steps to follow */
    uint32_t round;
};

static bool holds(struct str text, size_t at, enum regex_check check)
{
    bool word_before = at > 0 && regex_is_word(text.ptr[at - 1]);
    bool word_after = at < text.len && regex_is_word(text.ptr[at]);
    switch (check) {
    case CHECK_TEXT_BEGIN:
        return at == 0;
    case CHECK_TEXT_END:
        return at == text.len;
    case CHECK_LINE_BEGIN:
        return at == 0 || text.ptr[at - 1] == '\n';
    case CHECK_LINE_END:
        return at == text.len || text.ptr[at] == '\n';
    case CHECK_WORD:
        return word_before != word_after;
    default:
        return word_before == word_after;
    }
}

/* Adds a thread, and those it forks to without taking a character, in the order of preference. */
static void follow(struct match *m, struct threads *to, uint32_t step, size_t began, size_t at)
{
    size_t depth = 0;
    m->stack[depth++] = step;
    while (depth > 0) {
        step = m->stack[--depth];
        if (m->seen[step] == m->round)
            continue;
        m->seen[step] = m->round;
        m->budget->steps++;
        const struct regex_step *s = &m->regex->steps[step];
        switch (s->op) {
        case REGEX_FORK:
            m->stack[depth++] = s->other;
            m->stack[depth++] = s->next;
            break;
        case REGEX_CHECK:
            if (holds(m->text, at, s->check))
                m->stack[depth++] = s->next;
            break;
        case REGEX_SET:
        case REGEX_MATCH:
            to->items[to->len++] = (struct thread){ step, began };
        }
    }
}

static bool takes(const struct regex_step *step, uint32_t rune)
{
    size_t low = 0, high = step->ranges_len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rune > step->ranges[middle].last)
            low = middle + 1;
        else if (rune < step->ranges[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

/* Lets all threads take the next character. True: one matches here, the best of them is in *ret_began. */
static bool advance(struct match *m, uint32_t rune, size_t next_at, bool end, size_t *ret_began)
{
    m->soon.len = 0;
    m->round++;
    for (size_t i = 0; i < m->now.len; i++) {
        struct thread thread = m->now.items[i];
        const struct regex_step *step = &m->regex->steps[thread.step];
        m->budget->steps++;
        if (step->op == REGEX_MATCH) {
            *ret_began = thread.began;
            return true;
        }
        if (!end && takes(step, rune))
            follow(m, &m->soon, step->next, thread.began, next_at);
    }
    return false;
}

static bool execute(struct match *m, size_t from, size_t *ret_from, size_t *ret_to)
{
    bool matched = false;
    m->round = 1;
    for (size_t at = from;;) {
        size_t bytes = 0, began;
        bool end = at >= m->text.len;
        uint32_t rune = end ? 0 : utf8_rune_at(m->text, at, &bytes);
        if (!matched)
            follow(m, &m->now, m->regex->start, at, at);
        if (m->budget->steps > m->budget->steps_max)
            return false;
        if (advance(m, rune, at + bytes, end, &began)) {
            matched = true;
            *ret_from = began;
            *ret_to = at;
        }
        struct threads swap = m->now;
        m->now = m->soon;
        m->soon = swap;
        if (end || (m->now.len == 0 && matched))
            return matched;
        at += bytes;
    }
}

bool regex_find(const struct regex *regex, struct str text, size_t from, struct regex_budget *budget,
                size_t *ret_from, size_t *ret_to)
{
    size_t begin = 0, end = 0;
    size_t len = regex->len;
    _cleanup_(freep) struct thread *threads = xcalloc(2 * len, sizeof(*threads));
    _cleanup_(freep) uint32_t *steps = xcalloc(3 * len + 2, sizeof(*steps));
    struct match m = { .regex = regex,
                       .text = text,
                       .budget = budget,
                       .now.items = threads,
                       .soon.items = threads + len,
                       .seen = steps,
                       .stack = steps + len };
    budget->steps += len / 16;
    bool found = execute(&m, from, &begin, &end);
    if (found && ret_from)
        *ret_from = begin;
    if (found && ret_to)
        *ret_to = end;
    return found;
}
