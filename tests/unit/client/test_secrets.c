/* Secrets in memory: what was read of a token, and made of it, is overwritten when it is not needed any more. */
#include "unit/net/harness.h"

#include <fcntl.h>
#include <sys/random.h>

#include "base/thread.h"
#include "client/credentials.h"
#include "client/kubeconfig.h"
#include "net/file.h"

enum {
    MASK = 0x55,
    PIECE = 300 /* more than registers hold, which the C library saves on stacks */,
    PIECES = 4
};

/* A secret in a file, and masked here: nothing in this process holds its bytes as they are. */
struct hidden {
    unsigned char masked[PIECES * PIECE];
};

/* How many pieces of the secret are in the memory that this process can write. */
static int copies_in_memory(const struct hidden *hidden)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    char line[512], *end;
    int found = 0;
    while (fgets(line, sizeof(line), maps)) {
        uintptr_t from = strtoul(line, &end, 16), to = strtoul(end + 1, &end, 16);
        if (strncmp(end, " rw", 3) != 0)
            continue;
        for (const volatile unsigned char *at = (void *)from; at + PIECE <= (unsigned char *)to; at++)
            for (int piece = 0; piece < PIECES; piece++) {
                const unsigned char *masked = hidden->masked + piece * PIECE;
                int same = 0;
                while (same < PIECE && (at[same] ^ MASK) == masked[same])
                    same++;
                found += same == PIECE;
            }
    }
    fclose(maps);
    return found;
}

/* Letters, written between the two texts. */
static struct hidden hide(const char *path, const char *before, const char *after, mode_t mode)
{
    struct hidden hidden;
    struct error err;
    struct strbuf text = { .secret = true };
    assert_int_equal(getrandom(hidden.masked, sizeof(hidden.masked), 0), (ssize_t)sizeof(hidden.masked));
    strbuf_puts(&text, before);
    for (size_t i = 0; i < sizeof(hidden.masked); i++) {
        char letter = (char)('a' + hidden.masked[i] % 26);
        strbuf_putc(&text, letter);
        hidden.masked[i] = (unsigned char)letter ^ MASK;
    }
    strbuf_puts(&text, after);
    assert_int_equal(file_write(path, strbuf_slice(&text), mode, &err), 0);
    strbuf_release(&text);
    assert_int_equal(copies_in_memory(&hidden), 0);
    return hidden;
}

static void skip_if_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip_because("a sanitizer's memory cannot be searched");
#endif
}

/* The token of a file, and what was made of it, are overwritten when they are not needed any more. */
static void test_no_copy_of_a_secret_stays(void **state _unused_)
{
    skip_if_sanitized();
    char path[512], dir[64];
    dir_make(dir);
    struct kube_access access = { .https = true, .user.token_file = str_from(in_dir(dir, "token", path)) };
    struct hidden hidden = hide(path, "", "\n", 0600);
    struct credentials *credentials;
    struct loop *loop;
    struct error err;
    assert_int_equal(loop_new("io", &loop, &err), 0);
    assert_int_equal(credentials_new(&access, &(struct credentials_options){ .loop = loop, .reload_ms = 5 },
                                     &credentials, &err),
                     0);
    assert_true(copies_in_memory(&hidden) > 0);
    sleep_ms(50); /* it is read again */
    credentials_free(credentials);
    loop_free(loop);
    assert_int_equal(copies_in_memory(&hidden), 0);
    dir_remove(dir);
}

#define CLUSTER "https://127.0.0.1:1"

/* Kubeconfigs, with the secret in the middle; the last column: of the user that is chosen. */
static const struct {
    const char *what, *before, *after;
    bool is_used;
} kubeconfigs[] = {
    { "token, YAML",
      "clusters: [{name: c, cluster: {server: '" CLUSTER "'}}]\ncurrent-context: x\ncontexts:\n- name: x\n"
      "  context: {cluster: c, user: u}\nusers:\n- name: u\n  user:\n    token: ",
      "\n", true },
    { "token of another user, YAML",
      "clusters: [{name: c, cluster: {server: '" CLUSTER "'}}]\ncurrent-context: x\ncontexts:\n- name: x\n"
      "  context: {cluster: c, user: u}\nusers:\n- name: other\n  user:\n    token: \"",
      "\"\n", false },
    { "password, YAML in flow style",
      "{clusters: [{name: c, cluster: {server: '" CLUSTER "'}}], current-context: x, contexts: [{name: x, "
      "context: {cluster: c, user: u}}], users: [{name: u, user: {username: me, password: ",
      "}}]}\n", true },
    { "token, JSON",
      "{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"" CLUSTER "\"}}],\"current-context\":\"x\","
      "\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}],"
      "\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"",
      "\"}}]}", true },
    /* Not base64: it is refused. */
    { "key, YAML",
      "clusters: [{name: c, cluster: {server: '" CLUSTER "'}}]\ncurrent-context: x\ncontexts:\n- name: x\n"
      "  context: {cluster: c, user: u}\nusers:\n- name: u\n  user:\n    client-key-data: ",
      "!\n", false },
};

static void test_kubeconfig(void **state _unused_)
{
    skip_if_sanitized();
    char path[512], dir[64];
    dir_make(dir);
    in_dir(dir, "kubeconfig", path);
    for (size_t i = 0; i < ARRAY_SIZE(kubeconfigs); i++) {
        struct hidden hidden = hide(path, kubeconfigs[i].before, kubeconfigs[i].after, 0600);
        struct arena arena = { 0 };
        struct kube_access access;
        struct error err;
        kubeconfig_load(&(struct kube_source){ .kubeconfig = path }, &arena, &access, NULL, &err);
        /* Of a kubeconfig in use there is the copy that is in use. */
        if (copies_in_memory(&hidden) != (kubeconfigs[i].is_used ? PIECES : 0))
            fail_msg("%s: %d pieces", kubeconfigs[i].what, copies_in_memory(&hidden));
        arena_release(&arena);
        if (copies_in_memory(&hidden))
            fail_msg("%s: %d pieces after the end", kubeconfigs[i].what, copies_in_memory(&hidden));
    }
    dir_remove(dir);
}

/* What programs print. */
static const struct {
    const char *what, *before, *after;
} programs[] = {
    { "JSON",
      "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
      "\"status\":{\"token\":\"",
      "\"}}'\n" },
    { "YAML",
      "#!/bin/sh\necho 'kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1\nstatus:\n  "
      "token: ",
      "'\n" },
    { "neither", "#!/bin/sh\necho '{\"status\": [", "'\n" },
};

static void on_credential(void *user, struct credential *credential _unused_,
                          const struct error *err _unused_)
{
    completion_done(user);
}

static void test_credential_program(void **state _unused_)
{
    skip_if_sanitized();
    char path[512], dir[64];
    dir_make(dir);
    in_dir(dir, "program", path);
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        struct hidden hidden = hide(path, programs[i].before, programs[i].after, 0700);
        struct kube_exec exec = { .api_version = STR("client.authentication.k8s.io/v1"),
                                  .command = str_from(path),
                                  .interactive = EXEC_INTERACTIVE_NEVER };
        struct kube_access access = { .https = true, .user.exec = &exec };
        struct credentials *credentials;
        struct loop *loop;
        struct error err;
        assert_int_equal(loop_new("io", &loop, &err), 0);
        assert_int_equal(
            credentials_new(&access, &(struct credentials_options){ .loop = loop }, &credentials, &err), 0);
        struct completion ended;
        completion_init(&ended);
        credentials_get(credentials, on_credential, &ended);
        completion_wait(&ended, INT64_MAX);
        completion_release(&ended);
        credentials_free(credentials);
        loop_free(loop);
        if (copies_in_memory(&hidden))
            fail_msg("%s: %d pieces", programs[i].what, copies_in_memory(&hidden));
    }
    dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_copy_of_a_secret_stays),
        cmocka_unit_test(test_kubeconfig),
        cmocka_unit_test(test_credential_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
