/* json_line.h: an object on one line inside JSON that is otherwise spread out: a list of thousands of small objects
 * is a line each, for eyes and for line tools. */
#ifndef CODEC_JSON_LINE_H
#define CODEC_JSON_LINE_H

#include "codec/json_writer.h"

static inline void json_begin_line(struct json_writer *json)
{
    json_begin_object(json);
    json->style = JSON_COMPACT;
}

static inline void json_end_line(struct json_writer *json)
{
    json_end_object(json);
    json->style = JSON_PRETTY;
}

#endif
