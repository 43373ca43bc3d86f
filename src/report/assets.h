/* assets.h: the files of ui/ as a part of the program: scripts and styles of reports and of the live page.
 *
 * The table is generated (tools/embed-assets) in the order of ui/meson.build, in which scripts run. */
#ifndef REPORT_ASSETS_H
#define REPORT_ASSETS_H

#include "base/str.h"

struct asset {
    const char *path; /* relative to ui/: "table.js", "report/simulation.js" */
    const char *type; /* for Content-Type */
    const char *text;
    size_t len;
    const char *sha256; /* base64, as a Content-Security-Policy has it */
};

extern const struct asset assets[];
extern const size_t assets_len;

/* By its path, or NULL. */
const struct asset *asset_find(struct str path);

#endif
