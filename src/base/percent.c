/* percent.c: see percent.h. */
#include "base/percent.h"

void percent_encode(struct strbuf *out, struct str text, const char *plain)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            (c && strchr(plain, c)))
            strbuf_putc(out, (char)c);
        else
            strbuf_add(out, (const char[]){ '%', hex[c >> 4], hex[c & 15] }, 3);
    }
}

bool percent_decode(struct str text, bool plus, struct arena *arena, struct str *ret)
{
    char *out = arena_alloc(arena, (size_t)text.len + 1);
    uint32_t len = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1;
            int low = i + 2 < text.len ? hex_digit(text.ptr[i + 2]) : -1;
            if (high < 0 || low < 0) {
                *ret = str_slice(text, i, (size_t)i + 3);
                return false;
            }
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        out[len++] = c;
    }
    out[len] = '\0';
    *ret = (struct str){ out, len };
    return true;
}
