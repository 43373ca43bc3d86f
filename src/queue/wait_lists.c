/* wait_lists.c: see wait_lists.h. */
#include "queue/wait_lists.h"

enum {
    LISTS_KEPT = 32, /* with more lists, empty ones are freed */
    PODS_KEPT = 64,  /* an empty list frees an array larger than this */
};

static bool is_list_of(const struct wait_list *list, const struct queued_pod *entry)
{
    return list->profile == entry->profile && list->unschedulable == entry->unschedulable &&
           list->pending == entry->pending && list->gate == entry->gate;
}

static void list_free(struct wait_list *list)
{
    vec_release(&list->pods);
    free(list);
}

static struct wait_list *find_or_add(struct queue *queue, const struct queued_pod *entry)
{
    vec_for(&queue->wait_lists, at)
        if (is_list_of(*at, entry))
            return *at;
    size_t looked_at = queue->wait_lists.len >= LISTS_KEPT ? queue->wait_lists.len : 0;
    for (size_t i = looked_at; i-- > 0;) {
        if (queue->wait_lists.items[i]->pods.len)
            continue;
        list_free(queue->wait_lists.items[i]);
        vec_swap_remove(&queue->wait_lists, i);
    }
    struct wait_list *list = xcalloc(1, sizeof(*list));
    *list = (struct wait_list){ .profile = entry->profile,
                                .unschedulable = entry->unschedulable,
                                .pending = entry->pending,
                                .gate = entry->gate };
    *vec_push(&queue->wait_lists) = list;
    return list;
}

void wait_lists_add(struct queue *queue, struct queued_pod *entry)
{
    struct wait_list *list = find_or_add(queue, entry);
    entry->list = list;
    entry->at = list->pods.len;
    *vec_push(&list->pods) = entry;
}

void wait_lists_remove(struct queued_pod *entry)
{
    struct wait_list *list = entry->list;
    vec_swap_remove(&list->pods, entry->at);
    if (entry->at < list->pods.len)
        list->pods.items[entry->at]->at = entry->at;
    else if (!list->pods.len && list->pods.cap > PODS_KEPT)
        vec_release(&list->pods);
    entry->list = NULL;
}

void wait_lists_release(struct queue *queue)
{
    vec_for(&queue->wait_lists, list)
        list_free(*list);
    vec_release(&queue->wait_lists);
}
