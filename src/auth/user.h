/* user.h: the user of a request, as the API server describes it. */
#ifndef AUTH_USER_H
#define AUTH_USER_H

#include "client/kubeconfig.h"
#include "codec/record.h"

#define USER_ANONYMOUS "system:anonymous"
#define GROUP_AUTHENTICATED "system:authenticated"
#define GROUP_UNAUTHENTICATED "system:unauthenticated"
#define GROUP_MASTERS "system:masters"

struct user {
    struct str name, uid;
    struct str_list groups;
    struct user_extras extra;
};
/* As the status of a TokenReview has it. */
RECORD_TYPE(user, struct user);
RECORD_KIND(EXTRAS, struct user_extras);

bool user_in_group(const struct user *user, const char *group);
/* One more text, for which the list is copied to the arena. */
void str_list_add(struct arena *arena, struct str_list *list, struct str text);

#endif
