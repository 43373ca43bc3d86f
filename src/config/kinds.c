/* kinds.c: see kinds.h. */
#include "config/kinds.h"

#include "base/duration.h"
#include "codec/record_ops.h"

READ(duration_read)
{
    struct str text = doc_text(val);
    if (!yyjson_is_str(val) || !duration_parse(text, at))
        return record_expected(reader, path, val, "a duration such as \"1m30s\"");
    return 0;
}

WRITE(duration_write)
{
    char text[DURATION_TEXT_MAX];
    duration_format(*(const int64_t *)at, text);
    json_str(writer->json, str_from(text));
}

PUT_KEY(duration_put_key)
{
    strbuf_add(out, at, sizeof(int64_t));
}

static const struct record_ops duration_ops = { .read = duration_read,
                                                .write = duration_write,
                                                .put_key = duration_put_key };
const struct record_kind record_DURATION = {
    .ops = &duration_ops, .size = sizeof(int64_t), .empty = EMPTY_NEVER, .reads_null = true
};
const struct record_kind record_OPT_DURATION = RECORD_OPTIONAL(DURATION, struct opt_int64, WIRE_BYTES);

int config_read(const struct doc *doc, yyjson_val *val, const struct record_type *type,
                const struct path *path, struct arena *arena, void *ret, struct error *err)
{
    struct record_reader reader = {
        .arena = arena, .keep = arena_str, .err = err, .doc = doc, .mode = RECORD_STRICT
    };
    return record_read(&reader, path, val, type, ret);
}

const struct record_kind record_WEIGHTS = RECORD_MAP_OF(INT64, struct named_weight, weight);
