/* node_lookup.c: see node_lookup.h. */
#include "sync/node_lookup.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/vec.h"

struct node_name {
    struct str name; /* first, see strmap_make() */
    struct arena texts;
    VEC(struct str) addresses; /* in `texts` */
};

static bool counts(const struct node_address *address)
{
    return address->address.len &&
           (str_is(address->type, "InternalIP") || str_is(address->type, "InternalDNS") ||
            str_is(address->type, "Hostname"));
}

static bool has_these(const struct node_name *entry, const struct node *node)
{
    size_t len = 0;
    list_for(&node->status.addresses, address)
        if (counts(address) &&
            (len == entry->addresses.len || !str_eq(entry->addresses.items[len++], address->address)))
            return false;
    return len == entry->addresses.len;
}

static void forget_addresses(struct node_lookup *lookup, struct node_name *entry)
{
    vec_for(&entry->addresses, address)
        if (strmap_get(&lookup->by_address, *address) == entry)
            strmap_remove(&lookup->by_address, *address);
    vec_clear(&entry->addresses);
    arena_reset(&entry->texts);
}

void node_lookup_set(struct node_lookup *lookup, const struct node *node)
{
    struct node_name *entry = strmap_make(&lookup->by_name, node->meta.name, sizeof(*entry));
    if (has_these(entry, node))
        return;
    forget_addresses(lookup, entry);
    list_for(&node->status.addresses, address) {
        if (!counts(address))
            continue;
        struct str text = arena_str(&entry->texts, address->address);
        *vec_push(&entry->addresses) = text;
        strmap_remove(&lookup->by_address, text); /* another node's key must not stay */
        strmap_put(&lookup->by_address, text, entry);
    }
}

static void entry_free(struct node_name *entry)
{
    vec_release(&entry->addresses);
    arena_release(&entry->texts);
    free(entry);
}

void node_lookup_remove(struct node_lookup *lookup, struct str name)
{
    struct node_name *entry = strmap_get(&lookup->by_name, name);
    if (!entry)
        return;
    forget_addresses(lookup, entry);
    strmap_remove(&lookup->by_name, entry->name);
    entry_free(entry);
}

/* "10.0.0.7:9100", "[fd00::7]:9100", "node-7:9100": what is before the port. */
static struct str without_port(struct str text)
{
    ptrdiff_t colon = str_rfind(text, ':');
    if (text.len && text.ptr[0] == '[') {
        ptrdiff_t end = str_find(text, ']');
        return end < 0 ? text : str_slice(text, 1, (size_t)end);
    }
    return colon < 0 || str_find(text, ':') != colon ? text : str_slice(text, 0, (size_t)colon);
}

struct str node_lookup_find(const struct node_lookup *lookup, struct str text)
{
    struct str host = without_port(text);
    const struct node_name *entry = strmap_get(&lookup->by_name, text);
    if (!entry)
        entry = strmap_get(&lookup->by_name, host);
    if (!entry)
        entry = strmap_get(&lookup->by_address, host);
    return entry ? entry->name : (struct str){ 0 };
}

void node_lookup_release(struct node_lookup *lookup)
{
    map_for(&lookup->by_name, slot)
        entry_free(slot->value);
    strmap_release(&lookup->by_name);
    strmap_release(&lookup->by_address);
}
