/* A name without a tag means the tag "latest"; a registry's port is no tag. */
#include "support/test.h"

#include "api/image_name.h"

static void test_normalize(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "nginx", "nginx:latest" },
        { "nginx:1.27", "nginx:1.27" },
        { "localhost:5000/nginx", "localhost:5000/nginx:latest" },
        { "localhost:5000/nginx:1", "localhost:5000/nginx:1" },
        { "docker.io/library/nginx", "docker.io/library/nginx:latest" },
        { "nginx@sha256:abc", "nginx@sha256:abc" },
        { "", ":latest" },
        { "a/", "a/:latest" },
        { ":", ":" },
    };
    struct arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_str(image_name_normalize(str_from(cases[i][0]), &arena), cases[i][1]);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_normalize) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
