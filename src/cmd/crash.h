/* crash.h: which plugin crashed.
 *
 * A plugin runs in this process, and its crash is the end of both. What can be had is a sentence: when a signal comes
 * that ends the process, and code of a plugin's file is being run or waits for what it called, standard error says so:
 *
 *     berth: plugin "Quiet" of ./quiet.so crashed: Segmentation fault
 *
 * After that the signal does what it would have done. Nothing is noted while plugins are called: the stack shows it. */
#ifndef CMD_CRASH_H
#define CMD_CRASH_H

#include "abi/host.h"

/* From now on, for the file that holds this module. */
void crash_watch(const struct berth_module *module, const char *file);

#endif
