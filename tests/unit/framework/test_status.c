/* Statuses: their names, which of them make a pod wait, and how reasons are joined into a message. */
#include "support/test.h"

#include "framework/status.h"

struct code_case {
    enum status_code code;
    const char *name;
    bool ok, rejected;
};

static const struct code_case codes[] = {
    { STATUS_SUCCESS, "Success", true, false },
    { STATUS_ERROR, "Error", false, false },
    { STATUS_UNSCHEDULABLE, "Unschedulable", false, true },
    { STATUS_UNRESOLVABLE, "UnschedulableAndUnresolvable", false, true },
    { STATUS_WAIT, "Wait", false, false },
    { STATUS_SKIP, "Skip", false, false },
    { STATUS_PENDING, "Pending", false, true },
};

static void test_codes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        struct status status = { .code = codes[i].code };
        assert_string_equal(status_code_name(codes[i].code), codes[i].name);
        assert_int_equal(status_ok(status), codes[i].ok);
        assert_int_equal(status_rejected(status), codes[i].rejected);
    }
    assert_string_equal(status_code_name((enum status_code)99), "Unknown");
    assert_true(status_ok(STATUS_OK));
    assert_int_equal(STATUS_SKIPPED.code, STATUS_SKIP);
}

struct message_case {
    const char *reasons[3];
    const char *want;
};

static const struct message_case messages[] = {
    { { NULL }, "" },
    { { "one" }, "one" },
    { { "Insufficient cpu", "Insufficient memory" }, "Insufficient cpu, Insufficient memory" },
    { { "b", "", "a" }, "b, , a" },
};

static void test_messages(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
        struct str reasons[3];
        struct status status = { .code = STATUS_UNSCHEDULABLE, .reasons = reasons };
        while (status.len < 3 && messages[i].reasons[status.len]) {
            reasons[status.len] = str_from(messages[i].reasons[status.len]);
            status.len++;
        }
        assert_str(status_message(status, &arena), messages[i].want);
    }
    struct status made = status_printf(&arena, STATUS_ERROR, "node %s has %d", "n", 3);
    assert_int_equal(made.code, STATUS_ERROR);
    assert_str(status_message(made, &arena), "node n has 3");
    assert_str(status_message(reject(STATUS_UNRESOLVABLE, "no"), &arena), "no");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
