/* server_selfsigned.c: keys and certificates made with libcrypto, the way kube-scheduler makes them. */
#include "server/server_selfsigned.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "net/file.h"

enum { KEY_BITS = 2048, HOUR_S = 3600, YEAR_S = 365 * 24 * HOUR_S };

struct extension {
    int nid;
    const char *value;
};

static bool add_extensions(X509 *cert, X509 *issuer, const struct extension *extensions, size_t len)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    bool ok = true;
    for (size_t i = 0; i < len && ok; i++) {
        X509_EXTENSION *made = X509V3_EXT_conf_nid(NULL, &context, extensions[i].nid, extensions[i].value);
        ok = made && X509_add_ext(cert, made, -1) == 1;
        X509_EXTENSION_free(made);
    }
    return ok;
}

static bool set_serial(X509 *cert)
{
    uint64_t serial;
    if (RAND_bytes((unsigned char *)&serial, sizeof(serial)) != 1)
        return false;
    return ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), (serial >> 1) | 1) == 1;
}

/* `issuer` NULL: signs itself. */
static X509 *make(EVP_PKEY *key, const char *name, X509 *issuer, EVP_PKEY *issuer_key,
                  const struct extension *extensions, size_t len)
{
    X509 *cert = X509_new();
    X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
    bool ok = cert && X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
              X509_gmtime_adj(X509_getm_notBefore(cert), -HOUR_S) &&
              X509_gmtime_adj(X509_getm_notAfter(cert), YEAR_S - HOUR_S) && X509_set_pubkey(cert, key) == 1 &&
              X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, (const unsigned char *)name,
                                         -1, -1, 0) == 1 &&
              X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject) == 1 &&
              add_extensions(cert, issuer ? issuer : cert, extensions, len) &&
              X509_sign(cert, issuer ? issuer_key : key, EVP_sha256()) > 0;
    if (ok)
        return cert;
    X509_free(cert);
    return NULL;
}

static bool is_unspecified(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (!address || !*address)
        return true;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return v4.s_addr == htonl(INADDR_ANY);
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

static void take_bio(BIO *bio, struct strbuf *ret)
{
    char *text;
    long len = BIO_get_mem_data(bio, &text);
    if (len > 0)
        strbuf_add(ret, text, (size_t)len);
}

static bool write_pem(X509 *cert, X509 *ca, EVP_PKEY *key, struct strbuf *ret_cert, struct strbuf *ret_key)
{
    BIO *certs = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_secmem());
    bool ok = certs && secret && PEM_write_bio_X509(certs, cert) == 1 && PEM_write_bio_X509(certs, ca) == 1 &&
              PEM_write_bio_PrivateKey_traditional(secret, key, NULL, NULL, 0, NULL, NULL) == 1;
    if (ok) {
        take_bio(certs, ret_cert);
        take_bio(secret, ret_key);
    }
    BIO_free(certs);
    BIO_free(secret);
    return ok;
}

int server_selfsigned(const char *bind_address, struct strbuf *ret_cert, struct strbuf *ret_key,
                      struct error *err)
{
    char names[256], ca_name[64], name[64];
    long long now = (long long)time(NULL);
    snprintf(ca_name, sizeof(ca_name), "localhost-ca@%lld", now);
    snprintf(name, sizeof(name), "localhost@%lld", now);
    if (is_unspecified(bind_address))
        snprintf(names, sizeof(names), "DNS:localhost,IP:127.0.0.1");
    else
        snprintf(names, sizeof(names), "DNS:localhost,IP:127.0.0.1,IP:%s", bind_address);
    const struct extension of_ca[] = {
        { NID_basic_constraints, "critical,CA:TRUE" },
        { NID_key_usage, "critical,digitalSignature,keyEncipherment,keyCertSign" },
        { NID_subject_key_identifier, "hash" },
    };
    const struct extension of_leaf[] = {
        { NID_basic_constraints, "critical,CA:FALSE" },
        { NID_key_usage, "critical,digitalSignature,keyEncipherment" },
        { NID_ext_key_usage, "serverAuth" },
        { NID_authority_key_identifier, "keyid" },
        { NID_subject_alt_name, names },
    };
    EVP_PKEY *ca_key = EVP_RSA_gen(KEY_BITS), *key = EVP_RSA_gen(KEY_BITS);
    X509 *ca = ca_key ? make(ca_key, ca_name, NULL, NULL, of_ca, ARRAY_SIZE(of_ca)) : NULL;
    X509 *cert = ca && key ? make(key, name, ca, ca_key, of_leaf, ARRAY_SIZE(of_leaf)) : NULL;
    bool ok = cert && write_pem(cert, ca, key, ret_cert, ret_key);
    X509_free(cert);
    X509_free(ca);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
    ERR_clear_error();
    return ok ? 0
              : error_set(err, -EINVAL, "unable to generate self signed cert for address \"%s\"",
                          bind_address ? bind_address : "");
}

/* The folders above a file. */
static int make_folders(const char *path, struct error *err)
{
    char *copy = strdup(path);
    int r = 0;
    for (char *at = strchr(copy + 1, '/'); at && r == 0; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            r = error_set(err, -errno, "%s: %s", copy, strerror(errno));
        *at = '/';
    }
    free(copy);
    return r;
}

static int write_file(const char *path, struct str text, mode_t mode, struct error *err)
{
    int r = make_folders(path, err);
    return r < 0 ? r : file_create(path, text, mode, err);
}

int server_selfsigned_files(const char *cert_path, const char *key_path, const char *bind_address,
                            struct error *err)
{
    bool has_cert = access(cert_path, R_OK) == 0, has_key = access(key_path, R_OK) == 0;
    if (has_cert && has_key)
        return 0;
    if (has_cert || has_key)
        return error_set(err, -EINVAL, "error reading %s, certificate and key must be supplied as a pair",
                         has_cert ? key_path : cert_path);
    struct strbuf cert = { 0 }, key = { .secret = true };
    int r = server_selfsigned(bind_address, &cert, &key, err);
    if (r == 0)
        r = write_file(cert_path, strbuf_slice(&cert), 0644, err);
    if (r == 0)
        r = write_file(key_path, strbuf_slice(&key), 0600, err);
    strbuf_release(&cert);
    strbuf_release(&key);
    return r;
}
