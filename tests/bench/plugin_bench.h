/* plugin_bench.h: the cost of plugins from a shared object, compared with the same decisions without them. */
#ifndef BENCH_PLUGIN_BENCH_H
#define BENCH_PLUGIN_BENCH_H

#include "bench/measure.h"

/* The setup of an engine; NULL: the default. */
struct plugin_setup {
    const struct registry *registry;
    const char *config;         /* a KubeSchedulerConfiguration */
    const char *const *objects; /* that the cluster has besides nodes and pods; ends with NULL. NULL: none */
};

typedef bool (*plugin_measure)(const struct plugin_setup *setup, uint32_t nodes, struct figures *ret);

/* Prints a row for each plugin of tests/plugins/noop.c and strategies/, and each number of nodes. The list of shared
 * objects ends with NULL. */
int plugin_bench(const char *const *files, plugin_measure measure, const uint32_t *nodes, uint32_t len);

#endif
