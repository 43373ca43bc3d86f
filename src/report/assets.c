/* assets.c: finds an asset; the table itself is generated. */
#include "report/assets.h"

const struct asset *asset_find(struct str path)
{
    for (size_t i = 0; i < assets_len; i++)
        if (str_is(path, assets[i].path))
            return &assets[i];
    return NULL;
}
