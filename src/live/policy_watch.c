/* policy_watch.c: see policy_watch.h. */
#include "live/policy_watch.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"

enum { PAGE_LEN = 500 };

struct policy_watch {
    struct watched_kind kinds[2];
    size_t kind_count;
    atomic_uint refused; /* 1 << place in kinds */
    struct strbuf namespace, selector;
    struct reflectors *reflectors;
};

/* An API server that does not answer is the concern of the other kinds. */
static void on_failure(void *user, const struct watched_kind *watched, int status, const char *why)
{
    struct policy_watch *watch = user;
    if (status) {
        atomic_fetch_or(&watch->refused, 1U << (watched - watch->kinds));
        log_warning("Scheduling policies need an object that cannot be read; what is known of it stays",
                    log_str("resource", str_from(watched->resource)), log_str("err", str_from(why)),
                    log_str("rights", STR("deploy/policies")));
    }
}

struct policy_watch *policy_watch_start(const struct policy_watch_options *options)
{
    struct policy_watch *watch = xcalloc(1, sizeof(*watch));
    watch->kinds[watch->kind_count++] = (struct watched_kind){ .kind = KIND_PRIORITY_CLASS,
                                                               .resource = "priorityclasses",
                                                               .page_len = PAGE_LEN,
                                                               .older_versions = "",
                                                               .field_selector = "" };
    if (options->name) {
        strbuf_puts(&watch->namespace, options->namespace);
        strbuf_printf(&watch->selector, "metadata.name=%s", options->name);
        watch->kinds[watch->kind_count++] = (struct watched_kind){ .kind = KIND_CONFIG_MAP,
                                                                   .resource = "configmaps",
                                                                   .page_len = PAGE_LEN,
                                                                   .older_versions = "",
                                                                   .field_selector = watch->selector.text,
                                                                   .namespace = watch->namespace.text };
    }
    watch->reflectors = reflectors_start(options->api, options->inbox,
                                         &(struct reflector_options){ .kinds = watch->kinds,
                                                                      .kind_count = watch->kind_count,
                                                                      .plain_lists = options->plain_lists,
                                                                      .on_failure = on_failure,
                                                                      .user = watch });
    return watch;
}

void policy_watch_stop(struct policy_watch *watch)
{
    if (!watch)
        return;
    reflectors_stop(watch->reflectors);
    strbuf_release(&watch->namespace);
    strbuf_release(&watch->selector);
    free(watch);
}

bool policy_watch_settled(const struct policy_watch *watch, const struct mirror *mirror)
{
    bool settled = true;
    for (size_t i = 0; watch && i < watch->kind_count; i++)
        settled &= mirror->kinds[watch->kinds[i].kind].synced || (atomic_load(&watch->refused) >> i & 1);
    return settled;
}

void policy_watch_warn(const struct policy_set *set, const struct cluster *cluster)
{
    for (uint32_t i = 0; set && i < set->len; i++) {
        const struct policy *policy = &set->items[i];
        if (policy->spec.priority_class.len && !policy_priority(cluster, policy).known)
            log_warning("A scheduling policy names a PriorityClass that is not there, or cannot be read; its "
                        "pods keep their own priority",
                        log_str("policy", policy->shown.name),
                        log_str("priorityClass", policy->spec.priority_class));
    }
}
