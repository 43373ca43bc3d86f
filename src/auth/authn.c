/* authn.c: the authenticators, one after another. */
#include "auth/authn.h"

#include "api/labels.h"
#include "auth/auth_metrics.h"
#include "server/server_parse.h"

#define CREDENTIAL_ID "authentication.kubernetes.io/credential-id"

/* A request on its way through. In the arena of the request. */
struct attempt {
    struct arena *arena;
    struct user *user;
    authn_done done;
    void *context;
    struct error errors; /* why credentials were rejected */
    size_t error_count;
};

enum result { KNOWN, NO_OPINION, REJECTED };

static void add_error(struct attempt *attempt, const char *text)
{
    struct error before = attempt->errors;
    if (attempt->error_count++)
        error_set(&attempt->errors, 0, "%.500s, %.500s", before.text, text);
    else
        error_set(&attempt->errors, 0, "%s", text);
}

static void add_group(struct attempt *attempt, const char *group)
{
    str_list_add(attempt->arena, &attempt->user->groups, str_from(group));
}

/* A user that is known is in the group of the authenticated, unless the groups say so already or say otherwise. */
static void finish_known(struct attempt *attempt)
{
    struct user *user = attempt->user;
    if (!str_is(user->name, USER_ANONYMOUS) && !user_in_group(user, GROUP_AUTHENTICATED) &&
        !user_in_group(user, GROUP_UNAUTHENTICATED))
        add_group(attempt, GROUP_AUTHENTICATED);
    attempt->done(attempt->context, true, NULL);
}

static void finish_unknown(struct attempt *attempt)
{
    if (attempt->error_count) {
        attempt->done(attempt->context, false, &attempt->errors);
        return;
    }
    *attempt->user = (struct user){ .name = STR(USER_ANONYMOUS) };
    add_group(attempt, GROUP_UNAUTHENTICATED);
    attempt->done(attempt->context, true, NULL);
}

/* The first value that is not empty of the first header that has one. */
static struct str header_of(const struct server_request *request, const struct str_list *names)
{
    for (uint32_t i = 0; i < names->len; i++) {
        struct str value = server_header_value(request, names->items[i]);
        if (value.len)
            return value;
    }
    return (struct str){ 0 };
}

static void take_groups(struct attempt *attempt, const struct server_request *request,
                        const struct str_list *names)
{
    for (uint32_t i = 0; i < names->len; i++)
        vec_for(&request->headers, header)
            if (str_eq_fold(header->name, names->items[i]) && header->value.len)
                str_list_add(attempt->arena, &attempt->user->groups, header->value);
}

/* What stands behind the prefix, in small letters and unescaped where that can be done. */
static struct str extra_key(struct arena *arena, struct str name)
{
    struct str lower = arena_lower(arena, name), key;
    return parse_unescape(lower, arena, &key) ? key : lower;
}

static void add_extra(struct attempt *attempt, struct str key, struct str value)
{
    struct user *user = attempt->user;
    for (uint32_t i = 0; i < user->extra.len; i++)
        if (str_eq(user->extra.items[i].key, key)) {
            str_list_add(attempt->arena, &user->extra.items[i].values, value);
            return;
        }
    user->extra.items = arena_copy(attempt->arena, struct user_extra, user->extra.items, user->extra.len,
                                   (size_t)user->extra.len + 1);
    struct user_extra *added = &user->extra.items[user->extra.len++];
    added->key = key;
    str_list_add(attempt->arena, &added->values, value);
}

static void take_extra(struct attempt *attempt, const struct server_request *request,
                       const struct str_list *prefixes)
{
    for (uint32_t i = 0; i < prefixes->len; i++)
        vec_for(&request->headers, header) {
            struct str prefix = prefixes->items[i];
            if (!str_eq_fold(str_slice(header->name, 0, prefix.len), prefix))
                continue;
            struct str rest = str_slice(header->name, prefix.len, header->name.len);
            add_extra(attempt, extra_key(attempt->arena, rest), header->value);
        }
}

/* NO_OPINION: there is no certificate, or no authority for it. */
static enum result verify(struct attempt *attempt, const struct server_request *request,
                          const struct ca_pool *pool, struct peer_subject *ret)
{
    struct error err;
    if (!request->peer || !pool)
        return NO_OPINION;
    if (peer_verify(request->peer, pool, &err) == 0 &&
        peer_subject(request->peer, attempt->arena, ret, &err) == 0)
        return KNOWN;
    add_error(attempt, err.text);
    return REJECTED;
}

/* A proxy that may speak for others, and does. */
static enum result by_proxy(struct attempt *attempt, const struct server_request *request,
                            const struct trust_now *now)
{
    struct error err;
    struct peer_subject subject;
    enum result result = verify(attempt, request, now->pools[AUTHORITY_PROXIES], &subject);
    if (result != KNOWN)
        return result;
    if (now->lists[ALLOWED_NAMES].len && !str_list_has(&now->lists[ALLOWED_NAMES], subject.common_name)) {
        error_set(&err, 0, "x509: subject with cn=" STR_FMT " is not in the allowed list",
                  STR_ARG(subject.common_name));
        add_error(attempt, err.text);
        return REJECTED;
    }
    struct str name = header_of(request, &now->lists[USERNAME_HEADERS]);
    if (!name.len)
        return NO_OPINION;
    *attempt->user = (struct user){ .name = name, .uid = header_of(request, &now->lists[UID_HEADERS]) };
    take_groups(attempt, request, &now->lists[GROUP_HEADERS]);
    take_extra(attempt, request, &now->lists[EXTRA_PREFIXES]);
    return KNOWN;
}

static enum result by_certificate(struct attempt *attempt, const struct server_request *request,
                                  const struct trust_now *now, struct metrics *metrics)
{
    struct peer_subject subject;
    if (request->peer && now->pools[AUTHORITY_CLIENTS])
        auth_metrics_certificate(metrics, peer_seconds_left(request->peer));
    enum result result = verify(attempt, request, now->pools[AUTHORITY_CLIENTS], &subject);
    if (result != KNOWN || !subject.common_name.len)
        return result == KNOWN ? NO_OPINION : result;
    *attempt->user = (struct user){ .name = subject.common_name, .uid = subject.uid };
    for (size_t i = 0; i < subject.organisation_count; i++)
        str_list_add(attempt->arena, &attempt->user->groups, subject.organisations[i]);
    add_extra(attempt, STR(CREDENTIAL_ID),
              arena_printf(attempt->arena, "X509SHA256=%s", subject.fingerprint));
    return KNOWN;
}

/* "Bearer TOKEN", and nothing between the two but one space. */
static struct str bearer_token(struct str value)
{
    struct str rest = str_trim(value, " \t\r\n\v\f"), scheme = str_cut(&rest, ' ');
    return str_eq_fold(scheme, STR("bearer")) ? str_cut(&rest, ' ') : (struct str){ 0 };
}

static void on_review(void *context, const struct review *review)
{
    struct attempt *attempt = context;
    if (review->answered && review->yes) {
        record_copy(&user_type, &review->user, attempt->arena, attempt->user);
        finish_known(attempt);
        return;
    }
    struct error err;
    error_set(&err, 0, STR_FMT, STR_ARG(review->reason));
    add_error(attempt, review->reason.len ? err.text : "invalid bearer token");
    finish_unknown(attempt);
}

void authn_run(const struct authn *authn, struct server_request *request, struct user *ret, authn_done done,
               void *context)
{
    struct attempt *attempt = arena_new(&request->arena, struct attempt);
    *attempt = (struct attempt){ .arena = &request->arena, .user = ret, .done = done, .context = context };
    enum result result = NO_OPINION;
    if (authn->trust) {
        const struct trust_now *now = trust_lock(authn->trust);
        result = by_proxy(attempt, request, now);
        if (result != KNOWN)
            result = by_certificate(attempt, request, now, authn->metrics);
        trust_unlock(authn->trust);
    }
    if (result == KNOWN) {
        finish_known(attempt);
        return;
    }
    struct str token = bearer_token(server_header_value(request, STR("authorization")));
    if (!authn->reviews || !token.len) {
        finish_unknown(attempt);
        return;
    }
    reviews_ask(authn->reviews, &(struct review_spec){ .token = token }, true, on_review, attempt);
}
