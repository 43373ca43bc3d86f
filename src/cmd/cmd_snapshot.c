/* cmd_snapshot.c: `berth snapshot`: a cluster, saved for later. */
#include <stdio.h>

#include "client/listing.h"
#include "cmd/common.h"
#include "sim/anonymize.h"

struct snapshot_settings {
    const char *kubeconfig, *context;
    bool anonymize;
};

static const struct option_row rows[] = {
    { 0, "kubeconfig", "FILE", OPTION_TEXT, offsetof(struct snapshot_settings, kubeconfig),
      "How to reach the cluster; without it, $KUBECONFIG or\n~/.kube/config." },
    { 0, "context", "NAME", OPTION_TEXT, offsetof(struct snapshot_settings, context),
      "Another context than the current one of the kubeconfig." },
    { 0, "anonymize", NULL, OPTION_FLAG, offsetof(struct snapshot_settings, anonymize),
      "Replace names, label values and images by x1, x2, ..., and leave\nout annotations, messages and "
      "addresses." },
};

extern const struct command command_snapshot;

/* A List with an object on each line: JSON, which is YAML too. */
static int write_list(const struct listing *listing, const struct json_veil *veil)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct term term = term_stdout(&out);
    strbuf_puts(&out, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
    for (size_t i = 0; i < listing->objects.len; i++) {
        strbuf_puts(&out, i ? ",\n" : "\n");
        struct json_writer json = json_writer(&out, JSON_COMPACT);
        object_encode_json(&listing->objects.items[i]->object, veil, &json);
        if (out.len < 1 << 20)
            continue;
        if (fwrite(out.text, 1, out.len, stdout) != out.len)
            break; /* finish() meets the same trouble, and says so */
        strbuf_clear(&out);
    }
    strbuf_puts(&out, "\n]}\n");
    return finish(&term);
}

/* What kubectl apply keeps there is the whole object, environment and all. */
static struct str without_copies(void *user, const char *name, struct str text, bool is_key)
{
    (void)user;
    if (is_key && strcmp(name, "annotations") == 0 &&
        str_is(text, "kubectl.kubernetes.io/last-applied-configuration"))
        return (struct str){ 0 };
    return text.ptr ? text : STR("");
}

static int save(const struct snapshot_settings *settings)
{
    struct error err = { "" };
    struct listing listing = { 0 };
    struct anonymizer anonymizer = { 0 };
    if (listing_read(settings->kubeconfig, settings->context, LISTING_MS, &listing, &err) < 0)
        return fail(EXIT_INPUT, &err);
    struct json_veil veil = { without_copies, NULL };
    if (settings->anonymize) {
        veil = anonymizer_veil(&anonymizer);
        vec_for(&listing.objects, live)
            anonymizer_look(&anonymizer, &(*live)->object);
    }
    int code = write_list(&listing, &veil);
    anonymizer_release(&anonymizer);
    listing_release(&listing);
    return code;
}

static int run(int argc, char **argv)
{
    struct snapshot_settings settings = { 0 };
    _cleanup_(texts_release) struct texts words = { 0 };
    int r = options_start(&command_snapshot, argc, argv, &settings, &words);
    if (r >= 0)
        return r;
    if (words.list.len) {
        fprintf(stderr,
                "berth: snapshot does not know what to do with \"%s\"\nTry `berth snapshot --help`.\n",
                words.list.items[0]);
        return EXIT_INPUT;
    }
    return save(&settings);
}

const struct command command_snapshot = {
    .name = "snapshot",
    .summary = "Saves what a scheduler sees of a live cluster, for later.",
    .usage = "[--kubeconfig FILE] [--context NAME] [--anonymize] > cluster.yaml",
    .purpose = "Lists nodes, pods, volumes, claims and all else that decides where pods go, and prints it\n"
               "as one List that `berth explain`, `berth simulate` and kubectl read. Secrets are not asked\n"
               "for, and values of environment variables, commands and the like are not in it.",
    .examples = "  berth snapshot > cluster.yaml\n"
                "  berth snapshot --anonymize > for-the-bug-report.yaml\n"
                "  berth simulate -f cluster.yaml -f new-deployment.yaml\n",
    .options = rows,
    .options_len = ARRAY_SIZE(rows),
    .run = run,
};
