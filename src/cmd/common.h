/* common.h: what every command that reads a cluster shares: its first options, and how it ends. */
#ifndef CMD_COMMON_H
#define CMD_COMMON_H

#include "base/term.h"
#include "cmd/options.h"
#include "cmd/plugins.h"
#include "input/world.h"

enum { EXIT_DONE = 0, EXIT_TROUBLE = 1, EXIT_INPUT = 2 };

enum output { OUTPUT_TABLE, OUTPUT_JSON };

struct input_settings {
    struct texts files;
    const char *config, *kubeconfig, *context;
    int output; /* enum output */
    struct plugin_settings plugins;
    bool asks_extenders; /* of the configuration */
};

/* The rows of input_settings, which is the member `input` of the command's settings. */
#define INPUT_OPTIONS(settings) \
    { 'f', \
      "filename", \
      "PATH", \
      OPTION_TEXTS, \
      offsetof(settings, input.files), \
      "Objects: a file (JSON, YAML, several documents, Lists, JSON " \
      "lines), a folder with such files, or - for standard input. May be given again. Without it, the " \
      "cluster of the " \
      "kubeconfig." }, \
        { 0, \
          "kubeconfig", \
          "FILE", \
          OPTION_TEXT, \
          offsetof(settings, input.kubeconfig), \
          "How to reach the cluster; without it, $KUBECONFIG or ~/.kube/config." }, \
        { 0, \
          "context", \
          "NAME", \
          OPTION_TEXT, \
          offsetof(settings, input.context), \
          "Another context than the current one of the kubeconfig." }, \
        { 0, \
          "config", \
          "FILE", \
          OPTION_TEXT, \
          offsetof(settings, input.config), \
          "A KubeSchedulerConfiguration; without it, what kube-scheduler runs with by default." }, \
        { 'o', \
          "output", \
          "table|json", \
          OPTION_CHOICE, \
          offsetof(settings, input.output), \
          "How to print the answer (default: table)." }, \
        PLUGIN_OPTIONS(settings, input.plugins)

struct listing;
/* Lists the cluster of a kubeconfig, with a line about the progress on a terminal where it takes long. */
int list_cluster(const char *kubeconfig, const char *context, struct listing *ret, struct error *err);
/* Opens the world that the settings name; complains on standard error. Returns 0 or the exit code. */
int open_world(struct world *world, const struct command *command, const struct input_settings *input);
void input_settings_release(struct input_settings *input);
/* Prints the sentence and returns the exit code. */
int fail(int code, const struct error *err);
/* Writes out what was collected; returns the exit code. */
int finish(struct term *term);

/* "1 pod", "2,000 pods"; the noun takes an s. */
void add_count(struct strbuf *out, size_t count, const char *noun);

#endif
