/* presence.h: does a scheduler that runs, or ran, on this machine still run?
 *
 *     presence_begin() ─▶ an identity, HOSTNAME_UUID, and a socket in the abstract namespace that has the UUID's name
 *     presence_look()  ─▶ connects to the socket of another identity: it runs, and its end is told; or it has ended
 *
 * The kernel closes the socket of a process that ends, however it ends, when none of its threads runs any more: what it
 * has not written by then it never will. A process that is stopped has not ended.
 *
 * Only sockets of the same network namespace can be reached. So the first half of a UUID tells where its process runs:
 * it is made of the boot, the namespace and the host's name. Of an identity with another first half, or a UUID that was
 * made otherwise, nothing is known. Two machines with the same first half would be clones that run with one boot id and
 * one name. */
#ifndef LIVE_PRESENCE_H
#define LIVE_PRESENCE_H

#include "base/str.h"
#include "net/loop.h"

enum { PRESENCE_UUID_LEN = 36 };

enum presence { PRESENCE_UNKNOWN, PRESENCE_RUNS, PRESENCE_ENDED };

/* The watch of one other process. A zeroed one with its loop and callback watches none. For the loop's thread. */
struct presence_watch {
    struct loop *loop;
    void (*on_end)(struct presence_watch *watch);
    struct loop_fd connection; /* while `state` is PRESENCE_RUNS */
    char uuid[PRESENCE_UUID_LEN + 1];
    enum presence state;
};

/* Appends the identity of this process. From now on, and until it ends, others of this machine can tell that it runs;
 * where that cannot be, the identity says nothing of the machine. */
void presence_begin(struct strbuf *identity);

/* What is known of the process `other`; `own` is the identity of this one. If it runs, then on_end is called when it
 * ends, unless another one is looked at before. */
enum presence presence_look(struct presence_watch *watch, struct str own, struct str other);
void presence_forget(struct presence_watch *watch);

#endif
