/* Any text: an expression has the same value and cost in each evaluation, or fails with an error, and stays within its
 * limits. */
#include "fuzz/fuzz.h"
#include "unit/cel/cases.h"

enum { BYTES_MAX = 256 << 20 };

struct outcome {
    int code;
    uint64_t cost;
    struct strbuf value;
};

static void evaluate(const struct cel_program *program, const struct cel_device *device, struct outcome *ret)
{
    struct arena scratch = { 0 };
    struct error err = { "" };
    struct cel_value value;
    struct cel_value seen = cel_device_value(device, &scratch);
    *ret = (struct outcome){ 0 };
    ret->code = cel_eval(program, &seen, &scratch, &value, &ret->cost, &err);
    must(ret->code == 0 || ret->code == -EINVAL || ret->code == -E2BIG);
    must((ret->code == 0) == (err.text[0] == '\0'));
    must(scratch.total_bytes < BYTES_MAX);
    /* A list may be too long to print: only a prefix is compared. */
    if (ret->code == 0 && value.kind != CEL_LIST && value.kind != CEL_MAP && value.kind != CEL_OPTIONAL)
        case_show(&ret->value, &value, &scratch);
    arena_release(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct case_device device;
    if (!device.device.attributes)
        case_device_init(&device, true);
    struct arena arena = { 0 };
    struct error err = { "" };
    struct cel_program *program;
    struct str text = { (const char *)data, (uint32_t)size };
    struct cel_options options = { .any_result = true, .rules = CEL_RULES_1_37 };
    if (cel_compile(text, &options, &arena, &program, &err) == 0) {
        struct outcome first, second;
        evaluate(program, &device.device, &first);
        evaluate(program, &device.device, &second);
        must(first.code == second.code && first.cost == second.cost);
        must(str_eq(strbuf_slice(&first.value), strbuf_slice(&second.value)));
        strbuf_release(&first.value);
        strbuf_release(&second.value);
    } else {
        must(err.text[0]);
    }
    must(arena.total_bytes < BYTES_MAX);
    arena_release(&arena);
    return 0;
}
