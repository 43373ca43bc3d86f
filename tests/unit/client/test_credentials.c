/* Tokens, certificates and credential programs, as a server sees them. Changes of files are noticed; errors leave the
 * old credential in use. */
#include "support/pace.h"
#include "unit/net/harness.h"

#include <stdatomic.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/thread.h"
#include "client/credentials.h"

static char dir[64];
static struct loop *loop;
static char problems[4096];
static pthread_mutex_t problems_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int new_identities;

static void on_problem(void *user _unused_, const char *message)
{
    pthread_mutex_lock(&problems_lock);
    size_t len = strlen(problems);
    snprintf(problems + len, sizeof(problems) - len, "%s\n", message);
    pthread_mutex_unlock(&problems_lock);
}

static void on_new_identity(void *user _unused_)
{
    atomic_fetch_add(&new_identities, 1);
}

static bool problem_was(const char *part)
{
    pthread_mutex_lock(&problems_lock);
    bool found = strstr(problems, part) != NULL;
    pthread_mutex_unlock(&problems_lock);
    return found;
}

static int setup(void **state _unused_)
{
    struct error err;
    assert_int_equal(loop_new("io", &loop, &err), 0);
    dir_make(dir);
    certs_make(dir);
    return 0;
}

static int teardown(void **state _unused_)
{
    dir_remove(dir);
    loop_free(loop);
    return 0;
}

static int each(void **state _unused_)
{
    problems[0] = '\0';
    atomic_store(&new_identities, 0);
    return 0;
}

static void write_text(const char *name, const char *text)
{
    char path[512], temporary[512];
    /* Replaced as kubelet does: the file is always complete. */
    FILE *file = fopen(in_dir(dir, "temporary", temporary), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(temporary, 0700), 0);
    assert_int_equal(rename(temporary, in_dir(dir, name, path)), 0);
}

static void copy_file(const char *from, const char *to)
{
    char path[512];
    struct strbuf text = { 0 };
    assert_int_equal(file_read(in_dir(dir, from, path), 1 << 20, &text, NULL), 0);
    write_text(to, text.text);
    strbuf_release(&text);
}

static struct str path_str(const char *name, char path[512])
{
    return str_from(in_dir(dir, name, path));
}

static struct credentials *make(const struct kube_access *access, struct credentials_options options)
{
    struct credentials *credentials;
    struct error err;
    options.loop = loop;
    options.on_problem = on_problem;
    options.on_new_identity = on_new_identity;
    if (credentials_new(access, &options, &credentials, &err) < 0)
        fail_msg("%s", err.text);
    return credentials;
}

/* The result of credentials_get(), and a condition to wait for it. */
struct got {
    struct completion done;
    int calls;
    struct credential *credential;
    struct error err;
};

static void on_ready(void *user, struct credential *credential, const struct error *err)
{
    struct got *got = user;
    got->calls++;
    got->credential = credential_ref(credential);
    got->err = err ? *err : (struct error){ 0 };
    completion_done(&got->done);
}

static void got_init(struct got *got)
{
    *got = (struct got){ 0 };
    completion_init(&got->done);
}

static void got_wait(struct got *got)
{
    completion_wait(&got->done, INT64_MAX);
}

static void got_release(struct got *got)
{
    credential_unref(got->credential);
    completion_release(&got->done);
}

static void get(struct credentials *credentials, struct got *got)
{
    got_init(got);
    credentials_get(credentials, on_ready, got);
    got_wait(got);
}

static const char *header(const struct got *got, const char *name)
{
    if (!got->credential)
        fail_msg("no credential: %s", got->err.text);
    for (size_t i = 0; i < got->credential->header_count; i++)
        if (strcmp(got->credential->headers[i].name, name) == 0)
            return got->credential->headers[i].value;
    return "";
}

enum { NEVER_MS = 3600 * 1000 };

/* Repeats until the header is `want`, or this problem was reported. */
static void wait_for(struct credentials *credentials, const char *want, const char *problem)
{
    for (bool found = false; !found; sleep_ms(1)) {
        struct got got;
        get(credentials, &got);
        found = want ? strcmp(header(&got, "Authorization"), want) == 0 : problem_was(problem);
        got_release(&got);
    }
}

static void assert_authorization(struct credentials *credentials, const char *want)
{
    struct got got;
    get(credentials, &got);
    assert_string_equal(header(&got, "Authorization"), want);
    got_release(&got);
}

/* Without a program */

static void test_plain(void **state _unused_)
{
    struct kube_access access = { .https = true, .user.token = STR("abc") };
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    assert_authorization(credentials, "Bearer abc");
    credentials_free(credentials);

    access.user = (struct kube_user){ .username = STR("user"), .password = STR("pass") };
    credentials = make(&access, (struct credentials_options){ 0 });
    assert_authorization(credentials, "Basic dXNlcjpwYXNz");
    credentials_free(credentials);

    access.user = (struct kube_user){ 0 };
    access.https = false;
    credentials = make(&access, (struct credentials_options){ 0 });
    struct got got;
    get(credentials, &got);
    assert_int_equal(got.credential->header_count, 0);
    assert_null(got.credential->tls);
    got_release(&got);
    credentials_free(credentials);
}

static void test_impersonation(void **state _unused_)
{
    struct str groups[] = { STR("g1"), STR("g2") }, values[] = { STR("v1"), STR("v2") };
    struct user_extra extra[] = { { .key = STR("acme.com/a%b"), .values = { values, 2 } } };
    struct kube_access access = {
        .https = true,
        .user = { .token = STR("t"), .as = STR("someone"), .as_uid = STR("7"), .as_groups = { groups, 2 } },
    };
    access.user.as_extra.items = extra;
    access.user.as_extra.len = 1;
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    struct got got;
    get(credentials, &got);
    static const struct http_header want[] = {
        { "Authorization", "Bearer t" },
        { "Impersonate-User", "someone" },
        { "Impersonate-Uid", "7" },
        { "Impersonate-Group", "g1" },
        { "Impersonate-Group", "g2" },
        { "Impersonate-Extra-acme.com%2Fa%25b", "v1" },
        { "Impersonate-Extra-acme.com%2Fa%25b", "v2" },
    };
    assert_int_equal(got.credential->header_count, ARRAY_SIZE(want));
    for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
        assert_string_equal(got.credential->headers[i].name, want[i].name);
        assert_string_equal(got.credential->headers[i].value, want[i].value);
    }
    got_release(&got);
    credentials_free(credentials);
}

static void test_token_file_is_reread(void **state _unused_)
{
    char path[512];
    write_text("token", "first\n");
    struct kube_access access = { .https = true, .user.token_file = path_str("token", path) };
    struct credentials *patient = make(&access, (struct credentials_options){ .reload_ms = NEVER_MS });
    struct credentials *credentials = make(&access, (struct credentials_options){ .reload_ms = 20 });
    assert_authorization(credentials, "Bearer first");
    write_text("token", "  second \n");
    wait_for(credentials, "Bearer second", NULL);
    assert_authorization(patient, "Bearer first"); /* not yet */
    credentials_free(patient);
    /* Deleted or empty: the old token stays, and a problem is reported. */
    unlink(path);
    wait_for(credentials, NULL, "token: No such file");
    assert_authorization(credentials, "Bearer second");
    write_text("token", "\n");
    wait_for(credentials, NULL, "the token file is empty");
    assert_authorization(credentials, "Bearer second");
    write_text("token", "bad\nsecret");
    wait_for(credentials, NULL, "characters that no header can hold");
    assert_authorization(credentials, "Bearer second");
    assert_false(problem_was("secret"));
    write_text("token", "third");
    wait_for(credentials, "Bearer third", NULL);
    assert_int_equal(atomic_load(&new_identities), 0);
    credentials_free(credentials);
}

static void test_rejected_token_file_is_reread_soon(void **state _unused_)
{
    char path[512];
    write_text("token", "first");
    struct kube_access access = { .https = true, .user.token_file = path_str("token", path) };
    struct credentials *credentials = make(&access, (struct credentials_options){ .exec_interval_ms = 50 });
    struct got got;
    get(credentials, &got);
    write_text("token", "second");
    credentials_refused(credentials, got.credential);
    wait_for(credentials, "Bearer second", NULL);
    credentials_refused(credentials, got.credential); /* of an old credential: no effect */
    got_release(&got);
    credentials_free(credentials);
}

static void test_certificate_files_are_reread(void **state _unused_)
{
    char ca[512], cert[512], key[512];
    copy_file("client.crt", "my.crt");
    copy_file("client.key", "my.key");
    struct kube_access access = {
        .https = true,
        .cluster.certificate_authority = path_str("ca.crt", ca),
        .user = { .client_certificate = path_str("my.crt", cert), .client_key = path_str("my.key", key) },
    };
    struct credentials *credentials = make(&access, (struct credentials_options){ .reload_ms = 100 });
    struct got before, same, half, after;
    get(credentials, &before);
    sleep_ms(150);
    get(credentials, &same);
    assert_ptr_equal(same.credential, before.credential); /* nothing changed */
    copy_file("bob.crt", "my.crt");
    sleep_ms(150);
    get(credentials, &half);
    assert_ptr_equal(half.credential, before.credential); /* the key is still the old one */
    assert_true(problem_was("does not belong to the certificate"));
    assert_int_equal(atomic_load(&new_identities), 0);
    copy_file("bob.key", "my.key");
    sleep_ms(150);
    get(credentials, &after);
    assert_false(tls_config_equal(after.credential->tls, before.credential->tls));
    assert_int_equal(atomic_load(&new_identities), 1);
    got_release(&before);
    got_release(&same);
    got_release(&half);
    got_release(&after);
    credentials_free(credentials);
}

static void test_bad_start(void **state _unused_)
{
    char words[512];
    write_text("words", "topsecret words");
    path_str("words", words);
    const struct {
        struct kube_access access;
        const char *want;
    } bad[] = {
        { { .https = true, .user.token_file = STR("/no/such/token") }, "/no/such/token: No such file" },
        { { .https = true, .user.token = STR("top\nsecret") }, "the token has characters" },
        { { .https = true, .user.as = STR("a\rsecret") }, "as has characters" },
        { { .https = true, .cluster.certificate_authority = str_from(words) }, "no valid certificate" },
        { { .https = true, .cluster.certificate_authority_data = STR("topsecret") }, "no valid certificate" },
        { { .https = true, .user.client_certificate = str_from(words), .user.client_key = str_from(words) },
          "no valid certificate" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct credentials *credentials = NULL;
        struct error err = { 0 };
        struct credentials_options options = { .loop = loop };
        if (credentials_new(&bad[i].access, &options, &credentials, &err) >= 0 ||
            !strstr(err.text, bad[i].want) || strstr(err.text, "secret"))
            fail_msg("case %zu: %s", i, err.text);
    }
}

/* Credential programs */

static struct kube_exec program(const char *name, const char *script, char path[512])
{
    char text[4096];
    snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
    write_text(name, text);
    return (struct kube_exec){ .api_version = STR("client.authentication.k8s.io/v1"),
                               .command = path_str(name, path),
                               .interactive = EXEC_INTERACTIVE_NEVER };
}

#define STATUS(fields) \
    "echo " \
    "'{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{" fields \
    "}}'"

/* Counts its runs in a file, and prints the count in its token. */
#define COUNTING(fields) \
    "n=$(cat \"$0.count\" 2>/dev/null || echo 0); n=$((n+1)); echo $n > \"$0.count\"\n" \
    "echo " \
    "\"{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1\\\",\\\"kind\\\":\\\"ExecCredential\\\"," \
    "\\\"status\\\":{\\\"token\\\":\\\"run-$n\\\"" fields "}}\""

static void test_program_runs_once(void **state _unused_)
{
    enum { COUNT = 20 };
    char path[512];
    struct kube_exec exec = program("once", "sleep 0.2\n" COUNTING(""), path);
    struct kube_access access = { .https = true, .user.exec = &exec };
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    struct got got[COUNT];
    for (int i = 0; i < COUNT; i++) {
        got_init(&got[i]);
        credentials_get(credentials, on_ready, &got[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        got_wait(&got[i]);
        assert_int_equal(got[i].calls, 1);
        assert_string_equal(header(&got[i], "Authorization"), "Bearer run-1");
        got_release(&got[i]);
    }
    assert_authorization(credentials, "Bearer run-1");
    credentials_free(credentials);
}

static void test_program_after_rejection(void **state _unused_)
{
    char path[512];
    struct kube_exec exec = program("young", COUNTING(""), path);
    struct kube_access access = { .https = true, .user.exec = &exec };
    struct credentials *credentials =
        make(&access, (struct credentials_options){ .exec_interval_ms = NEVER_MS });
    struct got first;
    get(credentials, &first);
    credentials_refused(credentials, first.credential); /* a new credential: no run storm */
    assert_authorization(credentials, "Bearer run-1");
    got_release(&first);
    credentials_free(credentials);

    exec = program("refused", COUNTING(""), path);
    credentials = make(&access, (struct credentials_options){ .exec_interval_ms = 50 });
    get(credentials, &first);
    sleep_ms(80);
    credentials_refused(credentials, first.credential);
    assert_authorization(credentials, "Bearer run-2");
    sleep_ms(80);
    credentials_refused(credentials, first.credential); /* of an old credential */
    assert_authorization(credentials, "Bearer run-2");
    /* If the program fails now, the rejected credential stays in use. */
    struct got second;
    get(credentials, &second);
    write_text("refused", "#!/bin/sh\nexit 3\n");
    credentials_refused(credentials, second.credential);
    assert_authorization(credentials, "Bearer run-2");
    assert_true(problem_was("refused failed with exit code 3"));
    got_release(&first);
    got_release(&second);
    credentials_free(credentials);
}

/* Used until it expires, seconds later. False: never used, because the machine is too slow. */
static bool check_end(int64_t ms)
{
    char path[512], name[32], script[1024];
    snprintf(name, sizeof(name), "ends-%lld", (long long)ms);
    snprintf(
        script, sizeof(script),
        COUNTING(
            ",\\\"expirationTimestamp\\\":\\\"$(date -u -d '+%lld seconds' +%%Y-%%m-%%dT%%H:%%M:%%SZ)\\\""),
        (long long)ms / 1000);
    struct kube_exec exec = program(name, script, path);
    struct kube_access access = { .https = true, .user.exec = &exec };
    struct credentials *credentials = make(&access, (struct credentials_options){ .exec_interval_ms = 50 });
    int64_t before_ns = monotonic_ns();
    assert_authorization(credentials, "Bearer run-1");
    sleep_ms(200);
    struct got got;
    get(credentials, &got);
    bool in_time = monotonic_ns() - before_ns < (ms - 1000) * INT64_C(1000000);
    if (in_time) {
        assert_string_equal(header(&got, "Authorization"), "Bearer run-1");
        sleep_ms(ms + 200);
        assert_authorization(credentials, "Bearer run-2");
    }
    got_release(&got);
    credentials_free(credentials);
    return in_time;
}

static void test_program_with_expiration(void **state _unused_)
{
    assert_at_some_pace(check_end, 4000);

    char path[512];
    struct kube_exec exec =
        program("ended", COUNTING(",\\\"expirationTimestamp\\\":\\\"2001-01-01T00:00:00Z\\\""), path);
    struct kube_access access = { .https = true, .user.exec = &exec };
    struct credentials *credentials =
        make(&access, (struct credentials_options){ .exec_interval_ms = NEVER_MS });
    assert_authorization(credentials,
                         "Bearer run-1"); /* a new credential is tried, whatever its expiration */
    assert_authorization(credentials, "Bearer run-1");
    credentials_free(credentials);
    credentials = make(&access, (struct credentials_options){ .exec_interval_ms = 50 });
    assert_authorization(credentials, "Bearer run-2");
    sleep_ms(80);
    assert_authorization(credentials, "Bearer run-3");
    credentials_free(credentials);
}

static const struct bad_program {
    const char *name, *script, *want;
    int64_t timeout_ms;
} bad_programs[] = {
    { "fails", "echo topsecret; exit 7", "failed with exit code 7" },
    { "killed", "kill -9 $$", "was ended by signal 9" },
    { "silent", "true", "printed nothing" },
    { "words", "echo 'topsecret: [unclosed'", "printed something that is neither JSON nor YAML" },
    { "list", "echo '[\"topsecret\"]'", "printed something that is not an ExecCredential" },
    { "other-kind", "echo '{\"kind\":\"Pod\",\"token\":\"topsecret\"}'", "is not an ExecCredential" },
    { "other-version",
      "echo "
      "'{\"apiVersion\":\"client.authentication.k8s.io/"
      "v1beta1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":"
      "\"topsecret\"}}'",
      "of another apiVersion" },
    { "no-status", "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\"}'",
      "printed no status" },
    { "empty", STATUS(""), "printed neither a token nor a certificate" },
    { "number", STATUS("\"token\":5"), "printed a credential that is not a string" },
    { "half", STATUS("\"clientKeyData\":\"topsecret\""), "printed only one of certificate and key" },
    { "no-pem", STATUS("\"clientKeyData\":\"topsecret\",\"clientCertificateData\":\"topsecret\""),
      "no-pem: client certificate data: no valid certificate" },
    { "no-time", STATUS("\"token\":\"topsecret\",\"expirationTimestamp\":\"soon\""),
      "expirationTimestamp that is no time" },
    { "header", STATUS("\"token\":\"top\\u0007secret\""),
      "the token has characters that no header can hold" },
    { "flood", "yes topsecret", "printed more than 1048576 bytes" },
    { "slow", "sleep 60", "did not end within 500 ms", 500 },
    { "slow-child", "sleep 60 & wait", "did not end within 500 ms", 500 },
};

static atomic_int runs;

static void on_exec(void *user _unused_, int exit_code _unused_, const char *call_status _unused_)
{
    atomic_fetch_add(&runs, 1);
}

static void test_bad_programs(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad_programs); i++) {
        char path[512];
        struct kube_exec exec = program(bad_programs[i].name, bad_programs[i].script, path);
        struct kube_access access = { .https = true, .user.exec = &exec };
        struct credentials *credentials =
            make(&access, (struct credentials_options){ .exec_timeout_ms = bad_programs[i].timeout_ms,
                                                        .exec_interval_ms = NEVER_MS,
                                                        .on_exec = on_exec });
        atomic_store(&runs, 0);
        struct got got;
        get(credentials, &got);
        if (got.credential || !strstr(got.err.text, bad_programs[i].want) ||
            !strstr(got.err.text, bad_programs[i].name))
            fail_msg("%s: \"%s\", want \"%s\"", bad_programs[i].name, got.err.text, bad_programs[i].want);
        assert_null(strstr(got.err.text, "secret"));
        got_release(&got);
        /* Requested again at once: the same error, without another run. */
        get(credentials, &got);
        assert_null(got.credential);
        assert_int_equal(atomic_load(&runs), 1);
        got_release(&got);
        credentials_free(credentials);
    }
    assert_false(problem_was("secret"));

    struct kube_exec exec = { .api_version = STR("client.authentication.k8s.io/v1"),
                              .command = STR("no-such-program-anywhere"),
                              .install_hint = STR("Get it from the usual place"),
                              .interactive = EXEC_INTERACTIVE_NEVER };
    struct kube_access access = { .https = true, .user.exec = &exec };
    /* An unreadable directory would give another error. */
    setenv("PATH", "/usr/bin:/bin", 1);
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    struct got got;
    get(credentials, &got);
    assert_string_equal(got.err.text,
                        "the credential program no-such-program-anywhere does not start: No such file "
                        "or directory. Get it from the usual place");
    got_release(&got);
    credentials_free(credentials);
}

/* A child that outlives the program and keeps its output open does not block. */
static void test_program_with_a_lingering_child(void **state _unused_)
{
    char path[512];
    struct kube_exec exec = program("lingers", "sleep 40 2>/dev/null &\n" STATUS("\"token\":\"t\""), path);
    struct kube_access access = { .https = true, .user.exec = &exec };
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    int64_t before = monotonic_ns();
    assert_authorization(credentials, "Bearer t");
    assert_true(monotonic_ns() - before < 30000 * INT64_C(1000000));
    credentials_free(credentials);
}

static void test_free_stops_the_program(void **state _unused_)
{
    char path[512];
    struct kube_exec exec = program("endless", "sleep 600", path);
    struct kube_access access = { .https = true, .user.exec = &exec };
    struct credentials *credentials =
        make(&access, (struct credentials_options){ .exec_timeout_ms = NEVER_MS });
    struct got got;
    got_init(&got);
    credentials_get(credentials, on_ready, &got);
    sleep_ms(100);
    int64_t before = monotonic_ns();
    credentials_free(credentials);
    assert_true(monotonic_ns() - before < 60000 * INT64_C(1000000));
    assert_int_equal(got.calls, 1);
    assert_null(got.credential);
    got_release(&got);
}

/* The complete input of the program. */
static void test_program_input(void **state _unused_)
{
    char path[512], out_path[512], expected[1024];
    struct str args[] = { STR("one two"), STR("") };
    struct exec_env env[] = { { STR("MINE"), STR("v w") }, { STR("HOME"), STR("/elsewhere") } };
    struct kube_exec exec = program(
        "input",
        "printf '%s|%s|%s|%s|%s' \"$1\" \"$#\" \"$MINE\" \"$HOME\" \"$KUBERNETES_EXEC_INFO\" > \"$0.out\"\n"
        "cat >> \"$0.out\"\n" STATUS("\"token\":\"t\""),
        path);
    exec.args = (struct str_list){ args, 2 };
    exec.env.items = env;
    exec.env.len = 2;
    exec.provide_cluster_info = true;
    exec.cluster_config = STR("{\"audience\":\"x\"}");
    struct kube_access access = {
        .https = true,
        .cluster = { .server = STR("https://h:1"),
                     .tls_server_name = STR("name"),
                     .proxy_url = STR("http://p"),
                     .insecure = true,
                     .disable_compression = true },
        .user.exec = &exec,
    };
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    assert_authorization(credentials, "Bearer t");
    credentials_free(credentials);
    struct strbuf out = { 0 };
    assert_int_equal(file_read(in_dir(dir, "input.out", out_path), 10000, &out, NULL), 0);
    snprintf(expected, sizeof(expected),
             "one two|2|v "
             "w|/elsewhere|{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
             "\"spec\":{\"cluster\":{\"server\":\"https://h:1\",\"tls-server-name\":\"name\","
             "\"insecure-skip-tls-verify\":true,\"proxy-url\":\"http://p\",\"disable-compression\":true,"
             "\"config\":{\"audience\":\"x\"}},\"interactive\":false}}");
    assert_string_equal(out.text, expected);
    strbuf_release(&out);

    /* The CA file is passed as data; a missing config is null. */
    char ca[512];
    exec.cluster_config = (struct str){ 0 };
    exec.env.len = exec.args.len = 0;
    access.cluster = (struct kube_cluster){ .server = STR("https://h:1"),
                                            .certificate_authority = path_str("ca.crt", ca) };
    credentials = make(&access, (struct credentials_options){ 0 });
    assert_authorization(credentials, "Bearer t");
    credentials_free(credentials);
    struct strbuf pem = { 0 }, want = { 0 };
    assert_int_equal(file_read(out_path, 10000, &out, NULL), 0);
    assert_int_equal(file_read(ca, 10000, &pem, NULL), 0);
    strbuf_puts(&want, "\"certificate-authority-data\":\"");
    base64_encode(&want, strbuf_slice(&pem));
    strbuf_puts(&want, "\",\"config\":null},\"interactive\":false}}");
    assert_non_null(strstr(out.text, want.text));
    strbuf_release(&out);
    strbuf_release(&pem);
    strbuf_release(&want);
}

static void test_program_needs_a_terminal(void **state _unused_)
{
    char path[512];
    struct kube_exec exec = program("terminal", STATUS("\"token\":\"t\""), path);
    exec.interactive = EXEC_INTERACTIVE_ALWAYS;
    struct kube_access access = { .https = true, .user.exec = &exec };
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    struct got got;
    int saved = dup(STDIN_FILENO), null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    get(credentials, &got);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(null);
    assert_non_null(strstr(got.err.text, "wants a terminal, and standard input is none"));
    got_release(&got);
    credentials_free(credentials);
}

static void test_token_takes_precedence_over_program(void **state _unused_)
{
    struct kube_exec exec = { .command = STR("/no/such/program") };
    struct kube_access access = { .https = true, .user = { .token = STR("t"), .exec = &exec } };
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    assert_authorization(credentials, "Bearer t");
    credentials_free(credentials);
}

/* A kubeconfig, its credentials, and a server that returns the user. */

struct request_data {
    struct http_client *client;
    const char *url;
    struct reply reply;
};

static void send_with(void *user, struct credential *credential, const struct error *err)
{
    struct request_data *data = user;
    if (!credential)
        fail_msg("%s", err->text);
    struct http_request request = { .url = data->url,
                                    .headers = credential->headers,
                                    .header_count = credential->header_count,
                                    .tls = credential->tls };
    send_to(data->client, &request, &data->reply);
}

static struct strbuf get_with_kubeconfig(const char *kubeconfig, const char *path)
{
    char file[512], url[256];
    struct arena arena = { 0 };
    struct kube_access access;
    struct error err;
    write_text("config", kubeconfig);
    if (kubeconfig_load(&(struct kube_source){ .kubeconfig = in_dir(dir, "config", file) }, &arena, &access,
                        NULL, &err) < 0)
        fail_msg("%s", err.text);
    snprintf(url, sizeof(url), "%s%s", access.cluster.server.ptr, path);
    struct credentials *credentials = make(&access, (struct credentials_options){ 0 });
    struct request_data *data = xcalloc(1, sizeof(*data));
    data->client = client_of((struct http_options){ 0 });
    data->url = url;
    reply_init(&data->reply);
    struct got got;
    get(credentials, &got); /* waits; the next call returns it at once */
    credentials_get(credentials, send_with, data);
    reply_wait(&data->reply);
    if (data->reply.response.outcome != HTTP_ANSWERED)
        fail_msg("%s", data->reply.response.error.text);
    struct strbuf text = data->reply.text;
    data->reply.text = (struct strbuf){ 0 };
    got_release(&got);
    reply_release(&data->reply);
    http_client_free(data->client);
    credentials_free(credentials);
    arena_release(&arena);
    free(data);
    return text;
}

static void test_against_a_server(void **state _unused_)
{
    struct server server;
    char ca[512], cert[512], key[512], text[2048], program_path[512];
    server_start(&server, "--cert", in_dir(dir, "server.crt", cert), "--key", in_dir(dir, "server.key", key),
                 "--client-ca", in_dir(dir, "ca.crt", ca));
    write_text("token", "from-file\n");
    struct strbuf script = { 0 }, alice_cert = { 0 }, alice_key = { 0 };
    file_read(in_dir(dir, "client.crt", cert), 1 << 20, &alice_cert, NULL);
    file_read(in_dir(dir, "client.key", key), 1 << 20, &alice_key, NULL);
    strbuf_puts(&script,
                "cat <<'END'\napiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n"
                "  token: from-program\n  clientCertificateData: |\n    ");
    for (const char *c = alice_cert.text; *c; c++)
        c[0] == '\n' && c[1] ? strbuf_puts(&script, "\n    ") : strbuf_putc(&script, *c);
    strbuf_puts(&script, "  clientKeyData: |\n    ");
    for (const char *c = alice_key.text; *c; c++)
        c[0] == '\n' && c[1] ? strbuf_puts(&script, "\n    ") : strbuf_putc(&script, *c);
    strbuf_puts(&script, "END");
    program("print-yaml", script.text, program_path);

    static const struct {
        const char *user, *want[2];
    } cases[] = {
        { "{token: t0ken}", { "\"authorization\": \"Bearer t0ken\"", "\"peer\": \"\"" } },
        { "{tokenFile: token}", { "\"authorization\": \"Bearer from-file\"", "\"peer\": \"\"" } },
        { "{username: u, password: p}", { "\"authorization\": \"Basic dTpw\"", "\"peer\": \"\"" } },
        { "{client-certificate: client.crt, client-key: client.key, as: root}",
          { "\"impersonate-user\": \"root\"", "\"peer\": \"alice\"" } },
        { "{exec: {command: ./print-yaml, apiVersion: client.authentication.k8s.io/v1, interactiveMode: "
          "IfAvailable}}",
          { "\"authorization\": \"Bearer from-program\"", "\"peer\": \"alice\"" } },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        snprintf(text, sizeof(text),
                 "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                 "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:%d/', certificate-authority: "
                 "ca.crt}}]\n"
                 "users:\n- name: u\n  user: %s\n",
                 server.port, cases[i].user);
        struct strbuf seen = get_with_kubeconfig(text, "/echo");
        for (int j = 0; j < 2; j++)
            if (!strstr(seen.text, cases[i].want[j]))
                fail_msg("%s: %s is not in %s", cases[i].user, cases[i].want[j], seen.text);
        strbuf_release(&seen);
    }
    strbuf_release(&script);
    strbuf_release(&alice_cert);
    strbuf_release(&alice_key);
    server_stop(&server);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, each)
    const struct CMUnitTest tests[] = {
        TEST(test_plain),
        TEST(test_impersonation),
        TEST(test_token_file_is_reread),
        TEST(test_rejected_token_file_is_reread_soon),
        TEST(test_certificate_files_are_reread),
        TEST(test_bad_start),
        TEST(test_program_runs_once),
        TEST(test_program_after_rejection),
        TEST(test_program_with_expiration),
        TEST(test_bad_programs),
        TEST(test_program_with_a_lingering_child),
        TEST(test_free_stops_the_program),
        TEST(test_program_input),
        TEST(test_program_needs_a_terminal),
        TEST(test_token_takes_precedence_over_program),
        TEST(test_against_a_server),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
