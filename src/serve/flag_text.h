/* flag_text.h: the values of the command line's flags as pflag prints them, for /flagz. */
#ifndef SERVE_FLAG_TEXT_H
#define SERVE_FLAG_TEXT_H

#include "config/flags.h"

/* Adds the value of one flag. */
void flag_text(const struct scheduler_flags *flags, const struct flag_info *info, struct strbuf *out);
/* All of them, by name. In the arena. */
void flag_texts(const struct scheduler_flags *flags, struct arena *arena, struct str_map *ret);

#endif
