/* controllers.c: each controller checks all objects from time to time and does a part of the work, slowly in the
 * storm. */
#include "controllers.h"

#include "watch.h"

enum { LOOK_MS_STORM = 700, LOOK_MS_CALM = 3000, HASTE_STORM = 350, FAILS_STORM = 150 /* of 1000 */ };

/* Whether the controller acts this time. */
static bool acts_now(struct sim *sim)
{
    return !sim->storm || chance(sim, HASTE_STORM);
}

/* ---- kubelets, and the garbage collector of pods ---- */
static void look_at_pod(struct sim *sim, struct stored *pod)
{
    struct pod_facts *facts = &pod->facts.pod;
    bool lost = facts->node != NONE && !store_at(&sim->store, SIM_NODES, facts->node);
    if ((!facts->terminating && !lost && (facts->running || facts->node == NONE)) || !acts_now(sim))
        return;
    if ((facts->terminating || lost) && facts->finalizer) {
        facts->finalizer = false;
        store_commit(&sim->store, SIM_PODS, pod);
    } else if (facts->terminating || lost) {
        store_remove(&sim->store, SIM_PODS, pod);
    } else if (!facts->finished) {
        facts->running = true;
        store_commit(&sim->store, SIM_PODS, pod);
    }
}

/* ---- storage ---- */
void controllers_create_claim(struct sim *sim, uint32_t number)
{
    struct stored *claim = store_create(&sim->store, SIM_CLAIMS, number);
    claim->facts.claim =
        (struct claim_facts){ .class = roll(sim, CLASS_COUNT), .volume = NONE, .selected_node = NONE };
    store_commit(&sim->store, SIM_CLAIMS, claim);
}

void controllers_delete_claim(struct sim *sim)
{
    const struct kind_store *pods = &sim->store.kinds[SIM_PODS];
    struct stored *claim = store_at(&sim->store, SIM_CLAIMS, (int)roll(sim, sim->knobs.claims));
    if (!claim)
        return;
    for (uint32_t i = 0; i < pods->len; i++)
        if (pods->items[i].exists && pods->items[i].facts.pod.claim == (int)claim->facts.number)
            return;
    store_remove(&sim->store, SIM_CLAIMS, claim);
}

static struct stored *create_volume(struct sim *sim, enum class_number class, int zone)
{
    int number = store_free_number(&sim->store, SIM_VOLUMES, roll(sim, sim->knobs.volumes));
    if (number == NONE)
        return NULL;
    struct stored *volume = store_create(&sim->store, SIM_VOLUMES, (uint32_t)number);
    volume->facts.volume = (struct volume_facts){ .class = class, .zone = zone, .claim = NONE };
    return volume;
}

void controllers_create_volumes(struct sim *sim, uint32_t count)
{
    for (; count; count--) {
        struct stored *volume = create_volume(sim, CLASS_FOUND, (int)roll(sim, ZONES));
        if (volume)
            store_commit(&sim->store, SIM_VOLUMES, volume);
    }
}

static void make_volume(struct sim *sim, struct stored *claim, int zone)
{
    struct stored *volume = create_volume(sim, claim->facts.claim.class, zone);
    if (!volume)
        return;
    volume->facts.volume.claim = (int)claim->facts.number;
    volume->facts.volume.claim_uid = claim->facts.uid;
    store_commit(&sim->store, SIM_VOLUMES, volume);
    claim->facts.claim.volume = (int)volume->facts.number;
    store_commit(&sim->store, SIM_CLAIMS, claim);
}

/* Provisions a volume for the selected node; or fails, and clears the selected node. */
static void provision(struct sim *sim, struct stored *claim)
{
    const struct stored *node = store_at(&sim->store, SIM_NODES, claim->facts.claim.selected_node);
    if (node && !(sim->storm && chance(sim, FAILS_STORM))) {
        make_volume(sim, claim, node->facts.node.zone);
        return;
    }
    claim->facts.claim.selected_node = NONE;
    store_commit(&sim->store, SIM_CLAIMS, claim);
}

static void look_at_claim(struct sim *sim, struct stored *claim)
{
    struct claim_facts *facts = &claim->facts.claim;
    if (facts->volume != NONE || !acts_now(sim))
        return;
    if (facts->class == CLASS_IMMEDIATE) {
        make_volume(sim, claim, (int)roll(sim, ZONES));
    } else if (facts->class == CLASS_MADE && facts->selected_node != NONE) {
        provision(sim, claim);
    } else if (facts->class == CLASS_FOUND) {
        const struct kind_store *volumes = &sim->store.kinds[SIM_VOLUMES];
        for (uint32_t i = 0; i < volumes->len && facts->volume == NONE; i++)
            if (volumes->items[i].exists && volumes->items[i].facts.volume.claim_uid == claim->facts.uid)
                facts->volume = (int)i;
        if (facts->volume != NONE)
            store_commit(&sim->store, SIM_CLAIMS, claim);
    }
}

/* Releases a volume whose claim is gone or has another volume. */
static void look_at_volume(struct sim *sim, struct stored *volume)
{
    struct volume_facts *facts = &volume->facts.volume;
    if (facts->claim == NONE)
        return;
    const struct stored *claim = store_at(&sim->store, SIM_CLAIMS, facts->claim);
    bool held = claim && claim->facts.uid == facts->claim_uid &&
                (claim->facts.claim.volume == NONE || claim->facts.claim.volume == (int)volume->facts.number);
    if (held || !acts_now(sim))
        return;
    if (facts->class != CLASS_FOUND) {
        store_remove(&sim->store, SIM_VOLUMES, volume);
        return;
    }
    facts->claim = NONE;
    facts->claim_uid = 0;
    store_commit(&sim->store, SIM_VOLUMES, volume);
}

static void look(struct sim *sim, void *what)
{
    static const struct {
        enum sim_kind kind;
        void (*look_at)(struct sim *sim, struct stored *stored);
    } rows[] = { { SIM_PODS, look_at_pod }, { SIM_CLAIMS, look_at_claim }, { SIM_VOLUMES, look_at_volume } };
    for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
        struct kind_store *store = &sim->store.kinds[rows[row].kind];
        for (uint32_t i = 0; i < store->len; i++)
            if (store->items[i].exists)
                rows[row].look_at(sim, &store->items[i]);
    }
    watches_wake(sim);
    sim_plan(sim, SIM_MS * (sim->storm ? LOOK_MS_STORM : LOOK_MS_CALM), look, what, NULL);
}

void controllers_begin(struct sim *sim)
{
    sim_plan(sim, SIM_MS, look, NULL, NULL);
}
