/* lease_record.c: reads and changes Leases with yyjson; an answer may be anything, so every field may be
 * missing. */
#include "live/lease_record.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/timestamp.h"
#include "codec/doc.h"

enum { US_PER_S = 1000000 };

void lease_record_release(struct lease_record *record)
{
    strbuf_release(&record->text);
    strbuf_release(&record->spec);
    strbuf_release(&record->holder);
    strbuf_release(&record->preferred);
    strbuf_release(&record->uid);
    strbuf_release(&record->resource_version);
}

static void set_text(struct strbuf *buf, struct str text)
{
    strbuf_clear(buf);
    strbuf_str(buf, text);
}

static int32_t int_member(yyjson_val *object, const char *key)
{
    int64_t value = yyjson_get_sint(yyjson_obj_get(object, key));
    return (int32_t)MAX(MIN(value, INT32_MAX), INT32_MIN);
}

int lease_record_read(struct lease_record *record, struct str text, struct error *err)
{
    yyjson_doc *doc = text.len ? yyjson_read(text.ptr, text.len, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *meta = yyjson_obj_get(root, "metadata"), *spec = yyjson_obj_get(root, "spec");
    if (!yyjson_is_obj(meta) || !doc_member_text(meta, "resourceVersion").len ||
        !str_is(doc_member_text(root, "kind"), "Lease")) {
        yyjson_doc_free(doc);
        return error_set(err, -EINVAL, "the answer is no Lease");
    }
    set_text(&record->text, text);
    set_text(&record->holder, doc_member_text(spec, "holderIdentity"));
    set_text(&record->preferred, doc_member_text(spec, "preferredHolder"));
    set_text(&record->uid, doc_member_text(meta, "uid"));
    set_text(&record->resource_version, doc_member_text(meta, "resourceVersion"));
    record->duration_s = int_member(spec, "leaseDurationSeconds");
    record->transitions = int_member(spec, "leaseTransitions");
    size_t len = 0;
    char *written = spec ? yyjson_val_write(spec, 0, &len) : NULL;
    set_text(&record->spec, (struct str){ written, (uint32_t)len });
    free(written);
    yyjson_doc_free(doc);
    return 0;
}

static void put_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, struct str value)
{
    yyjson_mut_obj_put(object, yyjson_mut_str(doc, key),
                       yyjson_mut_strncpy(doc, value.ptr ? value.ptr : "", value.len));
}

static void put_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t value)
{
    yyjson_mut_obj_put(object, yyjson_mut_str(doc, key), yyjson_mut_sint(doc, value));
}

/* An object of this name, made if it is not there. */
static yyjson_mut_val *object_member(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *key)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(root, key);
    if (yyjson_mut_is_obj(val))
        return val;
    val = yyjson_mut_obj(doc);
    yyjson_mut_obj_put(root, yyjson_mut_str(doc, key), val);
    return val;
}

static yyjson_mut_doc *copy_or_new(const struct lease_record *record, struct str namespace, struct str name)
{
    if (record->text.len) {
        yyjson_doc *doc = yyjson_read(record->text.text, record->text.len, 0);
        yyjson_mut_doc *copy = doc ? yyjson_doc_mut_copy(doc, NULL) : NULL;
        yyjson_doc_free(doc);
        if (copy)
            return copy;
    }
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    put_str(doc, root, "apiVersion", STR("coordination.k8s.io/v1"));
    put_str(doc, root, "kind", STR("Lease"));
    yyjson_mut_val *meta = object_member(doc, root, "metadata");
    put_str(doc, meta, "name", name);
    put_str(doc, meta, "namespace", namespace);
    return doc;
}

void lease_record_write(const struct lease_record *record, struct str namespace, struct str name,
                        const struct lease_change *change, struct strbuf *out)
{
    yyjson_mut_doc *doc = copy_or_new(record, namespace, name);
    yyjson_mut_val *spec = object_member(doc, yyjson_mut_doc_get_root(doc), "spec");
    char buf[TIMESTAMP_LEN_MAX + 1];
    struct str now = timestamp_format_fraction(change->renew_us / US_PER_S,
                                               (int32_t)(change->renew_us % US_PER_S) * 1000, 6, buf);
    put_str(doc, spec, "holderIdentity", change->holder);
    put_int(doc, spec, "leaseDurationSeconds", change->duration_s);
    if (change->new_term)
        put_str(doc, spec, "acquireTime", now);
    put_str(doc, spec, "renewTime", now);
    put_int(doc, spec, "leaseTransitions", change->transitions);
    size_t len = 0;
    char *text = yyjson_mut_write(doc, 0, &len);
    strbuf_add(out, text ? text : "", len);
    free(text);
    yyjson_mut_doc_free(doc);
}
