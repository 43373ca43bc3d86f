/* server_tls.h: how a server presents itself: certificates, versions and ciphers.
 *
 * The names of versions and cipher suites are Go's, as kube-scheduler's flags have them. */
#ifndef SERVER_SERVER_TLS_H
#define SERVER_SERVER_TLS_H

#include "base/error.h"
#include "codec/record_types.h"

/* A certificate for clients that ask for one of these names. */
struct server_sni {
    const char *cert_file, *key_file;
    struct str_list names; /* "*.example.com" is a pattern for one label; none: those of the certificate */
};

/* Anything may be NULL or empty. Without files a certificate that signs itself is made: in memory, or in cert_dir,
 * where the next start finds it. */
struct server_tls_options {
    const char *cert_file, *key_file;
    const char *cert_dir, *pair_name; /* cert_dir/pair_name.crt and .key */
    const char *bind_address;         /* goes into a certificate made here */
    struct str min_version;           /* "VersionTLS12" */
    struct str_list cipher_suites;    /* "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" */
    const int32_t *curves;            /* Go's CurveID */
    size_t curve_count;
    const struct server_sni *snis;
    size_t sni_count;
    bool request_client_certificate;
    bool http1_only; /* HTTP/2 is not offered */
};

struct server_tls;

/* The texts of the options outlive it. */
int server_tls_new(const struct server_tls_options *options, struct server_tls **ret, struct error *err);
void server_tls_free(struct server_tls *tls);
/* The files that it is made of, in the order in which server_tls_take() wants them. */
size_t server_tls_files(const struct server_tls *tls, const char *const **ret);
/* What these files say now, for new connections; on the thread that accepts them. A pair that cannot be read, or does
 * not fit together, stays as it was. 1: some pair is another one; negative: one cannot be used. */
struct file_reading;
int server_tls_take(struct server_tls *tls, struct file_reading *readings, struct error *err);
enum { SERVER_TLS_PEM_BYTES_MAX = 1 << 20 };

/* For the server alone: a new connection's SSL, as libssl calls it. */
struct ssl_st;
struct ssl_st *server_tls_accept(struct server_tls *tls, int fd);
/* Was HTTP/2 agreed on in the handshake? */
bool server_tls_speaks_http2(const struct ssl_st *ssl);
/* Is what was agreed on good enough for it, by RFC 9113? */
bool server_tls_suits_http2(const struct ssl_st *ssl);

#endif
