/* protobuf_message.h: a protobuf message into a C struct, by field table: what decode.h is for documents. */
#ifndef API_PROTOBUF_MESSAGE_H
#define API_PROTOBUF_MESSAGE_H

#include "api/decode.h"

struct message_decoder {
    struct arena *arena;
    struct error *err;
    size_t budget_bytes; /* for arrays and structs, so that a few bytes do not become many */
    bool borrow;         /* strings stay where they are */
};

/* For one object of these bytes. */
struct message_decoder message_decoder(struct str bytes, bool borrow, struct arena *arena, struct error *err);
/* Fills the zeroed struct at `ptr`; the type is one of those by tag. `place` may be NULL. */
int message_decode(struct message_decoder *dec, const struct place *place, struct str bytes,
                   const struct type *type, void *ptr);
/* The text where the decoder keeps strings. Never NULL. */
struct str message_str(const struct message_decoder *dec, struct str text);

#endif
