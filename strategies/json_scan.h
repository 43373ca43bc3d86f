/* json_scan.h: the numbers, texts and flags of a JSON document, each with the keys that lead to it.
 *
 *     {"a": {"cpu": 65}}    visit(context, {"a", "cpu"}, 2, "65", false)
 *
 * For small documents in annotations and arguments whose keys are not known in advance. Texts and keys are slices of
 * the document, with escapes as written. Items of lists have the key of the list. */
#ifndef STRATEGIES_JSON_SCAN_H
#define STRATEGIES_JSON_SCAN_H

#include <berth/plugin.h>

enum { JSON_SCAN_DEPTH_MAX = 8 };

/* Returns false to end the scan. */
typedef bool (*json_visit)(void *context, const struct berth_str *keys, uint32_t depth,
                           struct berth_str value, bool is_text);

/* False: it is not JSON, too deep, or visit() ended it. */
bool json_scan(struct berth_str text, json_visit visit, void *context);

/* The complete text as a number. */
bool json_number(struct berth_str text, double *ret);

#endif
