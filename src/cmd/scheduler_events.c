/* scheduler_events.c: events about objects that are no pods, and about the scheduler itself. */
#include "cmd/scheduler.h"

void scheduler_event(struct daemon *daemon, struct object_ref about, const char *type, const char *reason,
                     struct str note)
{
    recorder_event(daemon->recorder, &(struct recorder_event){ .regarding = about,
                                                               .type = str_from(type),
                                                               .reason = str_from(reason),
                                                               .note = note,
                                                               .controller = daemon->name,
                                                               .legacy = true });
}

void scheduler_event_about_itself(struct daemon *daemon, bool failed, const char *reason, struct str note)
{
    struct object_ref about = daemon->about;
    char uid[sizeof(daemon->about_uid)];
    pthread_mutex_lock(&daemon->about_lock);
    memcpy(uid, daemon->about_uid, sizeof(uid));
    pthread_mutex_unlock(&daemon->about_lock);
    about.uid = str_from(uid);
    scheduler_event(daemon, about, failed ? "Warning" : "Normal", reason, note);
}
