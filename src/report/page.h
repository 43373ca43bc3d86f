/* page.h: a report: one HTML file that has its data, scripts and styles in itself and loads nothing.
 *
 * The data is one JSON document, whose "kind" chooses the view in ui/report/. A Content-Security-Policy in the page
 * allows the scripts of this program by their hashes and nothing else: names and messages of a cluster are data, and
 * stay data. A small document can be read in the file; a large one is compressed, since it repeats itself. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/error.h"
#include "base/str.h"

/* The page as a text. */
void report_page(struct str title, struct str json, struct strbuf *out);
/* The same as a file; an existing one is replaced. A failure leaves no part of one. */
int report_write(const char *path, struct str title, struct str json, struct error *err);

#endif
