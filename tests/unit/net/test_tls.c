/* TLS configurations: what they accept, and the errors. */
#include "unit/net/harness.h"

static char dir[64];

static int setup(void **state _unused_)
{
    dir_make(dir);
    certs_make(dir);
    return 0;
}

static int teardown(void **state _unused_)
{
    dir_remove(dir);
    return 0;
}

static struct strbuf read_text(const char *name)
{
    char path[512];
    struct error err;
    struct strbuf text = { 0 };
    if (file_read(in_dir(dir, name, path), 1 << 20, &text, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

static void write_file(const char *name, const char *text, size_t len)
{
    char path[512];
    FILE *file = fopen(in_dir(dir, name, path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    fclose(file);
}

static void test_files_and_data_agree(void **state _unused_)
{
    struct strbuf ca = read_text("ca.crt"), cert = read_text("client.crt"), key = read_text("client.key");
    struct tls_config *files = tls_in_dir(dir, "client");
    struct tls_config *data = tls_of((struct tls_options){ .ca_data = strbuf_slice(&ca),
                                                           .cert_data = strbuf_slice(&cert),
                                                           .key_data = strbuf_slice(&key),
                                                           .ca_file = "/no/such/file" });
    assert_true(tls_config_equal(files, data));
    struct tls_config *bob = tls_in_dir(dir, "bob"), *no_client = tls_in_dir(dir, NULL);
    assert_false(tls_config_equal(files, bob));
    assert_false(tls_config_equal(files, no_client));
    assert_false(tls_config_equal(no_client, NULL));
    struct tls_config *plain = tls_of((struct tls_options){ 0 });
    assert_true(tls_config_equal(plain, NULL));
    tls_config_unref(plain);
    tls_config_unref(tls_config_ref(bob));
    tls_config_unref(bob);
    tls_config_unref(no_client);
    tls_config_unref(files);
    tls_config_unref(data);
    strbuf_release(&ca);
    strbuf_release(&cert);
    strbuf_release(&key);
}

/* A bundle with a bad entry and text between entries uses the good entries. */
static void test_bundle(void **state _unused_)
{
    struct strbuf ca = read_text("ca.crt"), other = read_text("other-ca.crt"), all = { 0 };
    strbuf_puts(&all, "# comment\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    strbuf_str(&all, strbuf_slice(&ca));
    strbuf_puts(&all, "words\n");
    strbuf_str(&all, strbuf_slice(&other));
    struct tls_config *tls = tls_of((struct tls_options){ .ca_data = strbuf_slice(&all) });
    strbuf_clear(&all);
    strbuf_str(&all, strbuf_slice(&ca));
    strbuf_str(&all, strbuf_slice(&other));
    assert_true(str_eq(strbuf_slice(&tls->ca), strbuf_slice(&all)));
    tls_config_unref(tls);
    strbuf_release(&all);
    strbuf_release(&ca);
    strbuf_release(&other);
}

static void test_errors(void **state _unused_)
{
    char encrypted[512];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *file = fopen(in_dir(dir, "encrypted.key", encrypted), "w");
    assert_int_equal(PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), (unsigned char *)"x", 1, NULL, NULL),
                     1);
    fclose(file);
    EVP_PKEY_free(key);
    write_file("empty", "", 0);
    write_file("words", "topsecret words\n", 16);

    char ca[512], cert[512], good_key[512], bob_key[512], empty[512], words[512];
    in_dir(dir, "ca.crt", ca);
    in_dir(dir, "client.crt", cert);
    in_dir(dir, "client.key", good_key);
    in_dir(dir, "bob.key", bob_key);
    in_dir(dir, "empty", empty);
    in_dir(dir, "words", words);
    const struct {
        struct tls_options options;
        const char *want;
    } bad[] = {
        { { .ca_file = "/no/such" }, "/no/such: No such file or directory" },
        { { .ca_file = dir }, "is not a regular file" },
        { { .ca_file = empty }, "the file is empty" },
        { { .ca_file = words }, "words: no valid certificate in PEM form" },
        { { .ca_data = STR("topsecret") }, "certificate authority data: no valid certificate in PEM form" },
        { { .ca_data = STR("-----BEGIN CERTIFICATE-----\n") }, "no valid certificate" },
        { { .ca_data = STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") },
          "no valid certificate" },
        { { .ca_file = ca, .insecure = true }, "exclude each other" },
        { { .cert_file = cert }, "client.crt: a client certificate without a key" },
        { { .key_file = good_key }, "client.key: a client key without a certificate" },
        { { .cert_file = cert, .key_file = empty }, "a client certificate without a key" },
        { { .cert_file = cert, .key_file = bob_key },
          "bob.key: the private key does not belong to the certificate in " },
        { { .cert_file = cert, .key_file = encrypted }, "no private key in PEM form without a passphrase" },
        { { .cert_file = cert, .key_file = words }, "words: no private key in PEM form" },
        { { .cert_data = STR("topsecret"), .key_file = good_key },
          "client certificate data: no valid certificate" },
        { { .cert_file = cert, .key_data = STR("topsecret") }, "client key data: no private key" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct tls_config *tls = NULL;
        struct error err = { 0 };
        if (tls_config_new(&bad[i].options, &tls, &err) >= 0 || !strstr(err.text, bad[i].want) ||
            strstr(err.text, "topsecret"))
            fail_msg("case %zu: \"%s\", want \"%s\"", i, err.text, bad[i].want);
        assert_null(tls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_and_data_agree),
        cmocka_unit_test(test_bundle),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
