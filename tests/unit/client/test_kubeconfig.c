/* Kubeconfig files, as a table; broken and hostile files give an error that names the place and does not reveal the
 * secret. */
#include "unit/net/harness.h"

#include <sys/stat.h>

#include "client/kubeconfig.h"

static char dir[64];

static void write_text(const char *name, const char *text)
{
    char path[512];
    FILE *file = fopen(in_dir(dir, name, path), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state _unused_)
{
    dir_make(dir);
    certs_make(dir);
    write_text("token", "from-a-file\n");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    return 0;
}

static int teardown(void **state _unused_)
{
    dir_remove(dir);
    return 0;
}

struct loaded {
    struct arena arena;
    struct kube_access access;
    struct warnings warnings;
    struct error err;
    int r;
};

static void loaded_release(struct loaded *loaded)
{
    warnings_release(&loaded->warnings);
    arena_release(&loaded->arena);
}

static struct loaded load(const struct kube_source *source)
{
    struct loaded loaded = { 0 };
    loaded.r = kubeconfig_load(source, &loaded.arena, &loaded.access, &loaded.warnings, &loaded.err);
    return loaded;
}

static struct loaded load_text(const char *text, const char *master)
{
    char path[512];
    write_text("config", text);
    return load(&(struct kube_source){ .kubeconfig = in_dir(dir, "config", path), .master = master });
}

/* A file with one context whose cluster and user have these fields. */
static struct loaded load_parts(const char *cluster, const char *user)
{
    char text[4096];
    snprintf(text, sizeof(text),
             "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
             "contexts:\n- name: here\n  context: {cluster: c, user: u, namespace: ns}\n"
             "clusters:\n- name: c\n  cluster: {%s}\nusers:\n- name: u\n  user: {%s}\n",
             cluster, user);
    return load_text(text, NULL);
}

static void test_complete(void **state _unused_)
{
    char path[512];
    struct loaded l = load_parts("server: https://10.0.0.1:6443/, certificate-authority: ca.crt, "
                                 "tls-server-name: api.test, proxy-url: 'http://proxy:3128', future: {a: 1}",
                                 "client-certificate: client.crt, client-key: ./client.key, token: t0k, "
                                 "tokenFile: token, as: root, as-uid: '7', as-groups: [a, b], "
                                 "as-user-extra: {scopes: [v, w]}");
    if (l.r < 0)
        fail_msg("%s", l.err.text);
    const struct kube_access *a = &l.access;
    assert_true(a->https);
    assert_false(a->in_cluster);
    assert_str(a->namespace, "ns");
    assert_str(a->cluster.server, "https://10.0.0.1:6443");
    assert_str(a->cluster.certificate_authority, in_dir(dir, "ca.crt", path));
    assert_str(a->cluster.tls_server_name, "api.test");
    assert_str(a->cluster.proxy_url, "http://proxy:3128");
    assert_str(a->user.client_certificate, in_dir(dir, "client.crt", path));
    assert_str(a->user.client_key, in_dir(dir, "./client.key", path));
    assert_str(a->user.token, "t0k");
    assert_str(a->user.token_file, in_dir(dir, "token", path));
    assert_str(a->user.as, "root");
    assert_str(a->user.as_uid, "7");
    assert_int_equal(a->user.as_groups.len, 2);
    assert_str(a->user.as_groups.items[1], "b");
    assert_int_equal(a->user.as_extra.len, 1);
    assert_str(a->user.as_extra.items[0].key, "scopes");
    assert_str(a->user.as_extra.items[0].values.items[1], "w");
    assert_int_equal(l.warnings.list.len, 0);
    loaded_release(&l);
}

static void test_exec(void **state _unused_)
{
    struct loaded l =
        load_parts("server: https://h, extensions: [{name: other, extension: 1}, "
                   "{name: client.authentication.k8s.io/exec, extension: {audience: x, list: [1, 2.5]}}]",
                   "exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, "
                   "args: [a, '', 'b c'], env: [{name: A, value: '1'}, {name: B}], "
                   "interactiveMode: Never, provideClusterInfo: true, installHint: 'install it'}");
    if (l.r < 0)
        fail_msg("%s", l.err.text);
    const struct kube_exec *exec = l.access.user.exec;
    assert_non_null(exec);
    assert_str(exec->command, "get-token"); /* searched in $PATH */
    assert_int_equal(exec->args.len, 3);
    assert_str(exec->args.items[1], "");
    assert_str(exec->env.items[0].value, "1");
    assert_str(exec->env.items[1].value, "");
    assert_int_equal(exec->interactive, EXEC_INTERACTIVE_NEVER);
    assert_true(exec->provide_cluster_info);
    assert_str(exec->cluster_config, "{\"audience\":\"x\",\"list\":[1,2.5]}");
    loaded_release(&l);

    char path[512];
    l = load_parts("server: https://h",
                   "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/get-token}");
    assert_int_equal(l.r, 0);
    assert_int_equal(l.access.user.exec->interactive, EXEC_INTERACTIVE_IF_AVAILABLE); /* v1beta1's default */
    assert_str(l.access.user.exec->command, in_dir(dir, "./bin/get-token", path));
    loaded_release(&l);
}

static const struct server_case {
    const char *server;
    const char *want; /* NULL: rejected */
    bool https;
} servers[] = {
    { "https://h", "https://h", true },
    { "https://h:6443/", "https://h:6443", true },
    { "https://h:6443/prefix/", "https://h:6443/prefix", true },
    { "https://h/p?q=1#f", "https://h/p", true },
    { "HTTPS://h", "HTTPS://h", true },
    { "http://h:8080", "http://h:8080", false },
    { "h:8080", "http://h:8080", false },
    { "h", "http://h", false },
    { "h/", "http://h", false },
    { "[::1]:6443", "http://[::1]:6443", false },
    { "https://[::1]:6443", "https://[::1]:6443", true },
    { "h/path", NULL, false },
    { "https://", NULL, false },
    { "https:///", NULL, false },
    { "ftp://h", NULL, false },
    { "unix:///run/x", NULL, false },
    { "https://h h", NULL, false },
    { "https://h\\nHost: x", NULL, false },
};

static void test_servers(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
        char cluster[128];
        snprintf(cluster, sizeof(cluster), "server: \"%s\"", servers[i].server);
        struct loaded l = load_parts(cluster, "token: topsecret");
        if (!servers[i].want != (l.r < 0))
            fail_msg("%s: %d %s", servers[i].server, l.r, l.err.text);
        if (servers[i].want) {
            assert_str(l.access.cluster.server, servers[i].want);
            assert_int_equal(l.access.https, servers[i].https);
            /* Credentials only over TLS. */
            assert_str(l.access.user.token, servers[i].https ? "topsecret" : "");
        } else {
            assert_non_null(strstr(l.err.text, "clusters[0].cluster.server: expected host:port"));
        }
        loaded_release(&l);
    }
}

static void test_master(void **state _unused_)
{
    struct loaded l = load(&(struct kube_source){ .master = "https://m:1/" });
    assert_int_equal(l.r, 0);
    assert_str(l.access.cluster.server, "https://m:1");
    assert_str(l.access.user.token, "");
    loaded_release(&l);

    /* It replaces the server of a file, whose user stays; tls-server-name belonged to the other server. */
    l = load_text("current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                  "clusters: [{name: c, cluster: {server: 'https://h', tls-server-name: name, "
                  "insecure-skip-tls-verify: true}}]\nusers: [{name: u, user: {token: t}}]\n",
                  "https://m");
    assert_int_equal(l.r, 0);
    assert_str(l.access.cluster.server, "https://m");
    assert_str(l.access.cluster.tls_server_name, "");
    assert_true(l.access.cluster.insecure);
    assert_str(l.access.user.token, "t");
    loaded_release(&l);

    l = load_text("", "m:8080"); /* an empty file has no entries */
    assert_int_equal(l.r, 0);
    assert_str(l.access.cluster.server, "http://m:8080");
    loaded_release(&l);

    l = load(&(struct kube_source){ .master = "ftp://m" });
    assert_string_equal(l.err.text, "--master: expected host:port or an http or https URL");
    loaded_release(&l);
}

static void test_merge(void **state _unused_)
{
    /* The first file that sets a field wins; a relative path is relative to its own file. */
    char list[2048], sub[128], path[512], want[512];
    snprintf(sub, sizeof(sub), "%s/sub", dir);
    assert_int_equal(mkdir(sub, 0700), 0);
    write_text("one", "clusters: [{name: c, cluster: {server: 'https://one'}}]\n"
                      "contexts: [{name: b, context: {cluster: c, user: u}}]\n");
    write_text("sub/two", "current-context: b\nclusters: [{name: c, cluster: {server: 'https://two'}}]\n"
                          "users: [{name: u, user: {tokenFile: ../token}}]\n"
                          "contexts: [{name: a, context: {cluster: c, user: u}}]\n");
    snprintf(list, sizeof(list), ":%s/absent::%s/one:%s/sub/two:", dir, dir, dir);
    struct loaded l = load(&(struct kube_source){ .kubeconfig_list = list });
    if (l.r < 0)
        fail_msg("%s", l.err.text);
    assert_str(l.access.cluster.server, "https://one");
    snprintf(want, sizeof(want), "%s/../token", sub);
    assert_str(l.access.user.token_file, want);
    loaded_release(&l);
    l = load(&(struct kube_source){ .kubeconfig_list = list, .context = "a" });
    assert_str(l.access.cluster.server, "https://one");
    loaded_release(&l);
    l = load(&(struct kube_source){ .kubeconfig_list = list, .context = "z" });
    assert_string_equal(l.err.text, "the context \"z\" is not in the kubeconfig");
    loaded_release(&l);
    unlink(in_dir(dir, "sub/two", path));
    rmdir(sub);
}

static void test_relative_file(void **state _unused_)
{
    char *before = getcwd(NULL, 0);
    char path[512], real[512];
    write_text("config",
               "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
               "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}]\n");
    assert_int_equal(chdir(dir), 0);
    struct loaded l = load(&(struct kube_source){ .kubeconfig = "config" });
    assert_int_equal(chdir(before), 0);
    free(before);
    assert_int_equal(l.r, 0);
    assert_non_null(realpath(in_dir(dir, "ca.crt", path), real));
    assert_str(l.access.cluster.certificate_authority, real); /* absolute: the working directory may change */
    assert_int_equal(l.warnings.list.len, 1);                 /* user u does not exist */
    loaded_release(&l);
}

static void test_in_cluster(void **state _unused_)
{
    char sa[64], path[512], to[512];
    dir_make(sa);
    assert_int_equal(link(in_dir(dir, "token", path), in_dir(sa, "token", to)), 0);
    struct kube_source source = { .service_account_dir = sa };
    struct loaded l = load(&source);
    assert_true(l.r < 0);
    assert_non_null(strstr(l.err.text, "no cluster to talk to: give --kubeconfig, or run in a pod"));
    loaded_release(&l);

    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    l = load(&source);
    assert_int_equal(l.r, 0);
    assert_true(l.access.in_cluster && l.access.https);
    assert_str(l.access.cluster.server, "https://[fd00::1]:443");
    assert_str(l.access.cluster.certificate_authority, ""); /* no file */
    assert_int_equal(l.warnings.list.len, 1);
    loaded_release(&l);

    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    write_text("namespace", "kube-system\n");
    assert_int_equal(link(in_dir(dir, "ca.crt", path), in_dir(sa, "ca.crt", to)), 0);
    assert_int_equal(link(in_dir(dir, "namespace", path), in_dir(sa, "namespace", to)), 0);
    l = load(&source);
    assert_int_equal(l.r, 0);
    assert_str(l.access.cluster.server, "https://10.0.0.1:443");
    assert_str(l.access.cluster.certificate_authority, in_dir(sa, "ca.crt", to));
    assert_str(l.access.user.token_file, in_dir(sa, "token", to));
    assert_str(l.access.namespace, "kube-system");
    loaded_release(&l);

    /* An empty file, in a pod: the pod's service account. */
    write_text("config", "apiVersion: v1\nkind: Config\n");
    l = load(&(struct kube_source){ .kubeconfig = in_dir(dir, "config", path), .service_account_dir = sa });
    assert_int_equal(l.r, 0);
    assert_true(l.access.in_cluster);
    loaded_release(&l);

    setenv("KUBERNETES_SERVICE_HOST", "evil/../host x", 1);
    l = load(&source);
    assert_int_equal(l.r, -EINVAL);
    loaded_release(&l);
    setenv("KUBERNETES_SERVICE_HOST", "h", 1);
    l = load(&(struct kube_source){ .service_account_dir = "/no/such/folder" });
    assert_non_null(strstr(l.err.text, "/no/such/folder/token: No such file"));
    loaded_release(&l);
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    dir_remove(sa);
}

/* One bad field each: the error contains this, and not the secret. */
static const struct bad_part {
    const char *cluster, *user, *want;
} bad_parts[] = {
    { "server: 5", "", "config:9:21: clusters[0].cluster.server: expected a string, got a number" },
    { "server: [https://h]", "", "clusters[0].cluster.server: expected a string, got a list" },
    { "", "", "config: there is no server for the cluster \"c\"" },
    { "server: https://h, insecure-skip-tls-verify: 'true'", "",
      "clusters[0].cluster.insecure-skip-tls-verify: expected true or false, got a string" },
    { "server: https://h, certificate-authority-data: '%%topsecret'", "",
      "certificate-authority-data: expected base64 text" },
    { "server: https://h, certificate-authority: ca.crt, certificate-authority-data: AAAA", "",
      "certificate-authority: certificate-authority-data is given as well" },
    { "server: https://h, certificate-authority: nowhere.crt", "", "nowhere.crt: No such file or directory" },
    { "server: https://h, certificate-authority: ca.crt, insecure-skip-tls-verify: true", "",
      "insecure-skip-tls-verify: a certificate authority is given as well" },
    { "server: https://h, proxy-url: 'ftp://user:topsecret@p'", "",
      "clusters[0].cluster.proxy-url: expected a URL with http, https or socks5" },
    { "server: https://h", "token: 12345", "users[0].user.token: expected a string, got a number" },
    { "server: https://h", "token: {topsecret: 1}", "users[0].user.token: expected a string, got an object" },
    { "server: https://h", "token: \"topsecret\\0\"", "users[0].user.token: a zero byte is not allowed" },
    { "server: https://h", "token: topsecret, username: u",
      "token and username or password exclude each other" },
    { "server: https://h", "token: topsecret, password: topsecret", "exclude each other" },
    { "server: https://h", "client-key-data: topsecret!", "client-key-data: expected base64 text" },
    { "server: https://h", "client-certificate-data: AAAA",
      "a client certificate needs client-key or client-key-data" },
    { "server: https://h",
      "client-certificate: client.crt, client-certificate-data: AAAA, client-key: client.key",
      "client-certificate-data is given as well" },
    { "server: https://h", "client-certificate: client.crt, client-key-data: AAAA, client-key: client.key",
      "client-key-data is given as well" },
    { "server: https://h", "client-certificate: client.crt, client-key: gone.key", "gone.key: No such file" },
    { "server: https://h", "tokenFile: gone", "users[0].user.tokenFile: cannot read " },
    { "server: https://h", "auth-provider: {name: gcp, config: {access-token: topsecret}}",
      "users[0].user.auth-provider: auth providers are not supported" },
    { "server: https://h", "as-groups: [a]", "as-uid, as-groups and as-user-extra need as" },
    { "server: https://h", "as: u, as-groups: a", "as-groups: expected a list of strings, got a string" },
    { "server: https://h", "as: u, as-user-extra: [a]", "as-user-extra: expected an object" },
    { "server: https://h", "exec: [topsecret]", "users[0].user.exec: expected an object, got a list" },
    { "server: https://h", "exec: {apiVersion: client.authentication.k8s.io/v1}",
      "exec: command is missing" },
    { "server: https://h", "exec: {command: c}",
      "expected an apiVersion of client.authentication.k8s.io/v1" },
    { "server: https://h", "exec: {command: c, apiVersion: client.authentication.k8s.io/v1alpha1}",
      "expected an apiVersion of" },
    { "server: https://h", "exec: {command: c, apiVersion: client.authentication.k8s.io/v1}",
      "expected an interactiveMode of Never, IfAvailable or Always" },
    { "server: https://h",
      "exec: {command: c, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Sometimes}",
      "expected an interactiveMode" },
    { "server: https://h", "exec: {command: c, env: [{value: topsecret}]}",
      "users[0].user.exec.env[0].name: expected the name of a variable" },
    { "server: https://h", "exec: {command: c, env: [{name: A=B, value: topsecret}]}", "expected the name" },
    { "server: https://h", "exec: {command: c, args: [1]}", "exec.args[0]: expected a string, got a number" },
};

static void test_bad_parts(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad_parts); i++) {
        struct loaded l = load_parts(bad_parts[i].cluster, bad_parts[i].user);
        if (l.r >= 0 || !strstr(l.err.text, bad_parts[i].want) || strstr(l.err.text, "topsecret"))
            fail_msg("{%s} {%s}: \"%s\", want \"%s\"", bad_parts[i].cluster, bad_parts[i].user, l.err.text,
                     bad_parts[i].want);
        if (!strstr(l.err.text, "/config"))
            fail_msg("no file in \"%s\"", l.err.text);
        loaded_release(&l);
    }
}

static const struct bad_text {
    const char *text, *want;
} bad_texts[] = {
    { "[]", "expected a kubeconfig, got a list" },
    { "just words", "expected a kubeconfig, got a string" },
    { "kind: Pod", "kind: expected Config" },
    { "apiVersion: v2", "apiVersion: expected v1" },
    { "kind: [x]", "kind: expected a string, got a list" },
    { "clusters: {}", "clusters: expected a list" },
    { "users: 5", "users: expected a list" },
    { "users: [5]", "users[0]: expected an object" },
    { "users: [{name: 5}]", "users[0].name: expected a string, got a number" },
    { "users: [{name: a}, {name: b}, {name: a}]", "users[2].name: \"a\" is given twice" },
    { "current-context: {}", "current-context: expected a string, got an object" },
    { "current-context: x", "current-context: the context \"x\" is not in the kubeconfig" },
    { "current-context: x\ncontexts: [{name: x, context: 5}]", "contexts[0].context: expected an object" },
    { "current-context: x\ncontexts: [{name: x}]", "no context is chosen (current-context)" },
    { "current-context: x\ncontexts: [{name: x, context: {cluster: gone}}]",
      "there is no server for the cluster \"gone\"" },
    { "{}", "no context is chosen" },
    { "{\"clusters\": [", "unexpected end of data" },
    { "current-context: *topsecret", "config:1:18: unknown anchor" },
    { "a: &topsecret [*topsecret]\n", "the value of anchor" },
    { "a: !!binary x", "" },
    { "\xff\xfe", "UTF-16" },
    { "a: [", "" },
};

static void test_bad_texts(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad_texts); i++) {
        struct loaded l = load_text(bad_texts[i].text, NULL);
        if (l.r >= 0 || !l.err.text[0] || !strstr(l.err.text, bad_texts[i].want) ||
            strstr(l.err.text, "topsecret"))
            fail_msg("%s: \"%s\", want \"%s\"", bad_texts[i].text, l.err.text, bad_texts[i].want);
        loaded_release(&l);
    }
    struct loaded l = load(&(struct kube_source){ .kubeconfig = "/no/such/file" });
    assert_non_null(strstr(l.err.text, "/no/such/file: "));
    assert_non_null(strstr(l.err.text, "No such file or directory"));
    loaded_release(&l);
}

/* A valid file with bytes changed, cut and repeated at random: it loads or gives an error. */
static void test_random_damage(void **state _unused_)
{
    static const char good[] =
        "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts:\n- name: x\n  context: {cluster: c, "
        "user: u}\n"
        "clusters:\n- name: c\n  cluster:\n    server: https://h:6443\n    certificate-authority-data: AAAA\n"
        "    extensions: [{name: client.authentication.k8s.io/exec, extension: {a: [1]}}]\n"
        "users:\n- name: u\n  user:\n    as: a\n    as-user-extra: {k: [v]}\n    exec:\n"
        "      apiVersion: client.authentication.k8s.io/v1\n      command: c\n      args: [a]\n"
        "      env: [{name: A, value: B}]\n      interactiveMode: Never\n";
    struct rng rng = test_rng();
    for (int round = 0; round < 3000; round++) {
        char text[sizeof(good) + 1];
        memcpy(text, good, sizeof(good));
        for (uint64_t i = 0, changes = rng_below(&rng, 6); i < changes; i++) {
            size_t at = rng_below(&rng, sizeof(good) - 1);
            text[at] = rng_below(&rng, 2) ? "{}[]:,-&*'\"\n !#"[rng_below(&rng, 15)]
                                          : (char)(1 + rng_below(&rng, 255));
        }
        if (rng_below(&rng, 4) == 0)
            text[rng_below(&rng, sizeof(good) - 1)] = '\0';
        struct loaded l = load_text(text, NULL);
        if (l.r < 0)
            assert_true(l.err.text[0] != '\0');
        loaded_release(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),   cmocka_unit_test(test_exec),
        cmocka_unit_test(test_servers),    cmocka_unit_test(test_master),
        cmocka_unit_test(test_merge),      cmocka_unit_test(test_relative_file),
        cmocka_unit_test(test_in_cluster), cmocka_unit_test(test_bad_parts),
        cmocka_unit_test(test_bad_texts),  cmocka_unit_test(test_random_damage),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
