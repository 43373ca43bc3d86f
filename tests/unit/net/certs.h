/* certs.h: a test CA, created in memory and written to a directory.
 *
 *     ca.crt               signed all of these except other-ca.crt
 *     server.crt, .key     127.0.0.1, localhost, named.test
 *     named.crt, .key      named.test
 *     client.crt, .key     alice
 *     bob.crt, .key        bob */
#ifndef UNIT_NET_CERTS_H
#define UNIT_NET_CERTS_H

#include "support/test.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

struct signer {
    X509 *cert;
    EVP_PKEY *key;
};

static inline void signer_release(struct signer *signer)
{
    X509_free(signer->cert);
    EVP_PKEY_free(signer->key);
}

static inline void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(cert, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* A new key with a certificate; `by` NULL: a self-signed CA. */
static inline struct signer certs_sign(const char *name, const char *names, const struct signer *by)
{
    static long serial;
    struct signer made = { .cert = X509_new(), .key = EVP_EC_gen("P-256") };
    assert_non_null(made.cert);
    assert_non_null(made.key);
    X509_set_version(made.cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made.cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.cert), 24 * 3600);
    X509_set_pubkey(made.cert, made.key);
    X509_NAME *subject = X509_get_subject_name(made.cert);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509 *issuer = by ? by->cert : made.cert;
    X509_set_issuer_name(made.cert, X509_get_subject_name(issuer));
    add_extension(made.cert, issuer, NID_basic_constraints, by ? "critical,CA:FALSE" : "critical,CA:TRUE");
    if (names)
        add_extension(made.cert, issuer, NID_subject_alt_name, names);
    assert_true(X509_sign(made.cert, by ? by->key : made.key, EVP_sha256()) > 0);
    return made;
}

static inline void certs_write(const char *dir, const char *name, const struct signer *what)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.crt", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, what->cert), 1);
    fclose(file);
    snprintf(path, sizeof(path), "%s/%s.key", dir, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, what->key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

static inline void certs_make(const char *dir)
{
    struct signer ca = certs_sign("test authority", NULL, NULL);
    struct signer other = certs_sign("another authority", NULL, NULL);
    certs_write(dir, "ca", &ca);
    certs_write(dir, "other-ca", &other);
    static const struct {
        const char *file, *name, *names;
    } leaves[] = {
        { "server", "server", "IP:127.0.0.1,DNS:localhost,DNS:named.test" },
        { "named", "named", "DNS:named.test" },
        { "client", "alice", NULL },
        { "bob", "bob", NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
        struct signer leaf = certs_sign(leaves[i].name, leaves[i].names, &ca);
        certs_write(dir, leaves[i].file, &leaf);
        signer_release(&leaf);
    }
    signer_release(&other);
    signer_release(&ca);
}

#endif
