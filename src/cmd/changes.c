/* changes.c: see changes.h. */
#include "cmd/changes.h"

#define WORDS(kind) (offsetof(struct change_settings, words) + CHANGE_##kind * sizeof(struct texts))

const struct option_row change_rows[] = {
    { 0, "drain", "NODE,...", OPTION_TEXTS, WORDS(DRAIN),
      "As if these nodes were drained: cordoned, and their pods evicted, but for those of DaemonSets and "
      "mirror pods. "
      "A NODE is a name, or LABEL=VALUE. May be given again, as all that follow." },
    { 0, "force", NULL, OPTION_FLAG, offsetof(struct change_settings, force),
      "Drains also evict pods without a controller, which are lost; otherwise they stay." },
    { 0, "remove", "NODE,...", OPTION_TEXTS, WORDS(REMOVE), "As if these nodes were gone with their pods." },
    { 0, "add", "N=NODE,...", OPTION_TEXTS, WORDS(ADD),
      "As if there were N more nodes like this one, or N of each Node of a file." },
    { 0, "cordon", "NODE,...", OPTION_TEXTS, WORDS(CORDON), "As if these nodes took no new pods." },
    { 0, "uncordon", "NODE,...", OPTION_TEXTS, WORDS(UNCORDON), "As if these nodes took new pods again." },
    { 0, "scale", "WORKLOAD=N,...", OPTION_TEXTS, WORDS(SCALE),
      "As if a workload had N replicas: deploy/NAMESPACE/NAME, sts/..., rs/... or rc/...." },
    { 0 },
};

struct change_requests change_requests(const struct change_settings *settings, change_request_vec *items)
{
    for (int kind = 0; kind < CHANGE_KIND_COUNT; kind++)
        vec_for(&settings->words[kind], word)
            *vec_push(items) = (struct change_request){ (enum change_kind)kind, str_from(*word) };
    return (struct change_requests){ items->items, items->len, settings->force };
}
