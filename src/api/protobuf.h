/* protobuf.h: Kubernetes objects as API servers send and take them in application/vnd.kubernetes.protobuf.
 *
 *     "k8s\0" runtime.Unknown{ typeMeta{apiVersion, kind}, raw }      one object, or a list of them
 *     length WatchEvent{ type, object } length WatchEvent{ ...        a watch; object.raw is the line above
 *
 * The tables of fields.h drive both directions. A decoded object is what object.h makes of the same object in JSON:
 * unknown fields are ignored, maps are sorted, nothing is defaulted. Bad bytes end in one sentence, such as "Pod
 * default/web: spec.containers[0].image: expected bytes, found a number". Three things that Go's decoder takes are
 * refused, since no server sends them: groups, a part that is not repeated but comes twice, and an envelope without an
 * object. Memory is bounded by a multiple of the input.
 *
 * Nothing here keeps state: any number of threads may decode, each into an arena of its own. */
#ifndef API_PROTOBUF_H
#define API_PROTOBUF_H

#include "api/object.h"
#include "codec/protobuf.h"

/* Where a decoded object's strings live: in its arena, or still in the bytes, which then must live as long, or in a
 * copy of all its bytes that is in its arena and stays there as meta.source. */
enum string_home { STRINGS_COPIED, STRINGS_BORROWED, STRINGS_IN_SOURCE };

/* One object with its envelope. 0 with KIND_UNKNOWN for a kind that berth does not know, PodList included. An object
 * that cannot be decoded is a failure: then `ret` has what could be read of it, its metadata above all, and is_partial
 * is set; so it is below. Where not even its kind is known, `ret` stays as it was. */
int object_decode_protobuf(struct str bytes, enum string_home home, struct arena *arena, struct object *ret,
                           struct error *err);
/* The same where several kinds have such objects, as ConfigMaps are both of the tables and of plugins: of the expected
 * kind, if it has that name. */
int object_decode_protobuf_as(struct str bytes, enum api_kind expected, enum string_home home,
                              struct arena *arena, struct object *ret, struct error *err);

/* Appends the object with its envelope. The result has what the tables know, so it is complete for the kinds that berth
 * writes: Binding, Event, Lease. */
void object_encode_protobuf(const struct object *object, struct strbuf *out);

/* A Status with its envelope: the body of an answer that failed. -EINVAL when it is something else. */
int status_decode_protobuf(struct str bytes, enum string_home home, struct arena *arena,
                           struct api_status *ret, struct error *err);

/* ---- lists ---- */

/* The items of a PodList and such. All strings are slices of its bytes. */
struct object_list_protobuf {
    enum api_kind items_kind; /* KIND_UNKNOWN: of things that berth does not know; their objects are so */
    struct str api_version, kind_name; /* of the list */
    struct str resource_version, continue_token;
    struct opt_int64 remaining_count; /* how many items the pages after this one have */
    uint32_t len;                     /* items of this page */
    uint32_t next;
    struct protobuf_reader rest;
};

/* Fails on bytes that are no list, or are not complete; then there are no items. */
int object_list_protobuf_init(struct object_list_protobuf *list, struct str bytes, struct error *err);
/* 1: an object; 0: no more; or a negative errno for an item that cannot be decoded: the one after it is next. */
int object_list_protobuf_next(struct object_list_protobuf *list, enum string_home home, struct arena *arena,
                              struct object *ret, struct error *err);

/* ---- watches ---- */

#define WATCH_TYPES(X) \
    X(ADDED) \
    X(MODIFIED) \
    X(DELETED) \
    X(BOOKMARK) \
    X(ERROR)

enum watch_type {
#define X(name) WATCH_##name,
    WATCH_TYPES(X)
#undef X
        WATCH_TYPE_COUNT
};

/* Longer events than kube-scheduler takes are refused here as well; for the frames of a watch. */
enum { WATCH_EVENT_BYTES_MAX = 16 << 20 };

struct watch_event {
    enum watch_type type;
    struct object object;     /* unless WATCH_ERROR; of a bookmark only its metadata counts */
    struct api_status status; /* of WATCH_ERROR */
};

/* One frame of a watch. After a failure the next frame can be decoded all the same; of this one `ret` may have a type
 * and a partial object. */
int watch_event_decode_protobuf(struct str frame, enum string_home home, struct arena *arena,
                                struct watch_event *ret, struct error *err);

#endif
