/* cmd_snapshot.c: `berth snapshot`: a cluster, saved for later. */
#include <stdio.h>

#include "cmd/common.h"
#include "input/anonymize.h"
#include "input/expand.h"
#include "sync/listing.h"

enum { PIECE_BYTES = 1 << 20 };

struct snapshot_settings {
    struct texts files;
    const char *kubeconfig, *context;
    bool anonymize;
};

static const struct option_row rows[] = {
    { 0, "kubeconfig", "FILE", OPTION_TEXT, offsetof(struct snapshot_settings, kubeconfig),
      "How to reach the cluster; without it, $KUBECONFIG or ~/.kube/config." },
    { 0, "context", "NAME", OPTION_TEXT, offsetof(struct snapshot_settings, context),
      "Another context than the current one of the kubeconfig." },
    { 0, "anonymize", NULL, OPTION_FLAG, offsetof(struct snapshot_settings, anonymize),
      "Replace names, labels and images by x01, x02, ..., and leave out annotations, messages and addresses. "
      "What is decided stays the same, up to the names." },
    { 'f', "filename", "PATH", OPTION_TEXTS, offsetof(struct snapshot_settings, files),
      "Objects of a file or folder instead of a cluster, as for `berth simulate`: to anonymize what was "
      "saved before." },
    { 0 },
};

extern const struct command command_snapshot;

/* ---- what there is ---- */

struct objects {
    struct listing listing;     /* of a cluster, or */
    struct load load;           /* of files, with */
    struct expansion expansion; /* what became of those that a user wrote */
    VEC(struct object) list;
};

static void objects_release(struct objects *objects)
{
    vec_release(&objects->list);
    expansion_release(&objects->expansion);
    load_release(&objects->load);
    listing_release(&objects->listing);
}

/* Objects that a user wrote get uids here: what an API server does to new ones has to be done before. */
static void admit(struct objects *objects)
{
    expansion_begin(&objects->expansion, &objects->load);
    vec_for(&objects->expansion.factory.claims, claim)
        load_add(&objects->load, claim->kind, claim->meta);
}

static int read_files(struct objects *objects, const struct texts *files, struct error *err)
{
    vec_for(files, path) {
        int r = load_path(&objects->load, *path, err);
        if (r < 0)
            return r;
    }
    load_warn(&objects->load);
    admit(objects);
    vec_for(&objects->load.finished, pod) /* they count as replicas of controllers */
        *vec_push(&objects->list) = (struct object){ .kind = KIND_POD, .ptr = *pod, .meta = &(*pod)->meta };
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        vec_for(&objects->load.objects[kind], meta)
            *vec_push(&objects->list) =
                (struct object){ .kind = (enum api_kind)kind, .ptr = *meta, .meta = *meta };
    return 0;
}

/* Kind by kind, whichever came first: the same cluster is the same file. */
static int read_cluster(struct objects *objects, const struct snapshot_settings *settings, struct error *err)
{
    int r = list_cluster(settings->kubeconfig, settings->context, NULL, NULL, &objects->listing, err);
    for (int kind = KIND_UNKNOWN + 1; r == 0 && kind < KIND_COUNT; kind++)
        vec_for(&objects->listing.objects, live)
            if ((int)(*live)->object.kind == kind)
                *vec_push(&objects->list) = (*live)->object;
    return r;
}

/* ---- writing it ---- */

/* A List with an object on each line: JSON, which is YAML too. */
static int write_list(const struct objects *objects, const struct record_redactor *redactor)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct term term = term_stdout(&out);
    strbuf_puts(&out, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
    for (size_t i = 0; i < objects->list.len; i++) {
        strbuf_puts(&out, i ? ",\n" : "\n");
        struct json_writer json = json_writer(&out, JSON_COMPACT);
        object_encode_json(&objects->list.items[i], redactor, &json);
        if (out.len < PIECE_BYTES)
            continue;
        int code = finish(&term);
        if (code != EXIT_DONE)
            return code;
    }
    strbuf_puts(&out, "\n]}\n");
    return finish(&term);
}

/* What kubectl apply keeps there is the complete object, environment and all. */
static struct str without_copies(void *user _unused_, const struct record_field *field, struct str text,
                                 bool is_key)
{
    if (is_key && strcmp(field->name, "annotations") == 0 &&
        str_is(text, "kubectl.kubernetes.io/last-applied-configuration"))
        return (struct str){ 0 };
    return text.ptr ? text : STR("");
}

static int write_anonymized(const struct objects *objects)
{
    struct anonymizer anonymizer = { 0 };
    vec_for(&objects->list, object)
        anonymizer_look(&anonymizer, object);
    struct record_redactor redactor = anonymizer_redactor(&anonymizer);
    int code = write_list(objects, &redactor);
    if (anonymizer.has_expressions)
        fputs(
            "berth: note: expressions that select devices, and the attributes that they ask about, stay as\n"
            "they are, but for the names of drivers\n",
            stderr);
    anonymizer_release(&anonymizer);
    return code;
}

static int run(void *given, const struct texts *words)
{
    const struct snapshot_settings *settings = given;
    _cleanup_(objects_release) struct objects objects = { 0 };
    struct error err = { "" };
    if (words->len)
        return usage_error(&command_snapshot,
                           "snapshot: it takes no words, only options, and writes to standard output");
    if (settings->files.len && (settings->kubeconfig || settings->context))
        return usage_error(
            &command_snapshot,
            "snapshot: it saves objects of files (-f), or those of a cluster (--kubeconfig, --context)");
    int r = settings->files.len ? read_files(&objects, &settings->files, &err)
                                : read_cluster(&objects, settings, &err);
    if (r < 0)
        return fail(EXIT_INPUT, &err);
    return settings->anonymize ? write_anonymized(&objects)
                               : write_list(&objects, &(struct record_redactor){ without_copies, NULL });
}

const struct command command_snapshot = {
    .name = "snapshot",
    .summary = "Saves what a scheduler sees of a live cluster, for later.",
    .usage = "[--kubeconfig FILE] [--anonymize] > cluster.json\n"
             "       berth snapshot --anonymize -f PATH... > cluster.json",
    .purpose = "Lists nodes, pods, volumes, claims and all else that decides where pods go, and prints it "
               "as one List that `berth explain`, `berth simulate` and kubectl read. Secrets are not asked "
               "for, and values of environment variables, commands and the like are not in it. The rights "
               "of kube-scheduler's stock role are enough; without one of them nothing is written.",
    .examples = "  berth snapshot > cluster.json\n"
                "  berth snapshot --anonymize > for-the-bug-report.json\n"
                "  berth snapshot --anonymize -f cluster.json > for-the-bug-report.json\n"
                "  berth simulate -f cluster.json -f new-deployment.yaml\n",
    .options = { { rows, 0 } },
    .settings_size = sizeof(struct snapshot_settings),
    .words_max = SIZE_MAX,
    .run = run,
};
