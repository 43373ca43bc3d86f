/* tls.c: PEM texts, checked with libcrypto before anything is connected.
 *
 * libcurl would find the same faults, but only once a server answers, and in the words of OpenSSL's error
 * queue. Here a wrong file is one sentence at the start. And a pair of files that is being replaced
 * (new certificate, old key) is recognised, so that the caller can keep the earlier pair. */
#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "net/file.h"

enum { PEM_BYTES_MAX = 4 << 20 };

const struct tls_config tls_config_default;

static void config_free(struct tls_config *config)
{
    if (!config)
        return;
    strbuf_release(&config->ca);
    strbuf_release(&config->cert);
    strbuf_wipe(&config->key);
    strbuf_release(&config->server_name);
    free(config);
}

struct tls_config *tls_config_ref(struct tls_config *config)
{
    if (config)
        atomic_fetch_add_explicit(&config->references, 1, memory_order_relaxed);
    return config;
}

void tls_config_unref(struct tls_config *config)
{
    if (config && atomic_fetch_sub_explicit(&config->references, 1, memory_order_acq_rel) == 1)
        config_free(config);
}

/* The PEM text of one kind, from memory or from its file; empty when neither is given. */
static int load(const char *what, struct str data, const char *file, struct strbuf *ret, struct error *err)
{
    if (data.len > PEM_BYTES_MAX)
        return error_set(err, -EFBIG, "%s: more than %d bytes", what, PEM_BYTES_MAX);
    if (data.len)
        strbuf_str(ret, data);
    else if (file && *file)
        return file_read(file, PEM_BYTES_MAX, ret, err);
    return 0;
}

/* For sentences: the file that was read, or what the data is. */
static const char *source(const char *what, struct str data, const char *file)
{
    return data.len || !file ? what : file;
}

/* There is no passphrase: a daemon has no terminal. */
static int no_passphrase(char *buf _unused_, int size _unused_, int writing _unused_, void *user _unused_)
{
    return 0;
}

static BIO *open_text(struct str text)
{
    return BIO_new_mem_buf(text.ptr ? text.ptr : "", (int)text.len);
}

static bool no_more_blocks(void)
{
    return ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_PEM &&
           ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

STACK_OF(X509) * pem_certs(struct str text, bool strict)
{
    STACK_OF(X509) *certs = sk_X509_new_null();
    BIO *in = open_text(text);
    while (certs && in) {
        ERR_clear_error();
        X509 *cert = PEM_read_bio_X509(in, NULL, no_passphrase, NULL);
        if (!cert && (strict || BIO_eof(in) || no_more_blocks()))
            break;
        if (cert && !sk_X509_push(certs, cert))
            X509_free(cert);
    }
    ERR_clear_error();
    BIO_free(in);
    return certs;
}

int pem_pair(struct str certs_text, const char *certs_from, struct str key_text, const char *key_from,
             STACK_OF(X509) * *ret_certs, EVP_PKEY **ret_key, struct error *err)
{
    STACK_OF(X509) *certs = pem_certs(certs_text, true);
    BIO *in = open_text(key_text);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL) : NULL;
    int r = 0;
    if (sk_X509_num(certs) < 1)
        r = error_set(err, -EINVAL, "%s: no valid certificate in PEM form", certs_from);
    else if (!key)
        r = error_set(err, -EINVAL, "%s: no private key in PEM form without a passphrase", key_from);
    else if (X509_check_private_key(sk_X509_value(certs, 0), key) != 1)
        r = error_set(err, -EINVAL, "%s: the private key does not belong to the certificate in %s", key_from,
                      certs_from);
    ERR_clear_error();
    BIO_free(in);
    if (r < 0) {
        EVP_PKEY_free(key);
        sk_X509_pop_free(certs, X509_free);
        return r;
    }
    *ret_key = key;
    *ret_certs = certs;
    return 0;
}

/* Keeps the certificates that parse and drops the rest: one bad entry does not spoil a bundle, as in Go. */
static int check_ca(const char *from, struct strbuf *ca, struct error *err)
{
    STACK_OF(X509) *certs = pem_certs(strbuf_slice(ca), false);
    BIO *out = BIO_new(BIO_s_mem());
    for (int i = 0; out && i < sk_X509_num(certs); i++)
        PEM_write_bio_X509(out, sk_X509_value(certs, i));
    char *text = NULL;
    long len = out ? BIO_get_mem_data(out, &text) : 0;
    strbuf_clear(ca);
    if (len > 0)
        strbuf_add(ca, text, (size_t)len);
    BIO_free(out);
    sk_X509_pop_free(certs, X509_free);
    return ca->len ? 0 : error_set(err, -EINVAL, "%s: no valid certificate in PEM form", from);
}

static int check_pair(struct tls_config *config, const char *cert_from, const char *key_from,
                      struct error *err)
{
    STACK_OF(X509) * certs;
    EVP_PKEY *key;
    int r = pem_pair(strbuf_slice(&config->cert), cert_from, strbuf_slice(&config->key), key_from, &certs,
                     &key, err);
    if (r == 0) {
        EVP_PKEY_free(key);
        sk_X509_pop_free(certs, X509_free);
    }
    return r;
}

static int check(struct tls_config *config, const struct tls_options *o, struct error *err)
{
    if (config->insecure && config->ca.len)
        return error_set(err, -EINVAL,
                         "a certificate authority and skipping verification exclude each other");
    const char *cert_from = source("client certificate data", o->cert_data, o->cert_file);
    const char *key_from = source("client key data", o->key_data, o->key_file);
    const char *ca_from = source("certificate authority data", o->ca_data, o->ca_file);
    if (!config->ca.len && o->ca_file && *o->ca_file)
        return error_set(err, -EINVAL, "%s: the file is empty", ca_from);
    int r = config->ca.len ? check_ca(ca_from, &config->ca, err) : 0;
    bool wants_pair = config->cert.len || config->key.len || (o->cert_file && *o->cert_file) ||
                      (o->key_file && *o->key_file);
    if (r < 0 || !wants_pair)
        return r;
    if (!config->cert.len)
        return error_set(err, -EINVAL, "%s: a client key without a certificate", key_from);
    if (!config->key.len)
        return error_set(err, -EINVAL, "%s: a client certificate without a key", cert_from);
    return check_pair(config, cert_from, key_from, err);
}

int tls_config_new(const struct tls_options *options, struct tls_config **ret, struct error *err)
{
    struct tls_config *config = xcalloc(1, sizeof(*config));
    atomic_init(&config->references, 1);
    config->insecure = options->insecure;
    if (options->server_name && *options->server_name)
        strbuf_puts(&config->server_name, options->server_name);
    int r = load("certificate authority data", options->ca_data, options->ca_file, &config->ca, err);
    if (r == 0)
        r = load("client certificate data", options->cert_data, options->cert_file, &config->cert, err);
    if (r == 0)
        r = load("client key data", options->key_data, options->key_file, &config->key, err);
    if (r == 0)
        r = check(config, options, err);
    if (r < 0)
        config_free(config);
    else
        *ret = config;
    return r;
}

bool tls_config_equal(const struct tls_config *a, const struct tls_config *b)
{
    a = a ? a : &tls_config_default;
    b = b ? b : &tls_config_default;
    return str_eq(strbuf_slice(&a->ca), strbuf_slice(&b->ca)) &&
           str_eq(strbuf_slice(&a->cert), strbuf_slice(&b->cert)) &&
           str_eq(strbuf_slice(&a->key), strbuf_slice(&b->key)) && a->insecure == b->insecure &&
           str_eq(strbuf_slice(&a->server_name), strbuf_slice(&b->server_name));
}
