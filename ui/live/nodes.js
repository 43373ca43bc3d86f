// All nodes at a glance, by any resource and in groups by any label; and one node with its pods.
(function (berth) {
    "use strict";
    const el = berth.el;
    berth.pages = berth.pages || {};
    const ZONE = "topology.kubernetes.io/zone", NO_GROUP = "";
    const chosen = { resource: "cpuMilli", label: ZONE, labels: [ZONE] };

    const shareOf = (node, key) => berth.share(node, "requested", key);
    const amountOf = (node, use, key) => node[use][key] || 0;
    const useText = (node, key) => berth.amount(berth.resource(key), amountOf(node, "requested", key)) + " of " +
        berth.resourceAmount(key, amountOf(node, "allocatable", key));
    const go = (name) => { location.hash = "#/nodes/" + encodeURIComponent(name); };

    // What keeps pods away, in a few words.
    function conditionOf(node) {
        const words = [];
        if (node.ready === false)
            words.push("not ready");
        if (node.unschedulable)
            words.push("cordoned");
        const taints = node.taints.filter((taint) => !/^node\.kubernetes\.io\/(unschedulable|not-ready|unreachable)[:=]/.test(taint));
        return words.concat(taints).join(", ");
    }

    function tilesOf(nodes) {
        const total = (key, which) => nodes.reduce((sum, node) => sum + (node[which][key] || 0), 0);
        const use = (key) => {
            const all = total(key, "allocatable");
            return [all ? berth.percent(total(key, "requested") / all) : "–", berth.resource(key) + " requested"];
        };
        const closed = nodes.filter((node) => node.unschedulable || node.ready === false).length;
        return berth.tiles([
            [berth.number(nodes.length), "nodes"], use("cpuMilli"), use("memory"),
            [berth.number(total("pods", "requested")), "pods on them"],
            [berth.number(nodes.filter((node) => !node.requested.pods).length), "without a pod"],
            [berth.number(closed), "cordoned or not ready", closed ? "warn" : ""],
        ]);
    }

    // ---- the map ----

    function describe(node, resources) {
        const more = resources.filter((key) => key !== chosen.resource).slice(0, 4);
        const words = conditionOf(node);
        return [node.name].concat([chosen.resource, ...more].map((key) =>
            berth.resource(key) + ": " + useText(node, key) + " (" + berth.percent(shareOf(node, key)) + ")"), words ? [words] : []);
    }

    function columnsOf() {
        const use = (key, title) => ({ title, numeric: true, value: (node) => shareOf(node, key), text: (node) => useText(node, key),
            cell: (node) => berth.meter(shareOf(node, key)), title_text: true });
        return [
            { title: "Node", value: (node) => node.name },
            { title: "Group", value: (node) => node.labelValue },
            use("cpuMilli", "cpu"), use("memory", "Memory"),
            { title: "Pods", numeric: true, value: (node) => node.requested.pods || 0 },
            { title: "Condition", value: (node) => conditionOf(node) || null, text: (node) => conditionOf(node) || "–", class: "wide" },
        ];
    }

    function controls(state) {
        const label = (key) => [key, key === ZONE ? "zone" : key.replace(/^.*\//, "")];
        return [
            berth.choice("Colour by", state.resources.map((key) => [key, berth.resource(key)]), chosen.resource, (value) => {
                chosen.resource = value;
                state.show();
            }),
            berth.choice("Group by", [[NO_GROUP, "nothing"]].concat(chosen.labels.map(label)), chosen.label, (value) => {
                chosen.label = value;
                state.fetch();
            }),
        ];
    }

    function mapOf(state) {
        const nodes = state.nodes;
        return {
            label: "Nodes by use of " + berth.resource(chosen.resource),
            groups: berth.groupNodes(nodes, chosen.label),
            colour: (i) => berth.heat(shareOf(nodes[i], chosen.resource)),
            describe: (i) => describe(nodes[i], state.resources),
            onselect: (i) => go(nodes[i].name),
        };
    }

    function show(state) {
        const nodes = state.nodes;
        state.resources = berth.resourceKeys(nodes);
        if (!state.resources.includes(chosen.resource))
            chosen.resource = state.resources[0] || "cpuMilli";
        state.tiles.replaceChildren(tilesOf(nodes));
        state.showControls([state.resources, chosen.labels, chosen.label, chosen.resource]);
        if (!state.map) {
            state.map = berth.heatMap(mapOf(state));
            state.table = berth.table({ caption: "Nodes", columns: columnsOf(), rows: nodes, sort: [0, "ascending"], shown: 14, filter: true,
                onselect: (node) => go(node.name) });
            state.place.replaceChildren(state.map, berth.heatLegend(), state.table);
        } else {
            state.table.update(nodes);
        }
        state.map.update(mapOf(state));
        state.map.select(nodes.findIndex((node) => node.name === state.selected));
    }

    // ---- one node ----

    function details(node) {
        const request = (key, title) => ({ title, numeric: true, value: (pod) => pod.requests[key] || 0,
            text: (pod) => berth.amount(berth.resource(key), pod.requests[key] || 0) });
        const pods = berth.table({ caption: "Pods on " + node.name, rows: node.pods, empty: "No pod is on this node.", sort: [0, "ascending"],
            onselect: (pod) => { location.hash = berth.podHash(pod); }, columns: [
                { title: "Pod", value: (pod) => pod.namespace + "/" + pod.name },
                { title: "Priority", numeric: true, value: (pod) => pod.priority },
                request("cpuMilli", "cpu"), request("memory", "Memory"),
            ] });
        const words = conditionOf(node);
        return [el("p", {}, words ? el("span", { class: "badge warn" }, words) : el("span", { class: "badge good" }, "takes pods")),
            berth.nodeDetails(node, [["requested", "Requested"]], [el("h3", {}, "Pods"), pods])];
    }

    function detailsSection(state) {
        const place = el("div", {}, el("p", { class: "note" }, "Asking…"));
        const section = berth.section("node", state.selected, el("a", { href: "#/nodes", class: "close" }, "Close"), place);
        const draw = berth.changed((node) => place.replaceChildren(...node ? details(node) : [el("p", { class: "note" }, "There is no such node.")]));
        state.pages.push(berth.poll("debug/berth/nodes?node=" + encodeURIComponent(state.selected), { every: 4, on: (page) => draw(page.nodes[0] || null) }));
        return section;
    }

    berth.pages.nodes = function (root, name) {
        const bar = el("div", { class: "controls" });
        const state = { nodes: [], resources: [], pages: [], selected: name || "", map: null, tiles: el("div", {}),
            place: el("div", {}, el("p", { class: "note" }, "Asking…")) };
        state.showControls = berth.changed(() => bar.replaceChildren(...controls(state)));
        state.show = () => show(state);
        state.fetch = () => {
            if (state.page)
                state.page.stop();
            state.page = berth.poll("debug/berth/nodes?label=" + encodeURIComponent(chosen.label), { every: 4, on: (page) => {
                state.nodes = page.nodes.map((node) => ({ ...node, labels: node.labelValue === null ? {} : { [page.label]: node.labelValue } }));
                chosen.labels = page.labels.length ? page.labels : [ZONE];
                show(state);
            } });
        };
        root.append(state.tiles);
        if (state.selected)
            root.append(detailsSection(state));
        root.append(berth.section("map", "All nodes", bar, state.place));
        state.fetch();
        return [{ stop: () => state.page.stop() }, ...state.pages];
    };
})(window.berth = window.berth || {});
