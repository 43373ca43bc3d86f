/* Tables and wrapped text: at most as wide as the screen, and no word is split. */
#include "support/test.h"

#include "base/term.h"

struct table_case {
    const char *name;
    unsigned width; /* 0: not a terminal */
    unsigned columns;
    const char *cells[12]; /* ">" before a heading: right-aligned */
    const char *want;
};

static const struct table_case table_cases[] = {
    { "columns line up, and lines have no trailing spaces",
      0,
      3,
      { "NAME", ">N", "NOTE", "a", "10", "", "bcdef", "7", "x y" },
      "  NAME    N  NOTE\n  a      10\n  bcdef   7  x y\n" },
    { "no screen: nothing is folded",
      0,
      2,
      { "WHO", "WHY", "somebody", "one two three four five six seven eight nine ten eleven twelve thirteen" },
      "  WHO       WHY\n"
      "  somebody  one two three four five six seven eight nine ten eleven twelve thirteen\n" },
    { "it fits by one", 22, 2, { "A", "B", "a", "one two three fou" }, "  A  B\n  a  one two three fou\n" },
    { "it does not fit by one",
      21,
      2,
      { "A", "B", "a", "one two three fou" },
      "  A  B\n  a  one two three\n     fou\n" },
    { "the widest is folded, what stands behind it stays in its column",
      40,
      3,
      { ">N", "WHY", "SUCH AS", "1", "some words that make up a cell", "node-1", "2", "short", "node-2" },
      "  N  WHY                         SUCH AS\n"
      "  1  some words that make up a   node-1\n"
      "     cell\n"
      "  2  short                       node-2\n" },
    { "two columns",
      44,
      2,
      { "LEFT", "RIGHT", "aaa bbb ccc ddd eee fff ggg hhh", "aaa bbb ccc ddd eee fff ggg hhh iii jjj" },
      "  LEFT                      RIGHT\n"
      "  aaa bbb ccc ddd eee fff   aaa bbb ccc ddd\n"
      "  ggg hhh                   eee fff ggg hhh\n"
      "                            iii jjj\n" },
    { "words stay whole, and the others aligned",
      30,
      3,
      { "NAME", ">N", "AT", "a-name-that-is-longer-than-most", "1", "one two three four", "b", "2", "x" },
      "  NAME                             N  AT\n"
      "  a-name-that-is-longer-than-most  1  one two three\n"
      "                                      four\n"
      "  b                                2  x\n" },
    { "characters are counted, not bytes",
      24,
      2,
      { "A", "B", "µ", "µµµµµ µµµµµ µµµµµµ" },
      "  A  B\n  µ  µµµµµ µµµµµ µµµµµµ\n" },
    { "wide characters take two columns, marks that combine none",
      0,
      2,
      { "POD", "WHY", "节点", "不可调度", "cafe\xcc\x81", "ok", "ab\xe2\x80\x8b", "x" },
      "  POD   WHY\n  节点  不可调度\n  cafe\xcc\x81  ok\n  ab\xe2\x80\x8b    x\n" },
    { "wide characters are folded without spaces, and no line begins with a full stop",
      21,
      2,
      { "A", "B", "a", "节点资源不足以运行。这个容器" },
      "  A  B\n  a  节点资源不足以运\n     行。这个容器\n" },
    { "what a terminal would obey is a question mark, also beyond ASCII",
      0,
      1,
      { "A", "x\033[2Jy\xc2\x9bz\xff" },
      "  A\n  x?[2Jy?z?\n" },
};

static void test_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table_cases); i++) {
        const struct table_case *c = &table_cases[i];
        struct strbuf out = { 0 };
        struct term term = { .out = &out, .width = c->width ? c->width : TERM_WIDTH_FILE, .folds = c->width };
        struct grid grid = { 0 };
        for (size_t n = 0; n < ARRAY_SIZE(c->cells) && c->cells[n]; n++) {
            if (n < c->columns)
                grid_columns(&grid, c->cells[n]);
            else
                grid_cell(&grid, PAINT_NONE, "%s", c->cells[n]);
        }
        grid_print(&grid, &term, 2);
        if (strcmp(out.text, c->want) != 0)
            fail_msg("%s:\n%swanted:\n%s", c->name, out.text, c->want);
        grid_release(&grid);
        strbuf_release(&out);
    }
}

static void test_wrapped_text(void **state)
{
    (void)state;
    struct strbuf out = { 0 };
    struct term term = { .out = &out, .width = 30 };
    term_wrap(&term, 4, STR("what would not fit on one line goes on below, at the indentation"));
    assert_string_equal(out.text, "    what would not fit on one\n"
                                  "    line goes on below, at the\n"
                                  "    indentation\n");
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_wrapped_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
