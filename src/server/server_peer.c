/* server_peer.c: chains of certificates, verified against authorities that may change between two requests. */
#include "server/server_peer.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/tls.h"

static const char uid_oid[] = "1.3.6.1.4.1.57683.2";

struct peer {
    atomic_uint references;
    X509 *leaf;
    STACK_OF(X509) * chain; /* with the leaf, as the client sent it */
};

struct ca_pool {
    X509_STORE *store;
};

struct peer *peer_of(SSL *ssl)
{
    X509 *leaf = SSL_get1_peer_certificate(ssl);
    if (!leaf)
        return NULL;
    struct peer *peer = xcalloc(1, sizeof(*peer));
    atomic_init(&peer->references, 1);
    peer->leaf = leaf;
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    peer->chain = chain ? X509_chain_up_ref(chain) : NULL;
    return peer;
}

struct peer *peer_ref(struct peer *peer)
{
    if (peer)
        atomic_fetch_add_explicit(&peer->references, 1, memory_order_relaxed);
    return peer;
}

void peer_unref(struct peer *peer)
{
    if (!peer || atomic_fetch_sub_explicit(&peer->references, 1, memory_order_acq_rel) != 1)
        return;
    X509_free(peer->leaf);
    sk_X509_pop_free(peer->chain, X509_free);
    free(peer);
}

int ca_pool_new(struct str pem, struct ca_pool **ret, struct error *err)
{
    struct ca_pool *pool = xcalloc(1, sizeof(*pool));
    pool->store = X509_STORE_new();
    STACK_OF(X509) *certs = pem_certs(pem, false);
    size_t count = 0;
    for (int i = 0; pool->store && i < sk_X509_num(certs); i++)
        count += X509_STORE_add_cert(pool->store, sk_X509_value(certs, i)) == 1;
    sk_X509_pop_free(certs, X509_free);
    ERR_clear_error();
    if (!count) {
        ca_pool_free(pool);
        return error_set(err, -EINVAL, "no valid certificate authority in PEM form");
    }
    /* In Go any certificate of the pool ends a chain, not only one that signs itself. */
    X509_STORE_set_flags(pool->store, X509_V_FLAG_PARTIAL_CHAIN);
    *ret = pool;
    return 0;
}

void ca_pool_free(struct ca_pool *pool)
{
    if (!pool)
        return;
    X509_STORE_free(pool->store);
    free(pool);
}

/* "SN=1, SKID=0A:0B, AKID=..": which certificate was it? */
static void identify(X509 *cert, struct strbuf *ret)
{
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
    char *serial = number ? BN_bn2dec(number) : NULL;
    strbuf_printf(ret, "SN=%s", serial ? serial : "");
    OPENSSL_free(serial);
    BN_free(number);
    const ASN1_OCTET_STRING *ids[] = { X509_get0_subject_key_id(cert), X509_get0_authority_key_id(cert) };
    static const char *const names[] = { "SKID", "AKID" };
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        strbuf_printf(ret, ", %s=", names[i]);
        const unsigned char *bytes = ids[i] ? ASN1_STRING_get0_data(ids[i]) : NULL;
        int len = ids[i] ? MIN(ASN1_STRING_length(ids[i]), 64) : 0;
        for (int j = 0; j < len; j++)
            strbuf_printf(ret, "%s%02X", j ? ":" : "", bytes[j]);
    }
}

int peer_verify(const struct peer *peer, const struct ca_pool *pool, struct error *err)
{
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    if (!context || X509_STORE_CTX_init(context, pool->store, peer->leaf, peer->chain) != 1) {
        X509_STORE_CTX_free(context);
        return error_set(err, -ENOMEM, "cannot verify the certificate");
    }
    X509_VERIFY_PARAM_set_purpose(X509_STORE_CTX_get0_param(context), X509_PURPOSE_SSL_CLIENT);
    int r = 0;
    if (X509_verify_cert(context) != 1) {
        _cleanup_(strbuf_release) struct strbuf which = { 0 };
        identify(peer->leaf, &which);
        r = error_set(err, -EACCES, "verifying certificate %s failed: %s", which.text,
                      X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
    }
    ERR_clear_error();
    X509_STORE_CTX_free(context);
    return r;
}

/* An attribute's text in UTF-8, in the arena. */
static struct str attribute_text(X509_NAME_ENTRY *entry, struct arena *arena)
{
    unsigned char *text = NULL;
    int len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    struct str copy = { 0 };
    if (len > 0)
        copy = arena_str(arena, (struct str){ (const char *)text, (uint32_t)len });
    OPENSSL_free(text);
    return copy;
}

static void take_fingerprint(X509 *cert, char ret[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    if (X509_digest(cert, EVP_sha256(), digest, &len) != 1)
        len = 0;
    for (unsigned int i = 0; i < len && i < 32; i++)
        snprintf(ret + i * 2, 3, "%02x", digest[i]);
}

int peer_subject(const struct peer *peer, struct arena *arena, struct peer_subject *ret, struct error *err)
{
    *ret = (struct peer_subject){ 0 };
    take_fingerprint(peer->leaf, ret->fingerprint);
    X509_NAME *subject = X509_get_subject_name(peer->leaf);
    size_t uids = 0;
    for (int i = 0; i < X509_NAME_entry_count(subject); i++) {
        X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, i);
        ASN1_OBJECT *kind = X509_NAME_ENTRY_get_object(entry);
        char oid[64];
        OBJ_obj2txt(oid, sizeof(oid), kind, 1);
        int nid = OBJ_obj2nid(kind);
        if (nid == NID_commonName) {
            ret->common_name = attribute_text(entry, arena);
        } else if (nid == NID_organizationName) {
            if (ret->organisation_count == PEER_ORGANISATIONS_MAX)
                return error_set(err, -EINVAL, "a certificate with more than %d organisations",
                                 PEER_ORGANISATIONS_MAX);
            ret->organisations[ret->organisation_count++] = attribute_text(entry, arena);
        } else if (strcmp(oid, uid_oid) == 0) {
            ret->uid = attribute_text(entry, arena);
            uids++;
        }
    }
    if (uids > 1)
        return error_set(err, -EINVAL, "expected 1 UID, but found multiple");
    if (uids == 1 && !ret->uid.len)
        return error_set(err, -EINVAL, "UID cannot be an empty string");
    return 0;
}

double peer_seconds_left(const struct peer *peer)
{
    int days = 0, seconds = 0;
    ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(peer->leaf));
    return days * 86400.0 + seconds;
}
