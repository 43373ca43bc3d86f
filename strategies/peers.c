/* peers.c: see peers.h. */
#include "peers.h"

enum { DOMAINS_SPARE = 1024 };

/* ---- domains ---- */
static void fill_node(const void *self, const void *object, struct row_entry *ret)
{
    struct peers *peers = (struct peers *)self;
    struct berth_str first = berth_object_label(object, peers->keys[0]), second = { NULL, 0 };
    char text[1024]; /* values of labels have at most 63 characters */
    if (peers->keys[1])
        second = berth_object_label(object, peers->keys[1]);
    int len = snprintf(text, sizeof(text) / 2, BERTH_FMT, BERTH_ARG(first));
    uint32_t total = (uint32_t)len < sizeof(text) / 2 ? (uint32_t)len : (uint32_t)sizeof(text) / 2 - 1;
    if (peers->keys[1]) {
        text[total++] = '\0';
        uint32_t more = second.len < sizeof(text) - total ? second.len : 0;
        if (more)
            memcpy(text + total, second.ptr, more);
        total += more;
    }
    ((struct peer_node *)(void *)ret)->domain = names_add(&peers->domains, (struct berth_str){ text, total });
}

struct berth_str peers_label(const struct peers *peers, uint32_t domain, uint32_t key)
{
    struct berth_str text = peers->domains.texts[domain];
    uint32_t first = (uint32_t)strnlen(text.ptr, text.len);
    if (key == 0)
        return (struct berth_str){ text.ptr, first };
    return first < text.len ? (struct berth_str){ text.ptr + first + 1, text.len - first - 1 }
                            : (struct berth_str){ "", 0 };
}

/* ---- sets ---- */
static void set_release(struct peer_set *set)
{
    free(set->text);
    free(set->rows);
    free(set->domains);
    *set = (struct peer_set){ 0 };
}

static void forget(struct peers *peers)
{
    for (uint32_t i = 0; i < peers->sets_len; i++)
        set_release(&peers->sets[i]);
    peers->sets_len = 0;
    row_cache_release(&peers->nodes);
    peers->nodes.position = 0;
    names_release(&peers->domains);
    names_add(&peers->domains, (struct berth_str){ "", 0 });
    peers->epoch++;
}

void peers_init(struct peers *peers, const char *first_key, const char *second_key)
{
    *peers = (struct peers){ .keys = { first_key, second_key },
                             .nodes = { .size = sizeof(struct peer_node), .fill = fill_node } };
}

void peers_release(struct peers *peers)
{
    forget(peers);
    names_release(&peers->domains);
}

void peers_begin(struct peers *peers, const struct berth_cluster *cluster)
{
    /* Nodes come and go, and so do domains with one node each. */
    if (cluster != peers->cluster || peers->domains.len > 4 * berth_nodes(cluster).len + DOMAINS_SPARE)
        forget(peers);
    peers->cluster = cluster;
    row_cache_begin(&peers->nodes, cluster);
}

bool peer_query_matches(const struct peer_query *query, const void *pod)
{
    if (query->namespace_.ptr && !berth_eq(berth_object_namespace(pod), query->namespace_))
        return false;
    for (uint32_t i = 0; i < query->labels_len; i++) {
        struct berth_str value = berth_object_label(pod, query->labels[i].key.ptr);
        if (!value.ptr || !berth_eq(value, query->labels[i].value))
            return false;
    }
    return true;
}

static uint32_t count_on(const struct peer_set *set, struct berth_node_view node)
{
    struct berth_pod_infos pods = berth_node_pods(node);
    uint32_t count = 0;
    for (size_t i = 0; i < pods.len; i++)
        count += peer_query_matches(&set->query, berth_info_pod(pods.items[i]));
    return count;
}

static void grow(void **items, uint32_t *len, uint32_t wanted, size_t size)
{
    if (wanted <= *len)
        return;
    uint32_t longer = wanted + wanted / 2 + 16;
    *items = realloc(*items, longer * size);
    if (!*items)
        abort();
    memset((char *)*items + *len * size, 0, (longer - *len) * size);
    *len = longer;
}

static void recount(struct peers *peers, struct peer_set *set, uint32_t row)
{
    struct berth_node_view node = berth_node(peers->cluster, row);
    bool is_there = berth_node_object(node) != NULL;
    grow((void **)&set->rows, &set->rows_len, row + 1, sizeof(*set->rows));
    struct peer_row *before = &set->rows[row];
    set->total -= before->count;
    if (before->count)
        set->domains[before->domain] -= before->count;
    *before =
        (struct peer_row){ is_there ? peers_domain(peers, node) : 0, is_there ? count_on(set, node) : 0 };
    if (!before->count)
        return;
    grow((void **)&set->domains, &set->domains_len, before->domain + 1, sizeof(*set->domains));
    set->domains[before->domain] += before->count;
    set->total += before->count;
}

static void update(struct peers *peers, struct peer_set *set)
{
    struct berth_rows rows;
    if (!berth_node_changes(peers->cluster, &set->position, &rows)) {
        free(set->rows);
        free(set->domains);
        set->rows = NULL;
        set->domains = NULL;
        set->rows_len = set->domains_len = 0;
        set->total = 0;
        rows = berth_nodes(peers->cluster);
    }
    for (uint32_t i = 0; i < rows.len; i++)
        recount(peers, set, rows.items[i]);
}

/* ---- queries ---- */
static char *put(char *at, struct berth_str *text)
{
    if (!text->ptr)
        return at;
    memcpy(at, text->ptr, text->len);
    at[text->len] = '\0';
    *text = (struct berth_str){ at, text->len };
    return at + text->len + 1;
}

static void copy_query(struct peer_set *set, const struct peer_query *query)
{
    size_t size = query->namespace_.len + 1u;
    for (uint32_t i = 0; i < query->labels_len; i++)
        size += query->labels[i].key.len + query->labels[i].value.len + 2u;
    set->text = names_alloc(size, 1);
    set->query = *query;
    char *at = put(set->text, &set->query.namespace_);
    for (uint32_t i = 0; i < query->labels_len; i++)
        at = put(put(at, &set->query.labels[i].key), &set->query.labels[i].value);
}

static bool same(const struct peer_query *a, const struct peer_query *b)
{
    if (a->labels_len != b->labels_len || !a->namespace_.ptr != !b->namespace_.ptr ||
        !berth_eq(a->namespace_, b->namespace_))
        return false;
    for (uint32_t i = 0; i < a->labels_len; i++)
        if (!berth_eq(a->labels[i].key, b->labels[i].key) ||
            !berth_eq(a->labels[i].value, b->labels[i].value))
            return false;
    return true;
}

/* A new one, in the place of the one that was used longest ago. */
static struct peer_set *make(struct peers *peers, const struct peer_query *query)
{
    struct peer_set *set = &peers->sets[0];
    if (peers->sets_len < PEER_SETS_MAX)
        set = &peers->sets[peers->sets_len++];
    else
        for (uint32_t i = 1; i < PEER_SETS_MAX; i++)
            if (peers->sets[i].used < set->used)
                set = &peers->sets[i];
    set_release(set);
    copy_query(set, query);
    return set;
}

const struct peer_set *peers_find(struct peers *peers, const struct peer_query *query)
{
    struct peer_set *set = NULL;
    for (uint32_t i = 0; i < peers->sets_len && !set; i++)
        if (same(&peers->sets[i].query, query))
            set = &peers->sets[i];
    if (!set)
        set = make(peers, query);
    set->used = ++peers->uses;
    update(peers, set);
    return set;
}
