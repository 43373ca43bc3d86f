/* loaded.h: an input loaded from a text. */
#ifndef UNIT_SIM_LOADED_H
#define UNIT_SIM_LOADED_H

#include "support/test.h"

#include <unistd.h>

#include "input/load.h"

/* Reads the text through a file; returns the result of load_path(). */
static inline int load_text(struct load *load, const char *text, struct error *err)
{
    char path[] = "/tmp/berth-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    size_t len = strlen(text);
    assert_true(write(fd, text, len) == (ssize_t)len);
    close(fd);
    int r = load_path(load, path, err);
    unlink(path);
    return r;
}

static inline void load_good(struct load *load, const char *text)
{
    struct error err = { "" };
    *load = (struct load){ 0 };
    if (load_text(load, text, &err) < 0)
        fail_msg("%s", err.text);
}

#endif
