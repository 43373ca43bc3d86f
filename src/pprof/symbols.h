/* symbols.h: which function an address of this process is in.
 *
 * Functions of the program come from the symbol table of its file, those of libraries from what the dynamic linker
 * knows. A program without a symbol table knows its exported functions only. */
#ifndef PPROF_SYMBOLS_H
#define PPROF_SYMBOLS_H

#include "base/str.h"

/* Lives as long as the process. Empty: it is unknown. From any thread. */
struct str symbol_of(uint64_t address);

#endif
