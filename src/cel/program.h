/* program.h: a compiled expression. */
#ifndef CEL_PROGRAM_H
#define CEL_PROGRAM_H

#include "cel/ast.h"

struct cel_program {
    const struct cel_node *root;
    uint32_t slots_len; /* of the variables of folds */
    uint64_t cost_max;
};

#endif
