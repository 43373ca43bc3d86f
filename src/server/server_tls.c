/* server_tls.c: SSL_CTXs made of files, and made anew when the files change.
 *
 * A pair is checked before it replaces the one before: a pair of files that is half written leaves what was there in
 * use. Connections that exist keep what they began with.
 *
 * There is no resumption of sessions: it would carry a client's certificate past the handshake that proves it. */
#include "server/server_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/tls_names.h"
#include "base/vec.h"
#include "net/file_set.h"
#include "net/tls.h"
#include "server/server_selfsigned.h"

enum { CLIENT_CHAIN_BYTES_MAX = 64 << 10, SECURITY_OFF = 0 };

/* A certificate and its key, as texts, and what was made of them. Without files it was made here and never changes. */
struct server_pair {
    const char *cert_file, *key_file;
    struct strbuf cert, key;
    SSL_CTX *context; /* NULL: not made yet */
};

struct server_tls {
    struct arena arena; /* paths that were made of the options */
    struct server_tls_options options;
    struct server_pair *pairs; /* in use: the main pair, then those of options.snis */
    VEC(const char *) files;   /* that they are read from: certificate and key by turns */
};

static int set_version(SSL_CTX *context, struct str name, struct error *err)
{
    int version = name.len ? tls_version_find(name) : TLS1_2_VERSION;
    /* Debian's libssl refuses the hashes of TLS 1.0 and 1.1 unless told that the user means it. */
    if (version < TLS1_2_VERSION)
        SSL_CTX_set_security_level(context, SECURITY_OFF);
    return SSL_CTX_set_min_proto_version(context, version) == 1
               ? 0
               : error_set(err, -EINVAL, "tls version \"" STR_FMT "\" is not supported", STR_ARG(name));
}

/* Go's server wants one of the two that every client of HTTP/2 has, where suites before TLS 1.3 are chosen. */
static int check_http2_suites(const struct server_tls_options *options, struct error *err)
{
    if (options->http1_only || !options->cipher_suites.len || str_is(options->min_version, "VersionTLS13"))
        return 0;
    list_for(&options->cipher_suites, name)
        if (str_is(*name, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256") ||
            str_is(*name, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"))
            return 0;
    return error_set(err, -EINVAL,
                     "error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required "
                     "AES_128_GCM_SHA256 cipher (need at least one of TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 "
                     "or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)");
}

/* Without names: all that Go has on. */
static int set_suites(SSL_CTX *context, const struct str_list *names, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf list = { 0 };
    bool only13 = names->len > 0;
    for (size_t i = 0; i < (names->len ? names->len : TLS_SUITE_COUNT); i++) {
        const struct tls_suite *suite = names->len ? tls_suite_find(names->items[i]) : &tls_suites[i];
        only13 = only13 && !suite->openssl;
        if (suite->openssl && (names->len || !suite->insecure))
            strbuf_printf(&list, "%s%s", list.len ? ":" : "", suite->openssl);
    }
    if (only13)
        SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    else if (SSL_CTX_set_cipher_list(context, list.text) != 1)
        return error_set(err, -EINVAL, "none of the cipher suites is supported");
    return 0;
}

static int set_curves(SSL_CTX *context, const int32_t *ids, size_t len, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf list = { 0 };
    for (size_t i = 0; i < len; i++) {
        const char *name = tls_curve_find(ids[i])->openssl;
        if (name)
            strbuf_printf(&list, "%s%s", list.len ? ":" : "", name);
    }
    if (len && (!list.len || SSL_CTX_set1_groups_list(context, list.text) != 1))
        return error_set(err, -EINVAL, "none of the curve preferences is supported");
    return 0;
}

static int use_pair(SSL_CTX *context, const struct server_pair *pair, struct error *err)
{
    const char *cert_from = pair->cert_file ? pair->cert_file : "serving certificate";
    const char *key_from = pair->key_file ? pair->key_file : "serving key";
    STACK_OF(X509) * certs;
    EVP_PKEY *key;
    int r =
        pem_pair(strbuf_slice(&pair->cert), cert_from, strbuf_slice(&pair->key), key_from, &certs, &key, err);
    if (r < 0)
        return r;
    if (SSL_CTX_use_certificate(context, sk_X509_value(certs, 0)) != 1 ||
        SSL_CTX_use_PrivateKey(context, key) != 1)
        r = error_set(err, -EINVAL, "%s: no usable certificate in PEM form", cert_from);
    for (int i = 1; i < sk_X509_num(certs) && r == 0; i++)
        SSL_CTX_add1_chain_cert(context, sk_X509_value(certs, i));
    EVP_PKEY_free(key);
    sk_X509_pop_free(certs, X509_free);
    return r;
}

/* Certificates are verified later, see server_peer.h. */
static int accept_unverified(X509_STORE_CTX *store _unused_, void *user _unused_)
{
    return 1;
}

/* HTTP/2 before HTTP/1.1; a client that insists on something else is told so in the handshake. */
static int choose_protocol(SSL *ssl _unused_, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned int in_len, void *user)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    const struct server_tls *tls = user;
    unsigned int skipped = tls->options.http1_only ? 3 : 0;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, ours + skipped, sizeof(ours) - 1 - skipped, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

bool server_tls_speaks_http2(const struct ssl_st *ssl)
{
    const unsigned char *name;
    unsigned int len;
    SSL_get0_alpn_selected(ssl, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

bool server_tls_suits_http2(const struct ssl_st *ssl)
{
    const SSL_CIPHER *cipher = SSL_get_current_cipher(ssl);
    int version = SSL_version(ssl);
    return version >= TLS1_3_VERSION || (version == TLS1_2_VERSION && cipher && SSL_CIPHER_is_aead(cipher) &&
                                         SSL_CIPHER_get_kx_nid(cipher) == NID_kx_ecdhe);
}

static bool is_given_name(const struct server_sni *sni, struct str name)
{
    list_for(&sni->names, given)
        if (str_eq_fold(*given, name))
            return true;
    return false;
}

/* Is it the common name, or one of the certificate's DNS names, letter by letter? */
static bool is_certificate_name(X509 *cert, struct str name)
{
    char common[256];
    int len = X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, common, sizeof(common));
    /* A common name with a space in it is a title and no host. */
    bool found = len > 0 && !strpbrk(common, " @:/") && str_eq_fold(str_from(common), name);
    GENERAL_NAMES *others = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(others) && !found; i++) {
        const GENERAL_NAME *other = sk_GENERAL_NAME_value(others, i);
        if (other->type == GEN_DNS)
            found = str_eq_fold((struct str){ (const char *)ASN1_STRING_get0_data(other->d.dNSName),
                                              (uint32_t)ASN1_STRING_length(other->d.dNSName) },
                                name);
    }
    GENERAL_NAMES_free(others);
    return found;
}

/* A name that was given outranks one that was found in a certificate; then the earlier certificate wins. */
static SSL_CTX *find_name(const struct server_tls *tls, struct str name)
{
    SSL_CTX *found = NULL;
    for (size_t i = 0; i < tls->options.sni_count; i++) {
        const struct server_sni *sni = &tls->options.snis[i];
        SSL_CTX *context = tls->pairs[i + 1].context;
        if (is_given_name(sni, name))
            return context;
        if (!found && !sni->names.len && is_certificate_name(SSL_CTX_get0_certificate(context), name))
            found = context;
    }
    return found;
}

/* For a name without a certificate of its own: the first certificate that is valid for it, the main one before the
 * others. */
static SSL_CTX *find_covering(const struct server_tls *tls, struct str name)
{
    unsigned flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
    for (size_t i = 0; i <= tls->options.sni_count; i++) {
        X509 *cert = SSL_CTX_get0_certificate(tls->pairs[i].context);
        if (cert && X509_check_host(cert, name.ptr, name.len, flags, NULL) == 1)
            return tls->pairs[i].context;
    }
    return NULL;
}

/* The name itself, or the pattern with a star for its first label. */
static int choose_certificate(SSL *ssl, int *alert _unused_, void *user)
{
    const struct server_tls *tls = user;
    struct str name = str_from(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name));
    if (name.len && name.ptr[name.len - 1] == '.')
        name.len--;
    if (!name.len)
        return SSL_TLSEXT_ERR_NOACK;
    SSL_CTX *context = find_name(tls, name);
    ptrdiff_t dot = str_find(name, '.');
    char pattern[256];
    if (!context && dot >= 0 && name.len - (size_t)dot + 1 < sizeof(pattern)) {
        int len =
            snprintf(pattern, sizeof(pattern), "*" STR_FMT, (int)(name.len - (size_t)dot), name.ptr + dot);
        context = find_name(tls, (struct str){ pattern, (uint32_t)len });
    }
    if (!context)
        context = find_covering(tls, name);
    if (context)
        SSL_set_SSL_CTX(ssl, context);
    return SSL_TLSEXT_ERR_OK;
}

static int make_context(const struct server_tls *tls, const struct server_pair *pair, SSL_CTX **ret,
                        struct error *err)
{
    const struct server_tls_options *options = &tls->options;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context)
        return error_set(err, -ENOMEM, "cannot make a TLS context");
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                     SSL_OP_CLEANSE_PLAINTEXT);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_max_cert_list(context, CLIENT_CHAIN_BYTES_MAX);
    SSL_CTX_set_cert_verify_callback(context, accept_unverified, NULL);
    if (options->request_client_certificate)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, (void *)tls);
    SSL_CTX_set_tlsext_servername_callback(context, choose_certificate);
    SSL_CTX_set_tlsext_servername_arg(context, (void *)tls);
    int r = set_version(context, options->min_version, err);
    if (r == 0)
        r = set_suites(context, &options->cipher_suites, err);
    if (r == 0)
        r = check_http2_suites(options, err);
    if (r == 0)
        r = set_curves(context, options->curves, options->curve_count, err);
    if (r == 0)
        r = use_pair(context, pair, err);
    ERR_clear_error();
    if (r < 0)
        SSL_CTX_free(context);
    else
        *ret = context;
    return r;
}

static size_t pair_count(const struct server_tls *tls)
{
    return tls->options.sni_count + 1;
}

static void pair_release(struct server_pair *pair)
{
    strbuf_release(&pair->cert);
    strbuf_release(&pair->key);
    SSL_CTX_free(pair->context);
}

/* Pairs of files; the main one is made here where there are none. */
static size_t first_pair_of_files(const struct server_tls *tls)
{
    return tls->pairs[0].cert_file ? 0 : 1;
}

static void list_files(struct server_tls *tls)
{
    for (size_t i = first_pair_of_files(tls); i < pair_count(tls); i++) {
        *vec_push(&tls->files) = tls->pairs[i].cert_file;
        *vec_push(&tls->files) = tls->pairs[i].key_file;
    }
}

size_t server_tls_files(const struct server_tls *tls, const char *const **ret)
{
    *ret = tls->files.items;
    return tls->files.len;
}

static bool is_same(const struct strbuf *a, const struct strbuf *b)
{
    return str_eq(strbuf_slice(a), strbuf_slice(b));
}

/* 1: it is another one. The readings of its files are moved. */
static int take_pair(struct server_tls *tls, struct server_pair *pair, struct file_reading *cert,
                     struct file_reading *key, struct error *err)
{
    if (cert->result < 0 || key->result < 0)
        return 0; /* the caller knows */
    if (pair->context && is_same(&cert->text, &pair->cert) && is_same(&key->text, &pair->key))
        return 0;
    struct server_pair next = {
        .cert_file = pair->cert_file, .key_file = pair->key_file, .cert = cert->text, .key = key->text
    };
    cert->text = key->text = (struct strbuf){ 0 };
    int r = make_context(tls, &next, &next.context, err);
    if (r < 0) {
        pair_release(&next);
        return r;
    }
    pair_release(pair);
    *pair = next;
    return 1;
}

int server_tls_take(struct server_tls *tls, struct file_reading *readings, struct error *err)
{
    int failed = 0;
    bool any = false;
    for (size_t i = first_pair_of_files(tls); i < pair_count(tls); i++, readings += 2) {
        struct error why;
        int r = take_pair(tls, &tls->pairs[i], &readings[0], &readings[1], &why);
        any = any || r > 0;
        if (r < 0 && !failed)
            failed = error_set(err, r, "%s", why.text);
    }
    return failed ? failed : any;
}

/* Where the main certificate is, or the making of it. */
static int settle_main_pair(struct server_tls *tls, struct error *err)
{
    struct server_tls_options *options = &tls->options;
    struct server_pair *pair = &tls->pairs[0];
    if (options->cert_file || options->key_file) {
        if (!options->cert_file || !options->key_file)
            return error_set(err, -EINVAL, "a serving certificate and its key must be given together");
    } else if (options->cert_dir) {
        const char *name = options->pair_name ? options->pair_name : "server";
        options->cert_file = arena_printf(&tls->arena, "%s/%s.crt", options->cert_dir, name).ptr;
        options->key_file = arena_printf(&tls->arena, "%s/%s.key", options->cert_dir, name).ptr;
        int r = server_selfsigned_files(options->cert_file, options->key_file, options->bind_address, err);
        if (r < 0)
            return r;
    } else {
        pair->key.secret = true;
        return server_selfsigned(options->bind_address, &pair->cert, &pair->key, err);
    }
    pair->cert_file = options->cert_file;
    pair->key_file = options->key_file;
    return 0;
}

static int take_first(void *user, struct file_reading *readings, struct error *err)
{
    return MIN(server_tls_take(user, readings, err), 0);
}

/* At the start, every pair has to be there. */
static int read_first(struct server_tls *tls, struct error *err)
{
    list_files(tls);
    struct file_set *files = file_set_new(&(struct file_set_options){ .paths = tls->files.items,
                                                                      .count = tls->files.len,
                                                                      .bytes_max = SERVER_TLS_PEM_BYTES_MAX,
                                                                      .take = take_first,
                                                                      .user = tls });
    int r = first_pair_of_files(tls) ? make_context(tls, &tls->pairs[0], &tls->pairs[0].context, err) : 0;
    if (r == 0)
        r = file_set_read(files, err);
    file_set_free(files);
    return r;
}

int server_tls_new(const struct server_tls_options *options, struct server_tls **ret, struct error *err)
{
    struct server_tls *tls = xcalloc(1, sizeof(*tls));
    tls->options = *options;
    tls->pairs = xcalloc(pair_count(tls), sizeof(struct server_pair));
    int r = tls_names_check(options->min_version, options->cipher_suites.items, options->cipher_suites.len,
                            options->curves, options->curve_count, err);
    if (r == 0)
        r = settle_main_pair(tls, err);
    for (size_t i = 0; i < tls->options.sni_count && r == 0; i++) {
        tls->pairs[i + 1].cert_file = tls->options.snis[i].cert_file;
        tls->pairs[i + 1].key_file = tls->options.snis[i].key_file;
        if (!tls->pairs[i + 1].cert_file || !tls->pairs[i + 1].key_file)
            r = error_set(err, -EINVAL, "a serving certificate and its key must be given together");
    }
    if (r == 0)
        r = read_first(tls, err);
    if (r < 0)
        server_tls_free(tls);
    else
        *ret = tls;
    return r;
}

void server_tls_free(struct server_tls *tls)
{
    if (!tls)
        return;
    for (size_t i = 0; i < pair_count(tls); i++)
        pair_release(&tls->pairs[i]);
    free(tls->pairs);
    vec_release(&tls->files);
    arena_release(&tls->arena);
    free(tls);
}

struct ssl_st *server_tls_accept(struct server_tls *tls, int fd)
{
    SSL *ssl = SSL_new(tls->pairs[0].context);
    if (ssl && SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        ssl = NULL;
    }
    if (ssl)
        SSL_set_accept_state(ssl);
    ERR_clear_error();
    return ssl;
}
