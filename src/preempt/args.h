/* args.h: the arguments of DefaultPreemption. */
#ifndef PREEMPT_ARGS_H
#define PREEMPT_ARGS_H

#include "config/plugin_args.h"

struct default_preemption_args {
    int32_t min_candidate_nodes_percentage;
    int32_t min_candidate_nodes_absolute;
};
extern const struct plugin_args_kind default_preemption_args_kind;

#endif
