/* ui.h: the live page, GET /ui/: the assets of ui/ as files. It reads the pages of debug/ by itself, with the client's
 * own rights. */
#ifndef SERVE_UI_H
#define SERVE_UI_H

#include "serve/serve.h"

#define UI_PATH "/ui"

/* What every answer of the live page says to the browser, also behind a tunnel. */
enum { UI_HEADERS = 4 };
extern const struct server_header ui_headers[UI_HEADERS];

void ui_show(const struct serve_request *request, struct serve_reply *reply);

#endif
