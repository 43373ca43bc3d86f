/* user.h: the user of a request, as the API server describes it. */
#ifndef AUTH_USER_H
#define AUTH_USER_H

#include "client/kubeconfig.h"

#define USER_ANONYMOUS "system:anonymous"
#define GROUP_AUTHENTICATED "system:authenticated"
#define GROUP_UNAUTHENTICATED "system:unauthenticated"
#define GROUP_MASTERS "system:masters"

enum { USER_GROUPS_MAX = 4096, USER_EXTRAS_MAX = 256 };

struct user {
    struct str name, uid;
    struct str_list groups;
    LIST(struct user_extra) extra;
};

bool user_in_group(const struct user *user, const char *group);
/* A copy in the arena. */
void user_copy(struct arena *arena, const struct user *from, struct user *ret);
/* Lists of texts: a copy in the arena; and one more, for which the list is copied. */
void str_list_copy(struct arena *arena, const struct str_list *from, struct str_list *ret);
void str_list_add(struct arena *arena, struct str_list *list, struct str text);

#endif
