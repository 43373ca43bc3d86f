/* candidate_record.c: reads and changes LeaseCandidates with yyjson; an answer may be anything, so every field may be
 * missing. */
#include <stdlib.h>

#include "base/timestamp.h"
#include "codec/doc.h"
#include "live/candidate.h"

enum { US_PER_S = 1000000 };

static bool is_before(const struct timestamp *a, const struct timestamp *b)
{
    return a->seconds != b->seconds ? a->seconds < b->seconds : a->nanos < b->nanos;
}

bool candidate_is_pinged(struct str object)
{
    struct timestamp pinged, renewed;
    yyjson_doc *doc = object.len ? yyjson_read(object.ptr, object.len, 0) : NULL;
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(doc), "spec");
    bool has_ping = timestamp_parse(doc_member_text(spec, "pingTime"), &pinged);
    bool has_renewal = timestamp_parse(doc_member_text(spec, "renewTime"), &renewed);
    yyjson_doc_free(doc);
    return has_ping && (!has_renewal || is_before(&renewed, &pinged));
}

static void put_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, struct str value)
{
    yyjson_mut_obj_put(object, yyjson_mut_str(doc, key), yyjson_mut_strncpy(doc, value.ptr, value.len));
}

static yyjson_mut_val *add_object(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *key)
{
    yyjson_mut_val *val = yyjson_mut_obj(doc);
    yyjson_mut_obj_put(root, yyjson_mut_str(doc, key), val);
    return val;
}

static yyjson_mut_doc *new_object(const struct candidate_options *options)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    put_str(doc, root, "apiVersion", STR("coordination.k8s.io/v1beta1"));
    put_str(doc, root, "kind", STR("LeaseCandidate"));
    yyjson_mut_val *meta = add_object(doc, root, "metadata"), *spec = add_object(doc, root, "spec");
    put_str(doc, meta, "name", options->identity);
    put_str(doc, meta, "namespace", options->namespace);
    put_str(doc, spec, "leaseName", options->lease_name);
    put_str(doc, spec, "binaryVersion", str_from(options->binary_version));
    put_str(doc, spec, "emulationVersion", str_from(options->emulation_version));
    put_str(doc, spec, "strategy", STR("OldestEmulationVersion"));
    return doc;
}

void candidate_write(const struct candidate_options *options, struct str object, int64_t renew_us,
                     struct strbuf *out)
{
    yyjson_doc *known = object.len ? yyjson_read(object.ptr, object.len, 0) : NULL;
    yyjson_mut_doc *doc = known ? yyjson_doc_mut_copy(known, NULL) : new_object(options);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *spec = yyjson_mut_obj_get(root, "spec");
    char buf[TIMESTAMP_LEN_MAX + 1];
    put_str(doc, yyjson_mut_is_obj(spec) ? spec : add_object(doc, root, "spec"), "renewTime",
            timestamp_format_fraction(renew_us / US_PER_S, (int32_t)(renew_us % US_PER_S) * 1000, 6, buf));
    size_t len = 0;
    char *text = yyjson_mut_write(doc, 0, &len);
    strbuf_add(out, text ? text : "", len);
    free(text);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(known);
}
