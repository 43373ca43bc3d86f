/* intern.c: entries in one array, found by name; number 0 is never given out. */
#include "base/intern.h"

sym intern_find(const struct intern *table, struct str text)
{
    return (sym)(uintptr_t)strmap_get(&table->by_name, text);
}

static uint32_t new_number(struct intern *table)
{
    uint32_t number = table->free_head;
    if (number) {
        table->free_head = table->entries.items[number].len;
        return number;
    }
    if (!table->entries.len)
        *vec_push(&table->entries) = (struct intern_entry){ 0 };
    (void)vec_push(&table->entries);
    return (uint32_t)table->entries.len - 1;
}

sym intern_get(struct intern *table, struct str text)
{
    sym known = intern_find(table, text);
    if (known) {
        table->entries.items[known].refs++;
        return known;
    }
    uint32_t number = new_number(table);
    struct str copy = str_dup(text);
    table->entries.items[number] = (struct intern_entry){ (char *)copy.ptr, copy.len, .refs = 1 };
    strmap_put(&table->by_name, copy, (void *)(uintptr_t)number);
    return number;
}

void intern_ref(struct intern *table, sym symbol)
{
    if (symbol)
        table->entries.items[symbol].refs++;
}

void intern_unref(struct intern *table, sym symbol)
{
    if (!symbol)
        return;
    struct intern_entry *entry = &table->entries.items[symbol];
    assert(entry->refs > 0);
    if (--entry->refs)
        return;
    strmap_remove(&table->by_name, (struct str){ entry->text, entry->len });
    free(entry->text);
    *entry = (struct intern_entry){ .len = table->free_head };
    table->free_head = symbol;
}

struct str intern_text(const struct intern *table, sym symbol)
{
    if (!symbol)
        return (struct str){ 0 };
    const struct intern_entry *entry = &table->entries.items[symbol];
    return (struct str){ entry->text, entry->len };
}

void intern_release(struct intern *table)
{
    vec_for(&table->entries, entry)
        if (entry->refs)
            free(entry->text);
    vec_release(&table->entries);
    strmap_release(&table->by_name);
    *table = (struct intern){ 0 };
}
