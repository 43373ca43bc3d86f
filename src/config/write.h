/* write.h: the configuration in effect, written back: kubescheduler.config.k8s.io/v1 with every default
 * filled in, as kube-scheduler --write-config-to and /configz give it. Reading it again gives the same
 * configuration. */
#ifndef CONFIG_WRITE_H
#define CONFIG_WRITE_H

#include "config/config.h"

/* As YAML, for a file. */
void config_write_yaml(const struct scheduler_config *config, struct strbuf *out);
/* One line, without a line break. */
void config_write_json(const struct scheduler_config *config, struct strbuf *out);
/* What config_write_json() gave, for other eyes: without the private keys and the passwords in URLs of extenders,
 * and without tokens for sources of samples. */
void config_hide_secrets(struct str json, struct strbuf *out);

#endif
