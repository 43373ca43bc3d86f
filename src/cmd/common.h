/* common.h: what commands share: the options of those that read a cluster, requests to a running scheduler, and how
 * a command ends. */
#ifndef CMD_COMMON_H
#define CMD_COMMON_H

#include "base/term.h"
#include "client/api.h"
#include "cmd/changes.h"
#include "cmd/options.h"
#include "cmd/plugins.h"
#include "input/input.h"
#include "input/kubectl.h"

enum output { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_CSV };

struct input_settings {
    struct texts files;
    struct texts templates; /* of pods, which a command got as words; not released here */
    const char *config, *kubeconfig, *context;
    const char *policy_dir, *policy_config_map;
    int output;                        /* enum output */
    const char *emulated, *compatible; /* releases */
    struct texts gates;
    struct plugin_settings plugins;
    struct change_settings changes;
    bool is_strict;       /* unknown fields of objects are an error */
    bool calls_extenders; /* of the configuration */
};

/* The rows of input_settings, without those of its plugins and OUTPUT_OPTION. */
extern const struct option_row input_rows[];
/* The row of `output`: each command has its own words, of which the first ones are those of enum output. */
#define OUTPUT_OPTION(settings, member, words) \
    { 'o', \
      "output", \
      words, \
      OPTION_CHOICE, \
      offsetof(settings, member.output), \
      "How to print the answer (default: table)." }

/* The row of --html, a const char * of the settings. */
#define HTML_OPTION(settings, member) \
    { 0, \
      "html", \
      "FILE", \
      OPTION_TEXT, \
      offsetof(settings, member), \
      "Also write the answer as pictures and tables into one HTML file, which loads nothing and can be " \
      "attached to a ticket." }

/* Writes the document of -o json as such a file; `what` and the files of the input are its title. NULL: it is not
 * wanted. Complains on standard error. Returns 0 or the exit code. */
int write_html(const char *path, const char *what, const struct texts *files, struct str json);

/* The release that --emulated-version names. */
int read_emulated(const char *version, const struct release **ret, struct error *err);

struct listing;
struct wanted_kinds;
/* Lists the cluster of a kubeconfig, with a line about the progress on a terminal where it takes long. `more`: kinds
 * beside those of every scheduler; NULL: none. */
int list_cluster(const char *kubeconfig, const char *context, const struct features *features,
                 const struct wanted_kinds *more, struct listing *ret, struct error *err);
/* Opens the input that the settings name; complains on standard error. Returns 0 or the exit code. */
int open_input(struct input *input, const struct command *command, const struct input_settings *settings);
/* Prints the sentence and returns the exit code. */
int fail(int code, const struct error *err);
/* Writes out what was collected; returns the exit code. */
int finish(struct term *term);

#define RUNNING_SERVER "https://127.0.0.1:10259"

struct running {
    const char *server;               /* NULL: RUNNING_SERVER */
    const char *kubeconfig, *context; /* the identity of the client; see usual_access() */
    const char *authority;  /* a file of certificates that are trusted instead of the kubeconfig's */
    bool insecure;          /* its certificate is not checked */
    bool sends_credentials; /* nevertheless */
};

/* Rows of options that fill a struct running at this member of the settings. */
#define RUNNING_TLS_OPTIONS(settings, member, with) \
    { 0, \
      "certificate-authority", \
      "FILE", \
      OPTION_TEXT, \
      offsetof(settings, member.authority), \
      with "trust the certificates in this file, such as the one that a scheduler made for itself " \
           "(kube-scheduler.crt in its --cert-dir)." }, \
        { 0, \
          "insecure-skip-tls-verify", \
          NULL, \
          OPTION_FLAG, \
          offsetof(settings, member.insecure), \
          with "do not check the scheduler's certificate. Tokens and passwords are not sent then." }, \
        { 0, \
          "insecure-send-credentials", \
          NULL, \
          OPTION_FLAG, \
          offsetof(settings, member.sends_credentials), \
          with "send them all the same, to any server that answers." }

/* All rows about the scheduler and the user of a command that only asks one. */
#define RUNNING_OPTIONS(settings, member) \
    { 0, \
      "server", \
      "URL", \
      OPTION_TEXT, \
      offsetof(settings, member.server), \
      "The running scheduler (default: " RUNNING_SERVER ")." }, \
        { 0, \
          "kubeconfig", \
          "FILE", \
          OPTION_TEXT, \
          offsetof(settings, member.kubeconfig), \
          "The user for the scheduler; without it, $KUBECONFIG or ~/.kube/config." }, \
        { 0, \
          "context", \
          "NAME", \
          OPTION_TEXT, \
          offsetof(settings, member.context), \
          "Another context than the current one of the kubeconfig." }, \
        RUNNING_TLS_OPTIONS(settings, member, "")

/* The page; a failure names the server. */
int running_get(const struct running *running, struct str path, struct strbuf *ret, struct error *err);

/* The same for several pages: connections and credentials stay. Where it is, is in the arena. */
struct running_session {
    struct arena arena;
    struct kube_access access;
    const char *server; /* as it is named in a sentence */
    bool withheld;      /* there are credentials, which are not sent */
    struct api *api;
};

/* `loop`: where callbacks of the api come; NULL: one of its own. */
int running_open(const struct running *running, struct loop *loop, struct running_session *ret,
                 struct error *err);
int running_ask(struct running_session *session, struct str path, struct strbuf *ret, struct error *err);
void running_close(struct running_session *session);

/* A line about the progress of what takes long, on standard error: is it time to write it again? Seconds since the
 * beginning. */
bool progress_is_due(double seconds);
/* How much of it is done and how long the rest takes: "42%, 3s left", in a buffer that the next call uses again. */
const char *progress_share(double done, double all, double seconds);
void progress_clear(void);

/* A pod as a user names it: "NAMESPACE/POD", or "POD" for the namespace default. */
struct pod_name {
    struct str namespace, name;
};
struct pod_name parse_pod_name(const char *text);

/* The time of --now, or the time now, in nanoseconds since 1970. */
int decision_time(const char *given, int64_t *ret_ns, struct error *err);

#endif
