/* ImageLocality: nodes that already have the images. */
#include "support/fixture.h"

extern const struct plugin plugin_image_locality;

#define HAS(name, images) "{kind: Node, metadata: {name: " name "}, status: {images: [" images "]}}\n---\n"
#define RUNS(images) "{kind: Pod, metadata: {name: p}, spec: {" images "}}"

struct score_case {
    const char *name, *nodes, *pod;
    int64_t want[2];
};

/* 300 MiB on one node of two counts as 150; (150 - 23) / (1000 - 23) of 100 is 12. */
#define SIZE_300 "314572800"
#define SIZE_4000 "4194304000"

static const struct score_case cases[] = {
    { "no node has it",
      HAS("a", "") HAS("b", ""),
      RUNS("containers: [{name: c, image: 'app:v1'}]"),
      { 0, 0 } },
    { "one has it",
      HAS("a", "{names: ['app:v1'], sizeBytes: " SIZE_300 "}") HAS("b", ""),
      RUNS("containers: [{name: c, image: 'app:v1'}]"),
      { 12, 0 } },
    { "both have it",
      HAS("a", "{names: ['app:v1'], sizeBytes: " SIZE_300 "}")
          HAS("b", "{names: ['app:v1'], sizeBytes: " SIZE_300 "}"),
      RUNS("containers: [{name: c, image: 'app:v1'}]"),
      { 28, 28 } },
    { "the size is that of the first node",
      HAS("a", "{names: ['app:v1'], sizeBytes: " SIZE_300 "}") HAS("b", "{names: ['app:v1'], sizeBytes: 1}"),
      RUNS("containers: [{name: c, image: 'app:v1'}]"),
      { 28, 28 } },
    { "no tag means latest",
      HAS("a", "{names: ['app:latest'], sizeBytes: " SIZE_300 "}") HAS("b", ""),
      RUNS("containers: [{name: c, image: app}]"),
      { 12, 0 } },
    { "a port is no tag",
      HAS("a", "{names: ['host:5000/app:latest'], sizeBytes: " SIZE_300 "}") HAS("b", ""),
      RUNS("containers: [{name: c, image: 'host:5000/app'}]"),
      { 12, 0 } },
    { "another name of the image",
      HAS("a", "{names: ['x@sha256:1', 'app:v1'], sizeBytes: " SIZE_300 "}") HAS("b", ""),
      RUNS("containers: [{name: c, image: 'app:v1'}]"),
      { 12, 0 } },
    { "never more than 100",
      HAS("a", "{names: ['app:v1'], sizeBytes: " SIZE_4000 "}") HAS("b", ""),
      RUNS("containers: [{name: c, image: 'app:v1'}]"),
      { 100, 0 } },
    { "twice the image counts twice, over two containers",
      HAS("a", "{names: ['app:v1'], sizeBytes: " SIZE_300 "}") HAS("b", ""),
      RUNS("initContainers: [{name: i, image: 'app:v1'}], containers: [{name: c, image: 'app:v1'}]"),
      { 14, 0 } },
    { "an image volume counts as a container does",
      HAS("a", "{names: ['data:v1'], sizeBytes: " SIZE_300 "}") HAS("b", ""),
      RUNS("containers: [{name: c, image: 'app:v1'}], volumes: [{name: v, image: {reference: 'data:v1'}}]"),
      { 6, 0 } },
};

static void test_scores(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t got[2];
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_image_locality);
        fixture_load(&f, cases[i].nodes);
        fixture_cycle(&f, cases[i].pod);
        assert_true(fixture_scores(&f, (const char *const[]){ "a", "b", NULL }, got));
        for (int n = 0; n < 2; n++)
            if (got[n] != cases[i].want[n])
                fail_msg("%s: node %d: got %lld, want %lld", cases[i].name, n, (long long)got[n],
                         (long long)cases[i].want[n]);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_scores) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
