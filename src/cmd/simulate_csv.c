/* simulate_csv.c: a simulation as comma-separated values (RFC 4180): a pod a line, by its last decision. */
#include "cmd/simulate_print.h"

void csv_field(struct strbuf *out, struct str text, bool last)
{
    bool quotes = false;
    for (size_t i = 0; i < text.len; i++)
        quotes |= strchr(",\"\r\n", text.ptr[i]) != NULL;
    if (quotes)
        strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            strbuf_putc(out, '"');
        strbuf_putc(out, text.ptr[i]);
    }
    if (quotes)
        strbuf_putc(out, '"');
    strbuf_puts(out, last ? "\r\n" : ",");
}

static void add_line(const struct facts *facts, const struct pod *pod, const char *result, struct str node,
                     struct str message, struct strbuf *out)
{
    struct fact_workload workload = fact_workload_of(&facts->simulation->input->load, &pod->meta);
    csv_field(out, pod->meta.namespace, false);
    csv_field(out, pod->meta.name, false);
    csv_field(out, workload.kind, false);
    csv_field(out, workload.name, false);
    csv_field(out, str_from(result), false);
    csv_field(out, node, false);
    csv_field(out, message, true);
}

void simulate_csv(const struct facts *facts, struct strbuf *out)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    const struct simulation *simulation = facts->simulation;
    strbuf_puts(out, "namespace,pod,workloadKind,workload,result,node,message\r\n");
    vec_for(&facts->finals, item) {
        const struct sim_record *record = *item;
        if (fact_is_placed(facts, record))
            add_line(facts, record->pod, "placed",
                     cluster_node_name(&simulation->input->cluster, record->row), record->message, out);
        else
            add_line(facts, record->pod, record->row == ROW_NONE ? "pending" : "preempted", (struct str){ 0 },
                     attempt_sentence(record->failed_by, record->message, &arena), out);
    }
    vec_for(&simulation->gated, gated)
        add_line(facts, gated->pod, "pending", (struct str){ 0 }, gated->message, out);
}
