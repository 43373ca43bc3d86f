/* fields_by_tag.c: the field tables once more, each row at the place of its tag, so that a reader of protobuf finds it
 * without a search. Two rows of one tag do not compile. */
#include "api/fields.h"

#include "api/labels.h"

#define ROW(json, tag, kind, place, type) [tag] = { json, sizeof(json) - 1, tag, place, kind, type }
#include "api/fields_all.def"

const struct type *const api_types_by_tag[KIND_COUNT] = {
#define X(name, ...) [KIND_##name] = &KIND_##name##_type,
    API_KINDS(X)
#undef X
};

const struct type *const api_status_by_tag = &status_type;
