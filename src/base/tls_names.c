/* tls_names.c: see tls_names.h. */
#include "base/tls_names.h"

const struct tls_suite tls_suites[TLS_SUITE_COUNT] = {
    { "TLS_AES_128_GCM_SHA256" },
    { "TLS_AES_256_GCM_SHA384" },
    { "TLS_CHACHA20_POLY1305_SHA256" },
    { "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256" },
    { "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256" },
    { "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384" },
    { "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384" },
    { "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305" },
    { "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305" },
    { "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305" },
    { "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305" },
    { "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA" },
    { "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA" },
    { "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA" },
    { "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA" },
    { "TLS_RSA_WITH_RC4_128_SHA", "RC4-SHA", true },
    { "TLS_RSA_WITH_3DES_EDE_CBC_SHA", "DES-CBC3-SHA", true },
    { "TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA", true },
    { "TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA", true },
    { "TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256", true },
    { "TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256", true },
    { "TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384", true },
    { "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "ECDHE-ECDSA-RC4-SHA", true },
    { "TLS_ECDHE_RSA_WITH_RC4_128_SHA", "ECDHE-RSA-RC4-SHA", true },
    { "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-RSA-DES-CBC3-SHA", true },
    { "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256", true },
    { "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256", true },
};

static const char *const versions[] = { "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13" };
enum { TLS_1_0 = 0x0301 };

static const struct tls_curve curves[] = {
    { 23, "P-256" }, { 24, "P-384" }, { 25, "P-521" }, { 29, "X25519" },
    { 4587, NULL },  { 4588, NULL },  { 4589, NULL },
};

const struct tls_suite *tls_suite_find(struct str name)
{
    for (size_t i = 0; i < TLS_SUITE_COUNT; i++)
        if (str_is(name, tls_suites[i].name))
            return &tls_suites[i];
    return NULL;
}

const struct tls_curve *tls_curve_find(int32_t id)
{
    for (size_t i = 0; i < ARRAY_SIZE(curves); i++)
        if (curves[i].id == id)
            return &curves[i];
    return NULL;
}

int tls_version_find(struct str name)
{
    for (int i = 0; i < (int)ARRAY_SIZE(versions); i++)
        if (str_is(name, versions[i]))
            return TLS_1_0 + i;
    return 0;
}

int tls_names_check(struct str version, const struct str *suites, size_t suite_count, const int32_t *ids,
                    size_t curve_count, struct error *err)
{
    for (size_t i = 0; i < suite_count; i++)
        if (!tls_suite_find(suites[i]))
            return error_set(err, -EINVAL, "Cipher suite " STR_FMT " not supported or doesn't exist",
                             STR_ARG(suites[i]));
    if (version.len && !tls_version_find(version))
        return error_set(err, -EINVAL, "unknown tls version \"" STR_FMT "\"", STR_ARG(version));
    for (size_t i = 0; i < curve_count; i++) {
        if (ids[i] <= 0 || ids[i] > UINT16_MAX)
            return error_set(err, -EINVAL, "curve preference %d is out of range (must be 1-%d)", ids[i],
                             UINT16_MAX);
        for (size_t j = 0; j < i; j++)
            if (ids[j] == ids[i])
                return error_set(err, -EINVAL, "duplicate curve preference %d", ids[i]);
        if (!tls_curve_find(ids[i]))
            return error_set(err, -EINVAL, "curve preference %d is not supported", ids[i]);
    }
    return 0;
}
