/* Rejected nodes in groups, and the sentences about them. */
#include "support/fixture.h"

#include "whatif/rejections.h"

enum { NODES = 3 };

struct setup {
    struct fixture f;
    struct arena arena;
    struct diagnosis diagnosis;
    uint32_t rows[NODES];
    struct row_why why_of[NODES];
    struct shortfall lacks[NODES];
};

static const struct status rejected = { .code = STATUS_UNSCHEDULABLE };

/* Nodes a, b and c, all with the same status. */
static void begin(struct setup *s)
{
    *s = (struct setup){ 0 };
    FIXTURE_BARE(&s->f);
    fixture_load(&s->f, "{kind: Node, metadata: {name: a}}\n---\n{kind: Node, metadata: {name: b}}\n---\n"
                        "{kind: Node, metadata: {name: c}}");
    diagnosis_init(&s->diagnosis, &s->f.cluster, &s->arena);
    for (uint32_t i = 0; i < NODES; i++) {
        s->rows[i] = cluster_row(&s->f.cluster, str_from((const char *[]){ "a", "b", "c" }[i]));
        diagnosis_set(&s->diagnosis, s->rows[i], rejected);
    }
}

static void end(struct setup *s)
{
    diagnosis_release(&s->diagnosis);
    arena_release(&s->arena);
    fixture_release(&s->f);
}

static struct rejected_groups group(struct setup *s)
{
    for (uint32_t i = 0; i < NODES; i++)
        s->why_of[s->rows[i]] = (struct row_why){ &s->lacks[i], 1 };
    return rejections_group(&s->diagnosis, (struct row_list){ s->rows, NODES }, s->why_of, &s->arena);
}

static void assert_sentence(struct setup *s, const struct rejected_group *group, const char *wanted)
{
    assert_string_equal(rejected_group_sentence(&s->f.cluster, group, &s->arena).ptr, wanted);
}

static struct shortfall cpu(int64_t needs, int64_t free, int64_t allocatable)
{
    return (struct shortfall){
        .reason = "Resource", .resource = STR("cpu"), .needs = needs, .free = free, .allocatable = allocatable
    };
}

static void amounts_of_a_group(void **state _unused_)
{
    struct setup s;
    begin(&s);
    s.lacks[0] = cpu(3500, -200, 8000);
    s.lacks[1] = cpu(3500, 2900, 4000);
    s.lacks[2] = cpu(3500, 1000, 4000);
    struct rejected_groups groups = group(&s);
    assert_int_equal(groups.len, 1);
    assert_int_equal(groups.items[0].nodes, NODES);
    assert_int_equal(groups.items[0].closest, s.rows[1]);
    assert_sentence(&s, &groups.items[0],
                    "Insufficient cpu: needs 3.5; most free is 2.9 on b, the largest has 8");
    for (uint32_t i = 0; i < NODES; i++)
        s.lacks[i].free = -100 * (int64_t)i;
    groups = group(&s);
    assert_sentence(&s, &groups.items[0], "Insufficient cpu: needs 3.5; none is free, the largest has 8");
    assert_string_equal(shortfall_sentence(&s.lacks[1], 1, &s.arena).ptr,
                        "Insufficient cpu: needs 3.5, none of 4 is free");
    end(&s);
}

/* The largest group first; of equals the one that comes first by name. */
static void other_things_are_other_groups(void **state _unused_)
{
    struct setup s;
    begin(&s);
    s.lacks[0] = cpu(1000, 0, 1000);
    s.lacks[1] = s.lacks[2] = (struct shortfall){ .reason = "Taint",
                                                  .key = STR("x:NoSchedule"),
                                                  .sentence = STR("taint x:NoSchedule is not tolerated") };
    struct rejected_groups groups = group(&s);
    assert_int_equal(groups.len, 2);
    assert_int_equal(groups.items[0].nodes, 2);
    assert_int_equal(groups.items[0].closest, s.rows[1]);
    assert_sentence(&s, &groups.items[0], "taint x:NoSchedule is not tolerated");
    assert_sentence(&s, &groups.items[1], "Insufficient cpu: needs 1, none of 1 is free");
    s.lacks[2].key = STR("y:NoSchedule");
    groups = group(&s);
    assert_int_equal(groups.len, NODES);
    assert_int_equal(groups.items[0].closest, s.rows[0]);
    end(&s);
}

/* Nodes that lack the same label are one group, whatever they have instead. */
static void values_of_a_label(void **state _unused_)
{
    struct setup s;
    begin(&s);
    for (uint32_t i = 0; i < NODES; i++)
        s.lacks[i] = (struct shortfall){ .reason = "NodeSelector",
                                         .key = STR("disk"),
                                         .wants = STR("ssd"),
                                         .has = str_from((const char *[]){ "hdd", "", "hdd" }[i]),
                                         .shows_has = true,
                                         .sentence = STR("nodeSelector wants disk=ssd") };
    struct rejected_groups groups = group(&s);
    assert_int_equal(groups.len, 1);
    assert_sentence(&s, &groups.items[0], "nodeSelector wants disk=ssd, they have hdd or none");
    assert_string_equal(shortfall_sentence(&s.lacks[0], 2, &s.arena).ptr,
                        "nodeSelector wants disk=ssd, it has hdd; nodeSelector wants disk=ssd, it has none");
    end(&s);
}

/* Bytes that look alike in GiB are shown exactly. */
static void amounts_that_look_alike(void **state _unused_)
{
    struct arena arena = { 0 };
    struct shortfall lack = { .reason = "Resource",
                              .resource = STR("memory"),
                              .needs = INT64_C(1) << 31,
                              .free = (INT64_C(1) << 31) - 1,
                              .allocatable = INT64_C(1) << 32 };
    assert_string_equal(shortfall_sentence(&lack, 1, &arena).ptr,
                        "Insufficient memory: needs 2,147,483,648 B, has 2,147,483,647 B of 4 GiB free");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_of_a_group),
        cmocka_unit_test(other_things_are_other_groups),
        cmocka_unit_test(values_of_a_label),
        cmocka_unit_test(amounts_that_look_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
