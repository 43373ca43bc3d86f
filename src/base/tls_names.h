/* tls_names.h: versions, cipher suites and curves of TLS, by the names that Go and kube-scheduler's flags give them.
 * Knows no library of TLS. */
#ifndef BASE_TLS_NAMES_H
#define BASE_TLS_NAMES_H

#include "base/error.h"
#include "base/str.h"

struct tls_suite {
    const char *name;
    const char *openssl; /* NULL: of TLS 1.3, which is always on, as in Go */
    bool insecure;       /* off unless it is asked for */
};

enum { TLS_SUITE_COUNT = 27 };
extern const struct tls_suite tls_suites[TLS_SUITE_COUNT];

struct tls_curve {
    int32_t id;
    const char *openssl; /* NULL: libssl 3.0 does not have it, as the hybrids with ML-KEM */
};

/* NULL, or version 0: unknown. */
const struct tls_suite *tls_suite_find(struct str name);
const struct tls_curve *tls_curve_find(int32_t id);
/* As the protocol counts: 0x0303 is TLS 1.2. */
int tls_version_find(struct str name);

/* Are all of them known, and no curve there twice? No version is fine. */
int tls_names_check(struct str version, const struct str *suites, size_t suite_count, const int32_t *curves,
                    size_t curve_count, struct error *err);

#endif
