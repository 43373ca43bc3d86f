/* changes_add.c: nodes that are added: copies of a node of the input, or of those of a file. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/spelling.h"
#include "input/changes.h"
#include "input/node_copy.h"

enum { NODES_ADDED_MAX = 100000 };

static void add_copies(struct changes *changes, struct load *load, const struct node *of, int64_t count,
                       struct str label)
{
    struct arena *arena = &changes->arena;
    for (int64_t i = 0, number = 0; i < count; i++) {
        struct str name;
        do
            name = arena_printf(arena, STR_FMT "-new-%lld", STR_ARG(of->meta.name), (long long)++number);
        while (load_find(load, KIND_NODE, (struct str){ 0 }, name));
        struct node_copy copy;
        node_copy_make(&copy, load, of, name, arena);
        load_put(load, KIND_NODE, &copy.node->meta);
        vec_for(&copy.companions, companion)
            load_put(load, companion->kind, companion->object);
        changes_note(changes, CHANGE_ADD, KIND_NODE, &copy.node->meta)->of = label;
        node_copy_release(&copy);
    }
}

/* ---- files ---- */

static bool looks_like_a_file(struct str word)
{
    static const struct str endings[] = { STR(".yaml"), STR(".yml"), STR(".json"), STR(".jsonl") };
    for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
        if (str_ends_with(word, endings[i]))
            return true;
    return str_find(word, '/') >= 0;
}

/* Each node of the file so many times. */
static int add_from_file(struct changes *changes, struct load *load, struct str path, int64_t count,
                         struct error *err)
{
    struct load *template = xcalloc(1, sizeof(*template));
    *vec_push(&changes->templates) = template;
    const char *text = arena_str(&changes->arena, path).ptr;
    int r = load_path(template, text, err);
    if (r < 0)
        return r;
    const object_vec *nodes = &template->objects[KIND_NODE];
    if (!nodes->len)
        return error_at(err, -ENOENT, text, 0, 0, "--add: there is no Node in it");
    if ((int64_t)nodes->len * count > NODES_ADDED_MAX)
        return error_set(err, -E2BIG, "--add: at most %d nodes can be added", NODES_ADDED_MAX);
    vec_for(nodes, node)
        add_copies(changes, load, (const struct node *)*node, count, arena_str(&changes->arena, path));
    return 0;
}

int changes_add_nodes(struct changes *changes, struct load *load, struct str word, struct error *err)
{
    struct str of = word;
    int64_t count = 1;
    if (str_find(word, '=') >= 0) {
        struct str number = str_cut(&of, '=');
        if (!str_to_int64(number, &count) || count < 0 || count > NODES_ADDED_MAX || str_empty(of))
            return error_set(
                err, -EINVAL,
                "--add: expected NUMBER=NODE or NUMBER=FILE with a number up to %d, got \"" STR_FMT "\"",
                NODES_ADDED_MAX, STR_ARG(word));
    }
    const struct node *node = load_find(load, KIND_NODE, (struct str){ 0 }, of);
    struct stat info;
    if (node)
        add_copies(changes, load, node, count, node->meta.name);
    else if (looks_like_a_file(of) || stat(arena_str(&changes->arena, of).ptr, &info) == 0)
        return add_from_file(changes, load, of, count, err);
    else
        return changes_no_node(load, CHANGE_ADD, of, err);
    return 0;
}
