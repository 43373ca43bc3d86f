/* facets.c: writes facets one after another, each with its length or with a mark before each item and after the last,
 * so that no two different pods write the same. */
#include "cluster/facets.h"

static void put_number(struct strbuf *out, int64_t number)
{
    strbuf_add(out, (const char *)&number, sizeof(number));
}

static void put_str(struct strbuf *out, struct str text)
{
    uint32_t len = text.ptr ? text.len : UINT32_MAX;
    strbuf_add(out, (const char *)&len, sizeof(len));
    strbuf_str(out, text);
}

static void put_strs(struct strbuf *out, const struct str_list *list)
{
    put_number(out, list->len);
    list_for(list, item)
        put_str(out, *item);
}

static void put_map(struct strbuf *out, const struct str_map *map)
{
    put_number(out, map->len);
    list_for(map, item) {
        put_str(out, item->key);
        put_str(out, item->value);
    }
}

static void put_resources(struct strbuf *out, const struct resource_list *list)
{
    put_number(out, list->len);
    list_for(list, item) {
        put_str(out, item->name);
        put_number(out, item->amount.units);
        put_number(out, item->amount.nano);
    }
}

static void put_requirements(struct strbuf *out, const struct resource_requirements *need)
{
    put_number(out, need != NULL);
    if (!need)
        return;
    put_resources(out, &need->requests);
    put_resources(out, &need->limits);
}

static void put_selector_items(struct strbuf *out, const struct selector_requirement *items, uint32_t len)
{
    put_number(out, len);
    for (uint32_t i = 0; i < len; i++) {
        put_str(out, items[i].key);
        put_str(out, items[i].operator);
        put_strs(out, &items[i].values);
    }
}

static void put_selector(struct strbuf *out, const struct label_selector *selector)
{
    put_number(out, selector != NULL);
    if (!selector)
        return;
    put_map(out, &selector->match_labels);
    put_selector_items(out, selector->match_expressions.items, selector->match_expressions.len);
}

static void put_node_term(struct strbuf *out, const struct node_selector_term *term)
{
    put_selector_items(out, term->match_expressions.items, term->match_expressions.len);
    put_selector_items(out, term->match_fields.items, term->match_fields.len);
}

static void put_node_affinity(struct strbuf *out, const struct node_affinity *affinity)
{
    put_number(out, affinity != NULL);
    if (!affinity)
        return;
    put_number(out, affinity->required ? (int64_t)affinity->required->terms.len : -1);
    if (affinity->required)
        list_for(&affinity->required->terms, term)
            put_node_term(out, term);
    put_number(out, affinity->preferred.len);
    list_for(&affinity->preferred, item) {
        put_number(out, item->weight);
        put_node_term(out, &item->preference);
    }
}

static void put_pod_term(struct strbuf *out, const struct pod_affinity_term *term)
{
    put_selector(out, term->selector);
    put_strs(out, &term->namespaces);
    put_str(out, term->topology_key);
    put_selector(out, term->namespace_selector);
}

static void put_pod_affinity(struct strbuf *out, const struct pod_affinity *affinity)
{
    put_number(out, affinity != NULL);
    if (!affinity)
        return;
    put_number(out, affinity->required.len);
    list_for(&affinity->required, term)
        put_pod_term(out, term);
    put_number(out, affinity->preferred.len);
    list_for(&affinity->preferred, item) {
        put_number(out, item->weight);
        put_pod_term(out, &item->term);
    }
}

static void put_spread(struct strbuf *out, const struct spread_constraint *constraint)
{
    put_number(out, constraint->max_skew);
    put_str(out, constraint->topology_key);
    put_str(out, constraint->when_unsatisfiable);
    put_selector(out, constraint->selector);
    put_number(out, constraint->min_domains.set ? constraint->min_domains.value : -1);
    put_str(out, constraint->node_affinity_policy);
    put_str(out, constraint->node_taints_policy);
    put_strs(out, &constraint->match_label_keys);
}

static void put_toleration(struct strbuf *out, const struct toleration *toleration)
{
    put_str(out, toleration->key);
    put_str(out, toleration->operator);
    put_str(out, toleration->value);
    put_str(out, toleration->effect);
}

static void put_container(struct strbuf *out, const struct container *container)
{
    put_str(out, container->image);
    put_str(out, container->restart_policy);
    put_number(out, container->restart_rules.len);
    list_for(&container->restart_rules, rule)
        put_str(out, rule->action);
    put_requirements(out, &container->resources);
    put_number(out, container->ports.len);
    list_for(&container->ports, port) {
        put_str(out, port->protocol);
        put_str(out, port->host_ip);
        put_number(out, port->host_port);
    }
}

static void put_container_status(struct strbuf *out, const struct container_status *status)
{
    put_str(out, status->name);
    put_resources(out, &status->allocated_resources);
    put_requirements(out, status->resources);
}

/* Sizes while a resize is under way: what the status says counts as well as what the spec asks for. */
static void put_status(struct strbuf *out, const struct pod *pod)
{
    const struct pod_status *status = &pod->status;
    put_number(out, status->container_statuses.len);
    list_for(&status->container_statuses, item)
        put_container_status(out, item);
    put_number(out, status->init_container_statuses.len);
    list_for(&status->init_container_statuses, item)
        put_container_status(out, item);
    put_resources(out, &status->allocated_resources);
    put_requirements(out, status->resources);
    put_str(out, status->resize);
    list_for(&status->conditions, condition)
        if (str_starts_with(condition->type, STR("PodResize"))) {
            put_number(out, 1);
            put_str(out, condition->type);
            put_str(out, condition->status);
            put_str(out, condition->reason);
        }
    put_number(out, 0);
    /* The names of containers tie them to their statuses. */
    if (status->container_statuses.len || status->init_container_statuses.len) {
        list_for(&pod->spec.containers, container)
            put_str(out, container->name);
        list_for(&pod->spec.init_containers, container)
            put_str(out, container->name);
    }
}

static void put_controller(struct strbuf *out, const struct meta *meta)
{
    list_for(&meta->owners, owner) {
        if (!owner->controller.value)
            continue;
        put_number(out, 1);
        put_str(out, owner->api_version);
        put_str(out, owner->kind);
        put_str(out, owner->name);
        return;
    }
    put_number(out, 0);
}

void facets_labels(struct strbuf *out, const struct pod *pod)
{
    put_str(out, pod->meta.namespace);
    put_map(out, &pod->meta.labels);
}

void facets_terms(struct strbuf *out, const struct pod *pod)
{
    put_str(out, pod->meta.namespace);
    put_pod_affinity(out, pod->spec.affinity->pod);
    put_pod_affinity(out, pod->spec.affinity->pod_anti);
}

bool pod_has_volumes(const struct pod *pod)
{
    list_for(&pod->spec.volumes, volume)
        if (volume->pvc || volume->ephemeral || volume->gce_pd || volume->aws_ebs || volume->iscsi ||
            volume->rbd || volume->azure_disk || volume->cinder || volume->vsphere || volume->portworx ||
            volume->azure_file || volume->csi)
            return true;
    return false;
}

bool pod_has_claims(const struct pod *pod)
{
    list_for(&pod->spec.volumes, volume)
        if (volume->pvc || volume->ephemeral)
            return true;
    return false;
}

bool pod_has_devices(const struct pod *pod)
{
    return pod->spec.resource_claims.len > 0;
}

void facets_encode(struct strbuf *out, const struct pod *pod)
{
    const struct pod_spec *spec = &pod->spec;
    facets_labels(out, pod);
    put_controller(out, &pod->meta);
    put_str(out, spec->scheduler_name);
    put_number(out, spec->host_network | spec->host_users.set << 1 | spec->host_users.value << 2 |
                        pod_has_volumes(pod) << 3 | pod_has_claims(pod) << 4 | pod_has_devices(pod) << 5);
    put_map(out, &spec->node_selector);
    put_number(out, spec->affinity != NULL);
    if (spec->affinity) {
        put_node_affinity(out, spec->affinity->node);
        put_pod_affinity(out, spec->affinity->pod);
        put_pod_affinity(out, spec->affinity->pod_anti);
    }
    put_number(out, spec->tolerations.len);
    list_for(&spec->tolerations, toleration)
        put_toleration(out, toleration);
    put_number(out, spec->containers.len);
    list_for(&spec->containers, container)
        put_container(out, container);
    put_number(out, spec->init_containers.len);
    list_for(&spec->init_containers, container)
        put_container(out, container);
    put_number(out, spec->spread.len);
    list_for(&spec->spread, constraint)
        put_spread(out, constraint);
    list_for(&spec->volumes, volume)
        if (volume->image) {
            put_number(out, 1);
            put_str(out, volume->image->reference);
        }
    put_number(out, 0);
    put_resources(out, &spec->overhead);
    put_requirements(out, spec->resources);
    put_str(out, spec->os ? spec->os->name : (struct str){ 0 });
    put_status(out, pod);
}
