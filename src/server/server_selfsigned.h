/* server_selfsigned.h: a certificate for a server that was given none. */
#ifndef SERVER_SERVER_SELFSIGNED_H
#define SERVER_SERVER_SELFSIGNED_H

#include "base/error.h"
#include "base/str.h"

/* For "localhost", 127.0.0.1 and the address that the server listens on (NULL or unspecified: none more), good for a
 * year, signed by an authority of its own that is part of the chain and whose key is forgotten. RSA, so that every
 * cipher suite's name that a user may ask for can be used. */
int server_selfsigned(const char *bind_address, struct strbuf *ret_cert, struct strbuf *ret_key,
                      struct error *err);

/* Finds the pair of files, or makes it: folders, certificate and key (mode 0600). -EINVAL: one of the two is there and
 * the other is not. */
int server_selfsigned_files(const char *cert_path, const char *key_path, const char *bind_address,
                            struct error *err);

#endif
