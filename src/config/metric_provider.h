/* metric_provider.h: the source of samples that arguments of plugins name, as those of scheduler-plugins' Trimaran do:
 *
 *     metricProvider: {type: Prometheus, address: "https://prometheus:9090", token: TOKEN, insecureSkipVerify: false}
 *
 * There each plugin has a source of its own; here one sampler serves all, so that they may not differ. The plugins
 * check the rest of the block. */
#ifndef CONFIG_METRIC_PROVIDER_H
#define CONFIG_METRIC_PROVIDER_H

#include "config/config.h"

struct metric_provider {
    struct str plugin; /* whose arguments they are; absent: there is none */
    bool is_prometheus;
    struct str address, token; /* of the configuration's document */
    bool insecure_skip_verify;
};

/* Of the plugins that are enabled. A plugin whose watcherAddress is set does not use its provider, as in the
 * original. */
int metric_provider_find(const struct scheduler_config *config, struct metric_provider *ret,
                         struct error *err);

#endif
