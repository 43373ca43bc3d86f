/* config_generation.h: a configuration with all that belongs to it, from its reading to the end of its use.
 *
 * Generation 0 is what the process started with; each that replaces another while it runs has the next number. */
#ifndef CMD_CONFIG_GENERATION_H
#define CMD_CONFIG_GENERATION_H

#include "base/list.h"
#include "config/flags.h"
#include "config/take_over.h"
#include "extender/extender.h"
#include "sync/prometheus.h"

struct config_generation {
    struct list_link link; /* of reload.c's list */
    bool retired;          /* the core has given it back; under the lock of reload.c */
    uint64_t number;
    uint64_t taken; /* schedulers whose pods are taken over, by number in --take-over */
    struct arena arena;
    struct scheduler_config config;
    struct warnings warnings;
    struct http_extenders *extenders;
    struct prometheus *prometheus; /* NULL: samples come from metrics.k8s.io */
    struct strbuf text;            /* the file as it was read; empty where it cannot be read twice */
    bool has_text;
    struct strbuf json;  /* what is in effect, for /configz */
    struct strbuf fixed; /* the fields that wait for a restart, by name */
};

/* Reads --config, or takes the defaults. As the file, a pipe or standard input are fine. */
int config_generation_load(const struct scheduler_flags *flags, const struct features *features,
                           struct config_generation **ret, struct error *err);
/* The same from what was read of the file; NULL: the flags name no file that can be read twice. What counts after a
 * restart only stays as in `running`, if that is not NULL. `taken`: as in struct config_generation. */
int config_generation_read(const struct scheduler_flags *flags, const struct features *features,
                           const struct str *text, const struct scheduler_config *running, uint64_t taken,
                           struct config_generation **ret, struct error *err);
/* Makes what it speaks to: its extenders, for which the configuration of the options is set here, and the Prometheus
 * that it or the flags name as the source of samples. Reads files. */
int config_generation_connect(struct config_generation *generation, const struct scheduler_flags *flags,
                              const struct http_extenders_options *extenders, struct loop *io,
                              struct error *err);
/* For struct core_options. */
const struct prometheus *config_generation_prometheus(void *user, const void *generation);
/* May wait for threads. NULL is fine. */
void config_generation_free(struct config_generation *generation);

#endif
