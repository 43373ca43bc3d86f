/* lease_record.h: a Lease as text: what it says, and the same with some of it changed.
 *
 * The object is kept as it came, and only fields of ours are changed when it goes back: what others put there
 * (labels, a strategy, fields of a later version) stays. */
#ifndef LIVE_LEASE_RECORD_H
#define LIVE_LEASE_RECORD_H

#include "base/error.h"
#include "base/str.h"

/* A zeroed one is empty. */
struct lease_record {
    struct strbuf text;                          /* the complete object; empty: none is known */
    struct strbuf spec;                          /* the part that a renewal changes */
    struct strbuf holder, uid, resource_version; /* empty: none */
    struct strbuf preferred;         /* preferredHolder: the holder shall not renew it; empty: none */
    int32_t duration_s, transitions; /* 0 where it does not say */
};

void lease_record_release(struct lease_record *record);
/* -EINVAL: this is no Lease; then the record is as before. */
int lease_record_read(struct lease_record *record, struct str text, struct error *err);

struct lease_change {
    struct str holder;
    int32_t duration_s, transitions;
    int64_t renew_us;
    bool new_term; /* acquireTime becomes the time of this renewal */
};

/* The object with the change; of an empty record: a new one with this name. */
void lease_record_write(const struct lease_record *record, struct str namespace, struct str name,
                        const struct lease_change *change, struct strbuf *out);

#endif
