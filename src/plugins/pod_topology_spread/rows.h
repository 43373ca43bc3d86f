/* rows.h: what the two forms of PodTopologySpread share. */
#ifndef PLUGINS_POD_TOPOLOGY_SPREAD_ROWS_H
#define PLUGINS_POD_TOPOLOGY_SPREAD_ROWS_H

#include "index/table.h"

#define SPREAD_TOO_UNEVEN "node(s) didn't match pod topology spread constraints"
#define SPREAD_MISSING_LABEL SPREAD_TOO_UNEVEN " (missing required label)"

/* The raw score of a node that lacks a key: real ones are not negative. */
enum { SPREAD_LEFT_OUT = -1 };

extern const struct row_forms spread_rows;

#endif
