/* labels.h: label selectors and node selectors on text.
 *
 * The plain form, for rare paths and for tests of the compiled selectors of cluster/. A selector that the
 * reference could not parse is marked `invalid` by the decoder and matches nothing here; the *_check() functions say
 * why, in the reference's sentences. */
#ifndef API_LABELS_H
#define API_LABELS_H

#include "api/types.h"
#include "base/error.h"
#include "codec/problems.h"

/* The owner that controls the object; NULL: none. */
const struct owner_ref *controller_of(const struct meta *meta);
bool str_list_has(const struct str_list *values, struct str wanted);
/* Each has all items of the other, in any order. */
bool str_list_same_set(const struct str_list *a, const struct str_list *b);
/* In order, each item once. */
void str_list_sort_unique(struct str_list *list);
/* The value of the key, or NULL when the map does not have it. */
const struct str *str_map_get(const struct str_map *map, struct str key);
/* Is every pair of `wanted` in `labels`? (A pod's nodeSelector, a service's selector.) */
bool str_map_contains_all(const struct str_map *labels, const struct str_map *wanted);

/* "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"; OP_INVALID for anything else. */
enum selector_op selector_op_from(struct str text);

bool requirement_matches(const struct selector_requirement *req, const struct str_map *labels);
/* NULL matches nothing, an empty selector everything. */
bool label_selector_matches(const struct label_selector *sel, const struct str_map *labels);

/* An empty term matches nothing. The only field of a node is metadata.name; with an empty name fields are ignored. */
bool node_selector_term_matches(const struct node_selector_term *term, struct str name,
                                const struct str_map *labels);
/* Terms are alternatives. NULL or no terms: nothing. */
bool node_selector_matches(const struct node_selector *sel, struct str name, const struct str_map *labels);

/* 0, or -EINVAL and the sentence of metav1.LabelSelectorAsSelector(). NULL is fine. */
int label_selector_check(const struct label_selector *sel, struct error *err);
/* 0, or -EINVAL and the sentence of nodeaffinity.NewNodeSelector(): every problem of every term. */
int node_selector_check(const struct node_selector *sel, struct error *err);
/* The problems of one term, which stands at `path`. */
void node_selector_term_problems(const struct node_selector_term *term, const struct path *path,
                                 struct problems *problems);
/* As node_selector_check() for one term, with paths that begin in the term. */
int node_selector_term_check(const struct node_selector_term *term, struct error *err);
/* The same for nodeaffinity.NewPreferredSchedulingTerms(): terms of weight 0 are not looked at. */
int preferred_node_terms_check(const struct preferred_node_term *terms, uint32_t len, struct error *err);

#endif
