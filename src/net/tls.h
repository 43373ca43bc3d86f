/* tls.h: which peers a connection trusts, and the certificate that it presents.
 *
 * A struct tls_config is checked when it is made, then never changes, and is shared by reference count between
 * threads: a new certificate is a new config. All of it is in memory; files are read once, by
 * tls_config_new(). */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <stdatomic.h>

#include "base/error.h"
#include "base/str.h"

/* PEM in memory goes before the file of the same kind. Without a certificate authority the system's are
 * trusted. */
struct tls_options {
    const char *ca_file, *cert_file, *key_file;
    struct str ca_data, cert_data, key_data;
    const char *server_name; /* expected in the certificate instead of the host of the URL; NULL: that host */
    bool insecure;           /* accept any server */
    /* The texts are in memory already, also those of files, which are only named in messages. */
    bool has_texts;
};

/* Texts are empty where nothing was given. */
struct tls_config {
    atomic_uint references;
    struct strbuf ca, cert, key, server_name;
    bool insecure;
};
extern const struct tls_config tls_config_default;

/* Reads and checks: certificates parse, the key belongs to the certificate. Sentences name the file or "CA
 * data", never what is in it. */
int tls_config_new(const struct tls_options *options, struct tls_config **ret, struct error *err);
struct tls_config *tls_config_ref(struct tls_config *config);
void tls_config_unref(struct tls_config *config);
/* Would a connection made with one be good for the other? NULL is the default config. */
bool tls_config_equal(const struct tls_config *a, const struct tls_config *b);

/* ---- PEM; types are those of libcrypto ---- */
struct stack_st_X509;
struct evp_pkey_st;
/* The certificates of a text, to be freed by sk_X509_pop_free(). Those that do not parse are skipped, as Go does with
 * authorities; or else (`strict`) the first of them ends the list. */
struct stack_st_X509 *pem_certs(struct str text, bool strict);
/* A chain of certificates and the private key of the first one; the names are for messages. */
int pem_pair(struct str certs, const char *certs_from, struct str key, const char *key_from,
             struct stack_st_X509 **ret_certs, struct evp_pkey_st **ret_key, struct error *err);

#endif
