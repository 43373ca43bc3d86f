/* ip.h: IP addresses in text. */
#ifndef BASE_IP_H
#define BASE_IP_H

#include "base/str.h"

enum { IPV4_BYTES = 4, IPV6_BYTES = 16 };

/* The number of bytes of the address, IPV4_BYTES or IPV6_BYTES; 0: the text is none. As Go reads them, without a zone,
 * and without zeros in front of a decimal number. */
size_t ip_parse(struct str text, uint8_t ret[static IPV6_BYTES]);

#endif
