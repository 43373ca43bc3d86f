/* class_cache.h: the tables of the classes in use, bounded in number and size; the least recently used one goes. */
#ifndef ENGINE_CLASS_CACHE_H
#define ENGINE_CLASS_CACHE_H

#include "cluster/cluster.h"

struct class_cache;

struct class_cache *class_cache_new(struct cluster *cluster);
void class_cache_free(struct class_cache *cache);

#endif
