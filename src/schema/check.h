/* check.h: does an object have the fields and types of its kind? The answers have the texts of kube-apiserver.
 *
 * A value of a wrong type is an error always. Unknown and duplicate fields are errors, warnings or nothing, as the
 * client asks for with fieldValidation=Strict, Warn or Ignore. */
#ifndef SCHEMA_CHECK_H
#define SCHEMA_CHECK_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/vec.h"
#include "schema/schema.h"

enum { SCHEMA_STRICT_MAX = 100 }; /* more unknown or duplicate fields are not reported */

struct schema_problems {
    /* The first value of a wrong type: `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas
     * of type int32`. No pointer: none. */
    struct str wrong;
    /* `unknown field "spec.x"`, `duplicate field "spec.replicas"`, in the order of the document. */
    VEC(struct str) strict;
    struct arena arena;
};

/* How the API server reads the object: it has other texts, and sorts what is unknown, after a strategic merge patch. */
enum schema_form { SCHEMA_DECODED, SCHEMA_CONVERTED };

/* No type: any JSON object, of which only duplicates are reported. Adds to *problems, which begins zeroed. An object
 * that is nested too deeply is wrong. */
void schema_check(const struct schema_type *type, yyjson_val *object, enum schema_form form,
                  struct schema_problems *problems);
void schema_problems_release(struct schema_problems *problems);
/* `strict decoding error: A, B` */
void schema_strict_text(const struct schema_problems *problems, struct strbuf *out);

#endif
