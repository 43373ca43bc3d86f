/* kubectl.h: how users get the objects that decisions need: the lines for kubectl that all texts have.
 *
 * The first list is what every cluster serves. Kinds of the second one are served by clusters with dynamic resource
 * allocation (Kubernetes 1.34 and later by default); elsewhere kubectl would refuse all because of them. */
#ifndef INPUT_KUBECTL_H
#define INPUT_KUBECTL_H

/* Each in two lines, so that they fit a terminal. */
#define KUBECTL_RESOURCES_BEGIN "nodes,ns,pods,deploy,rs,sts,ds,jobs,rc,svc,pv,pvc,sc,pdb,pc,csinodes"
#define KUBECTL_RESOURCES_END "csidrivers,csistoragecapacities,volumeattachments"
#define KUBECTL_RESOURCES KUBECTL_RESOURCES_BEGIN "," KUBECTL_RESOURCES_END
#define KUBECTL_DEVICES_BEGIN "resourceslices,deviceclasses"
#define KUBECTL_DEVICES_END "resourceclaims,resourceclaimtemplates"
#define KUBECTL_DEVICE_RESOURCES KUBECTL_DEVICES_BEGIN "," KUBECTL_DEVICES_END
/* For the examples of a command. */
#define KUBECTL_EXAMPLE \
    "  kinds=" KUBECTL_RESOURCES_BEGIN "\n" \
    "  kinds=$kinds," KUBECTL_RESOURCES_END "\n" \
    "  kinds=$kinds," KUBECTL_DEVICES_BEGIN "  # Kubernetes 1.34+\n" \
    "  kinds=$kinds," KUBECTL_DEVICES_END "  # Kubernetes 1.34+\n" \
    "  kubectl get $kinds -A -o json > cluster.json\n"

#include "api/types.h"

/* As kubectl names the resource of a kind, in one of the two lists; NULL: in none. */
const char *kubectl_resource(enum api_kind kind);

#endif
