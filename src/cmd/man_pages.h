/* man_pages.h: the manual pages, made of the same tables as --help: berth(1), and one page for each command. */
#ifndef CMD_MAN_PAGES_H
#define CMD_MAN_PAGES_H

#include "base/error.h"

/* Writes berth.1 and berth-COMMAND.1 into an existing folder. */
int man_pages_write(const char *folder, struct error *err);

#endif
