/* tls.h: which peers a connection trusts, and the certificate that it presents.
 *
 * A struct tls_config is checked when it is made, then never changes, and is shared by reference count between
 * threads: a new certificate is a new config. All of it is in memory; files are read once, by
 * tls_config_new(). */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/error.h"
#include "base/str.h"

/* PEM in memory goes before the file of the same kind. Without a certificate authority the system's are
 * trusted. */
struct tls_options {
    const char *ca_file, *cert_file, *key_file;
    struct str ca_data, cert_data, key_data;
    const char *server_name; /* expected in the certificate instead of the host of the URL; NULL: that host */
    bool insecure;           /* accept any server */
};

struct tls_config;

/* Reads and checks: certificates parse, the key belongs to the certificate. Sentences name the file or "CA
 * data", never what is in it. */
int tls_config_new(const struct tls_options *options, struct tls_config **ret, struct error *err);
struct tls_config *tls_config_ref(struct tls_config *config);
void tls_config_unref(struct tls_config *config);
/* Would a connection made with one be good for the other? NULL is the default config. */
bool tls_config_equal(const struct tls_config *a, const struct tls_config *b);

/* What was given or read; empty where nothing was. The text lives as long as the config. */
struct str tls_config_ca(const struct tls_config *config);
struct str tls_config_cert(const struct tls_config *config);
struct str tls_config_key(const struct tls_config *config);
const char *tls_config_server_name(const struct tls_config *config); /* NULL: none */
bool tls_config_insecure(const struct tls_config *config);

#endif
