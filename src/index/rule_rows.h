/* rule_rows.h: rules (framework/rule.h) over rows of a table.
 *
 * Over all rows each distinct value of the column is judged once; a changed row is judged alone. A scorer whose scores
 * are normalised gives an input, another one adds to the local scores. */
#ifndef INDEX_RULE_ROWS_H
#define INDEX_RULE_ROWS_H

#include "framework/rule.h"
#include "index/table.h"

/* The row forms of every plugin that has rules. */
extern const struct row_forms rule_rows;

#endif
