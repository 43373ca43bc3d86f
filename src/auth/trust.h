/* trust.h: which certificates of clients and of proxies are accepted.
 *
 *     --client-ca-file, --requestheader-client-ca-file ──────────┐
 *                                                                ├──▶ struct trust_now ──▶ authn.h
 *     ConfigMap kube-system/extension-apiserver-authentication ──┘
 *
 * Each of the two authorities comes from its file, or else from the cluster. Both sources may change at any time: files
 * are read again every few seconds, the ConfigMap is watched. What cannot be read leaves what was there. */
#ifndef AUTH_TRUST_H
#define AUTH_TRUST_H

#include "client/api.h"
#include "config/flags.h"
#include "server/server_peer.h"

struct metrics;
struct trust;

enum authority {
    AUTHORITY_CLIENTS, /* of clients that authenticate with a certificate */
    AUTHORITY_PROXIES, /* of proxies that name the user in headers */
    AUTHORITY_COUNT
};

/* What goes with the authority of proxies. */
enum proxy_list {
    USERNAME_HEADERS,
    UID_HEADERS,
    GROUP_HEADERS,
    EXTRA_PREFIXES,
    ALLOWED_NAMES,
    PROXY_LIST_COUNT
};

struct trust_now {
    struct ca_pool *pools[AUTHORITY_COUNT]; /* NULL: no certificate is accepted */
    struct str_list lists[PROXY_LIST_COUNT];
};

/* `api` NULL: files only; `metrics` may be NULL; the flags outlive it. Waits for the first look-up in the cluster only
 * where a failure of it would be fatal. When it fails and *ret is set nevertheless, the look-up has begun: api_free()
 * first, then trust_free(). */
int trust_new(const struct scheduler_flags *flags, struct api *api, struct metrics *metrics,
              struct trust **ret, struct error *err);
/* From now on the files are read again, until trust_unwatch(), which is not for the loop's thread. */
void trust_watch(struct trust *trust, struct loop *loop);
void trust_unwatch(struct trust *trust);
/* After api_free() and trust_unwatch(). */
void trust_free(struct trust *trust);
/* What counts at this moment; it does not change until trust_unlock(). From any thread. */
const struct trust_now *trust_lock(struct trust *trust);
void trust_unlock(struct trust *trust);
/* Can the files of the authorities be read and used? */
int trust_check(const struct trust *trust, struct error *err);
/* Is there any certificate that could be accepted, now or later? */
bool trust_is_possible(const struct trust *trust);

#endif
