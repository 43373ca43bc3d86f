/* cmd_replay.c: `berth replay`: the decisions of a recording again, or those of another configuration instead.
 *
 * What is shown while it goes on (--decisions, --explain) comes first: lines, or the member "log" of the JSON.
 *
 * Exit codes: 0 all decisions came out as recorded (or another configuration was tried), 1 one did not, 2 the command
 * line, the recording or the configuration is wrong. */
#include <stdio.h>
#include <unistd.h>

#include "api/kinds.h"
#include "api/output.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "cmd/common.h"
#include "replay/replay.h"
#include "whatif/explain_print.h"
#include "whatif/simulate.h"

struct replay_settings {
    const char *config, *emulated, *until, *from, *explain, *html;
    int output; /* enum output */
    int64_t top;
    bool decisions, list;
    struct plugin_settings plugins;
};

static const struct option_row rows[] = {
    { 0, "config", "FILE", OPTION_TEXT, offsetof(struct replay_settings, config),
      "Another KubeSchedulerConfiguration: what would it have decided instead?" },
    { 0, "emulated-version", "VERSION", OPTION_TEXT, offsetof(struct replay_settings, emulated),
      "Another Kubernetes release, 1.36 or 1.37: what would its scheduler have decided instead? Without it, "
      "the release that was recorded." },
    { 0, "until", "TIME", OPTION_TEXT, offsetof(struct replay_settings, until),
      "Stop there: a time such as 2026-11-15T10:30:00Z, or less of it, in UTC: \"2026-11-15 10:30\". Of "
      "several recordings, the one that went on then." },
    { 0, "from", "TIME", OPTION_TEXT, offsetof(struct replay_settings, from),
      "Of several recordings, the one that went on then; --decisions and --explain begin there." },
    { 0, "list", NULL, OPTION_FLAG, offsetof(struct replay_settings, list),
      "Say which recordings there are, and repeat none." },
    { 0, "explain", "NAMESPACE/POD", OPTION_TEXT, offsetof(struct replay_settings, explain),
      "Before each decision of that pod: why, plugin by plugin and node by node." },
    { 0, "decisions", NULL, OPTION_FLAG, offsetof(struct replay_settings, decisions),
      "Print each decision on a line, as it comes out here." },
    { 0, "top", "N", OPTION_NUMBER, offsetof(struct replay_settings, top),
      "How many pods, or nodes of --explain, a table shows (default: 20).", 1, 1000000000 },
    { 'o', "output", "table|json", OPTION_CHOICE, offsetof(struct replay_settings, output),
      "How to print the answer (default: table)." },
    HTML_OPTION(struct replay_settings, html),
    { 0 },
};
/* More decisions are not in the document of --html: a page would be slow to open. */
enum { HTML_DECISIONS_MAX = 50000 };

extern const struct command command_replay;

/* ---- words ---- */

static void add_time(struct strbuf *out, int64_t now_ns)
{
    char text[TIMESTAMP_LEN_MAX + 1];
    strbuf_str(out, timestamp_format_fraction(now_ns / NS_PER_S, (int32_t)(now_ns % NS_PER_S), 3, text));
}

/* What is printed on the way. */
struct report {
    struct strbuf out;      /* for standard output */
    struct strbuf document; /* with -o json or --html */
    struct term term;
    struct json_writer json; /* into the document */
    const struct replay_settings *settings;
    uint64_t explained, logged, left_out;
    double begun; /* seconds */
};

/* 0: never. */
static void json_time(struct json_writer *json, const char *key, int64_t now_ns)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (now_ns)
        add_time(&text, now_ns);
    output_member_text(json, key, strbuf_slice(&text));
}

static void json_said(struct json_writer *json, const char *key, struct str body)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    replay_say(body, &text);
    json_member_str(json, key, strbuf_slice(&text));
}

static bool makes_document(const struct replay_settings *settings)
{
    return settings->output == OUTPUT_JSON || settings->html;
}

/* Also a document is written on the way, unless it is needed in one piece. */
static void write_some(struct report *report)
{
    if (report->settings->output == OUTPUT_JSON && !report->settings->html) {
        strbuf_str(&report->out, strbuf_slice(&report->document));
        strbuf_clear(&report->document);
    }
    if (report->out.len < 1 << 20)
        return;
    fwrite(report->out.text, 1, report->out.len, stdout);
    strbuf_clear(&report->out);
}

static void say_decision(struct strbuf *out, int64_t now_ns, struct str body)
{
    add_time(out, now_ns);
    strbuf_putc(out, ' ');
    replay_say(body, out);
    strbuf_putc(out, '\n');
}

static void json_decision(struct json_writer *json, int64_t now_ns, struct str body)
{
    struct replay_decided decided;
    json_time(json, "time", now_ns);
    json_said(json, "decision", body);
    if (!replay_decided(body, &decided)) {
        output_member_null(json, "pod");
        return;
    }
    output_member_name(json, "pod", &(struct meta){ .namespace = decided.namespace, .name = decided.name });
    output_member_text(json, "node", decided.node);
    output_member_text(json, "message", decided.message);
    output_member_text(json, "nominated", decided.nominated);
    json_member_int(json, "examined", (int64_t)decided.examined);
    json_member_int(json, "feasible", (int64_t)decided.feasible);
    json_member_int(json, "score", decided.total);
}

static void on_decision(void *user, int64_t now_ns, struct str body)
{
    struct report *report = user;
    const struct replay_settings *settings = report->settings;
    bool is_left_out = settings->html && report->logged >= HTML_DECISIONS_MAX;
    if (makes_document(settings) && is_left_out) {
        report->left_out++;
    } else if (makes_document(settings)) {
        report->logged++;
        json_begin_line(&report->json);
        json_decision(&report->json, now_ns, body);
        json_end_line(&report->json);
    }
    if (settings->decisions && settings->output != OUTPUT_JSON)
        say_decision(&report->out, now_ns, body);
    write_some(report);
}

static void on_explanation(void *user, const struct recording_entry *decision,
                           const struct explanation *explanation)
{
    struct report *report = user;
    struct json_writer *json = &report->json;
    report->explained++;
    if (makes_document(report->settings)) {
        json_begin_object(json);
        json_decision(json, decision->now_ns, decision->body);
        json_member_object(json, "explanation");
        explain_members(explanation, json);
        json_end_object(json);
        json_end_object(json);
    }
    if (report->settings->output != OUTPUT_JSON) {
        say_decision(&report->out, decision->now_ns, decision->body);
        explain_table_answer(explanation, &report->term, (uint32_t)report->settings->top);
        strbuf_putc(&report->out, '\n');
    }
    write_some(report);
}

static void show_progress(void *user, uint64_t decisions, int64_t now_ns)
{
    const struct report *report = user;
    if (!progress_is_due(now_seconds() - report->begun))
        return;
    _cleanup_(strbuf_release) struct strbuf time = { 0 };
    add_time(&time, now_ns);
    fprintf(stderr, "\rberth: %s decisions so far, at %s \033[K", grouped((int64_t)decisions), time.text);
}

static void warn(const struct replay *replay)
{
    print_warnings(&replay->warnings);
    if (replay->recording.cut.text[0])
        fprintf(stderr, "berth: warning: %s\n", replay->recording.cut.text);
    if (replay->comparison && replay->reloads)
        fprintf(stderr,
                "berth: warning: the configuration was changed %s while it was recorded; here the %s one "
                "stays\n",
                replay->reloads == 1 ? "once" : "several times", replay->options.config ? "other" : "first");
    if (replay->recording.others)
        fprintf(stderr,
                "berth: note: there %s besides; --list shows them, --from and --until choose by time\n",
                replay->recording.others == 1 ? "is another recording" : "are other recordings");
}

static void add_origin(const struct replay *replay, struct strbuf *out)
{
    strbuf_printf(out, "Recording " STR_FMT " (berth " STR_FMT "): %s entries, ",
                  STR_ARG(replay->recording.name), STR_ARG(replay->version),
                  grouped((int64_t)replay->recording.entries));
    add_time(out, replay->first_ns);
    strbuf_puts(out, " to ");
    add_time(out, MAX(replay->last_ns, replay->first_ns));
    strbuf_putc(out, '\n');
}

/* ---- the same configuration ---- */

static void say_same(const struct replay *replay, struct term *term)
{
    const struct replay_difference *difference = &replay->difference;
    add_origin(replay, term->out);
    if (!difference->there) {
        term_paint(term, PAINT_GOOD, "%s repeated exactly", counted(replay->decisions, "decision"));
        strbuf_printf(term->out, " (%s placed), digest %016llx", grouped((int64_t)replay->placements),
                      (unsigned long long)replay->digest);
        if (replay->reloads)
            strbuf_printf(term->out, "; the configuration was changed %s", counted(replay->reloads, "time"));
        strbuf_putc(term->out, '\n');
        return;
    }
    term_paint(term, PAINT_BAD, "Decision %s is another one here", grouped((int64_t)difference->number));
    strbuf_puts(term->out, ", at ");
    add_time(term->out, difference->now_ns);
    strbuf_puts(term->out, "\n  recorded: ");
    replay_say(difference->recorded, term->out);
    strbuf_puts(term->out, "\n  here:     ");
    replay_say(difference->here, term->out);
    strbuf_printf(term->out, "\nThe %s before it were repeated exactly.\n",
                  grouped((int64_t)difference->number - 1));
}

static void json_release(struct json_writer *json, const char *key, const struct release *release)
{
    char text[16];
    snprintf(text, sizeof(text), "1.%d", release->minor);
    json_member_str(json, key, str_from(text));
}

static void json_origin(const struct replay *replay, struct json_writer *json)
{
    json_member_str(json, "recording", replay->recording.name);
    json_member_str(json, "version", replay->version);
    json_release(json, "recordedRelease", replay->recorded_release);
    json_release(json, "release", replay->features.release);
    json_member_int(json, "entries", (int64_t)replay->recording.entries);
    json_time(json, "from", replay->first_ns);
    json_time(json, "to", MAX(replay->last_ns, replay->first_ns));
    output_member_text(json, "cut", str_from(replay->recording.cut.text));
    json_member_int(json, "decisions", (int64_t)replay->decisions);
    json_member_int(json, "placements", (int64_t)replay->placements);
    json_member_int(json, "configurationChanges", (int64_t)replay->reloads);
}

/* Nulls where another configuration or release was tried. */
static void json_same(const struct replay *replay, struct json_writer *json)
{
    char digest[17];
    if (replay->comparison) {
        output_member_null(json, "exact");
        output_member_null(json, "digest");
        output_member_null(json, "difference");
        return;
    }
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)replay->digest);
    json_member_bool(json, "exact", !replay->difference.there);
    json_member_str(json, "digest", str_from(digest));
    if (!replay->difference.there) {
        output_member_null(json, "difference");
        return;
    }
    json_member_object(json, "difference");
    json_member_int(json, "decision", (int64_t)replay->difference.number);
    json_time(json, "time", replay->difference.now_ns);
    json_said(json, "recorded", replay->difference.recorded);
    json_said(json, "here", replay->difference.here);
    json_end_object(json);
}

/* ---- another configuration or release ---- */

static bool is_other_release(const struct replay *replay)
{
    return replay->features.release != replay->recorded_release;
}

/* "binpacking.yaml and Kubernetes 1.36 instead of 1.37". */
static void add_other(const struct replay *replay, struct strbuf *out)
{
    if (replay->options.config)
        strbuf_puts(out, replay->options.config);
    if (is_other_release(replay))
        strbuf_printf(out, "%sKubernetes 1.%d instead of 1.%d", replay->options.config ? " and " : "",
                      replay->features.release->minor, replay->recorded_release->minor);
}

static bool differs(const struct compare_pod *pod)
{
    return !pod->foreign && !str_eq(pod->recorded.node, pod->here.node);
}

static void add_side(struct grid *grid, const struct compare_side *side)
{
    if (side->node.len)
        grid_str(grid, PAINT_NONE, side->node);
    else
        grid_cell(grid, PAINT_WARN, "%s", side->tries ? "waits" : "was not tried");
}

static void say_pods(const struct replay *replay, struct term *term, size_t top)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    size_t len, count = 0;
    const struct compare_pod *const *pods = compare_pods(replay->comparison, &len);
    grid_columns(&grid, "POD|RECORDED|HERE");
    for (size_t i = 0; i < len; i++) {
        if (!differs(pods[i]) || count++ >= top)
            continue;
        grid_cell(&grid, PAINT_NONE, META_FMT, META_ARG(pods[i]));
        add_side(&grid, &pods[i]->recorded);
        add_side(&grid, &pods[i]->here);
    }
    if (count) {
        strbuf_putc(term->out, '\n');
        grid_print(&grid, term, 0);
    }
    if (count > top)
        strbuf_printf(term->out, "... and %s more; --top shows more of them, -o json all\n",
                      grouped((int64_t)(count - top)));
}

static void add_row(struct grid *grid, const char *name, const uint64_t numbers[static 2])
{
    grid_cell(grid, PAINT_NONE, "%s", name);
    grid_count(grid, numbers[0]);
    grid_count(grid, numbers[1]);
}

static void say_comparison(const struct replay *replay, struct term *term, size_t top)
{
    struct compare_sum sum = compare_sum(replay->comparison);
    _cleanup_(strbuf_release) struct strbuf where = { 0 };
    struct grid grid = { 0 };
    uint64_t both = sum.same + sum.moved;
    add_origin(replay, term->out);
    if (sum.left_out)
        strbuf_printf(term->out,
                      "%s that %s decided are left out: %s has no profile for their scheduler, " STR_FMT "\n",
                      counted(sum.left_out, "pod"), sum.left_out == 1 ? "was" : "were",
                      replay->options.config ? replay->options.config : "the recorded configuration",
                      STR_ARG(sum.scheduler.len ? sum.scheduler : STR("whose name is not known")));
    strbuf_printf(term->out, "%s waited for a node. With ", counted(sum.pods, "pod"));
    add_other(replay, term->out);
    strbuf_puts(term->out, ":\n");
    strbuf_printf(&where, "%s go to the same node, %s to another one, ", grouped((int64_t)sum.same),
                  grouped((int64_t)sum.moved));
    strbuf_printf(&where, "%s that had a node wait, %s that waited have one, %s wait in both",
                  grouped((int64_t)sum.only_recorded), grouped((int64_t)sum.only_here),
                  grouped((int64_t)sum.neither));
    term_wrap(term, 2, strbuf_slice(&where));
    strbuf_putc(term->out, '\n');
    grid_columns(&grid, "SUMMARY|>RECORDED|>HERE");
    add_row(&grid, "pods with a node", (uint64_t[]){ both + sum.only_recorded, both + sum.only_here });
    add_row(&grid, "nodes that got pods", sum.nodes);
    add_row(&grid, "tries", sum.tries);
    add_row(&grid, "evictions", sum.evictions);
    grid_print(&grid, term, 0);
    grid_release(&grid);
    say_pods(replay, term, top);
}

static void json_side(struct json_writer *json, const char *key, const struct compare_side *side)
{
    json_member_object(json, key);
    output_member_text(json, "node", side->node);
    json_member_int(json, "tries", side->tries);
    json_time(json, "placed", side->placed_ns);
    output_member_text(json, "message", side->placed_ns ? (struct str){ 0 } : side->message);
    json_end_object(json);
}

static void json_pair(struct json_writer *json, const char *key, const uint64_t numbers[static 2])
{
    json_member_object(json, key);
    json_member_int(json, "recorded", (int64_t)numbers[0]);
    json_member_int(json, "here", (int64_t)numbers[1]);
    json_end_object(json);
}

static void json_sum(struct json_writer *json, const struct compare_sum *sum)
{
    json_member_object(json, "summary");
    json_member_int(json, "pods", (int64_t)sum->pods);
    json_member_int(json, "sameNode", (int64_t)sum->same);
    json_member_int(json, "otherNode", (int64_t)sum->moved);
    json_member_int(json, "onlyRecorded", (int64_t)sum->only_recorded);
    json_member_int(json, "onlyHere", (int64_t)sum->only_here);
    json_member_int(json, "neither", (int64_t)sum->neither);
    json_member_int(json, "leftOut", (int64_t)sum->left_out);
    json_pair(json, "nodes", sum->nodes);
    json_pair(json, "tries", sum->tries);
    json_pair(json, "evictions", sum->evictions);
    json_end_object(json);
}

static void json_comparison(const struct replay *replay, struct json_writer *json)
{
    if (!replay->comparison) {
        output_member_null(json, "summary");
        output_member_null(json, "pods");
        return;
    }
    struct compare_sum sum = compare_sum(replay->comparison);
    size_t len;
    const struct compare_pod *const *pods = compare_pods(replay->comparison, &len);
    json_sum(json, &sum);
    json_member_array(json, "pods");
    for (size_t i = 0; i < len; i++) {
        if (pods[i]->foreign)
            continue;
        json_begin_line(json);
        json_member_str(json, "namespace", pods[i]->namespace);
        json_member_str(json, "name", pods[i]->name);
        json_member_bool(json, "same", !differs(pods[i]));
        json_side(json, "recorded", &pods[i]->recorded);
        json_side(json, "here", &pods[i]->here);
        json_end_line(json);
    }
    json_end_array(json);
}

/* ---- which there are ---- */

static void list_table(const struct recording_summary *all, size_t len, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    bool any_broken = false;
    for (size_t i = 0; i < len; i++)
        any_broken |= all[i].headless || all[i].cut.len;
    grid_columns(&grid, "RECORDING|FROM|TO|>DECISIONS|>SIZE");
    if (any_broken)
        grid_column(&grid, false, "");
    for (size_t i = 0; i < len; i++) {
        const int64_t ends_ns[] = { all[i].first_ns, all[i].last_ns };
        grid_str(&grid, PAINT_NONE, all[i].name);
        for (int end = 0; end < 2; end++) {
            _cleanup_(strbuf_release) struct strbuf time = { 0 };
            if (all[i].first_ns)
                add_time(&time, ends_ns[end]);
            grid_cell(&grid, PAINT_NONE, "%s", time.len ? time.text : "-");
        }
        bool small = all[i].bytes < 1 << 20;
        grid_count(&grid, all[i].decisions);
        grid_cell(&grid, PAINT_NONE, "%.1f %s", (double)all[i].bytes / (small ? 1 << 10 : 1 << 20),
                  small ? "KiB" : "MiB");
        if (any_broken)
            grid_cell(&grid, PAINT_WARN, "%s",
                      all[i].headless  ? "its beginning is missing"
                      : all[i].cut.len ? "its end is cut off"
                                       : "");
    }
    grid_print(&grid, term, 0);
}

static void list_json(const struct recording_summary *all, size_t len, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    output_begin(&json, "RecordingList");
    json_member_array(&json, "items");
    for (size_t i = 0; i < len; i++) {
        json_begin_line(&json);
        json_member_str(&json, "recording", all[i].name);
        json_member_str(&json, "version", all[i].version);
        json_time(&json, "from", all[i].first_ns);
        json_time(&json, "to", all[i].last_ns);
        json_member_int(&json, "entries", (int64_t)all[i].entries);
        json_member_int(&json, "decisions", (int64_t)all[i].decisions);
        json_member_int(&json, "files", (int64_t)all[i].files);
        json_member_int(&json, "bytes", (int64_t)all[i].bytes);
        json_member_bool(&json, "repeatable", !all[i].headless);
        output_member_text(&json, "cut", all[i].cut);
        json_end_line(&json);
    }
    json_end_array(&json);
    output_end(&json);
}

static int list(const struct replay_settings *settings, const char *path)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct term term = term_stdout(&out);
    struct recording_summary *all;
    struct error err;
    size_t len;
    if (settings->html) {
        error_set(&err, -EINVAL, "--html is about one recording; it does not go together with --list");
        return fail(EXIT_INPUT, &err);
    }
    if (recording_list(path, &arena, &all, &len, &err) < 0)
        return fail(EXIT_INPUT, &err);
    if (settings->output == OUTPUT_JSON)
        list_json(all, len, &out);
    else
        list_table(all, len, &term);
    return finish(&term);
}

/* ---- the command ---- */

static bool has_log(const struct replay_settings *settings)
{
    return settings->decisions || settings->explain || settings->html;
}

static void report_begin(struct report *report)
{
    report->term = term_stdout(&report->out);
    if (!makes_document(report->settings))
        return;
    report->json = json_writer(&report->document, JSON_PRETTY);
    output_begin(&report->json, "Replay");
    if (has_log(report->settings))
        json_member_array(&report->json, "log");
}

static void end_json(struct report *report, const struct replay *replay)
{
    struct json_writer *json = &report->json;
    if (has_log(report->settings)) {
        json_end_array(json);
        json_member_int(json, "logLeftOut", (int64_t)report->left_out);
    }
    output_member_text(json, "configuration", str_from(replay->options.config ?: ""));
    json_origin(replay, json);
    json_same(replay, json);
    json_comparison(replay, json);
    output_end(json);
}

static int report_end(struct report *report, const struct replay *replay, const char *path)
{
    warn(replay);
    if (report->settings->explain && !report->explained)
        fprintf(stderr, "berth: note: no decision of %s is in it\n", report->settings->explain);
    if (makes_document(report->settings))
        end_json(report, replay);
    int code = write_html(report->settings->html, "Replay", &(struct texts){ .items = &path, .len = 1 },
                          strbuf_slice(&report->document));
    if (code)
        return code;
    if (report->settings->output == OUTPUT_JSON)
        strbuf_str(&report->out, strbuf_slice(&report->document));
    else if (replay->comparison)
        say_comparison(replay, &report->term, (size_t)report->settings->top);
    else
        say_same(replay, &report->term);
    code = finish(&report->term);
    return code == EXIT_DONE && replay->difference.there ? EXIT_TROUBLE : code;
}

/* A time as it is printed here, or less of it: "2026-11-15 10:30", "2026-11-15". Without a zone it is UTC. */
static bool parse_time(const char *text, struct opt_time *ret)
{
    enum { DATE_LEN = sizeof("2026-11-15") - 1, MINUTES_LEN = sizeof("2026-11-15T10:30") - 1 };
    _cleanup_(strbuf_release) struct strbuf full = { 0 };
    if (strlen(text) < DATE_LEN)
        return false;
    size_t len = DATE_LEN + strcspn(text + DATE_LEN, "Zz+-");
    strbuf_add(&full, text, len);
    strbuf_puts(&full, len == DATE_LEN ? "T00:00:00" : len == MINUTES_LEN ? ":00" : "");
    strbuf_puts(&full, text[len] ? text + len : "Z");
    if (strchr(" t", full.text[DATE_LEN]))
        full.text[DATE_LEN] = 'T';
    return opt_time_parse(strbuf_slice(&full), ret);
}

static int read_time(const char *option, const char *text, int64_t by_default, int64_t *ret,
                     struct error *err)
{
    struct opt_time time;
    *ret = by_default;
    if (!text)
        return 0;
    if (!parse_time(text, &time) || time.seconds > INT64_MAX / NS_PER_S - 1 || time.seconds < 0)
        return error_set(err, -EINVAL,
                         "--%s: \"%s\" is no time such as 2026-11-15T10:30:00Z or \"2026-11-15 10:30\" (UTC)",
                         option, text);
    *ret = time.seconds * NS_PER_S + time.nanos;
    return 0;
}

static int read_options(const struct replay_settings *settings, struct replay_options *ret, struct error *err)
{
    if (read_time("until", settings->until, INT64_MAX, &ret->until_ns, err) < 0 ||
        read_time("from", settings->from, INT64_MIN, &ret->from_ns, err) < 0)
        return -EINVAL;
    if (ret->from_ns > ret->until_ns)
        return error_set(err, -EINVAL, "--from is after --until");
    if (settings->decisions || settings->html)
        ret->on_decision = on_decision;
    if (!settings->explain)
        return 0;
    if (settings->config || settings->emulated)
        return error_set(err, -EINVAL,
                         "--explain is about what was decided; it does not go together with --%s",
                         settings->config ? "config" : "emulated-version");
    struct pod_name pod = parse_pod_name(settings->explain);
    ret->explain_namespace = pod.namespace;
    ret->explain_name = pod.name;
    ret->on_explanation = on_explanation;
    ret->file_of = plugins_file;
    return 0;
}

static int replay(const struct replay_settings *settings, const char *path)
{
    _cleanup_(replay_release) struct replay replay = { 0 };
    struct report report = { .settings = settings, .begun = now_seconds() };
    struct replay_options options = { .path = path, .config = settings->config, .user = &report };
    struct error err = { "" };
    if ((settings->emulated && read_emulated(settings->emulated, &options.release, &err) < 0) ||
        read_options(settings, &options, &err) < 0 ||
        plugins_load(&settings->plugins, settings->config, &err) < 0)
        return fail(EXIT_INPUT, &err);
    options.registry = plugins_registry();
    options.open_plugins = plugins_open_strategies;
    if (isatty(STDERR_FILENO) && !((settings->decisions || settings->explain) && isatty(STDOUT_FILENO)))
        options.on_progress = show_progress;
    report_begin(&report);
    int r = replay_run(&replay, &options, &err);
    progress_clear();
    if (r == 0) {
        r = report_end(&report, &replay, path);
    } else {
        if (!strstr(err.text, replay.recording.cut.text)) /* else err has it */
            warn(&replay);
        r = fail(EXIT_INPUT, &err);
    }
    strbuf_release(&report.out);
    strbuf_release(&report.document);
    return r;
}

static int run(void *given, const struct texts *words)
{
    const struct replay_settings *settings = given;
    return (settings->list ? list : replay)(settings, words->items[0]);
}

const struct command command_replay = {
    .name = "replay",
    .summary = "Repeats recorded decisions, or tries another configuration on them.",
    .usage = "[--decisions] [--from TIME] [--until TIME] [-o json]\n"
             "                    [--html FILE] DIR\n"
             "       berth replay --explain NAMESPACE/POD [--from TIME] [--until TIME] DIR\n"
             "       berth replay --config FILE [--until TIME] [-o json] [--html FILE] DIR\n"
             "       berth replay --emulated-version VERSION [--until TIME] [-o json] DIR\n"
             "       berth replay --list [-o json] DIR",
    .purpose = "Reads what `berth scheduler --record DIR` wrote, decides everything again and says "
               "whether all decisions are the same, to the byte, or which one is not. With --config it "
               "shows what another configuration would have decided instead: nodes and pods come and "
               "go as they did, and pods go where the other configuration sends them. "
               "--emulated-version does the same with another release of Kubernetes. What the scheduler "
               "evicted leaves here too, since its end was recorded. --explain shows "
               "why a pod went where it went, at the time. Of several recordings in DIR the newest is "
               "read, or the one that went on at the time that --from or --until names; a file of a "
               "recording instead of DIR names that one.",
    .examples = "  berth replay /var/lib/berth/record\n"
                "  berth replay --until 2026-11-15T10:30:00Z --decisions record/\n"
                "  berth replay --explain default/web-1 --from 2026-11-15T10:30:00Z record/\n"
                "  berth replay --config binpacking.yaml -o json record/ | jq .summary\n"
                "  berth replay --emulated-version 1.36 record/\n",
    .options = { { rows, 0 }, { plugin_rows, offsetof(struct replay_settings, plugins) } },
    .settings_size = sizeof(struct replay_settings),
    .defaults = &(const struct replay_settings){ .top = 20 },
    .words_min = 1,
    .words_max = 1,
    .wants = "wants one recording, the folder that --record named",
    .run = run,
};
