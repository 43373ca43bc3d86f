/* ip.c: see ip.h. */
#include "base/ip.h"

#include <arpa/inet.h>

size_t ip_parse(struct str text, uint8_t ret[static IPV6_BYTES])
{
    char copy[INET6_ADDRSTRLEN + 1] = { 0 };
    if (!text.len || text.len >= sizeof(copy) || memchr(text.ptr, '\0', text.len))
        return 0;
    memcpy(copy, text.ptr, text.len);
    return inet_pton(AF_INET, copy, ret) == 1    ? IPV4_BYTES
           : inet_pton(AF_INET6, copy, ret) == 1 ? IPV6_BYTES
                                                 : 0;
}
