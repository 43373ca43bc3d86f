/* base64.c: three bytes are four digits. */
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct strbuf *out, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = (uint32_t)(unsigned char)bytes.ptr[i] << 16;
        group |= left > 1 ? (uint32_t)(unsigned char)bytes.ptr[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)(unsigned char)bytes.ptr[i + 2] : 0;
        char quad[4] = { digits[group >> 18], digits[group >> 12 & 63],
                         left > 1 ? digits[group >> 6 & 63] : '=', left > 2 ? digits[group & 63] : '=' };
        strbuf_add(out, quad, sizeof(quad));
    }
}

static int digit_value(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

ptrdiff_t base64_decode(struct str text, char *out)
{
    size_t len = 0, count = 0, padding = 0;
    uint32_t group = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\r' || c == '\n')
            continue;
        bool pad = c == '=' && count % 4 >= 2;
        int value = pad ? 0 : digit_value(c);
        /* After padding comes more padding, until the group of four is full, and then nothing. */
        if (value < 0 || (padding && (!pad || count % 4 == 0)))
            return -1;
        padding += pad;
        group = group << 6 | (uint32_t)value;
        if (++count % 4)
            continue;
        for (size_t byte = 0; byte < 3 - padding; byte++)
            out[len++] = (char)(group >> (16 - 8 * byte));
        group = 0;
    }
    return count % 4 ? -1 : (ptrdiff_t)len;
}
