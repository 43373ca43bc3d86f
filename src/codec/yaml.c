/* yaml.c: libyaml's events become a yyjson document.
 *
 * The values of a document are laid out as yyjson lays them out: one array in document order, in which a container
 * knows how far it reaches. That makes an alias a copy of a range, and a position an entry of a second array with
 * the same index:
 *
 *     a: &x [1, 2]        vals       {3}  "a"  [2]  1    2    "b"  [2]  1    2    "c"  true
 *     b: *x               positions  1:1  1:1  1:4  1:8  1:11 2:1  1:4  1:8  1:11 3:1  3:4
 *     c: on
 *
 * Merge keys: the key "<<" becomes a gap (a value of no type), its value stays behind the gap, and what the maps in
 * it hold is copied to the end of the map that is being read. Where a key is then there twice, the earlier one
 * becomes a gap too: that is how yaml.v2 lets the later one win. Gaps are closed once, when the document ends, so
 * no index moves while anchors may refer to it. A key written twice is an error.
 *
 * Bounds: DOC_DEPTH_MAX containers in one another, and what aliases and merges may add (EXPANDED_MAX values, or a
 * tenth of the document if that is more), which is what yaml.v2 allows. */
#include "codec/yaml.h"

#include <yaml.h>

#include "base/map.h"
#include "base/secret.h"
#include "base/vec.h"
#include "codec/yaml_scalar.h"

enum {
    EVENTS_BETWEEN_PROGRESS = 4096,
    EXPANDED_MAX = 400000,
    DIRECTIVES_MAX = 1000, /* libyaml compares each with all before it */
    KEYS_COMPARED_MAX = 12,
    SHOWN_MAX = 100, /* bytes of the input in a message */
};

/* A column never reaches this bit: columns are below DOC_BYTES_MAX. It marks a key that came by a merge. */
static const uint64_t position_merged = (uint64_t)1 << 31;

struct anchor {
    bool open;       /* we are inside the container it names */
    uint32_t height; /* containers on the longest way down; 0: a scalar */
    size_t index;    /* of a container */
    yyjson_val scalar;
    uint64_t position;
};

/* A container that is being read. */
struct frame {
    size_t index, count;
    size_t anchor; /* number + 1; 0: none */
    size_t gap;    /* index of the merge key whose value comes next; 0: none */
    uint32_t height;
    bool is_map, has_key;
};

struct entry {
    struct str key;
    size_t index;
};

struct yaml {
    yaml_parser_t parser;
    const struct doc_stream *stream;
    struct error *err; /* of the running yaml_next() */
    VEC(yyjson_val) vals;
    VEC(uint64_t) positions;
    VEC(struct anchor) anchors;
    struct strmap anchor_numbers; /* name to number + 1 */
    VEC(struct entry) entries;    /* scratch, to find keys that are there twice */
    struct arena strings;
    struct frame frames[DOC_DEPTH_MAX];
    size_t depth, expanded_count;
    bool has_gaps;
};

/* What libyaml allocates with. It copies each scalar several times, and those of a kubeconfig are secrets: these take
 * the place of the library's own functions where it is shared, and overwrite what is freed. Weak: a library that is
 * linked in as an archive keeps its own. */
void *yaml_malloc(size_t size);
void *yaml_realloc(void *ptr, size_t size);
void yaml_free(void *ptr);

__attribute__((weak)) void *yaml_malloc(size_t size)
{
    return secret_malloc(size);
}

__attribute__((weak)) void *yaml_realloc(void *ptr, size_t size)
{
    return secret_realloc(ptr, size);
}

__attribute__((weak)) void yaml_free(void *ptr)
{
    secret_free(ptr);
}

#define FAIL(yaml, position, ...) \
    error_at((yaml)->err, -EINVAL, (yaml)->stream->path, (position) >> 32, (position) & INT32_MAX, \
             __VA_ARGS__)
/* Like STR_ARG, cut. */
#define SHOWN(s) (int)MIN((s).len, (uint32_t)SHOWN_MAX), (s).ptr

static uint64_t mark_position(yaml_mark_t mark)
{
    return (uint64_t)(mark.line + 1) << 32 | MIN(mark.column + 1, (size_t)INT32_MAX);
}

static struct frame *top(struct yaml *yaml)
{
    return yaml->depth ? &yaml->frames[yaml->depth - 1] : NULL;
}

static bool expects_key(struct yaml *yaml)
{
    const struct frame *frame = top(yaml);
    return frame && frame->is_map && !frame->has_key;
}

static void push(struct yaml *yaml, yyjson_val val, uint64_t position)
{
    *vec_push(&yaml->vals) = val;
    *vec_push(&yaml->positions) = position;
}

/* How many values there are from this one to its next sibling. */
static size_t extent(const struct yaml *yaml, size_t index)
{
    yyjson_val *val = &yaml->vals.items[index];
    return (size_t)(unsafe_yyjson_get_next(val) - val);
}

static bool is_gap(const yyjson_val *val)
{
    return val->tag == YYJSON_TYPE_NONE;
}

/* Copies a range of values to the end. */
static int copy_values(struct yaml *yaml, size_t from, size_t count, uint64_t position)
{
    size_t at = yaml->vals.len;
    yaml->expanded_count += count;
    if (yaml->expanded_count > EXPANDED_MAX && yaml->expanded_count > (at + count) / 10)
        return FAIL(yaml, position, "aliases make the document too large");
    vec_reserve(&yaml->vals, at + count);
    vec_reserve(&yaml->positions, at + count);
    memcpy(yaml->vals.items + at, yaml->vals.items + from, count * sizeof(yyjson_val));
    memcpy(yaml->positions.items + at, yaml->positions.items + from, count * sizeof(uint64_t));
    yaml->vals.len = yaml->positions.len = at + count;
    return 0;
}

/* Copies the entries of the map at `map` to the end of the map that is being read. */
static int merge_map(struct yaml *yaml, size_t map, uint64_t position)
{
    struct frame *frame = top(yaml);
    if (!yyjson_is_obj(&yaml->vals.items[map]))
        return FAIL(yaml, position, "a merge (<<) takes a map or a list of maps");
    size_t end = map + extent(yaml, map);
    for (size_t key = map + 1; key < end;) {
        size_t count = 1 + extent(yaml, key + 1);
        if (!is_gap(&yaml->vals.items[key])) {
            size_t copy = yaml->vals.len;
            int r = copy_values(yaml, key, count, position);
            if (r < 0)
                return r;
            yaml->positions.items[copy] |= position_merged;
            frame->count++;
        }
        key += count;
    }
    return 0;
}

/* The value of a merge key is complete. Of several maps the first has the last word, so it is copied last. */
static int merge_value(struct yaml *yaml, size_t gap)
{
    size_t value = gap + 1;
    uint64_t position = yaml->positions.items[gap];
    if (!yyjson_is_arr(&yaml->vals.items[value]))
        return merge_map(yaml, value, position);
    size_t first = yaml->entries.len, end = value + extent(yaml, value);
    for (size_t item = value + 1; item < end; item += extent(yaml, item))
        *vec_push(&yaml->entries) = (struct entry){ .index = item };
    int r = 0;
    while (r == 0 && yaml->entries.len > first)
        r = merge_map(yaml, yaml->entries.items[--yaml->entries.len].index, position);
    vec_clear(&yaml->entries);
    return r;
}

/* A value is complete: its container takes note. */
static int value_done(struct yaml *yaml, uint32_t height)
{
    struct frame *frame = top(yaml);
    if (!frame)
        return 0;
    frame->height = MAX(frame->height, height);
    frame->count++;
    frame->has_key = false;
    size_t gap = frame->gap;
    frame->gap = 0;
    return gap ? merge_value(yaml, gap) : 0;
}

static int add_scalar(struct yaml *yaml, yyjson_val val, uint64_t position)
{
    if (!expects_key(yaml)) {
        yaml_scalar_settle(&val);
        push(yaml, val, position);
        return value_done(yaml, 0);
    }
    if (yyjson_is_null(&val))
        return FAIL(yaml, position, "a key of a map may not be null");
    if (!yyjson_is_str(&val)) {
        char buf[DECIMAL_LEN_MAX];
        struct str text = yaml_scalar_key(&val, buf);
        unsafe_yyjson_set_strn(&val, arena_strndup(&yaml->strings, text.ptr, text.len), text.len);
    }
    push(yaml, val, position);
    top(yaml)->has_key = true;
    return 0;
}

/* A node with a name. Returns the anchor's number + 1, or 0 if there is no name. */
static size_t name_anchor(struct yaml *yaml, const yaml_char_t *name, struct anchor anchor)
{
    if (!name)
        return 0;
    const char *text = (const char *)name;
    struct str key = arena_str(&yaml->strings, str_from(text));
    *vec_push(&yaml->anchors) = anchor;
    strmap_put(&yaml->anchor_numbers, key, (void *)(uintptr_t)yaml->anchors.len);
    return yaml->anchors.len;
}

static int on_alias(struct yaml *yaml, const yaml_event_t *event)
{
    uint64_t position = mark_position(event->start_mark);
    struct str name = str_from((const char *)event->data.alias.anchor);
    size_t number = (uintptr_t)strmap_get(&yaml->anchor_numbers, name);
    if (!number)
        return FAIL(yaml, position, "unknown anchor '%.*s'", SHOWN(name));
    const struct anchor anchor = yaml->anchors.items[number - 1];
    if (anchor.open)
        return FAIL(yaml, position, "the value of anchor '%.*s' contains itself", SHOWN(name));
    if (anchor.height == 0) {
        if (++yaml->expanded_count > EXPANDED_MAX && yaml->expanded_count > yaml->vals.len / 10)
            return FAIL(yaml, position, "aliases make the document too large");
        return add_scalar(yaml, anchor.scalar, anchor.position);
    }
    if (expects_key(yaml))
        return FAIL(yaml, position, "a key of a map must be a scalar");
    if (yaml->depth + anchor.height > DOC_DEPTH_MAX)
        return FAIL(yaml, position, "nested deeper than %d levels", DOC_DEPTH_MAX);
    int r = copy_values(yaml, anchor.index, extent(yaml, anchor.index), position);
    return r < 0 ? r : value_done(yaml, anchor.height);
}

static bool is_merge_key(const yaml_event_t *event)
{
    const char *tag = (const char *)event->data.scalar.tag;
    return event->data.scalar.length == 2 && memcmp(event->data.scalar.value, "<<", 2) == 0 &&
           (event->data.scalar.plain_implicit || (tag && strcmp(tag, "tag:yaml.org,2002:merge") == 0));
}

static int on_scalar(struct yaml *yaml, const yaml_event_t *event)
{
    uint64_t position = mark_position(event->start_mark);
    if (expects_key(yaml) && is_merge_key(event)) {
        struct frame *frame = top(yaml);
        frame->gap = yaml->vals.len;
        frame->has_key = yaml->has_gaps = true;
        push(yaml, (yyjson_val){ .tag = YYJSON_TYPE_NONE }, position);
        return 0;
    }
    const char *value = (const char *)event->data.scalar.value, *tag = (const char *)event->data.scalar.tag;
    struct str text = { value, (uint32_t)event->data.scalar.length };
    enum yaml_scalar_kind kind = YAML_SCALAR_STRING;
    yyjson_val val = { 0 };
    if (tag) {
        const char *problem = yaml_scalar_tagged(text, tag, &kind, &val);
        if (problem)
            return FAIL(yaml, position, "%s", problem);
    } else if (event->data.scalar.plain_implicit) {
        kind = yaml_scalar_resolve(text, &val);
    }
    if (kind == YAML_SCALAR_ENDLESS)
        return FAIL(yaml, position, "%.*s is not a number that JSON can hold", SHOWN(text));
    if (kind == YAML_SCALAR_STRING)
        unsafe_yyjson_set_strn(&val, arena_strndup(&yaml->strings, text.ptr, text.len), text.len);
    struct anchor anchor = { .scalar = val, .position = position };
    name_anchor(yaml, event->data.scalar.anchor, anchor);
    return add_scalar(yaml, val, position);
}

static int on_begin(struct yaml *yaml, const yaml_event_t *event, bool is_map)
{
    uint64_t position = mark_position(event->start_mark);
    if (expects_key(yaml))
        return FAIL(yaml, position, "a key of a map must be a scalar");
    if (yaml->depth == DOC_DEPTH_MAX)
        return FAIL(yaml, position, "nested deeper than %d levels", DOC_DEPTH_MAX);
    const yaml_char_t *name = is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    struct anchor anchor = { .open = true, .index = yaml->vals.len };
    yaml->frames[yaml->depth++] = (struct frame){
        .index = yaml->vals.len,
        .anchor = name_anchor(yaml, name, anchor),
        .is_map = is_map,
    };
    push(yaml, (yyjson_val){ .tag = is_map ? YYJSON_TYPE_OBJ : YYJSON_TYPE_ARR }, position);
    return 0;
}

static struct str key_text(const struct yaml *yaml, size_t index)
{
    yyjson_val *val = &yaml->vals.items[index];
    return (struct str){ val->uni.str, (uint32_t)unsafe_yyjson_get_len(val) };
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = str_cmp(x->key, y->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Are there no two equal keys in scratch? Says so only for a few keys; most maps are small. */
static bool surely_distinct(const struct yaml *yaml)
{
    if (yaml->entries.len > KEYS_COMPARED_MAX)
        return false;
    vec_for(&yaml->entries, entry)
        for (const struct entry *other = yaml->entries.items; other != entry; other++)
            if (str_eq(entry->key, other->key))
                return false;
    return true;
}

/* Of keys that are there twice, the last one stays; two that were written (not merged) are an error. */
static int settle_keys(struct yaml *yaml, const struct frame *frame)
{
    vec_clear(&yaml->entries);
    for (size_t key = frame->index + 1; key < yaml->vals.len; key += 1 + extent(yaml, key + 1))
        if (!is_gap(&yaml->vals.items[key]))
            *vec_push(&yaml->entries) = (struct entry){ key_text(yaml, key), key };
    if (surely_distinct(yaml))
        return 0;
    qsort(yaml->entries.items, yaml->entries.len, sizeof(struct entry), compare_entries);
    uint64_t written = 0; /* where the running key was written */
    for (size_t i = 0; i < yaml->entries.len; i++) {
        const struct entry *entry = &yaml->entries.items[i];
        bool again = i > 0 && str_eq(entry[-1].key, entry->key);
        uint64_t position = yaml->positions.items[entry->index];
        bool merged = position & position_merged;
        if (again && written && !merged)
            return FAIL(yaml, position, "the key \"%.*s\" is there twice, first on line %zu",
                        SHOWN(entry->key), (size_t)(written >> 32));
        if (again)
            yaml->vals.items[entry[-1].index].tag = YYJSON_TYPE_NONE;
        else
            written = 0;
        if (!merged)
            written = position;
    }
    vec_clear(&yaml->entries);
    return 0;
}

static int on_end(struct yaml *yaml)
{
    const struct frame frame = *top(yaml);
    yyjson_val *val = &yaml->vals.items[frame.index];
    val->tag |= (uint64_t)frame.count << YYJSON_TAG_BIT;
    val->uni.ofs = (yaml->vals.len - frame.index) * sizeof(yyjson_val);
    int r = frame.is_map ? settle_keys(yaml, &frame) : 0;
    if (r < 0)
        return r;
    if (frame.anchor) {
        yaml->anchors.items[frame.anchor - 1].open = false;
        yaml->anchors.items[frame.anchor - 1].height = frame.height + 1;
    }
    yaml->depth--;
    return value_done(yaml, frame.height + 1);
}

/* Moves values down over the gaps and their values; containers shrink accordingly. */
static void close_gaps(struct yaml *yaml)
{
    struct {
        size_t index, end; /* the new index, the old end */
    } open[DOC_DEPTH_MAX + 1];
    size_t depth = 0, to = 0;
    yyjson_val *vals = yaml->vals.items;
    for (size_t from = 0; from <= yaml->vals.len;) {
        while (depth && open[depth - 1].end == from) {
            yyjson_val *container = &vals[open[--depth].index];
            container->uni.ofs = (to - open[depth].index) * sizeof(yyjson_val);
        }
        if (from == yaml->vals.len)
            break;
        if (is_gap(&vals[from])) {
            vals[open[depth - 1].index].tag -= (uint64_t)1 << YYJSON_TAG_BIT;
            from += 1 + extent(yaml, from + 1);
            continue;
        }
        size_t end = from + extent(yaml, from);
        vals[to] = vals[from];
        yaml->positions.items[to] = yaml->positions.items[from] & ~position_merged;
        if (unsafe_yyjson_is_ctn(&vals[to])) {
            open[depth].index = to;
            open[depth++].end = end;
        }
        from++;
        to++;
    }
    yaml->vals.len = yaml->positions.len = to;
}

static void *heap_malloc(_unused_ void *ctx, size_t size)
{
    return malloc(size);
}

static void *heap_realloc(_unused_ void *ctx, void *ptr, _unused_ size_t old_size, size_t size)
{
    return realloc(ptr, size);
}

static void heap_free(_unused_ void *ctx, void *ptr)
{
    free(ptr);
}

/* Hands the finished document over. yyjson_doc_free() frees the values as what it takes for the pool of strings. */
static void take_doc(struct yaml *yaml, struct doc *ret)
{
    size_t count = yaml->vals.len;
    yyjson_doc *json = xcalloc(1, sizeof(*json));
    json->alc = (yyjson_alc){ heap_malloc, heap_realloc, heap_free, NULL };
    json->root = xreallocarray(NULL, count, sizeof(yyjson_val));
    json->val_read = count;
    json->dat_read = yaml->stream->len;
    json->str_pool = (char *)json->root;
    memcpy(json->root, yaml->vals.items, count * sizeof(yyjson_val));
    uint64_t *positions = xreallocarray(NULL, count, sizeof(uint64_t));
    memcpy(positions, yaml->positions.items, count * sizeof(uint64_t));
    *ret = (struct doc){
        .stream = yaml->stream,
        .json = json,
        .root = json->root,
        .positions = positions,
        .strings = yaml->strings,
    };
    yaml->strings = (struct arena){ 0 };
}

static void forget_doc(struct yaml *yaml)
{
    vec_clear(&yaml->vals);
    vec_clear(&yaml->positions);
    vec_clear(&yaml->anchors);
    strmap_release(&yaml->anchor_numbers);
    arena_reset(&yaml->strings);
    yaml->depth = yaml->expanded_count = 0;
    yaml->has_gaps = false;
}

/* The document is complete. 1 if it was handed out, 0 if it is empty. */
static int on_document_end(struct yaml *yaml, struct doc *ret)
{
    if (yaml->has_gaps)
        close_gaps(yaml);
    bool empty = yaml->vals.len == 0 || yyjson_is_null(yaml->vals.items);
    if (!empty)
        take_doc(yaml, ret);
    forget_doc(yaml);
    return !empty;
}

static int on_event(struct yaml *yaml, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return on_alias(yaml, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(yaml, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_begin(yaml, event, false);
    case YAML_MAPPING_START_EVENT:
        return on_begin(yaml, event, true);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(yaml);
    default:
        return 0;
    }
}

/* Is this place, of line and column from 0, a tab among the spaces that its line begins with? */
static bool is_tab_of_indentation(const struct doc_stream *stream, size_t line, size_t column)
{
    size_t begin = line && line <= stream->line_end_count ? stream->line_ends[line - 1] + (size_t)1 : 0;
    for (size_t at = begin; at < stream->len && at < begin + column; at++)
        if (stream->text[at] != ' ' && stream->text[at] != '\t')
            return false;
    return begin + column < stream->len && stream->text[begin + column] == '\t';
}

/* What libyaml complains about, in a sentence. */
static int parser_error(const struct yaml *yaml)
{
    const yaml_parser_t *parser = &yaml->parser;
    const char *problem = parser->problem ? parser->problem : "cannot be parsed";
    if (parser->error == YAML_MEMORY_ERROR)
        return error_at(yaml->err, -ENOMEM, yaml->stream->path, 0, 0, "out of memory");
    if (parser->error == YAML_READER_ERROR) {
        size_t line, column;
        doc_stream_where(yaml->stream, yaml->stream->at + parser->problem_offset, &line, &column);
        return error_at(yaml->err, -EINVAL, yaml->stream->path, line, column, "%s", problem);
    }
    uint64_t position = mark_position(parser->problem_mark);
    if (is_tab_of_indentation(yaml->stream, parser->problem_mark.line, parser->problem_mark.column))
        return FAIL(yaml, position, "a tab, but YAML is indented with spaces");
    if (parser->context && parser->context_mark.line != parser->problem_mark.line)
        return FAIL(yaml, position, "%s %s that begins on line %zu", problem, parser->context,
                    parser->context_mark.line + 1);
    if (parser->context)
        return FAIL(yaml, position, "%s %s", problem, parser->context);
    return FAIL(yaml, position, "%s", problem);
}

/* libyaml's time grows with the square of the number of directives of a document. */
static int check_directives(const struct doc_stream *stream, struct error *err)
{
    const char *at = stream->text, *end = stream->text + stream->len;
    size_t count = 0;
    while ((at = memmem(at, (size_t)(end - at), "\n%", 2))) {
        at += 2;
        if (++count > DIRECTIVES_MAX) {
            size_t line, column;
            doc_stream_where(stream, (size_t)(at - 1 - stream->text), &line, &column);
            return error_at(err, -EINVAL, stream->path, line, column, "more than %d directives",
                            DIRECTIVES_MAX);
        }
    }
    return 0;
}

static int yaml_start(struct doc_stream *stream, struct error *err)
{
    struct yaml *yaml = xcalloc(1, sizeof(*yaml));
    stream->parser = yaml;
    if (!yaml_parser_initialize(&yaml->parser))
        return error_at(err, -ENOMEM, stream->path, 0, 0, "out of memory");
    const unsigned char *text = (const unsigned char *)stream->text + stream->at;
    yaml_parser_set_encoding(&yaml->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&yaml->parser, text, stream->len - stream->at);
    return check_directives(stream, err);
}

int yaml_next(struct doc_stream *stream, struct doc *ret, struct error *err)
{
    int r = stream->parser ? 0 : yaml_start(stream, err);
    if (r < 0)
        return r;
    struct yaml *yaml = stream->parser;
    yaml->stream = stream;
    yaml->err = err;
    yaml->strings.secret = stream->secret;
    for (size_t events = 1;; events++) {
        yaml_event_t event;
        if (!yaml_parser_parse(&yaml->parser, &event))
            return parser_error(yaml);
        if (stream->on_progress && events % EVENTS_BETWEEN_PROGRESS == 0)
            stream->on_progress(stream, MIN((double)yaml->parser.mark.index / (double)stream->len, 1));
        yaml_event_type_t type = event.type;
        r = on_event(yaml, &event);
        yaml_event_delete(&event);
        if (r < 0)
            return r;
        if (type == YAML_STREAM_END_EVENT) {
            stream->at = stream->len;
            return 0;
        }
        if (type == YAML_DOCUMENT_END_EVENT && on_document_end(yaml, ret))
            return 1;
    }
}

void yaml_release(struct doc_stream *stream)
{
    struct yaml *yaml = stream->parser;
    if (!yaml)
        return;
    yaml_parser_delete(&yaml->parser);
    vec_release(&yaml->vals);
    vec_release(&yaml->positions);
    vec_release(&yaml->anchors);
    vec_release(&yaml->entries);
    strmap_release(&yaml->anchor_numbers);
    arena_release(&yaml->strings);
    free(yaml);
    stream->parser = NULL;
}
