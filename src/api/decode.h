/* decode.h: a value of a document into a C struct, by field table. */
#ifndef API_DECODE_H
#define API_DECODE_H

#include "api/fields.h"
#include "base/arena.h"
#include "base/error.h"
#include "codec/doc.h"

/* Where in the document a decoder is, for messages: a chain that lives on the stack. */
struct place {
    const struct place *up;
    struct str name; /* ptr NULL: an index */
    size_t index;
};

struct decoder {
    const struct doc *doc;
    struct arena *arena;
    struct error *err;
    bool borrow; /* strings stay where they are */
};

/* Fills the zeroed struct at `ptr`. `place` may be NULL. */
int decode_struct(const struct decoder *dec, const struct place *place, yyjson_val *val,
                  const struct type *type, void *ptr);
int decode_str(const struct decoder *dec, const struct place *place, yyjson_val *val, struct str *ret);
/* Refuses `val`: "spec.replicas: expected an integer, found a string". The second says the type of `val` itself. */
int decode_refuse(const struct decoder *dec, const struct place *place, yyjson_val *val, const char *expected,
                  struct str found);
int decode_wrong(const struct decoder *dec, const struct place *place, yyjson_val *val, const char *expected);
/* The parts of such sentences, for decoders of other formats: "spec.containers[0]", and text of unknown origin made
 * short and printable. */
void decode_put_path(struct strbuf *out, const struct place *place);
void decode_put_shown(struct strbuf *out, struct str text);

#endif
