/* openapi_protobuf.h: an OpenAPI document of version 2 in the protobuf form that clients ask for. Used by openapi.c. */
#ifndef SCHEMA_OPENAPI_PROTOBUF_H
#define SCHEMA_OPENAPI_PROTOBUF_H

#include "base/str.h"

/* Appends the message openapi.v2.Document of gnostic. Members that it does not need are left out. */
void openapi_to_protobuf(struct str json, struct strbuf *out);

#endif
