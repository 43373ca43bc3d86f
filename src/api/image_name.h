/* image_name.h: the name under which a node lists an image. */
#ifndef API_IMAGE_NAME_H
#define API_IMAGE_NAME_H

#include "base/arena.h"
#include "base/str.h"

/* A name without tag or digest gets ":latest" (in the arena); any other is returned as it is. */
struct str image_name_normalize(struct str name, struct arena *arena);

#endif
