/* memory.h: how malloc is to behave in a program that runs for months. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

/* Freed memory goes back to the system soon. Before the first thread starts. */
void memory_for_daemon(void);

#endif
