/* slow.c: see slow.h. */
#include "engine/slow.h"

#include <time.h>

#include "base/duration.h"
#include "base/log.h"

enum { NS_PER_MS = 1000000, SLOW_MS = 100, TRACED = 2, TRACED_WHOLE = 4 };

struct step {
    const char *name;
    int64_t ended_ns;
};

static void put_clock(struct strbuf *out, const char *format, int64_t wall_ns)
{
    char text[40];
    time_t seconds = (time_t)(wall_ns / NS_PER_SECOND);
    struct tm local = { 0 };
    localtime_r(&seconds, &local);
    strftime(text, sizeof(text), format, &local);
    strbuf_printf(out, "(%s.%03lld)", text, (long long)(wall_ns % NS_PER_SECOND / NS_PER_MS));
}

static size_t steps_of(const struct choice *choice, int64_t ended_ns, struct step ret[static 2])
{
    bool scores = choice->feasible > 1;
    bool is_filtered = status_ok(choice->error) || choice->filtered_ns;
    if (!is_filtered)
        return 0;
    ret[0] =
        (struct step){ "Computing predicates done", choice->filtered_ns ? choice->filtered_ns : ended_ns };
    ret[1] = (struct step){ "Prioritizing done", ended_ns };
    return scores && status_ok(choice->error) ? 2 : 1;
}

static void put_trace(struct strbuf *out, const struct cycle *cycle, const struct choice *choice,
                      int64_t begun_ns, int64_t ended_ns)
{
    const struct meta *meta = &cycle->pod->meta;
    const int64_t wall_ns = cycle->now_ns + cycle->wall_ahead_ns, took_ns = ended_ns - begun_ns;
    const unsigned number = (unsigned)(str_hash(meta->uid) ^ (uint64_t)begun_ns) >> 1;
    struct step steps[2];
    size_t len = steps_of(choice, ended_ns, steps);
    char total[DURATION_TEXT_MAX];
    duration_format(took_ns, total);
    strbuf_printf(out, "Trace[%u]: \"Scheduling\" namespace:" STR_FMT ",name:" STR_FMT " ", number,
                  STR_ARG(meta->namespace), STR_ARG(meta->name));
    put_clock(out, "%d-%b-%Y %H:%M:%S", wall_ns);
    strbuf_printf(out, " (total time: %lldms):", (long long)(took_ns / NS_PER_MS));
    for (size_t i = 0; i < len; i++) {
        int64_t step_ns = steps[i].ended_ns - (i ? steps[i - 1].ended_ns : begun_ns);
        if (step_ns < (int64_t)SLOW_MS * NS_PER_MS / (int64_t)(len + 1) && !log_shows(TRACED_WHOLE))
            continue;
        strbuf_printf(out, "\nTrace[%u]: ---\"%s\" %lldms ", number, steps[i].name,
                      (long long)(step_ns / NS_PER_MS));
        put_clock(out, "%H:%M:%S", wall_ns + steps[i].ended_ns - begun_ns);
    }
    strbuf_printf(out, "\nTrace[%u]: [%s] [%s] END", number, total, total);
}

void slow_decision_log(const struct cycle *cycle, const struct choice *choice, int64_t begun_ns,
                       int64_t ended_ns)
{
    if (ended_ns - begun_ns < (int64_t)SLOW_MS * NS_PER_MS || !log_shows(TRACED))
        return;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    put_trace(&text, cycle, choice, begun_ns, ended_ns);
    log_plain(0, text.text);
}
