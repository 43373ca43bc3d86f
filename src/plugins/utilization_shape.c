/* utilization_shape.c: see utilization_shape.h. */
#include "plugins/utilization_shape.h"

#include "codec/record_rows.h"

#define T struct shape_point
static const struct record_field shape_point_fields[] = {
    F("utilization", 0, INT32, utilization, RECORD_ALWAYS),
    F("score", 0, INT32, score, RECORD_ALWAYS),
};
TYPE_SHARED(shape_point)
#undef T

void shape_validate(const struct shape_point *shape, size_t len, const struct path *path,
                    struct problems *problems)
{
    if (!len)
        problem_required(problems, path, "at least one point must be specified");
    for (size_t i = 1; i < len; i++) {
        if (shape[i - 1].utilization >= shape[i].utilization) {
            problem_int(problems, PATH_FIELD(PATH_INDEX(path, i), "utilization"), shape[i].utilization,
                        "values must be sorted in increasing order");
            break;
        }
    }
    for (size_t i = 0; i < len; i++) {
        const struct path *at = PATH_INDEX(path, i);
        if (shape[i].utilization < 0 || shape[i].utilization > 100)
            problem_int(problems, PATH_FIELD(at, "utilization"), shape[i].utilization,
                        "not in valid range [0, 100]");
        if (shape[i].score < 0 || shape[i].score > 10)
            problem_int(problems, PATH_FIELD(at, "score"), shape[i].score, "not in valid range [0, 10]");
    }
}
