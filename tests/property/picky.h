/* picky.h: plugins without row forms, like those from a shared object, for random profiles. */
#ifndef PROPERTY_PICKY_H
#define PROPERTY_PICKY_H

#include "framework/profile.h"

/* The built-in plugins, "Picky" (PreFilter, Filter, PreScore, Score) and "Terse" (Filter and Score alone).
 * "Weigher" sets weights of other plugins, by namespace and by what happened in the cluster. */
const struct registry *picky_registry(void);

#endif
