/* selection.h: label and field selectors of requests, as text and on JSON objects.
 *
 * Label selectors: "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1". Field selectors: "spec.nodeName=a,status.phase!=Failed";
 * which fields can be selected depends on the resource, as in kube-apiserver. */
#ifndef APISERVER_SELECTION_H
#define APISERVER_SELECTION_H

#include <yyjson.h>

#include "apiserver/api_error.h"
#include "apiserver/resources.h"

struct selection;

/* NULL in *ret: it selects everything. Returns 0 or the negative HTTP status. Copies what it keeps. */
int selection_parse(const struct api_resource *resource, struct str labels, struct str fields,
                    struct selection **ret, struct api_error *err);
/* NULL is fine. */
void selection_free(struct selection *selector);
/* NULL matches every object. */
bool selection_matches(const struct selection *selector, yyjson_val *object);
/* Of a metav1.LabelSelector in JSON. An empty one matches everything, none matches nothing. */
bool selection_of_json_matches(yyjson_val *selector, yyjson_val *labels);

#endif
