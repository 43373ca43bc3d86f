/* authz.c: the authorizers, one after another. */
#include "auth/authz.h"

/* Of verb and path together; an answer about more is not remembered. */
enum { REMEMBERED_BYTES_MAX = 10000 };

struct request {
    authz_done done;
    void *context;
};

static struct str without_slash(struct str path)
{
    return path.len && path.ptr[0] == '/' ? str_slice(path, 1, path.len) : path;
}

int authz_init(struct authz *authz, const struct str_list *allowed_paths, struct arena *arena,
               struct error *err)
{
    authz->allowed_paths.len = 0;
    authz->allowed_paths.items = arena_array(arena, struct str, (size_t)allowed_paths->len + 1);
    for (uint32_t i = 0; i < allowed_paths->len; i++) {
        struct str path = without_slash(allowed_paths->items[i]);
        ptrdiff_t star = str_find(path, '*');
        if (star >= 0 && (size_t)star + 1 < path.len)
            return error_set(err, -EINVAL, "only trailing * allowed in \"" STR_FMT "\"", STR_ARG(path));
        authz->allowed_paths.items[authz->allowed_paths.len++] = arena_str(arena, path);
    }
    return 0;
}

static bool is_open(const struct authz *authz, struct str path)
{
    path = without_slash(path);
    for (uint32_t i = 0; i < authz->allowed_paths.len; i++) {
        struct str open = authz->allowed_paths.items[i];
        if (open.len && open.ptr[open.len - 1] == '*'
                ? str_starts_with(path, str_slice(open, 0, open.len - 1))
                : str_eq(path, open))
            return true;
    }
    return false;
}

static void on_review(void *context, const struct review *review)
{
    struct request *request = context;
    enum authz_decision decision = AUTHZ_FORBIDDEN;
    struct str why = review->reason;
    if (!review->answered) {
        decision = AUTHZ_FAILED;
    } else if (review->denied && review->yes) {
        decision = AUTHZ_FAILED;
        why = STR("webhook subject access review returned both allow and deny response");
    } else if (review->denied) {
        decision = AUTHZ_DENIED;
    } else if (review->yes) {
        decision = AUTHZ_ALLOWED;
    }
    request->done(request->context, decision, why);
}

void authz_run(const struct authz *authz, const struct user *user, struct str verb, struct str path,
               struct arena *arena, authz_done done, void *context)
{
    if (user_in_group(user, GROUP_MASTERS) || is_open(authz, path)) {
        done(context, AUTHZ_ALLOWED, (struct str){ 0 });
        return;
    }
    if (!authz->reviews) {
        done(context, AUTHZ_FORBIDDEN, (struct str){ 0 });
        return;
    }
    struct request *request = arena_new(arena, struct request);
    *request = (struct request){ done, context };
    reviews_ask(authz->reviews, &(struct review_spec){ .verb = verb, .path = path, .user = *user },
                (size_t)verb.len + path.len < REMEMBERED_BYTES_MAX, on_review, request);
}
