/* memory.h: how malloc is to behave in a program that runs for months. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

/* Freed memory goes back to the system soon. Before the first thread starts. */
void memory_for_daemon(void);
/* What is free goes back now, also where it lies between what is in use. Takes milliseconds, in which other threads may
 * wait for memory: for rare occasions. */
void memory_give_back(void);

#endif
