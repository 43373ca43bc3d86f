/* announce.h: several schedulers that share nodes do not give the same room away twice (`--announce`).
 *
 *     decided ─▶ the pod's nominatedNodeName is written ─▶ the watch shows it ─▶ is there room? ─▶ bound
 *                                                                                    │
 *                                                      withdrawn, decided again ◀────┘ no
 *
 * A pod of another scheduler that has no node and is nominated to one is an announcement. It is in the model for its
 * nomination alone (pod_info.is_foreign): its room is taken for all pods of this scheduler, whatever their priority.
 *
 * The API server puts all changes of pods into one order, and a watch shows them in that order. So a scheduler that
 * sees its own announcement has seen each one that came before it. It binds the pod only if the pod has room beside
 * everything that it has seen by then. Of two pods that do not both have room, at least one scheduler sees both
 * announcements before it binds, which is the one whose announcement came last. Therefore:
 *
 *     room beside all announcements                          it is bound
 *     room beside those that precede it, not beside others   it waits for the others to be withdrawn, or bound
 *     no room beside those that precede it                   it is withdrawn
 *
 * A pod precedes another by priority, then by age, then by uid. All schedulers agree on that, so none waits for a pod
 * that waits for it. What waits for longer than ROOM_WAIT_NS is withdrawn, too: the other scheduler may not know these
 * rules, or may have ended. A pod that has been granted its room keeps it for as long as its binding takes.
 *
 * Rooms are judged in a tick, never while messages are read: of a batch of messages, one may have overtaken others
 * (sync/inbox.h). For the same reason nothing is judged while pods are being listed. */
#ifndef ENGINE_ANNOUNCE_H
#define ENGINE_ANNOUNCE_H

#include "engine/binding.h"

/* ---- announcements of other schedulers ---- */
/* Is the pod one, which no profile is responsible for? */
bool announce_is_foreign(const struct engine *engine, const struct pod *pod);
/* It is in the model from now on. */
struct pod_info *announce_add(struct engine *engine, const struct pod *pod);
/* It is not any more, because of a newer version of the pod, which the caller takes care of; NULL: the pod is gone. */
void announce_remove(struct engine *engine, struct pod_info *pod, const struct pod *newer, int64_t now_ns);

/* ---- own ones ---- */
/* Writes it. */
void announce_begin(struct pod_binding *binding, int64_t now_ns);
/* Something has happened that its room depends on: it is judged at the next tick. */
void announce_look(struct pod_binding *binding);
/* The same for all that are on the row, or everywhere, and have no room yet. */
void announce_look_at(struct engine *engine, uint32_t row);
void announce_look_everywhere(struct engine *engine);
/* BINDING_ON_ROOM, or BINDING_ON_NO_ROOM, for those that are to be looked at, unless they have to wait. */
void announce_tick(struct engine *engine, int64_t now_ns);

#endif
