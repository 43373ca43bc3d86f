/* Any bytes as a Lease: it is refused, or what is written back is a Lease that says what was to be changed. */
#include "live/lease_record.h"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, (uint32_t)size };
    struct lease_record record = { 0 }, again = { 0 };
    struct strbuf out = { 0 };
    struct error err = { 0 };
    int r = lease_record_read(&record, text, &err);
    if (r < 0) {
        must(err.text[0] && !strchr(err.text, '\n'));
        must(!record.text.len);
    }
    const struct lease_change change = { .holder = STR("me"),
                                         .duration_s = 15,
                                         .transitions = 3,
                                         .renew_us = 1700000000000000,
                                         .new_term = size % 2 };
    lease_record_write(&record, STR("kube-system"), STR("kube-scheduler"), &change, &out);
    must(out.len);
    if (r == 0) { /* a new one has no version yet */
        must(lease_record_read(&again, strbuf_slice(&out), &err) == 0);
        must(str_is(strbuf_slice(&again.holder), "me") && again.duration_s == 15 && again.transitions == 3);
        must(str_eq(strbuf_slice(&again.uid), strbuf_slice(&record.uid)));
    }
    lease_record_release(&record);
    lease_record_release(&again);
    strbuf_release(&out);
    return 0;
}
