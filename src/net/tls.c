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
    strbuf_release(&config->key);
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

/* One of the texts: what it is called in messages, where it comes from, and where it goes. */
struct part {
    const char *what;
    struct str data;
    const char *file;
    struct strbuf *text;
    bool has_text; /* `data` is what is in the file */
};

static bool is_given(const struct part *part)
{
    return part->data.len || (part->file && *part->file);
}

/* For messages: the file that was read, or what the data is. */
static const char *source(const struct part *part)
{
    return !part->file || (part->data.len && !part->has_text) ? part->what : part->file;
}

static int load(const struct part *part, struct error *err)
{
    if (part->data.len > PEM_BYTES_MAX)
        return error_set(err, -EFBIG, "%s: more than %d bytes", part->what, PEM_BYTES_MAX);
    if (!part->data.len && is_given(part) && !part->has_text)
        return file_read(part->file, PEM_BYTES_MAX, part->text, err);
    strbuf_str(part->text, part->data);
    return 0;
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
static int check_ca(const struct part *ca, struct error *err)
{
    STACK_OF(X509) *certs = pem_certs(strbuf_slice(ca->text), false);
    BIO *out = BIO_new(BIO_s_mem());
    for (int i = 0; out && i < sk_X509_num(certs); i++)
        PEM_write_bio_X509(out, sk_X509_value(certs, i));
    char *text = NULL;
    long len = out ? BIO_get_mem_data(out, &text) : 0;
    strbuf_clear(ca->text);
    if (len > 0)
        strbuf_add(ca->text, text, (size_t)len);
    BIO_free(out);
    sk_X509_pop_free(certs, X509_free);
    return len > 0 ? 0 : error_set(err, -EINVAL, "%s: no valid certificate in PEM form", source(ca));
}

static int check_pair(const struct part *cert, const struct part *key, struct error *err)
{
    STACK_OF(X509) * certs;
    EVP_PKEY *private;
    if (!cert->text->len)
        return error_set(err, -EINVAL, "%s: a client key without a certificate", source(key));
    if (!key->text->len)
        return error_set(err, -EINVAL, "%s: a client certificate without a key", source(cert));
    int r = pem_pair(strbuf_slice(cert->text), source(cert), strbuf_slice(key->text), source(key), &certs,
                     &private, err);
    if (r == 0) {
        EVP_PKEY_free(private);
        sk_X509_pop_free(certs, X509_free);
    }
    return r;
}

static int fill(struct tls_config *config, const struct tls_options *o, struct error *err)
{
    const struct part ca = { "certificate authority data", o->ca_data, o->ca_file, &config->ca,
                             o->has_texts };
    const struct part cert = { "client certificate data", o->cert_data, o->cert_file, &config->cert,
                               o->has_texts };
    const struct part key = { "client key data", o->key_data, o->key_file, &config->key, o->has_texts };
    config->insecure = o->insecure;
    if (o->server_name)
        strbuf_puts(&config->server_name, o->server_name);
    int r = load(&ca, err);
    if (r == 0)
        r = load(&cert, err);
    if (r == 0)
        r = load(&key, err);
    if (r == 0 && config->insecure && config->ca.len)
        r = error_set(err, -EINVAL, "a certificate authority and skipping verification exclude each other");
    if (r == 0 && !config->ca.len && is_given(&ca))
        r = error_set(err, -EINVAL, "%s: the file is empty", source(&ca));
    if (r == 0 && config->ca.len)
        r = check_ca(&ca, err);
    if (r == 0 && (is_given(&cert) || is_given(&key)))
        r = check_pair(&cert, &key, err);
    return r;
}

int tls_config_new(const struct tls_options *options, struct tls_config **ret, struct error *err)
{
    struct tls_config *config = xcalloc(1, sizeof(*config));
    atomic_init(&config->references, 1);
    config->key.secret = true;
    int r = fill(config, options, err);
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
